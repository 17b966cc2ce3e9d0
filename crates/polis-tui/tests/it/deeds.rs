//! Key commands that act on approvals, tasks, decisions, board versions, members and commands.

use polis_core::AgentId;
use polis_core::board::{BoardName, DecisionStatus};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{RunStatus, record_name};
use polis_ops::op;
use polis_tui::Tab;
use polis_tui::app::{Message, Notice, Overlay, Place, Refused};
use polis_tui::show::Data;
use polis_view::Lang;

use crate::hall::Hall;

fn open(tab: Tab) -> Hall {
    Hall::open(Lang::En, (80, 24), tab)
}

fn busy(tab: Tab) -> Hall {
    Hall::busy(Lang::En, (80, 24), tab)
}

fn said(hall: &Hall, text: &str) {
    let done = Some(Notice::Done(text.to_owned()));
    assert_eq!(hall.app.notice, done, "{}", hall.frame().join("\n"));
}

#[test]
fn calls_that_wait_are_allowed_and_denied_with_a_note() {
    for (key, allowed, told) in [
        ("y", true, "Allowed; the agent goes on."),
        ("d", false, "Denied; the agent is told."),
    ] {
        let mut hall = busy(Tab::Now);
        hall.keys(key);
        hall.keys("as agreed<enter>");
        said(&hall, told);
        let all = op::ListApprovals {
            all: true,
            ..op::ListApprovals::default()
        };
        let list = hall.wait(op::list_approvals(hall.polis(), &AgentId::user(), &all));
        let decision = list.unwrap().approvals[0].decision.clone().unwrap();
        assert_eq!(decision.allowed, allowed);
        assert_eq!(decision.note.as_deref(), Some("as agreed"));
        assert!(!hall.has("calls to allow"));
    }
}

#[test]
fn a_task_is_approved_with_a_note() {
    let mut hall = open(Tab::Tasks);
    hall.keys("Awell done<enter>");
    said(&hall, "#1 is approved.");
    hall.keys("<enter>");
    assert!(hall.has("Approved by: user"), "{}", hall.frame().join("\n"));
}

#[test]
fn an_old_version_is_made_the_newest_if_nobody_wrote_meanwhile() {
    let mut hall = open(Tab::Boards);
    hall.keys("vjR");
    assert!(matches!(hall.app.overlay, Some(Overlay::Confirm { .. })));
    hall.keys("y");
    assert!(hall.has("global reads as in version 1 again: version 3."));
    let more = op::BoardAppend {
        board: BoardName::Global,
        content: "more".to_owned(),
    };
    hall.wait(op::append_board(hall.polis(), &AgentId::user(), &more))
        .unwrap();
    hall.keys("Ry");
    assert!(hall.has("version_conflict"), "{}", hall.frame().join("\n"));
}

fn decision(hall: &Hall) -> DecisionStatus {
    let of = op::OfBoard {
        board: BoardName::Global,
    };
    let found = hall.wait(op::board_decisions(hall.polis(), &AgentId::user(), &of));
    found.unwrap().decisions[0].status
}

#[test]
fn decisions_are_signed_and_voted_on_again() {
    let mut hall = open(Tab::Boards);
    hall.keys("os");
    said(&hall, "You signed 1.");
    let mut hall = open(Tab::Boards);
    hall.keys("oxno<enter>");
    assert_eq!(decision(&hall), DecisionStatus::Rejected);
    hall.keys("b");
    said(&hall, "1 is voted on again.");
    assert_eq!(decision(&hall), DecisionStatus::Appealing);
    assert!(hall.has("voted on again"));
}

fn standing(hall: &Hall, name: &str) -> Option<MemberStatus> {
    let org = op::GetOrg {
        task_id: Some("shop".parse().unwrap()),
        all: true,
    };
    let org = hall.wait(op::get_org(hall.polis(), &AgentId::user(), &org));
    let members = org.unwrap().members;
    let found = members.iter().find(|one| one.agent_id.as_str() == name);
    found.map(|one| one.status)
}

#[test]
fn members_are_paused_let_go_on_and_dismissed() {
    let mut hall = busy(Tab::Agents);
    hall.keys("/architect<enter>");
    let page = hall.app.page().unwrap();
    let Some(Place::Agent(id, Some(_))) = page.row(page.selected).and_then(|row| row.open.clone())
    else {
        panic!("{}", hall.frame().join("\n"));
    };
    let name = id.to_string();
    hall.keys("p");
    said(&hall, &format!("{name} is paused."));
    assert_eq!(standing(&hall, &name), Some(MemberStatus::Paused));
    assert!(hall.has("paused"));
    hall.keys("r");
    said(&hall, &format!("{name} goes on."));
    assert_ne!(standing(&hall, &name), Some(MemberStatus::Paused));
    hall.keys("Tn");
    assert_ne!(standing(&hall, &name), Some(MemberStatus::Gone));
    hall.keys("Ty");
    said(
        &hall,
        &format!("{name} was dismissed with everybody below."),
    );
    assert_eq!(standing(&hall, &name), Some(MemberStatus::Gone));
    let runs = hall.wait(op::list_runs(
        hall.polis(),
        &AgentId::user(),
        &op::ListRuns::default(),
    ));
    assert_eq!(runs.unwrap().runs[0].status, RunStatus::Active);
}

#[test]
fn commands_say_how_they_ended() {
    let mut hall = busy(Tab::Workspaces);
    hall.keys("jc");
    for line in [
        "✓     lead  make",
        "✗     lead  make test",
        "?     lead  sleep 600",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let drawn = hall.frame();
        let found = drawn
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = found.into_iter().any(|line| line.starts_with(&words));
        assert!(found, "{line}\n{}", drawn.join("\n"));
    }
    for (text, how) in [
        ("cat everything", "out of memory"),
        ("sleep 600", "cancelled"),
        ("make test", "exit code 2"),
        ("make", "done"),
    ] {
        hall.keys("<enter>");
        assert!(
            hall.has(&format!("$ {text}")) && hall.has(how),
            "{}",
            hall.frame().join("\n")
        );
        hall.keys("hj");
    }
}

#[test]
fn a_command_that_seems_to_run_is_looked_at_again() {
    let mut hall = busy(Tab::Workspaces);
    hall.keys("jc");
    let page = hall.app.stacks[Tab::Workspaces.index()].last_mut().unwrap();
    let Some(Data::Commands(list, _)) = &mut page.data else {
        panic!("{:?}", page.data);
    };
    list[0].running = true;
    let runs = |hall: &Hall| {
        let data = hall.app.page().unwrap().data.as_ref().unwrap();
        data.has_running()
    };
    assert_eq!(hall.app.next_tick(), Some(1_000));
    hall.clock.advance(1_000);
    hall.tell(Message::Tick);
    assert!(runs(&hall), "not every second");
    hall.clock.advance(2_000);
    hall.tell(Message::Tick);
    assert!(!runs(&hall));
}

#[test]
fn finished_run_is_listed_with_its_state_and_duration() {
    for (lang, state, duration) in [
        (Lang::En, "done", "after 6 min"),
        (Lang::Zh, "已完成", "用时 6 分"),
    ] {
        let mut hall = Hall::busy(lang, (80, 24), Tab::Now);
        let id = "shop".parse().unwrap();
        hall.clock.advance(5 * 60_000);
        let stored = hall.wait(hall.polis().store.record(&record_name(&id)));
        let revision = stored.unwrap().unwrap().revision;
        hall.wait(op::finish_run(hall.polis(), &id, revision))
            .unwrap();
        hall.keys("4");
        let frame = hall.frame();
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
        (Lang::En, "choose another task"),
        (Lang::Zh, "请选择其他任务"),
    ] {
        let mut refusal = polis_core::Refusal::new(
            polis_core::Code::AlreadyClaimed,
            "Task #1 is already claimed by \"ada\".",
            "claim another one (`polis task claim` takes the best ready task), or ask its owner to release it",
        );
        let refused = Refused::of(&refusal.clone().into(), lang);
        assert!(refused.hint.starts_with(next), "{refused:?}");
        refusal
            .message
            .push_str("\nUse TaskList({ owner: \"ada\" }).");
        let refused = Refused::of(&refusal.into(), lang);
        let shown = format!("{} {} {}", refused.message, refused.hint, refused.detail);
        for foreign in ["polis task", "--", "TaskList"] {
            assert!(!shown.contains(foreign), "{shown}");
        }
    }
}
