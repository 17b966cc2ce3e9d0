//! Tests of partial page refreshes (htmx): a refresh does not disturb filters, typed text or open elements.

use serde_json::json;

use super::{project_with_team, with_signed_in_browser};
use crate::harness::test_project::wait_until;
use crate::harness::test_server::TestServer;

/// Script that returns true if no part is being fetched.
const NO_REQUEST_PENDING: &str = "return !document.querySelector('.htmx-request')";

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn filter_is_not_undone_by_a_pending_refresh() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        let happens = "document.body.dispatchEvent(new CustomEvent('polis:task'));";
        let filters = "document.getElementById('q').value = 'plan'; document.getElementById('filter').requestSubmit();";
        for script in [
            format!("{happens}{filters}"),
            format!("{filters}{happens}"),
            format!("{happens}{filters}{happens}{happens}"),
        ] {
            browser.open_page("/tasks").await;
            browser.wait_for_element("[data-task='2']").await;
            browser.run_script(&script).await;
            browser
                .wait_for_element("#board[data-query='q=plan']")
                .await;
            browser
                .wait_until_true("all parts are fetched", NO_REQUEST_PENDING)
                .await;
            let shown =
                "return [...document.querySelectorAll('[data-task]')].map(e => e.dataset.task)";
            assert_eq!(browser.run_script(shown).await, json!(["1"]), "{script}");
        }
        // Later changes are shown with the filter applied.
        project.run_ok("ada", &["task", "create", "--subject", "Another plan"]);
        browser.wait_for_text("#board", "Another plan").await;
        let cards = "return document.querySelectorAll('[data-task]').length";
        assert_eq!(browser.run_script(cards).await, json!(2));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn typed_text_survives_a_refresh_of_its_form() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/tasks/2").await;
        browser.wait_for_element("[data-live-is=open]").await;
        browser
            .run_script("document.getElementById('note').closest('details').open = true")
            .await;
        browser.type_text("#note", "well done").await;
        project.run_ok(
            "bob",
            &["task", "update", "2", "--description", "Changed meanwhile"],
        );
        browser.wait_for_text("#task", "Changed meanwhile").await;
        let typed = "return document.getElementById('note').value";
        assert_eq!(browser.run_script(typed).await, json!("well done"));
        browser.click_element("#task button[value=approve]").await;
        wait_until("it is approved", || {
            project.get_task("2")["approval"]["note"] == "well done"
        });
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn form_submitted_twice_takes_effect_once() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/tasks/1").await;
        browser.type_text("#comment", "said once").await;
        browser
            .run_script("const form = document.getElementById('comment').form; form.requestSubmit(); form.requestSubmit()")
            .await;
        browser.wait_for_text("#comments", "said once").await;
        browser
            .wait_until_true("all requests are sent", NO_REQUEST_PENDING)
            .await;
        let said = project.run_ok("ada", &["task", "comments", "1"]);
        assert_eq!(said["comments"].as_array().unwrap().len(), 1, "{said}");
        browser.open_page("/tasks/new").await;
        browser.type_text("#subject", "made once").await;
        browser
            .run_script("const form = document.getElementById('create'); form.requestSubmit(); form.requestSubmit()")
            .await;
        browser.wait_for_text("h1", "made once").await;
        assert_eq!(browser.current_path().await, "/tasks/4");
        // A form rejected by the browser's own validation can still be submitted.
        browser.open_page("/tasks/1").await;
        browser
            .run_script("document.getElementById('comment').form.requestSubmit()")
            .await;
        browser.type_text("#comment", "said then").await;
        browser.click_element("#talk form button").await;
        browser.wait_for_text("#comments", "said then").await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn workspace_tree_refresh_keeps_open_directories() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/workspaces/ada").await;
        browser.wait_for_element("[data-live-is=open]").await;
        browser.click_element("#dir-src summary").await;
        browser.wait_for_text("#dir-src", "main.rs").await;
        browser.wait_for_text(".size", "1 file").await;
        project.run_ok("ada", &["ws", "write", "src/added.rs", "--content", "//"]);
        browser.wait_for_text("#dir-src", "added.rs").await;
        browser.wait_for_text(".size", "2 files").await;
        project.run_ok("ada", &["ws", "write", "before/it.rs", "--content", "//"]);
        browser.wait_for_element("#dir-before").await;
        let open = "return [...document.querySelectorAll('#files details[open]')].map(e => e.parentElement.id)";
        assert_eq!(browser.run_script(open).await, json!(["dir-src"]));
        browser.click_element("#dir-before summary").await;
        browser.wait_for_text("#dir-before", "it.rs").await;
        browser.wait_for_text("#dir-src", "added.rs").await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn agent_page_refresh_keeps_older_messages() {
    let project = project_with_team();
    for number in 0..40 {
        let text = format!("letter {number}.");
        project.run_ok("ada", &["message", "send", "user", "--content", &text]);
    }
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/agents/ada").await;
        browser.wait_for_element("[data-live-is=open]").await;
        project.run_ok("ada", &["task", "claim", "1"]);
        browser.wait_for_text("#status", "Draw the plan").await;
        browser.click_element("#letters a.button").await;
        browser.wait_for_text("#letters", "letter 3.").await;
        // A click on the text does not navigate away from it.
        browser
            .click_element("#letters .chat > div:last-child")
            .await;
        browser
            .wait_until_true("all parts are fetched", NO_REQUEST_PENDING)
            .await;
        browser.wait_for_text("#letters", "letter 3.").await;
        browser.wait_for_text("#letters a", "Newest").await;
        browser
            .run_script("[...document.querySelectorAll('#letters a')].find(a => a.textContent.trim() === 'Newest').click()")
            .await;
        browser.wait_for_text("#letters", "letter 39.").await;
    });
}
