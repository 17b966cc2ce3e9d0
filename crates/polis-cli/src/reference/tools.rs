//! Generates the reference page of the tools from the tool registry.

use std::fmt::Write as _;

use polis_core::token::OperationArea;
use polis_i18n::UiLanguage;
use polis_ops::tool::{TOOLS, Tool, ToolEffect};
use serde_json::Value;

/// Returns the reference page of the tools, by area.
pub(super) fn tools_page() -> String {
    let mut page = "# Tools\n\nTools that agents call over MCP; the HTTP API has the same operations. `polis mcp --tools GROUP,...` \
         selects the tools listed for a client: `usual` (the default), `all` (every tool for agents), or groups by their \
         names below. By default and with `all` a client may also call the tools that are *not listed over MCP*. \
         The caller is never a parameter. Long results are truncated or paged for a model, and name the call that returns the rest. \
         A parameter that is *not listed* is accepted, but left out of the definitions for models: results and refusals name it \
         when it is needed. \
         A run is named by `runId`; `taskId`, its name in [requirement \
         001](../requirements.md#001-workspaces-commands-and-the-development-team), is accepted as an alias, and results \
         contain both.\n\n\
         The words in italics are MCP annotations, which a client uses to decide whether to ask for confirmation: \
         *read-only*, *destructive* (data may be lost permanently), *idempotent* (a repeated call has no further effect) and \
         *open world* (it reaches systems outside this installation). Annotations that are not listed are sent as false.\n"
        .to_owned();
    for (area, name) in OperationArea::ALL {
        let mut tools = TOOLS.iter().filter(|tool| tool.area == area).peekable();
        if tools.peek().is_some() {
            let _ = write!(page, "\n## {name}\n");
        }
        tools.for_each(|tool| write_tool(&mut page, tool));
    }
    page
}

fn write_tool(page: &mut String, tool: &Tool) {
    let effect = match tool.effect {
        ToolEffect::ReadOnly => "Read-only.",
        ToolEffect::Additive => "Not destructive.",
        ToolEffect::Destructive => "Destructive.",
    };
    let twice = if tool.idempotent && tool.effect != ToolEffect::ReadOnly {
        " Idempotent."
    } else {
        ""
    };
    let open = if tool.open_world { " Open world." } else { "" };
    let reason = tool.effect_reason();
    let reason = reason.map_or_else(String::new, |reason| format!(" {reason}"));
    let visibility = match (tool.is_default, tool.is_offered_to_agents) {
        (true, _) => " Usual.",
        (false, true) => "",
        (false, false) => " Not listed over MCP.",
    };
    let _ = write!(
        page,
        "\n### `{}`\n\n{}\n\n*{effect}{twice}{open}{visibility}*{reason}\n",
        tool.name,
        tool.description(UiLanguage::En)
    );
    let input = Value::Object((tool.input_schema)());
    let required = input["required"].as_array();
    let properties = input["properties"]
        .as_object()
        .filter(|all| !all.is_empty());
    if properties.is_some() {
        page.push('\n');
    }
    for (name, schema) in properties.into_iter().flatten() {
        let needed = required.is_some_and(|all| all.iter().any(|one| one == name));
        let needed = if needed {
            ", required"
        } else if tool.is_parameter_unlisted(name) {
            ", not listed"
        } else {
            ""
        };
        let about = schema["description"].as_str().unwrap_or_default();
        let _ = writeln!(
            page,
            "- `{name}` ({}{needed}): {about}",
            schema_type(schema)
        );
    }
}

/// Returns the type of value a schema describes, in a few words.
fn schema_type(schema: &Value) -> String {
    for several in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[several].as_array() {
            let mut kinds: Vec<String> = choices.iter().map(schema_type).collect();
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
        Value::String(name) if name == "array" => {
            format!("list of {}", schema_type(&schema["items"]))
        }
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
