//! Tests of work on the web pages: moving a task, resolving an edit conflict, approving a call, vetoing a
//! decision.

use polis_testkit::scripted_model::ScriptedReply;
use serde_json::json;

use super::{project_with_team, with_signed_in_browser};
use crate::harness::test_project::{TestProject, wait_until};
use crate::harness::test_server::TestServer;
use crate::society::{RunProcess, command_with_model, message_user_reply, scripted_model_by_step};

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn task_is_moved_by_key_and_drag_and_refused_move_shows_why() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/tasks").await;
        browser
            .wait_for_element("[data-column=pending] [data-task='1']")
            .await;
        browser
            .run_script("document.querySelector(\"[data-task='1']\").focus()")
            .await;
        browser.press_keys("]").await;
        browser
            .wait_for_element("[data-column=in_progress] [data-task='1']")
            .await;
        assert_eq!(project.get_task("1")["status"], "in_progress");
        let place =
            "const card = document.activeElement; return [card.dataset.task, card.tabIndex]";
        browser
            .wait_until_true(
                "it has the focus",
                "return document.activeElement.dataset.task === '1'",
            )
            .await;
        assert_eq!(
            browser.run_script(place).await,
            json!(["1", 0]),
            "the card stays in the tab order"
        );
        // Simulates the browser's drag and drop events.
        browser
            .run_script("const card = document.querySelector(\"[data-task='1']\"), column = document.querySelector('[data-column=completed]');
                 const held = new DataTransfer();
                 card.dispatchEvent(new DragEvent('dragstart', {bubbles: true, dataTransfer: held}));
                 column.dispatchEvent(new DragEvent('dragover', {bubbles: true, cancelable: true, dataTransfer: held}));
                 column.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: held}));
                 card.dispatchEvent(new DragEvent('dragend', {bubbles: true, dataTransfer: held}))")
            .await;
        browser
            .wait_for_element("[data-column=completed] [data-task='1']")
            .await;
        assert_eq!(project.get_task("1")["status"], "completed");
        // The task is blocked by another: the move is refused with a message, and the card stays.
        browser
            .run_script("document.querySelector(\"[data-task='3']\").focus()")
            .await;
        browser.press_keys("]").await;
        browser
            .wait_for_element("#notices .notice.bad[data-code]")
            .await;
        let notice = browser.element_text("#notices .notice.bad").await;
        assert!(notice.contains("Next:"), "{notice}");
        browser
            .wait_for_element("[data-column=pending] [data-task='3']")
            .await;
        assert_eq!(project.get_task("3")["status"], "pending");
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn task_edit_conflict_shows_both_texts() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/tasks/1/edit").await;
        browser
            .replace_text("form#edit [name=description]", "My plan, as I see it.")
            .await;
        // A concurrent change by another agent.
        project.run_ok(
            "ada",
            &[
                "task",
                "update",
                "1",
                "--description",
                "Her plan, as she sees it.",
            ],
        );
        browser.click_element("form#edit button.main").await;
        browser
            .wait_for_text("[data-clash=description]", "Her plan, as she sees it.")
            .await;
        let kept = browser
            .run_script("return document.querySelector('form#edit [name=description]').value")
            .await;
        assert_eq!(
            kept,
            json!("My plan, as I see it."),
            "the typed text is kept"
        );
        assert_eq!(
            project.get_task("1")["description"],
            "Her plan, as she sees it."
        );
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn board_edit_has_preview_and_conflict_keeps_the_text() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/boards/global").await;
        browser.click_element("a[href*='edit']").await;
        browser
            .replace_text(
                "form#edit textarea",
                "# Plan 计划\n\nWe ship on **Sunday**.\n",
            )
            .await;
        browser
            .wait_for_text("#preview", "We ship on Sunday.")
            .await;
        project.run_ok(
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
        browser.click_element("form#edit button.main").await;
        browser.wait_for_text(".conflict", "Saturday").await;
        let kept = browser
            .run_script("return document.querySelector('form#edit textarea').value")
            .await;
        assert!(kept.as_str().unwrap().contains("Sunday"), "{kept}");
        let now = project.run_ok("ada", &["board", "read", "global"]);
        assert!(now["content"].as_str().unwrap().contains("Saturday"));
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn call_approved_on_the_page_continues_the_run() {
    let project = TestProject::embedded();
    let model = scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "May I?"),
        _ => ScriptedReply::text("Done."),
    });
    let args = ["run", "--approve", "send_message", "Paint the door"];
    let mut run = RunProcess::start(&mut command_with_model(&project, &model, &args));
    let asked = run.read_until("approval");
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        let id = asked["id"].as_str().unwrap();
        let card = format!("[data-approval='{id}']");
        browser.wait_for_text(&card, "send_message").await;
        browser
            .click_element(&format!("{card} button[value=allow]"))
            .await;
        browser
            .wait_until_true(
                "the approval is gone",
                &format!("return !document.querySelector({})", json!(card)),
            )
            .await;
        browser.wait_for_text("main", "May I?").await;
    });
    assert_eq!(run.read_until("message")["text"], "May I?");
    wait_until("the approval being decided", || {
        project.run_ok("user", &["society", "approvals"])["approvals"]
            .as_array()
            .unwrap()
            .is_empty()
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn decision_can_be_vetoed_on_the_page_with_a_reason() {
    let project = project_with_team();
    project.run_ok(
        "ada",
        &["board", "decision", "propose", "--content", "Use SQLite"],
    );
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        browser.open_page("/boards/global").await;
        browser.wait_for_text("[data-decision]", "Use SQLite").await;
        browser
            .click_element("[data-decision] button[value=veto]")
            .await;
        // A veto needs a reason.
        browser
            .type_text("form#veto textarea", "It does not fit.")
            .await;
        browser.click_element("form#veto button.danger").await;
        wait_until("it is rejected", || {
            project.run_ok("ada", &["board", "decisions", "global"])["decisions"][0]["status"]
                == "rejected"
        });
    });
}
