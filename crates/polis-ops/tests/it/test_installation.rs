//! Test harness: an installation with real files and registered agents.

use std::sync::Arc;

use polis_core::board::template_text::ContentLanguage;
use polis_core::{AgentId, RefusalCode};
use polis_i18n::{Surface, UiLanguage};
use polis_ops::tool::{Tool, ToolOutput, ToolRequest};
use polis_ops::{App, BoardSettings, InstallationSettings, OpError};
use polis_testkit::store_factory::{new_test_app, parse_agent_id};
use polis_testkit::{MemoryStore, MemoryWorkspaces};
use polis_workspace::files::WorkspaceFiles;
use serde_json::{Map, Value};
use tempfile::TempDir;

pub(crate) struct TestInstallation {
    pub(crate) app: App,
    pub(crate) store: Arc<MemoryStore>,
    lang: UiLanguage,
    _data: TempDir,
}

impl TestInstallation {
    /// Creates an installation: `lead` leads the team, `dev` works under it, `cto` is in the top layer.
    pub(crate) async fn new() -> Self {
        Self::in_language(UiLanguage::En).await
    }

    /// Creates an installation whose boards and tool results are in this language.
    pub(crate) async fn in_language(lang: UiLanguage) -> Self {
        let data = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStore::default());
        let shared: Arc<dyn polis_ops::Store> = Arc::<MemoryStore>::clone(&store);
        let mut app = new_test_app(shared).with_workspaces(
            Arc::new(WorkspaceFiles::new(data.path())),
            Arc::new(MemoryWorkspaces::default()),
        );
        let settings = app.settings.as_ref().clone();
        app.settings = Arc::new(InstallationSettings {
            boards: BoardSettings {
                language: match lang {
                    UiLanguage::En => ContentLanguage::En,
                    UiLanguage::Zh => ContentLanguage::Zh,
                },
                ..settings.boards.clone()
            },
            language: lang,
            ..settings
        });
        let world = Self {
            app,
            store,
            lang,
            _data: data,
        };
        for (id, role, layer) in [
            ("lead", "team-lead", "top"),
            ("cto", "architect", "top"),
            ("dev", "backend-leader", "bottom"),
        ] {
            let agent = serde_json::json!({ "id": id, "role": role, "layer": layer });
            world.call_tool("user", "add_agent", agent).await;
        }
        world
    }

    /// Calls a tool as MCP does if `brief` is set, otherwise as HTTP does.
    pub(crate) async fn call_as(
        &self,
        by: &AgentId,
        tool: &str,
        params: Value,
        brief: bool,
    ) -> Result<ToolOutput, OpError> {
        let Value::Object(params) = params else {
            panic!("parameters are an object");
        };
        let ask = ToolRequest {
            for_model: brief,
            lang: self.lang,
            ..ToolRequest::new(params)
        };
        Tool::find(tool)
            .unwrap()
            .call(&self.app.request(by), ask)
            .await
    }

    pub(crate) async fn try_call(
        &self,
        by: &str,
        tool: &str,
        params: Value,
    ) -> Result<ToolOutput, OpError> {
        self.call_as(&parse_agent_id(by), tool, params, false).await
    }

    pub(crate) async fn call_tool(&self, by: &str, tool: &str, params: Value) -> ToolOutput {
        let told = describe_call(tool, &params);
        match self.try_call(by, tool, params).await {
            Ok(answer) => answer,
            Err(error) => panic!("{told}: {error}"),
        }
    }

    /// Returns the result that a model gets.
    pub(crate) async fn call_for_model(&self, by: &str, tool: &str, params: Value) -> ToolOutput {
        let told = describe_call(tool, &params);
        match self.call_as(&parse_agent_id(by), tool, params, true).await {
            Ok(answer) => answer,
            Err(error) => panic!("{told}: {error}"),
        }
    }

    pub(crate) async fn call_refused(
        &self,
        by: &str,
        tool: &str,
        params: Value,
    ) -> (RefusalCode, String) {
        let told = describe_call(tool, &params);
        match self.try_call(by, tool, params).await {
            Ok(answer) => panic!("{told}: {}", answer.text),
            Err(error) => (
                error.code(),
                error.render(Surface::Tool, UiLanguage::En).message,
            ),
        }
    }
}

/// Converts a schema to a value.
pub(crate) fn schema_value(schema: Map<String, Value>) -> Value {
    Value::Object(schema)
}

/// Formats a call for the message of a failed test.
fn describe_call(tool: &str, params: &Value) -> String {
    let told = format!("{tool} {params}");
    told.chars().take(300).collect()
}
