//! Tests for restoring a version of a board: version conflicts, and what the caller learns from them.

use polis_core::RefusalCode;
use polis_i18n::{Surface, UiLanguage};
use polis_testkit::store_factory::run_test;
use serde_json::json;

use crate::test_installation::TestInstallation;

#[test]
fn restore_requires_the_version_that_the_caller_read() {
    run_test(async {
        let world = TestInstallation::new().await;
        for (version, content) in ["one\n", "two\n", "three\n"].into_iter().enumerate() {
            let write =
                json!({ "board": "global", "content": content, "expectedVersion": version });
            world.call_tool("user", "whiteboard_write", write).await;
        }
        let restore = |expected: u64| {
            let params = json!({ "board": "global", "version": 1, "expectedVersion": expected });
            world.try_call("user", "whiteboard_restore", params)
        };
        let refused = restore(2).await.unwrap_err();
        assert_eq!(refused.code(), RefusalCode::VERSION_CONFLICT);
        let write = json!({ "board": "global", "content": "x", "expectedVersion": 2 });
        let other = world.try_call("user", "whiteboard_write", write).await;
        let other = other.unwrap_err();
        assert_eq!(
            (other.code(), other.to_string()),
            (refused.code(), refused.to_string())
        );
        let ahead = restore(9).await.unwrap_err();
        assert_eq!(ahead.code(), RefusalCode::VERSION_CONFLICT);
        let read = json!({ "board": "global" });
        let now = world
            .call_tool("user", "whiteboard_read", read.clone())
            .await;
        assert_eq!(now.document["content"], "three\n");
        assert_eq!(restore(3).await.unwrap().document["version"], 4);
        let now = world.call_tool("user", "whiteboard_read", read).await;
        assert_eq!(now.document["content"], "one\n");
        let unbound = json!({ "board": "global", "version": 2 });
        let done = world.call_tool("user", "whiteboard_restore", unbound).await;
        assert_eq!(done.document["version"], 5);
    });
}

#[test]
fn overwrite_without_expected_version_is_refused() {
    run_test(async {
        let world = TestInstallation::new().await;
        let write = json!({ "board": "global", "content": "one" });
        let written = world
            .call_tool("lead", "whiteboard_write", write.clone())
            .await;
        assert_eq!(written.document["version"], 1);
        let refused = world
            .try_call("lead", "whiteboard_write", write.clone())
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), RefusalCode::VERSION_REQUIRED);
        let hint = refused.render(Surface::Tool, UiLanguage::En).hint;
        assert!(
            hint.starts_with(
                "read it with `whiteboard_read` and pass its version as expectedVersion"
            ),
            "{hint}"
        );
        // Not a parameter of the tool: a model cannot bypass the version check.
        let mut forced = write;
        forced["force"] = json!(true);
        let (code, _) = world.call_refused("lead", "whiteboard_write", forced).await;
        assert_eq!(code, RefusalCode::INVALID_INPUT);
        let read = world
            .call_tool("dev", "whiteboard_read", json!({ "board": "global" }))
            .await;
        assert_eq!(read.document["content"], "one");
    });
}
