//! Tests for the dashboard operation: who works on what, what needs a person's attention, and the latest events.

use std::sync::Arc;

use polis_core::society::member::MemberStatus;
use polis_core::{AgentId, Code, TaskType};
use polis_ops::op::{
    self, LookAround, Now, PersonMail, ReadMail, StatsBy, StatsKeeper, StatsQuery,
};
use polis_ops::{Polis, Settings};
use polis_testkit::test_store::{agent, run};
use polis_testkit::{CountedChance, FixedClock, MemoryStore};
use serde_json::{Value, json};

use crate::world::World;

impl World {
    async fn now(&self, by: &str) -> Now {
        op::look_around(&self.polis, &agent(by), &LookAround {})
            .await
            .unwrap()
    }

    /// Creates a world in which testing tasks need approval, with a clock that the test can advance.
    async fn strict() -> (Self, Arc<FixedClock>) {
        let mut world = Self::new().await;
        let clock = Arc::new(FixedClock::default());
        let settings = Settings {
            approval_required: vec![TaskType::Testing],
            ..Settings::default()
        };
        world.polis = Polis::new(
            Arc::new(MemoryStore::default()),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountedChance::default()),
            settings,
        );
        for (id, role, layer) in [
            ("lead", "team-lead", "top"),
            ("dev", "backend-leader", "mid"),
        ] {
            let agent = json!({ "id": id, "role": role, "layer": layer });
            world.does("user", "add_agent", agent).await;
        }
        (world, clock)
    }

    async fn task(&self, params: Value) -> String {
        let made = self.does("user", "TaskCreate", params).await;
        made.document["id"].as_str().unwrap().to_owned()
    }

    /// Marks a run as done.
    async fn finish(&self, run: &str) {
        let id = run.parse().unwrap();
        let name = polis_core::society::run::record_name(&id);
        let stored = self.polis.store.record(&name).await.unwrap().unwrap();
        let is_done = op::finish_run(&self.polis, &id, stored.revision).await;
        assert!(is_done.unwrap());
    }

    async fn letters(&self, params: PersonMail) -> Vec<u64> {
        let user = AgentId::user();
        let letters = op::person_mail(&self.polis, &user, &params).await.unwrap();
        letters.messages.iter().map(|message| message.id).collect()
    }
}

#[test]
fn who_holds_a_task_in_progress_is_at_work_and_comes_first() {
    run(async {
        let world = World::new().await;
        let id = world.task(json!({ "subject": "one" })).await;
        world
            .does("lead", "TaskClaim", json!({ "taskId": id }))
            .await;
        let now = world.now("user").await;
        let standing: Vec<_> = now
            .agents
            .iter()
            .map(|a| (a.id.as_str(), a.status))
            .collect();
        assert_eq!(
            standing,
            [
                ("lead", MemberStatus::Working),
                ("cto", MemberStatus::Idle),
                ("dev", MemberStatus::Idle)
            ]
        );
        assert_eq!(now.agents[0].task.unwrap().to_string(), id);
        assert_eq!(now.tasks.len(), 1);
        assert_eq!((now.counts.in_progress, now.agents_total), (1, 3));
        assert_eq!(now.events[0].kind, "task.claimed");
    });
}

/// An agent that holds a task counts as working, regardless of how many tasks others have started since.
#[test]
fn who_holds_an_old_task_is_at_work_too() {
    run(async {
        let world = World::new().await;
        let old = world.task(json!({ "subject": "old" })).await;
        world
            .does("dev", "TaskClaim", json!({ "taskId": old }))
            .await;
        for n in 0..201 {
            let id = world.task(json!({ "subject": format!("{n}") })).await;
            world
                .does("lead", "TaskClaim", json!({ "taskId": id }))
                .await;
        }
        let now = world.now("user").await;
        let dev = now.agents.iter().find(|one| one.id.as_str() == "dev");
        let dev = dev.unwrap();
        assert_eq!(dev.status, MemberStatus::Working);
        assert_eq!(dev.task.unwrap().to_string(), old);
    });
}

#[test]
fn a_member_that_was_written_to_is_at_work_before_it_has_answered() {
    run(async {
        let world = World::new().await;
        let start = json!({ "requirement": "build it", "taskId": "r" });
        world.does("user", "start_run", start).await;
        let now = world.now("user").await;
        let root = now.agents.iter().find(|a| a.id.is_root()).unwrap();
        assert_eq!(root.status, MemberStatus::Working);
        assert_eq!(root.run.as_ref().unwrap().as_str(), "r");
        let org = world
            .does("user", "get_org", json!({ "taskId": "r" }))
            .await;
        assert_eq!(org.document["members"][0]["status"], "working");
        let working = json!({ "status": "working" });
        let members = world.does("user", "list_members", working).await;
        assert_eq!(members.document["members"][0]["agentId"], "root");
        let (run, user) = ("r".parse().unwrap(), AgentId::user());
        let one = op::show_member(&world.polis, &user, &run, &agent("root")).await;
        let one = serde_json::to_value(one.unwrap()).unwrap();
        let mut whole = org.document["members"][0].clone();
        whole.as_object_mut().unwrap().remove("spentBelow");
        assert_eq!(one, whole);
        let none = op::show_member(&world.polis, &user, &run, &agent("nobody")).await;
        assert_eq!(none.unwrap_err().code(), Code::AgentNotFound);
        world
            .does("user", "pause_society", json!({ "taskId": "r" }))
            .await;
        let now = world.now("user").await;
        let root = now.agents.iter().find(|a| a.id.is_root()).unwrap();
        assert_eq!(
            root.status,
            MemberStatus::Idle,
            "nobody works for a paused run"
        );
    });
}

#[test]
fn held_member_is_listed_however_many_done_runs_there_are() {
    run(async {
        let world = World::new().await;
        for n in 0..60 {
            let id = format!("done-{n:02}");
            let start = json!({ "requirement": "build it", "taskId": id });
            world.does("user", "start_run", start).await;
            world.finish(&id).await;
        }
        let start = json!({ "requirement": "build it", "taskId": "held" });
        world.does("user", "start_run", start).await;
        let pause = json!({ "taskId": "held", "agentId": "root" });
        world.does("user", "pause_society", pause).await;
        let held = world.now("user").await.waiting.held;
        let runs: Vec<_> = held.iter().filter_map(|one| one.run.as_ref()).collect();
        assert_eq!(runs, [&"held".parse().unwrap()]);
    });
}

#[test]
fn pause_of_a_done_run_is_refused_and_keeps_its_end() {
    run(async {
        let world = World::new().await;
        let start = json!({ "requirement": "build it", "taskId": "r" });
        world.does("user", "start_run", start).await;
        world.finish("r").await;
        let of_run = json!({ "taskId": "r" });
        let done = world.does("user", "show_run", of_run.clone()).await;
        assert_eq!(done.document["status"], "done");
        let refused = world.refused("user", "pause_society", of_run.clone()).await;
        assert_eq!(refused.0, Code::WrongState, "{}", refused.1);
        let after = world.does("user", "show_run", of_run).await;
        assert_eq!(after.document, done.document);
    });
}

#[test]
fn a_letter_of_the_person_is_found_by_its_number() {
    run(async {
        let (world, clock) = World::strict().await;
        let send = |by: &'static str, to: &str, delay: u64| {
            let letter = json!({ "to": to, "payload": "hello", "delayMs": delay });
            let world = &world;
            async move { world.does(by, "send_message", letter).await }
        };
        send("dev", "user", 0).await;
        send("user", "dev", 0).await;
        send("dev", "lead", 0).await;
        send("dev", "user", 60_000).await;
        let user = AgentId::user();
        let letter = |id| op::letter(&world.polis, &user, id);
        assert_eq!(letter(1).await.unwrap().from.as_str(), "dev");
        assert_eq!(letter(2).await.unwrap().to.as_str(), "dev");
        for id in [3, 4, 99] {
            let refused = letter(id).await.unwrap_err();
            assert_eq!(refused.code(), Code::MessageNotFound, "{id}");
        }
        clock.advance(60_000);
        assert_eq!(letter(4).await.unwrap().id, 4);
        let refused = op::letter(&world.polis, &agent("dev"), 1).await;
        assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    });
}

#[test]
fn a_lease_that_ran_out_waits_for_a_person() {
    run(async {
        let (world, clock) = World::strict().await;
        let id = world.task(json!({ "subject": "one" })).await;
        let claim = json!({ "taskId": id, "leaseMs": 1000 });
        world.does("dev", "TaskClaim", claim).await;
        assert_eq!(world.now("user").await.waiting.stale, []);
        clock.advance(2_000);
        let now = world.now("user").await;
        assert_eq!(now.waiting.stale.len(), 1);
        assert_eq!(
            now.agents[0].status,
            MemberStatus::Idle,
            "nobody works on it"
        );
    });
}

#[test]
fn a_task_waits_for_approval_from_the_attempt_to_complete_it_on() {
    run(async {
        let (world, _) = World::strict().await;
        let id = world
            .task(json!({ "subject": "one", "taskType": "testing" }))
            .await;
        world
            .does("dev", "TaskClaim", json!({ "taskId": id }))
            .await;
        assert_eq!(
            world.now("user").await.waiting.to_approve,
            [],
            "it has begun"
        );
        let done = json!({ "taskId": id, "status": "completed" });
        world.refused("dev", "TaskUpdate", done.clone()).await;
        let comment = json!({ "taskId": id, "body": "please" });
        world.does("dev", "TaskComment", comment).await;
        assert_eq!(world.now("user").await.waiting.to_approve.len(), 1);
        world
            .does("user", "TaskApprove", json!({ "taskId": id }))
            .await;
        assert_eq!(world.now("user").await.waiting.to_approve, []);
    });
}

#[test]
fn a_question_is_open_until_it_is_answered_or_laid_aside() {
    run(async {
        let world = World::new().await;
        for (from, to) in [
            ("dev", "user"),
            ("lead", "user"),
            ("dev", "lead"),
            ("dev", "user"),
        ] {
            let message = json!({ "to": to, "payload": "how?" });
            world.does(from, "send_message", message).await;
        }
        let open = async || -> Vec<u64> {
            let waiting = world.now("user").await.waiting;
            waiting.questions.iter().map(|message| message.id).collect()
        };
        assert_eq!(open().await, [4, 2, 1]);
        assert_eq!(world.letters(PersonMail::default()).await, [1, 2, 4]);
        let answer = json!({ "to": "dev", "payload": "so", "replyTo": 4 });
        world.does("user", "send_message", answer).await;
        // A reply answers the message it refers to; a message that is not a reply answers all open messages of the
        // agent.
        assert_eq!(open().await, [2, 1]);
        let word = json!({ "to": "dev", "payload": "and so" });
        world.does("user", "send_message", word).await;
        assert_eq!(open().await, [2]);
        let user = AgentId::user();
        let aside = ReadMail { ids: vec![2, 4] };
        let laid = op::read_mail(&world.polis, &user, &aside).await.unwrap();
        assert_eq!(laid.ids, [2, 4]);
        assert_eq!(open().await, [0; 0]);
        let others = ReadMail { ids: vec![3] };
        let refused = op::read_mail(&world.polis, &user, &others).await;
        assert_eq!(refused.unwrap_err().code(), Code::MessageNotFound);
        assert_eq!(world.now("dev").await.waiting.questions, []);
    });
}

#[test]
fn question_of_a_dismissed_member_does_not_wait_for_the_person() {
    run(async {
        let world = World::new().await;
        let role = json!({ "name": "worker", "rolePrompt": "You work." });
        world.does("user", "create_role", role).await;
        for name in ["ann", "bob"] {
            let hire = json!({ "role": "worker", "name": name, "taskBrief": "Work" });
            world.does("user", "spawn_agent", hire).await;
        }
        // More questions than are read at once, and older letters behind them.
        for (from, text, times) in [
            ("ann", "It is done.", 1),
            ("bob", "How?", 1),
            ("ann", "Why?", 60),
        ] {
            for _ in 0..times {
                let message = json!({ "to": "user", "payload": text });
                world.does(from, "send_message", message).await;
            }
        }
        let open = async || {
            let waiting = world.now("user").await.waiting.questions;
            let listed: Vec<u64> = waiting.iter().map(|message| message.id).collect();
            let params = PersonMail {
                open: true,
                ..PersonMail::default()
            };
            let mut letters = world.letters(params).await;
            letters.reverse();
            assert_eq!(listed, letters);
            listed
        };
        assert_eq!(open().await.len(), 50);
        let dismiss = json!({ "agentId": "ann" });
        world.does("user", "terminate_agent", dismiss).await;
        // Its report can still be read.
        assert_eq!(open().await, [2, 1]);
    });
}

#[test]
fn a_conversation_is_read_backwards_and_marks_nothing() {
    run(async {
        let world = World::new().await;
        for _ in 0..3 {
            let ask = json!({ "to": "user", "payload": "how?" });
            world.does("dev", "send_message", ask.clone()).await;
            world.does("lead", "send_message", ask).await;
            let answer = json!({ "to": "dev", "payload": "so" });
            world.does("user", "send_message", answer).await;
        }
        let with_dev = |before| PersonMail {
            with: Some(agent("dev")),
            limit: Some(4),
            before,
            ..PersonMail::default()
        };
        assert_eq!(world.letters(with_dev(None)).await, [4, 6, 7, 9]);
        assert_eq!(world.letters(with_dev(Some(4))).await, [1, 3]);
        let unread = world.does("user", "check_messages", json!({})).await;
        assert_eq!(unread.document["messages"].as_array().unwrap().len(), 6);
        let refused = op::person_mail(&world.polis, &agent("dev"), &with_dev(None)).await;
        assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    });
}

#[test]
fn open_decisions_follow_the_boards() {
    run(async {
        let world = World::new().await;
        let open = async |by: &str| -> Vec<String> {
            let decisions = world.now(by).await.waiting.decisions;
            let each = decisions.iter();
            each.map(|open| format!("{} {}", open.board, open.decision.content))
                .collect()
        };
        assert_eq!(open("user").await, [""; 0]);
        let propose =
            |board: &str, what: &str| json!({ "board": board, "act": "propose", "content": what });
        world
            .does("lead", "whiteboard_decide", propose("global", "use Rust"))
            .await;
        world
            .does(
                "user",
                "whiteboard_decide",
                propose("mid/architect", "be quick"),
            )
            .await;
        assert_eq!(
            open("user").await,
            ["global use Rust", "mid/architect be quick"]
        );
        assert_eq!(open("cto").await[0], "global use Rust", "who signs");
        assert_eq!(open("stranger").await, [""; 0], "who does not");
        let decisions = world
            .does("user", "whiteboard_decisions", json!({ "board": "global" }))
            .await;
        let id = &decisions.document["decisions"][0]["id"];
        let veto = json!({ "board": "global", "act": "veto", "id": id, "reason": "no" });
        world.does("cto", "whiteboard_decide", veto).await;
        assert_eq!(open("user").await, ["mid/architect be quick"]);
    });
}

#[test]
fn a_keeper_of_figures_says_what_the_whole_log_says() {
    run(async {
        let (world, clock) = World::strict().await;
        let keeper = StatsKeeper::default();
        for round in 0..3 {
            let id = world.task(json!({ "subject": "one" })).await;
            world
                .does("dev", "TaskClaim", json!({ "taskId": id }))
                .await;
            let done = json!({ "taskId": id, "status": "completed", "expectedVersion": 1 });
            world.refused("dev", "TaskUpdate", done).await;
            for by in [StatsBy::Hour, StatsBy::Day, StatsBy::Week] {
                let query = StatsQuery {
                    by: Some(by),
                    ..StatsQuery::default()
                };
                let whole = op::task_stats(&world.polis, &query).await.unwrap();
                let kept = keeper.figures(&world.polis, Some(by)).await.unwrap();
                assert_eq!(kept, whole);
                assert_eq!(kept.figures.version_conflicts, round + 1);
            }
            clock.advance(13 * 3_600_000);
        }
        let over_all = keeper.figures(&world.polis, None).await.unwrap();
        assert_eq!(over_all.periods, None);
    });
}
