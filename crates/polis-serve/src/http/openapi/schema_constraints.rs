//! Schema constraints of the OpenAPI document: adds patterns, ranges and enumerations to parameter schemas.
//!
//! The operations check these rules themselves. Here they are declared in advance, for programs that build
//! requests from the document alone.

use polis_core::TaskType;
use polis_core::token::OperationArea;
use polis_ops::tool::Tool;
use serde_json::{Map, Value, json};

/// Regular expression for the name of a whiteboard.
const BOARD_PATTERN: &str = r"^(global|top|(mid|bottom)/[^\W_][\w.\-]*)$";
/// Regular expression for the path of a blackboard file.
const BLACKBOARD_PATTERN: &str = r"^[a-z0-9][a-z0-9\-]*(/[a-z0-9][a-z0-9\-]*)*\.md$";
/// Regular expression for the name of an agent.
const AGENT_PATTERN: &str = r"^[^\W_][\w.\-]*$";
/// Regular expression for a single line that is not blank, without control characters.
const LINE_PATTERN: &str = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";
/// Regular expression for text without control characters except tabs and line breaks.
const TEXT_PATTERN: &str = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$";
/// Like [`TEXT_PATTERN`], and not blank.
const NON_BLANK_TEXT_PATTERN: &str = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$";
/// Regular expression for any text that is not blank.
const NON_BLANK_PATTERN: &str = r"\S";

/// Adds the known constraints to a tool's parameters.
pub(super) fn add_parameter_constraints(tool: &Tool, input: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = input.get_mut("properties") else {
        return;
    };
    for (name, schema) in properties {
        let (Some(more), Some(schema)) =
            (parameter_constraints(tool, name), schema.as_object_mut())
        else {
            continue;
        };
        let Value::Object(more) = more else { continue };
        for (key, value) in more {
            schema.insert(key, value);
        }
    }
}

fn parameter_constraints(tool: &Tool, name: &str) -> Option<Value> {
    Some(match (tool.area, name) {
        (_, "board") => json!({ "pattern": BOARD_PATTERN }),
        (OperationArea::Blackboard, "path") => json!({ "pattern": BLACKBOARD_PATTERN }),
        (OperationArea::Boards, "cursor") => json!({ "pattern": BOARD_PATTERN }),
        (OperationArea::Agents, "id" | "supervisor" | "cursor") => {
            json!({ "pattern": AGENT_PATTERN })
        }
        (OperationArea::Tasks, "subject" | "activeForm") | (OperationArea::Artifacts, "type") => {
            json!({ "pattern": LINE_PATTERN })
        }
        (OperationArea::Tasks, "description") => json!({ "pattern": TEXT_PATTERN }),
        (OperationArea::Tasks, "body") => json!({ "pattern": NON_BLANK_TEXT_PATTERN }),
        (OperationArea::Tasks, "taskType") => {
            let types: Vec<&str> = TaskType::ALL.iter().map(|kind| kind.as_str()).collect();
            json!({ "enum": types })
        }
        (OperationArea::Commands, "command") => json!({ "pattern": NON_BLANK_PATTERN }),
        (OperationArea::Files, "limit") if tool.name == "search_files" => {
            json!({ "minimum": 1, "maximum": 10_000 })
        }
        (OperationArea::Files, "pattern" | "oldText") => json!({ "minLength": 1 }),
        (OperationArea::Files, "expectedHash") => json!({ "pattern": "^[0-9a-f]{64}$" }),
        (OperationArea::Boards, "content") if tool.name == "whiteboard_append" => {
            json!({ "pattern": NON_BLANK_PATTERN })
        }
        (OperationArea::Boards, "ttlMs") | (OperationArea::Commands, "timeoutMs") => {
            json!({ "minimum": 1, "maximum": 3_600_000 })
        }
        (_, "leaseMs") => json!({ "minimum": 1, "maximum": 31_622_400_000_u64 }),
        (_, "delayMs") => json!({ "minimum": 0, "maximum": 2_592_000_000_u64 }),
        _ => return None,
    })
}
