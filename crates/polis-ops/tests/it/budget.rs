//! What the tools cost in a model's context: the numbers are pinned, so that a change is noticed.

use polis_ops::tool::{self, Tool};

/// Tokens of the text that a client is sent, as OpenAI's newer models count them.
fn tokens(tools: &[&Tool]) -> usize {
    let text = tool::listing(tools).to_string();
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
    assert!(tokens(&usual) < 2_500, "{costs:?}");
    assert!(tokens(&all) < 4_000, "{costs:?}");
    assert_eq!(costs, [("usual", 23, 2_413), ("all", 42, 3_917)]);
}
