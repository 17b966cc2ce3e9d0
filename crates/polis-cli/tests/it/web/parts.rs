//! Tests of partial page refreshes (htmx): a refresh does not disturb what a person is doing on the page.

use serde_json::json;

use super::{signed_in, team};
use crate::board::eventually;
use crate::server::Server;

/// Script that returns true if no part is being fetched.
const AT_REST: &str = "return !document.querySelector('.htmx-request')";

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_filter_is_not_undone_by_a_refresh_that_is_on_its_way() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        let happens = "document.body.dispatchEvent(new CustomEvent('polis:task'));";
        let filters = "document.getElementById('q').value = 'plan'; document.getElementById('filter').requestSubmit();";
        for script in [
            format!("{happens}{filters}"),
            format!("{filters}{happens}"),
            format!("{happens}{filters}{happens}{happens}"),
        ] {
            browser.open("/tasks").await;
            browser.wait_for("[data-task='2']").await;
            browser.js(&script).await;
            browser.wait_for("#board[data-query='q=plan']").await;
            browser.until("all was fetched", AT_REST).await;
            let shown =
                "return [...document.querySelectorAll('[data-task]')].map(e => e.dataset.task)";
            assert_eq!(browser.js(shown).await, json!(["1"]), "{script}");
        }
        // Later changes are shown with the filter applied.
        board.ok("ada", &["task", "create", "--subject", "Another plan"]);
        browser.until_text("#board", "Another plan").await;
        let cards = "return document.querySelectorAll('[data-task]').length";
        assert_eq!(browser.js(cards).await, json!(2));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn what_is_being_typed_stays_and_its_form_is_as_new_as_the_page() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/tasks/2").await;
        browser.wait_for("[data-live-is=open]").await;
        browser
            .js("document.getElementById('note').closest('details').open = true")
            .await;
        browser.write("#note", "well done").await;
        board.ok(
            "bob",
            &["task", "update", "2", "--description", "Changed meanwhile"],
        );
        browser.until_text("#task", "Changed meanwhile").await;
        let typed = "return document.getElementById('note').value";
        assert_eq!(browser.js(typed).await, json!("well done"));
        browser.click("#task button[value=approve]").await;
        eventually("it is approved", || {
            board.get("2")["approval"]["note"] == "well done"
        });
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn what_is_sent_twice_is_done_once() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/tasks/1").await;
        browser.write("#comment", "said once").await;
        browser
            .js("const form = document.getElementById('comment').form; form.requestSubmit(); form.requestSubmit()")
            .await;
        browser.until_text("#comments", "said once").await;
        browser.until("all was sent", AT_REST).await;
        let said = board.ok("ada", &["task", "comments", "1"]);
        assert_eq!(said["comments"].as_array().unwrap().len(), 1, "{said}");
        browser.open("/tasks/new").await;
        browser.write("#subject", "made once").await;
        browser
            .js("const form = document.getElementById('create'); form.requestSubmit(); form.requestSubmit()")
            .await;
        browser.until_text("h1", "made once").await;
        assert_eq!(browser.path().await, "/tasks/4");
        // A form rejected by the browser's own validation can still be submitted.
        browser.open("/tasks/1").await;
        browser
            .js("document.getElementById('comment').form.requestSubmit()")
            .await;
        browser.write("#comment", "said then").await;
        browser.click("#talk form button").await;
        browser.until_text("#comments", "said then").await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn the_files_of_a_workspace_follow_and_what_is_open_stays_open() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/workspaces/ada").await;
        browser.wait_for("[data-live-is=open]").await;
        browser.click("#dir-src summary").await;
        browser.until_text("#dir-src", "main.rs").await;
        browser.until_text(".size", "1 file").await;
        board.ok("ada", &["ws", "write", "src/added.rs", "--content", "//"]);
        browser.until_text("#dir-src", "added.rs").await;
        browser.until_text(".size", "2 files").await;
        board.ok("ada", &["ws", "write", "before/it.rs", "--content", "//"]);
        browser.wait_for("#dir-before").await;
        let open = "return [...document.querySelectorAll('#files details[open]')].map(e => e.parentElement.id)";
        assert_eq!(browser.js(open).await, json!(["dir-src"]));
        browser.click("#dir-before summary").await;
        browser.until_text("#dir-before", "it.rs").await;
        browser.until_text("#dir-src", "added.rs").await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn an_agents_page_follows_and_older_letters_stay() {
    let board = team();
    for number in 0..40 {
        let text = format!("letter {number}.");
        board.ok("ada", &["message", "send", "user", "--content", &text]);
    }
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/agents/ada").await;
        browser.wait_for("[data-live-is=open]").await;
        board.ok("ada", &["task", "claim", "1"]);
        browser.until_text("#standing", "Draw the plan").await;
        browser.click("#letters a.button").await;
        browser.until_text("#letters", "letter 3.").await;
        // A click on the text does not navigate away from it.
        browser.click("#letters .chat > div:last-child").await;
        browser.until("all was fetched", AT_REST).await;
        browser.until_text("#letters", "letter 3.").await;
        browser.until_text("#letters a", "Newest").await;
        browser
            .js("[...document.querySelectorAll('#letters a')].find(a => a.textContent.trim() === 'Newest').click()")
            .await;
        browser.until_text("#letters", "letter 39.").await;
    });
}
