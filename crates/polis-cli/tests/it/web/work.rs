//! Tests of work on the web pages: moving a task, resolving a conflict, approving a call, deciding.

use polis_testkit::model_server::Reply;
use serde_json::json;

use super::{signed_in, team};
use crate::board::{Board, eventually};
use crate::server::Server;
use crate::society::{Running, saying, to_user, with_model};

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_task_is_moved_by_key_and_by_mouse_and_a_refused_move_says_why() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/tasks").await;
        browser
            .wait_for("[data-column=pending] [data-task='1']")
            .await;
        browser
            .js("document.querySelector(\"[data-task='1']\").focus()")
            .await;
        browser.press("]").await;
        browser
            .wait_for("[data-column=in_progress] [data-task='1']")
            .await;
        assert_eq!(board.get("1")["status"], "in_progress");
        let place =
            "const card = document.activeElement; return [card.dataset.task, card.tabIndex]";
        browser
            .until(
                "it has the focus",
                "return document.activeElement.dataset.task === '1'",
            )
            .await;
        assert_eq!(
            browser.js(place).await,
            json!(["1", 0]),
            "and stays in the order of the keys"
        );
        // Simulates the browser's drag and drop events.
        browser
            .js("const card = document.querySelector(\"[data-task='1']\"), column = document.querySelector('[data-column=completed]');
                 const held = new DataTransfer();
                 card.dispatchEvent(new DragEvent('dragstart', {bubbles: true, dataTransfer: held}));
                 column.dispatchEvent(new DragEvent('dragover', {bubbles: true, cancelable: true, dataTransfer: held}));
                 column.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: held}));
                 card.dispatchEvent(new DragEvent('dragend', {bubbles: true, dataTransfer: held}))")
            .await;
        browser
            .wait_for("[data-column=completed] [data-task='1']")
            .await;
        assert_eq!(board.get("1")["status"], "completed");
        // The task is blocked by another: the move is refused with a message, and the card stays.
        browser
            .js("document.querySelector(\"[data-task='3']\").focus()")
            .await;
        browser.press("]").await;
        browser.wait_for("#notices .notice.bad[data-code]").await;
        let notice = browser.text("#notices .notice.bad").await;
        assert!(notice.contains("Next:"), "{notice}");
        browser
            .wait_for("[data-column=pending] [data-task='3']")
            .await;
        assert_eq!(board.get("3")["status"], "pending");
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_task_is_made_and_changed_and_a_conflict_shows_both_texts() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/tasks/1/edit").await;
        browser
            .fill("form#edit [name=description]", "My plan, as I see it.")
            .await;
        // A concurrent change by another agent.
        board.ok(
            "ada",
            &[
                "task",
                "update",
                "1",
                "--description",
                "Her plan, as she sees it.",
            ],
        );
        browser.click("form#edit button.main").await;
        browser
            .until_text("[data-clash=description]", "Her plan, as she sees it.")
            .await;
        let kept = browser
            .js("return document.querySelector('form#edit [name=description]').value")
            .await;
        assert_eq!(
            kept,
            json!("My plan, as I see it."),
            "what was typed is kept"
        );
        assert_eq!(board.get("1")["description"], "Her plan, as she sees it.");
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_board_is_edited_with_preview_and_a_conflict_loses_nothing() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/boards/global").await;
        browser.click("a[href*='edit']").await;
        browser
            .fill(
                "form#edit textarea",
                "# Plan 计划\n\nWe ship on **Sunday**.\n",
            )
            .await;
        browser.until_text("#preview", "We ship on Sunday.").await;
        board.ok(
            "ada",
            &[
                "board",
                "write",
                "global",
                "--content",
                "# Plan 计划\n\nWe ship on **Saturday**.\n",
                "--force",
            ],
        );
        browser.click("form#edit button.main").await;
        browser.until_text(".conflict", "Saturday").await;
        let kept = browser
            .js("return document.querySelector('form#edit textarea').value")
            .await;
        assert!(kept.as_str().unwrap().contains("Sunday"), "{kept}");
        let now = board.ok("ada", &["board", "read", "global"]);
        assert!(now["content"].as_str().unwrap().contains("Saturday"));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_call_is_allowed_on_the_page_and_the_agent_goes_on() {
    let board = Board::embedded();
    let model = saying(|step| match step {
        0 => to_user("c1", "May I?"),
        _ => Reply::text("Done."),
    });
    let args = ["run", "--approve", "send_message", "Paint the door"];
    let mut run = Running::start(&mut with_model(&board, &model, &args));
    let asked = run.until("approval");
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        let id = asked["id"].as_str().unwrap();
        let card = format!("[data-approval='{id}']");
        browser.until_text(&card, "send_message").await;
        browser.click(&format!("{card} button[value=allow]")).await;
        browser
            .until(
                "the approval is gone",
                &format!("return !document.querySelector({})", json!(card)),
            )
            .await;
        browser.until_text("main", "May I?").await;
    });
    assert_eq!(run.until("message")["text"], "May I?");
    eventually("it was decided", || {
        board.ok("user", &["society", "approvals"])["approvals"]
            .as_array()
            .unwrap()
            .is_empty()
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn a_decision_is_vetoed_on_the_page_with_a_reason() {
    let board = team();
    board.ok(
        "ada",
        &["board", "decision", "propose", "--content", "Use SQLite"],
    );
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        browser.open("/boards/global").await;
        browser.until_text("[data-decision]", "Use SQLite").await;
        browser.click("[data-decision] button[value=veto]").await;
        // A veto needs a reason.
        browser
            .write("form#veto textarea", "It does not fit.")
            .await;
        browser.click("form#veto button.danger").await;
        eventually("it is rejected", || {
            board.ok("ada", &["board", "decisions", "global"])["decisions"][0]["status"]
                == "rejected"
        });
    });
}
