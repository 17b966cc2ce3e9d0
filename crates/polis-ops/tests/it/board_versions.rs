//! Bringing a version of a board back: what a caller had read, and what it is told.

use polis_core::Code;
use polis_testkit::ground::run;
use serde_json::json;

use crate::world::World;

#[test]
fn a_version_is_brought_back_over_what_the_caller_had_read() {
    run(async {
        let world = World::new().await;
        for content in ["one\n", "two\n", "three\n"] {
            let write = json!({ "board": "global", "content": content });
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
