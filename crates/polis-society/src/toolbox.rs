//! Toolbox of a member: the tools that its role may use, how each tool call is executed, and the JSON tool definitions
//! sent to the model.
//!
//! A toolbox is built once for each selection of tools and shared by all members with the same selection.

use polis_core::token::Area;
use polis_ops::tool::{self, Effect, Installation, TOOLS, Tool};
use serde_json::{Value, json};

/// How a call of a tool is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// By the runtime itself.
    Own(Own),
    /// Only reads; may be repeated.
    Look,
    /// Its effect is a commit of the store, and the turn is part of the same commit.
    Inside,
    /// As [`Inside`](Self::Inside), but it reads the mailbox: messages received earlier have to be committed first.
    Mail,
    /// Its effect is outside of the store.
    Outside {
        /// Whether the call is idempotent: executing it twice has the same effect as once.
        again: bool,
    },
}

/// Tools of the runtime itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// Compacts the context.
    Compress,
    /// Reports how full the context is.
    Status,
}

/// A tool of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// How it is executed.
    pub kind: Kind,
    /// Whether each call needs approval by the human user.
    pub approve: bool,
    /// Whether a call counts as a command in the budget.
    pub command: bool,
}

/// The tools of a member and their definitions for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolbox {
    rows: Vec<Row>,
    text: String,
}

/// The runtime's own tools: name, implementation, description.
const OWN: [(&str, Own, &str); 2] = [
    (
        "compress_context",
        Own::Compress,
        "Make your context smaller: what came before this step is replaced by `summary`, or by one that you are asked for.",
    ),
    (
        "get_context_status",
        Own::Status,
        "How full your context is.",
    ),
];

impl Toolbox {
    /// Creates a toolbox with the tools of these groups and names, or the default tools if `selected` is `None`. Calls
    /// of the tools in `approve` need approval. A member that is not `housed` has no workspace, and so neither file nor
    /// command tools.
    pub fn of(
        selected: Option<&[String]>,
        approve: &[String],
        housed: bool,
        installation: Installation<'_>,
    ) -> Self {
        let named = |tool: &Tool| match selected {
            // Messages are delivered without a call, so the default selection leaves out `check_messages`.
            None => {
                let usual = tool.usual && tool.name != "check_messages";
                tool.listed && (usual || tool.area == Area::Society)
            }
            Some(names) => names.iter().any(|name| {
                name == tool.name
                    || (tool.listed && (name == "all" || name == tool.area.as_str()))
                    || (name == "usual" && tool.usual && tool.listed)
            }),
        };
        let asked = |name: &str| approve.iter().any(|one| one == name || one == "all");
        let mut rows = Vec::new();
        let mut told = Vec::new();
        let usable = |tool: &Tool| housed || !matches!(tool.area, Area::Files | Area::Commands);
        for tool in TOOLS.iter().filter(|tool| named(tool) && usable(tool)) {
            rows.push(Row {
                name: tool.name.to_owned(),
                kind: kind_of(tool),
                approve: asked(tool.name),
                command: tool.runs_commands(),
            });
            told.push(function(tool, installation));
        }
        for (name, own, about) in OWN {
            rows.push(Row {
                name: name.to_owned(),
                kind: Kind::Own(own),
                approve: false,
                command: false,
            });
            told.push(json!({ "type": "function", "function": {
                "name": name, "description": about, "parameters": parameters(own),
            }}));
        }
        Self {
            rows,
            text: Value::Array(told).to_string(),
        }
    }

    /// Creates a toolbox of these rows, for tests of the machine.
    #[cfg(test)]
    pub(crate) fn made(rows: Vec<Row>) -> Self {
        Self {
            rows,
            text: "[]".to_owned(),
        }
    }

    /// Returns the tool with this name, if the member has it.
    pub fn find(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Returns the tool definitions for the model: a JSON array.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn kind_of(tool: &Tool) -> Kind {
    match (tool.effect, tool.outside) {
        (Effect::Look, _) => Kind::Look,
        (_, true) => Kind::Outside {
            again: tool.idempotent,
        },
        (_, false) if tool.name == "check_messages" => Kind::Mail,
        (_, false) => Kind::Inside,
    }
}

/// Returns a tool as a function definition of the chat API.
fn function(tool: &Tool, installation: Installation<'_>) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name,
        "description": tool.about,
        "parameters": tool.small_input(installation),
    }})
}

fn parameters(own: Own) -> Value {
    match own {
        Own::Compress => json!({ "type": "object", "properties": {
            "summary": { "type": "string", "description": "What you must not forget." },
        }}),
        Own::Status => json!({ "type": "object", "properties": {} }),
    }
}

/// Returns the refusal for a tool that does not exist, or that this member does not have.
pub fn not_found(name: &str) -> polis_core::Refusal {
    tool::not_found(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_the_usual_tools_and_those_of_the_runtime() {
        let all = Toolbox::of(
            None,
            &["run_command".to_owned()],
            true,
            Installation::default(),
        );
        assert_eq!(all.find("read_file").unwrap().kind, Kind::Look);
        let again = Kind::Outside { again: true };
        assert_eq!(all.find("write_file").unwrap().kind, again);
        let command = all.find("run_command").unwrap();
        assert_eq!(command.kind, Kind::Outside { again: false });
        assert!(command.approve && command.command);
        assert_eq!(all.find("send_message").unwrap().kind, Kind::Inside);
        assert!(all.find("check_messages").is_none());
        let status = Kind::Own(Own::Status);
        assert_eq!(all.find("get_context_status").unwrap().kind, status);
    }

    #[test]
    fn a_role_may_name_groups_and_single_tools() {
        let names = ["files".to_owned(), "send_message".to_owned()];
        let few = Toolbox::of(Some(&names), &[], true, Installation::default());
        assert!(few.find("read_file").is_some() && few.find("send_message").is_some());
        assert!(few.find("TaskCreate").is_none());
        let told: Vec<Value> = serde_json::from_str(few.text()).unwrap();
        for one in &told {
            assert_eq!(one["type"], "function");
            assert_eq!(one["function"]["parameters"]["type"], "object", "{one}");
        }
    }
}
