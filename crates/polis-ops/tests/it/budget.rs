//! Cost of the tools in a model's context: the numbers are pinned, so that a change is noticed.

use polis_core::role::RoleSet;
use polis_ops::tool::{self, Installation, Tool};
use serde_json::{Value, json};

/// Returns the number of tokens that a client passes to its model, as counted by OpenAI's newer models. Hints and
/// output schemas stay in the client.
fn tokens(tools: &[&Tool]) -> usize {
    let roles = RoleSet::default();
    let told = tools.iter().map(|tool| {
        json!({ "name": tool.name, "description": tool.about, "parameters": tool.small_input(Installation { network: false, roles: Some(&roles) }) })
    });
    let text = told.collect::<Value>().to_string();
    let encoder = tiktoken_rs::o200k_base_singleton();
    encoder.encode_ordinary(&text).len()
}

#[test]
fn the_tools_are_small_in_a_models_context() {
    let (usual, all) = (
        tool::select(&["usual"]).unwrap(),
        tool::select(&["all"]).unwrap(),
    );
    for tool in &all {
        println!("{:>5} {}", tokens(&[tool]), tool.name);
    }
    let costs = [
        ("usual", usual.len(), tokens(&usual)),
        ("all", all.len(), tokens(&all)),
    ];
    println!("{costs:?}");
    // About half of it is the descriptions of the parameters.
    assert!(tokens(&usual) < 3_200, "{costs:?}");
    assert!(tokens(&all) < 5_500, "{costs:?}");
    assert_eq!(costs, [("usual", 23, 3_143), ("all", 47, 5_471)]);
}
