//! Adds constraints (patterns, ranges, enumerations) to the parameter schemas of the OpenAPI document.
//!
//! The operations check these rules themselves. Here they are declared in advance, for programs that build
//! requests from the document alone.

use polis_core::TaskType;
use polis_core::token::Area;
use polis_ops::tool::Tool;
use serde_json::{Map, Value, json};

/// Name of a whiteboard.
const BOARD: &str = r"^(global|top|(mid|bottom)/[^\W_][\w.\-]*)$";
/// Path of a blackboard file.
const BLACKBOARD: &str = r"^[a-z0-9][a-z0-9\-]*(/[a-z0-9][a-z0-9\-]*)*\.md$";
/// Name of an agent.
const AGENT: &str = r"^[^\W_][\w.\-]*$";
/// A single line that is not blank, without control characters.
const LINE: &str = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";
/// Text without control characters except tabs and line breaks.
const TEXT: &str = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$";
/// Like `TEXT`, and not blank.
const WORDS: &str = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$";
/// Any text that is not blank.
const SOMETHING: &str = r"\S";

/// Adds the known constraints to a tool's parameters.
pub(super) fn narrow(tool: &Tool, input: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = input.get_mut("properties") else {
        return;
    };
    for (name, schema) in properties {
        let (Some(more), Some(schema)) = (known(tool, name), schema.as_object_mut()) else {
            continue;
        };
        let Value::Object(more) = more else { continue };
        for (key, value) in more {
            schema.insert(key, value);
        }
    }
}

fn known(tool: &Tool, name: &str) -> Option<Value> {
    Some(match (tool.area, name) {
        (_, "board") => json!({ "pattern": BOARD }),
        (Area::Blackboard, "path") => json!({ "pattern": BLACKBOARD }),
        (Area::Boards, "cursor") => json!({ "pattern": BOARD }),
        (Area::Agents, "id" | "supervisor" | "cursor") => json!({ "pattern": AGENT }),
        (Area::Tasks, "subject" | "activeForm") | (Area::Artifacts, "type") => {
            json!({ "pattern": LINE })
        }
        (Area::Tasks, "description") => json!({ "pattern": TEXT }),
        (Area::Tasks, "body") => json!({ "pattern": WORDS }),
        (Area::Tasks, "taskType") => {
            let types: Vec<&str> = TaskType::ALL.iter().map(|kind| kind.as_str()).collect();
            json!({ "enum": types })
        }
        (Area::Commands, "command") => json!({ "pattern": SOMETHING }),
        (Area::Files, "limit") if tool.name == "search_files" => {
            json!({ "minimum": 1, "maximum": 10_000 })
        }
        (Area::Files, "pattern" | "oldText") => json!({ "minLength": 1 }),
        (Area::Files, "expectedHash") => json!({ "pattern": "^[0-9a-f]{64}$" }),
        (Area::Boards, "content") if tool.name == "whiteboard_append" => {
            json!({ "pattern": SOMETHING })
        }
        (Area::Boards, "ttlMs") | (Area::Commands, "timeoutMs") => {
            json!({ "minimum": 1, "maximum": 3_600_000 })
        }
        (_, "leaseMs") => json!({ "minimum": 1, "maximum": 31_622_400_000_u64 }),
        (_, "delayMs") => json!({ "minimum": 0, "maximum": 2_592_000_000_u64 }),
        _ => return None,
    })
}
