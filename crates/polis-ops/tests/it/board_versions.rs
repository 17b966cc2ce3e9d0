//! Tests for restoring a version of a board: version conflicts, and what the caller learns from them.

use polis_core::Code;
use polis_testkit::test_store::run;
use serde_json::json;

use crate::world::World;

#[test]
fn a_version_is_brought_back_over_what_the_caller_had_read() {
    run(async {
        let world = World::new().await;
        for (version, content) in ["one\n", "two\n", "three\n"].into_iter().enumerate() {
            let write =
                json!({ "board": "global", "content": content, "expectedVersion": version });
            world.does("user", "whiteboard_write", write).await;
        }
        let restore = |expected: u64| {
            let params = json!({ "board": "global", "version": 1, "expectedVersion": expected });
            world.tries("user", "whiteboard_restore", params)
        };
        let refused = restore(2).await.unwrap_err();
        assert_eq!(refused.code(), Code::VersionConflict);
        let write = json!({ "board": "global", "content": "x", "expectedVersion": 2 });
        let (code, told) = world.refused("user", "whiteboard_write", write).await;
        assert_eq!((refused.code(), refused.to_string()), (code, told));
        let ahead = restore(9).await.unwrap_err();
        assert_eq!(ahead.code(), Code::VersionConflict);
        let read = json!({ "board": "global" });
        let now = world.does("user", "whiteboard_read", read.clone()).await;
        assert_eq!(now.document["content"], "three\n");
        assert_eq!(restore(3).await.unwrap().document["version"], 4);
        let now = world.does("user", "whiteboard_read", read).await;
        assert_eq!(now.document["content"], "one\n");
        let unbound = json!({ "board": "global", "version": 2 });
        let done = world.does("user", "whiteboard_restore", unbound).await;
        assert_eq!(done.document["version"], 5);
    });
}

#[test]
fn text_is_not_replaced_without_its_version() {
    run(async {
        let world = World::new().await;
        let write = json!({ "board": "global", "content": "one" });
        let written = world.does("lead", "whiteboard_write", write.clone()).await;
        assert_eq!(written.document["version"], 1);
        let refused = world.tries("lead", "whiteboard_write", write.clone()).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::VersionRequired);
        let hint = refused.document().error.hint.to_owned();
        assert!(
            hint.starts_with(
                "read it with `whiteboard_read` and pass its version as expectedVersion"
            ),
            "{hint}"
        );
        // Not a parameter of the tool: a model cannot bypass the version check.
        let mut forced = write;
        forced["force"] = json!(true);
        let (code, _) = world.refused("lead", "whiteboard_write", forced).await;
        assert_eq!(code, Code::InvalidInput);
        let read = world
            .does("dev", "whiteboard_read", json!({ "board": "global" }))
            .await;
        assert_eq!(read.document["content"], "one");
    });
}
