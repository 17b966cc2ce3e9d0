//! Test harness: an installation with real files and registered agents.

use std::sync::Arc;

use polis_core::{AgentId, Code};
use polis_ops::tool::{Answer, Ask, Tool};
use polis_ops::{OpError, Polis};
use polis_testkit::test_store::{agent, polis};
use polis_testkit::{MemoryStore, MemoryWorkspaces};
use polis_workspace::files::WorkspaceFiles;
use serde_json::{Map, Value};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) polis: Polis,
    _data: TempDir,
}

impl World {
    /// Creates a world: `lead` leads the team, `dev` works under it, `cto` is in the top layer.
    pub(crate) async fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let polis = polis(Arc::new(MemoryStore::default())).with_workspaces(
            Arc::new(WorkspaceFiles::new(data.path())),
            Arc::new(MemoryWorkspaces::default()),
        );
        let world = Self { polis, _data: data };
        for (id, role, layer) in [
            ("lead", "team-lead", "top"),
            ("cto", "architect", "top"),
            ("dev", "backend-leader", "bottom"),
        ] {
            let agent = serde_json::json!({ "id": id, "role": role, "layer": layer });
            world.does("user", "add_agent", agent).await;
        }
        world
    }

    /// Calls a tool as MCP does if `brief` is set, otherwise as HTTP does.
    pub(crate) async fn ask(
        &self,
        by: &AgentId,
        tool: &str,
        params: Value,
        brief: bool,
    ) -> Result<Answer, OpError> {
        let Value::Object(params) = params else {
            panic!("parameters are an object");
        };
        let ask = Ask {
            brief,
            ..Ask::new(by, params)
        };
        Tool::find(tool).unwrap().call(&self.polis, ask).await
    }

    pub(crate) async fn tries(
        &self,
        by: &str,
        tool: &str,
        params: Value,
    ) -> Result<Answer, OpError> {
        self.ask(&agent(by), tool, params, false).await
    }

    pub(crate) async fn does(&self, by: &str, tool: &str, params: Value) -> Answer {
        let told = shown(tool, &params);
        match self.tries(by, tool, params).await {
            Ok(answer) => answer,
            Err(error) => panic!("{told}: {error}"),
        }
    }

    /// Returns the result that a model gets.
    pub(crate) async fn tells(&self, by: &str, tool: &str, params: Value) -> Answer {
        let told = shown(tool, &params);
        match self.ask(&agent(by), tool, params, true).await {
            Ok(answer) => answer,
            Err(error) => panic!("{told}: {error}"),
        }
    }

    pub(crate) async fn refused(&self, by: &str, tool: &str, params: Value) -> (Code, String) {
        let told = shown(tool, &params);
        match self.tries(by, tool, params).await {
            Ok(answer) => panic!("{told}: {}", answer.text),
            Err(error) => (error.code(), error.to_string()),
        }
    }
}

/// Converts a schema to a value.
pub(crate) fn value(schema: Map<String, Value>) -> Value {
    Value::Object(schema)
}

/// Formats a call for the message of a failed test.
fn shown(tool: &str, params: &Value) -> String {
    let told = format!("{tool} {params}");
    told.chars().take(300).collect()
}
