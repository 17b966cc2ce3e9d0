//! Tests that a result or refusal names a parameter that the tool definitions leave out, when a model needs it.

use polis_i18n::UiLanguage;
use polis_ops::tool::{Tool, ToolOutput};
use polis_testkit::run_test;
use polis_testkit::store_factory::parse_agent_id;
use serde_json::{Value, json};

use crate::test_installation::TestInstallation;

/// Returns the text that a model gets from a call, and checks that it names the parameter.
async fn expect_parameter(
    world: &TestInstallation,
    by: &str,
    tool: &str,
    params: Value,
    parameter: &str,
) {
    let definition = Tool::find(tool).unwrap();
    assert!(
        definition.is_parameter_unlisted(parameter),
        "{tool} {parameter}"
    );
    let called = world.call_as(&parse_agent_id(by), tool, params, true).await;
    let output =
        called.unwrap_or_else(|error| ToolOutput::from_error(&error, UiLanguage::En, true));
    let named = format!("{parameter}=");
    assert!(output.text.contains(&named), "{tool}: {}", output.text);
}

#[test]
fn unlisted_parameters_are_named_when_a_model_needs_them() {
    run_test(async {
        let world = TestInstallation::new().await;
        for (tool, params) in [
            (
                "TaskCreate",
                json!({ "subject": "a", "description": "x".repeat(50_000) }),
            ),
            (
                "TaskCreate",
                json!({ "subject": "b", "requiredRole": "devops-leader" }),
            ),
            (
                "whiteboard_write",
                json!({ "board": "global", "content": "# A\n\n# A\n" }),
            ),
            (
                "blackboard_write",
                json!({ "path": "a.md", "content": "x".repeat(50_000), "mode": "overwrite" }),
            ),
        ] {
            let by = if tool == "blackboard_write" {
                "user"
            } else {
                "lead"
            };
            world.call_tool(by, tool, params).await;
        }
        let stale = json!({ "board": "global", "content": "other", "expectedVersion": 0 });
        let section = json!({ "board": "global", "title": "A", "act": "append", "content": "x" });
        for (by, tool, params, parameter) in [
            ("lead", "TaskList", json!({ "limit": 1 }), "cursor"),
            ("lead", "TaskGet", json!({ "taskId": "1" }), "offset"),
            ("dev", "TaskClaim", json!({ "taskId": "2" }), "forceAssign"),
            ("lead", "whiteboard_write", stale, "merge"),
            ("lead", "whiteboard_section", section, "nth"),
            (
                "dev",
                "blackboard_read",
                json!({ "path": "a.md" }),
                "offset",
            ),
        ] {
            expect_parameter(&world, by, tool, params, parameter).await;
        }
    });
}
