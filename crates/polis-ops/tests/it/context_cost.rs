//! Cost of the tools in a model's context: the numbers are pinned, so that a change is noticed.
//!
//! The limits apply to what a client passes on to its model ([`count_tokens`]). The whole answer of `tools/list` is
//! counted as well, for clients that pass on more ([`count_answer_tokens`]), but only printed.

use polis_i18n::UiLanguage;
use polis_ops::InstallationSettings;
use polis_ops::tool::{self, TOOLS, Tool, ToolSchemaSettings};
use serde_json::{Value, json};

/// Tokens that stay free below each limit, for the next parameter.
const HEADROOM: usize = 30;

/// Returns the number of tokens of a text, as counted by OpenAI's newer models.
fn count_text_tokens(text: &str) -> usize {
    let encoder = tiktoken_rs::o200k_base_singleton();
    encoder.encode_ordinary(text).len()
}

/// Returns the number of tokens that a client passes to its model. Hints and output schemas stay in the client.
fn count_tokens(tools: &[&Tool], lang: UiLanguage) -> usize {
    let settings = InstallationSettings::default();
    let told = tools.iter().map(|tool| {
        let installation = ToolSchemaSettings::new(&settings);
        json!({
            "name": tool.name,
            "description": tool.description(lang),
            "parameters": tool.compact_input_schema(installation, lang),
        })
    });
    count_text_tokens(&told.collect::<Value>().to_string())
}

/// Returns the number of tokens of the answer to `tools/list` as MCP sends it, with hints, output schemas and the
/// message around them. A test of the server compares its definitions with these.
fn count_answer_tokens(tools: &[&Tool], lang: UiLanguage) -> usize {
    let settings = InstallationSettings::default();
    let installation = ToolSchemaSettings::new(&settings);
    let tools = tools
        .iter()
        .map(|tool| tool.mcp_definition(installation, lang));
    let tools: Vec<Value> = tools.collect();
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } });
    count_text_tokens(&answer.to_string())
}

#[test]
fn tool_definitions_stay_within_token_budget() {
    let (usual, all) = (
        tool::select_tools(&["usual"]).unwrap(),
        tool::select_tools(&["all"]).unwrap(),
    );
    // If they fit one day, `all` should list the tools for programs as well.
    let with_tools_for_programs: Vec<&Tool> = TOOLS.iter().collect();
    // About a third of it is texts; the rest is names, types and lists of values.
    for (lang, limits, expected) in [
        (UiLanguage::En, (2_500, 4_500), (2_465, 4_444)),
        (UiLanguage::Zh, (2_500, 4_500), (2_466, 4_466)),
    ] {
        for tool in &all {
            println!("{:>5} {}", count_tokens(&[tool], lang), tool.name);
        }
        let costs = (count_tokens(&usual, lang), count_tokens(&all, lang));
        let answers = (
            count_answer_tokens(&usual, lang),
            count_answer_tokens(&all, lang),
        );
        println!("{lang:?} {costs:?}, whole answers {answers:?}");
        let has_headroom = |cost: usize, limit: usize| cost + HEADROOM <= limit;
        assert!(
            has_headroom(costs.0, limits.0) && has_headroom(costs.1, limits.1),
            "{costs:?}"
        );
        assert!(costs.0 < answers.0 && costs.1 < answers.1, "{answers:?}");
        assert_eq!(costs, expected, "{lang:?}");
        assert!(count_tokens(&with_tools_for_programs, lang) > limits.1);
    }
    assert_eq!((usual.len(), all.len()), (23, 51));
}
