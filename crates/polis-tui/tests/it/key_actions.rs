//! Key action tests: keys that approve calls and tasks, restore board versions, vote on decisions, and pause,
//! resume or dismiss members; and the display of finished commands and runs.

use polis_core::AgentId;
use polis_core::Refusal;
use polis_core::board::{BoardName, DecisionStatus};
use polis_core::refusal::TaskRefusal;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{RunStatus, run_record_name};
use polis_ops::op;
use polis_tui::Tab;
use polis_tui::app::{AppMessage, DisplayError, Overlay, Route, StatusNotice};
use polis_tui::page_content::PageData;
use polis_view::UiLanguage;

use crate::test_tui::TestTui;

fn open_idle_team(tab: Tab) -> TestTui {
    TestTui::open_idle_team(UiLanguage::En, (80, 24), tab)
}

fn open_active_run(tab: Tab) -> TestTui {
    TestTui::open_active_run(UiLanguage::En, (80, 24), tab)
}

/// Asserts that the status line shows this success notice.
fn assert_notice(tui: &TestTui, text: &str) {
    let done = Some(StatusNotice::Done(text.to_owned()));
    assert_eq!(tui.app.notice, done, "{}", tui.frame().join("\n"));
}

#[test]
fn pending_call_is_allowed_or_denied_with_note() {
    for (key, allowed, told) in [
        ("y", true, "Call allowed; the agent continues."),
        ("d", false, "Call denied; the agent is notified."),
    ] {
        let mut tui = open_active_run(Tab::Overview);
        tui.press_keys(key);
        tui.press_keys("as agreed<enter>");
        assert_notice(&tui, told);
        let all = op::ListApprovalsParams {
            all: true,
            ..op::ListApprovalsParams::default()
        };
        let list = tui.block_on(op::list_approvals(
            &tui.app().request(&AgentId::user()),
            &all,
        ));
        let decision = list.unwrap().approvals[0].decision.clone().unwrap();
        assert_eq!(decision.allowed, allowed);
        assert_eq!(decision.note.as_deref(), Some("as agreed"));
        assert!(!tui.shows_text("calls to allow"));
    }
}

#[test]
fn task_is_approved_with_note() {
    let mut tui = open_idle_team(Tab::Tasks);
    tui.press_keys("Awell done<enter>");
    assert_notice(&tui, "Approved #1.");
    tui.press_keys("<enter>");
    assert!(
        tui.shows_text("Approval: user"),
        "{}",
        tui.frame().join("\n")
    );
}

#[test]
fn board_version_is_restored_unless_board_changed() {
    let mut tui = open_idle_team(Tab::Boards);
    tui.press_keys("vjR");
    assert!(matches!(tui.app.overlay, Some(Overlay::Confirm { .. })));
    tui.press_keys("y");
    assert!(tui.shows_text("Restored version 1 of global as version 3."));
    let more = op::BoardAppendParams {
        board: BoardName::Global,
        content: "more".to_owned(),
    };
    tui.block_on(op::append_board(
        &tui.app().request(&AgentId::user()),
        &more,
    ))
    .unwrap();
    tui.press_keys("Ry");
    assert!(
        tui.shows_text("version_conflict"),
        "{}",
        tui.frame().join("\n")
    );
}

fn first_decision_status(tui: &TestTui) -> DecisionStatus {
    let of = op::BoardNameParams {
        board: BoardName::Global,
    };
    let found = tui.block_on(op::list_decisions(
        &tui.app().request(&AgentId::user()),
        &of,
    ));
    found.unwrap().decisions[0].status
}

#[test]
fn decisions_are_signed_vetoed_and_appealed() {
    let mut tui = open_idle_team(Tab::Boards);
    tui.press_keys("os");
    assert_notice(&tui, "Signed 1.");
    let mut tui = open_idle_team(Tab::Boards);
    tui.press_keys("oxno<enter>");
    assert_eq!(first_decision_status(&tui), DecisionStatus::Rejected);
    tui.press_keys("b");
    assert_notice(&tui, "Appealed 1; it is voted on again.");
    assert_eq!(first_decision_status(&tui), DecisionStatus::Appealing);
    assert!(tui.shows_text("Under appeal"));
}

fn member_status(tui: &TestTui, name: &str) -> Option<MemberStatus> {
    let org = op::GetOrgParams {
        run_id: Some("shop".parse().unwrap()),
        all: true,
    };
    let org = tui.block_on(op::get_org(&tui.app().request(&AgentId::user()), &org));
    let members = org.unwrap().members;
    let found = members.iter().find(|one| one.agent_id.as_str() == name);
    found.map(|one| one.status)
}

#[test]
fn members_are_paused_resumed_and_dismissed() {
    let mut tui = open_active_run(Tab::Agents);
    tui.press_keys("/architect<enter>");
    let page = tui.app.page().unwrap();
    let Some(Route::Agent(id, Some(_))) = page.row(page.selected).and_then(|row| row.opens.clone())
    else {
        panic!("{}", tui.frame().join("\n"));
    };
    let name = id.to_string();
    tui.press_keys("p");
    assert_notice(&tui, &format!("Paused {name}."));
    assert_eq!(member_status(&tui, &name), Some(MemberStatus::Paused));
    assert!(tui.shows_text("Paused"));
    tui.press_keys("r");
    assert_notice(&tui, &format!("Resumed {name}."));
    assert_ne!(member_status(&tui, &name), Some(MemberStatus::Paused));
    tui.press_keys("Tn");
    assert_ne!(member_status(&tui, &name), Some(MemberStatus::Dismissed));
    tui.press_keys("Ty");
    assert_notice(&tui, &format!("Dismissed {name} and all agents below it."));
    assert_eq!(member_status(&tui, &name), Some(MemberStatus::Dismissed));
    let runs = tui.block_on(op::list_runs(
        &tui.app().request(&AgentId::user()),
        &op::ListRunsParams::default(),
    ));
    assert_eq!(runs.unwrap().runs[0].status, RunStatus::Active);
}

#[test]
fn commands_show_how_they_ended() {
    let mut tui = open_active_run(Tab::Workspaces);
    tui.press_keys("jc");
    for line in [
        "✓     lead  make",
        "✗     lead  make test",
        "?     lead  sleep 600",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let drawn = tui.frame();
        let found = drawn
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = found.into_iter().any(|line| line.starts_with(&words));
        assert!(found, "{line}\n{}", drawn.join("\n"));
    }
    for (text, how) in [
        ("cat everything", "Out of memory"),
        ("sleep 600", "Cancelled"),
        ("make test", "Exit code 2"),
        ("make", "Done"),
    ] {
        tui.press_keys("<enter>");
        assert!(
            tui.shows_text(&format!("$ {text}")) && tui.shows_text(how),
            "{}",
            tui.frame().join("\n")
        );
        tui.press_keys("hj");
    }
}

#[test]
fn running_command_is_polled_every_3_seconds() {
    let mut tui = open_active_run(Tab::Workspaces);
    tui.press_keys("jc");
    let page = tui.app.stacks[Tab::Workspaces.index()].last_mut().unwrap();
    let Some(PageData::Commands(list, _)) = &mut page.data else {
        panic!("{:?}", page.data);
    };
    list[0].running = true;
    let runs = |tui: &TestTui| {
        let data = tui.app.page().unwrap().data.as_ref().unwrap();
        data.has_running()
    };
    assert_eq!(tui.app.next_tick(), Some(1_000));
    tui.clock.advance_millis(1_000);
    tui.send(AppMessage::Tick);
    assert!(runs(&tui), "not every second");
    tui.clock.advance_millis(2_000);
    tui.send(AppMessage::Tick);
    assert!(!runs(&tui));
}

#[test]
fn finished_run_is_listed_with_its_state_and_duration() {
    for (lang, state, duration) in [
        (UiLanguage::En, "Done", "after 6 min"),
        (UiLanguage::Zh, "已完成", "用时 6 分"),
    ] {
        let mut tui = TestTui::open_active_run(lang, (80, 24), Tab::Overview);
        let id = "shop".parse().unwrap();
        tui.clock.advance_millis(5 * 60_000);
        let stored = tui.block_on(tui.app().store.record(&run_record_name(&id)));
        let revision = stored.unwrap().unwrap().revision;
        tui.block_on(op::finish_run(tui.app(), &id, revision))
            .unwrap();
        tui.press_keys("4");
        let frame = tui.frame();
        let shop = frame.iter().find(|line| line.starts_with("shop"));
        let shop = shop.map(String::as_str).unwrap_or_default();
        assert!(
            shop.contains(state) && shop.contains(duration),
            "{frame:#?}"
        );
    }
}

#[test]
fn refusal_names_no_command_option_or_tool() {
    for (lang, next) in [
        (UiLanguage::En, "choose another task"),
        (UiLanguage::Zh, "请选择其他任务"),
    ] {
        let claimed = TaskRefusal::AlreadyClaimed {
            task: "1".parse().unwrap(),
            owner: "ada".to_owned(),
        };
        let refused = DisplayError::from_error(&Refusal::from(claimed).into(), lang);
        assert!(refused.hint.starts_with(next), "{refused:?}");
        let mismatch = TaskRefusal::RoleMismatch {
            required: "qa".to_owned(),
            role: "dev".to_owned(),
        };
        let refused = DisplayError::from_error(&Refusal::from(mismatch).into(), lang);
        let shown = format!("{} {}", refused.message, refused.hint);
        for foreign in ["polis task", "--", "TaskList"] {
            assert!(!shown.contains(foreign), "{shown}");
        }
    }
}
