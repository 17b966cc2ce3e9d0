//! Cost of the tools in a model's context: the numbers are pinned, so that a change is noticed.

use polis_core::role::RoleSet;
use polis_i18n::UiLanguage;
use polis_ops::tool::{self, Tool, ToolSchemaSettings};
use serde_json::{Value, json};

/// Returns the number of tokens that a client passes to its model, as counted by OpenAI's newer models. Hints
/// and output schemas stay in the client.
fn count_tokens(tools: &[&Tool], lang: UiLanguage) -> usize {
    let roles = RoleSet::default();
    let told = tools.iter().map(|tool| {
        let installation = ToolSchemaSettings {
            has_network: false,
            roles: Some(&roles),
        };
        json!({
            "name": tool.name,
            "description": tool.description(lang),
            "parameters": tool.compact_input_schema(installation, lang),
        })
    });
    let text = told.collect::<Value>().to_string();
    let encoder = tiktoken_rs::o200k_base_singleton();
    encoder.encode_ordinary(&text).len()
}

#[test]
fn tool_definitions_stay_within_token_budget() {
    let (usual, all) = (
        tool::select_tools(&["usual"]).unwrap(),
        tool::select_tools(&["all"]).unwrap(),
    );
    // About a third of it is texts; the rest is names, types and lists of values.
    for (lang, limits, expected) in [
        (UiLanguage::En, (2_500, 4_500), (2_476, 4_442)),
        (UiLanguage::Zh, (2_500, 4_500), (2_500, 4_481)),
    ] {
        for tool in &all {
            println!("{:>5} {}", count_tokens(&[tool], lang), tool.name);
        }
        let costs = (count_tokens(&usual, lang), count_tokens(&all, lang));
        println!("{lang:?} {costs:?}");
        assert!(costs.0 <= limits.0 && costs.1 <= limits.1, "{costs:?}");
        assert_eq!(costs, expected, "{lang:?}");
    }
    assert_eq!((usual.len(), all.len()), (23, 51));
}
