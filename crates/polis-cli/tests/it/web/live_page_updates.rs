//! Tests of live updates on the web pages: changes by others appear without a reload, also after a reconnect.

use polis_testkit::pick_non_ephemeral_port;
use polis_testkit::test_browser::{self, BrowserOptions};
use serde_json::json;

use super::{project_with_team, with_signed_in_browser};
use crate::harness::test_server::TestServer;

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn changes_by_others_appear_without_reload() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/tasks").await;
        browser.wait_for_element("[data-live-is=open]").await;
        browser.run_script("window.same = true").await;
        browser.replace_text("input[type=search]", "").await;
        project.run_ok("ada", &["task", "create", "--subject", "Written elsewhere"]);
        browser
            .wait_for_text("[data-column=pending]", "Written elsewhere")
            .await;
        project.run_ok("bob", &["task", "update", "2", "--status", "completed"]);
        browser
            .wait_for_text("[data-column=completed]", "Implement the API")
            .await;
        browser
            .wait_until_text_gone("[data-column=in_progress]", "Implement the API")
            .await;
        assert_eq!(
            browser.run_script("return window.same").await,
            json!(true),
            "no reload"
        );

        browser.open_page("/boards/global").await;
        browser.wait_for_element("[data-live-is=open]").await;
        browser.run_script("window.same = true").await;
        project.run_ok(
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
            .wait_for_text("article.board", "We ship on Monday 星期一.")
            .await;

        assert_eq!(
            browser.run_script("return window.same").await,
            json!(true),
            "no reload"
        );
        browser.open_page("/events").await;
        browser.wait_for_element("[data-live-is=open]").await;
        let told = browser.element_text("#list").await;
        assert!(
            !told.contains("message.sent"),
            "no message was sent yet: {told}"
        );
        project.run_ok("bob", &["message", "send", "ada", "--content", "done"]);
        browser.wait_for_text("#list", "message.sent").await;
        browser.open_page("/").await;
        browser.wait_for_element("[data-live-is=open]").await;
        let moving = browser.element_text("#moving").await;
        assert!(!moving.contains("Draw the plan"), "{moving}");
        project.run_ok("ada", &["task", "claim", "1"]);
        browser.wait_for_text("#moving", "Draw the plan").await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn background_page_catches_up_when_visible() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        // A background tab, until the test makes it visible.
        browser
            .add_init_script(
                "Object.defineProperty(document, 'hidden', { get: () => !window.lookedAt })",
            )
            .await;
        browser.open_page("/tasks").await;
        browser.wait_for_element("[data-column=pending]").await;
        project.run_ok("ada", &["task", "create", "--subject", "Made meanwhile"]);
        let listens = "return document.body.dataset.liveIs === 'open'";
        assert_eq!(browser.run_script(listens).await, json!(false));
        let asked = "return performance.getEntriesByType('resource').filter(r => r.name.includes('/tasks/board')).length";
        assert_eq!(browser.run_script(asked).await, json!(0));
        let look = "window.lookedAt = true; document.dispatchEvent(new Event('visibilitychange'))";
        browser.run_script(look).await;
        browser
            .wait_for_text("[data-column=pending]", "Made meanwhile")
            .await;
        // A page without changes since it was rendered fetches nothing.
        browser.open_page("/tasks").await;
        browser.run_script(look).await;
        browser.wait_for_element("[data-live-is=open]").await;
        project.run_ok("ada", &["task", "create", "--subject", "Made later"]);
        browser
            .wait_for_text("[data-column=pending]", "Made later")
            .await;
        assert_eq!(browser.run_script(asked).await, json!(1));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn open_page_reconnects_after_server_restart() {
    let project = project_with_team();
    let listen = format!("127.0.0.1:{}", pick_non_ephemeral_port());
    let server = TestServer::start_with_flags(&project, &["--listen", &listen]);
    test_browser::with_browser(
        &server.url.clone(),
        BrowserOptions::default(),
        async |browser| {
            browser.sign_in(&server.sign_in_url).await;
            browser.open_page("/tasks").await;
            browser.wait_for_element("[data-live-is=open]").await;
            assert!(server.stop().0.success());
            browser.wait_for_element("[data-live-is=closed]").await;
            project.run_ok("ada", &["task", "create", "--subject", "Made in between"]);
            let again = TestServer::start_with_flags(&project, &["--listen", &listen]);
            browser
                .wait_for_text("[data-column=pending]", "Made in between")
                .await;
            drop(again);
        },
    );
}
