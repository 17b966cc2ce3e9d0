//! Generates the reference page of the tools from the tool registry.

use std::fmt::Write as _;

use polis_core::token::Area;
use polis_ops::tool::{Effect, TOOLS, Tool};
use serde_json::Value;

/// Returns the page.
pub(super) fn page() -> String {
    let mut page = "# Tools\n\nWhat agents call over MCP, and what the HTTP API is made of. `polis mcp --tools GROUP,...` \
         chooses what a client is shown: `usual` (if nothing is chosen), `all`, or groups by their names below. \
         Who calls is never a parameter. Whatever is long is cut or paged for a model, and says how to get the rest.\n\n\
         The words in italics are MCP's hints, by which a client decides whether to ask a person: *read-only*, *destructive* \
         (something may be lost for good), *idempotent* (calling it twice does no more than once) and *open world* (it reaches \
         what is outside of this installation). What is not named is false, and said so over MCP.\n"
        .to_owned();
    for (area, name) in Area::ALL {
        let mut tools = TOOLS.iter().filter(|tool| tool.area == area).peekable();
        if tools.peek().is_some() {
            let _ = write!(page, "\n## {name}\n");
        }
        tools.for_each(|tool| describe(&mut page, tool));
    }
    page
}

fn describe(page: &mut String, tool: &Tool) {
    let effect = match tool.effect {
        Effect::Look => "Read-only.",
        Effect::Add => "Not destructive.",
        Effect::Change => "Destructive.",
    };
    let twice = match tool.idempotent && tool.effect != Effect::Look {
        true => " Idempotent.",
        false => "",
    };
    let open = match tool.open_world {
        true => " Open world.",
        false => "",
    };
    let reason = tool.effect_reason();
    let reason = reason.map_or_else(String::new, |reason| format!(" {reason}"));
    let shown = match (tool.usual, tool.listed) {
        (true, _) => " Usual.",
        (false, true) => "",
        (false, false) => " Not shown over MCP.",
    };
    let _ = write!(
        page,
        "\n### `{}`\n\n{}\n\n*{effect}{twice}{open}{shown}*{reason}\n",
        tool.name, tool.about
    );
    let input = Value::Object((tool.input)());
    let required = input["required"].as_array();
    let properties = input["properties"]
        .as_object()
        .filter(|all| !all.is_empty());
    if properties.is_some() {
        page.push('\n');
    }
    for (name, schema) in properties.into_iter().flatten() {
        let needed = required.is_some_and(|all| all.iter().any(|one| one == name));
        let needed = if needed { ", required" } else { "" };
        let about = schema["description"].as_str().unwrap_or_default();
        let _ = writeln!(page, "- `{name}` ({}{needed}): {about}", kind(schema));
    }
}

/// Returns the type of value a schema describes, in a few words.
fn kind(schema: &Value) -> String {
    for several in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[several].as_array() {
            let mut kinds: Vec<String> = choices.iter().map(kind).collect();
            kinds.retain(|kind| kind != "null");
            return kinds.join(" or ");
        }
    }
    if let Some(constant) = schema["const"].as_str() {
        return format!("`{constant}`");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str);
        return values
            .map(|value| format!("`{value}`"))
            .collect::<Vec<_>>()
            .join(" or ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let mut names = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| *name != "null");
            names.next().unwrap_or("any JSON").to_owned()
        }
        _ => "any JSON".to_owned(),
    }
}
