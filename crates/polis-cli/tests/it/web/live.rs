//! Tests of live updates: changes by others appear without a reload.

use polis_testkit::browser::{self, Setup};
use polis_testkit::lasting_port;
use serde_json::json;

use super::{signed_in, team};
use crate::server::Server;

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn what_others_do_appears_by_itself() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/tasks").await;
        browser.wait_for("[data-live-is=open]").await;
        browser.js("window.same = true").await;
        browser.fill("input[type=search]", "").await;
        board.ok("ada", &["task", "create", "--subject", "Written elsewhere"]);
        browser
            .until_text("[data-column=pending]", "Written elsewhere")
            .await;
        board.ok("bob", &["task", "update", "2", "--status", "completed"]);
        browser
            .until_text("[data-column=completed]", "Implement the API")
            .await;
        browser
            .until_no_text("[data-column=in_progress]", "Implement the API")
            .await;
        assert_eq!(
            browser.js("return window.same").await,
            json!(true),
            "no reload"
        );

        browser.open("/boards/global").await;
        browser.wait_for("[data-live-is=open]").await;
        browser.js("window.same = true").await;
        board.ok(
            "ada",
            &[
                "board",
                "append",
                "global",
                "--content",
                "We ship on Monday 星期一.",
            ],
        );
        browser
            .until_text("article.board", "We ship on Monday 星期一.")
            .await;

        assert_eq!(
            browser.js("return window.same").await,
            json!(true),
            "no reload"
        );
        browser.open("/events").await;
        browser.wait_for("[data-live-is=open]").await;
        let told = browser.text("#list").await;
        assert!(!told.contains("message.sent"), "nobody wrote yet: {told}");
        board.ok("bob", &["message", "send", "ada", "--content", "done"]);
        browser.until_text("#list", "message.sent").await;
        browser.open("/").await;
        browser.wait_for("[data-live-is=open]").await;
        let moving = browser.text("#moving").await;
        assert!(!moving.contains("Draw the plan"), "{moving}");
        board.ok("ada", &["task", "claim", "1"]);
        browser.until_text("#moving", "Draw the plan").await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_page_that_was_in_the_background_shows_what_happened_meanwhile() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        // A background tab, until the test makes it visible.
        browser
            .first_of_all(
                "Object.defineProperty(document, 'hidden', { get: () => !window.lookedAt })",
            )
            .await;
        browser.open("/tasks").await;
        browser.wait_for("[data-column=pending]").await;
        board.ok("ada", &["task", "create", "--subject", "Made meanwhile"]);
        let listens = "return document.body.dataset.liveIs === 'open'";
        assert_eq!(browser.js(listens).await, json!(false));
        let asked = "return performance.getEntriesByType('resource').filter(r => r.name.includes('/tasks/board')).length";
        assert_eq!(browser.js(asked).await, json!(0));
        let look = "window.lookedAt = true; document.dispatchEvent(new Event('visibilitychange'))";
        browser.js(look).await;
        browser
            .until_text("[data-column=pending]", "Made meanwhile")
            .await;
        // A page without changes since it was rendered fetches nothing.
        browser.open("/tasks").await;
        browser.js(look).await;
        browser.wait_for("[data-live-is=open]").await;
        board.ok("ada", &["task", "create", "--subject", "Made later"]);
        browser
            .until_text("[data-column=pending]", "Made later")
            .await;
        assert_eq!(browser.js(asked).await, json!(1));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_page_left_open_hears_again_after_the_server_came_back() {
    let board = team();
    let listen = format!("127.0.0.1:{}", lasting_port());
    let server = Server::start_with(&board, &["--listen", &listen]);
    browser::with(&server.url.clone(), Setup::default(), async |browser| {
        browser.sign_in(&server.sign_in).await;
        browser.open("/tasks").await;
        browser.wait_for("[data-live-is=open]").await;
        assert!(server.end().0.success());
        browser.wait_for("[data-live-is=closed]").await;
        board.ok("ada", &["task", "create", "--subject", "Made in between"]);
        let again = Server::start_with(&board, &["--listen", &listen]);
        browser
            .until_text("[data-column=pending]", "Made in between")
            .await;
        drop(again);
    });
}
