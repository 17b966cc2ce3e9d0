//! Tests for the overview operation: who works on what, what needs a person's attention, and the latest
//! events.

use std::sync::Arc;

use polis_core::society::member::MemberStatus;
use polis_core::{AgentId, RefusalCode, TaskType};
use polis_ops::op::{
    self, MarkMailReadParams, OverviewParams, OverviewSnapshot, PersonMailParams, StatsPeriod,
    TaskStatsCache, TaskStatsParams,
};
use polis_ops::{App, InstallationSettings};
use polis_testkit::store_factory::{parse_agent_id, run_test};
use polis_testkit::{CountingRandomSource, FixedClock, MemoryStore};
use serde_json::{Value, json};

use crate::test_installation::TestInstallation;

impl TestInstallation {
    async fn load_overview(&self, by: &str) -> OverviewSnapshot {
        op::load_overview(&self.app.request(&parse_agent_id(by)), &OverviewParams {})
            .await
            .unwrap()
    }

    /// Creates an installation in which testing tasks need approval, with a clock that the test can advance.
    pub(crate) async fn with_required_approval() -> (Self, Arc<FixedClock>) {
        let mut world = Self::new().await;
        let clock = Arc::new(FixedClock::default());
        let settings = InstallationSettings {
            approval_required: vec![TaskType::Testing],
            ..InstallationSettings::default()
        };
        world.app = App::new(
            Arc::new(MemoryStore::default()),
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountingRandomSource::default()),
            settings,
        );
        for (id, role, layer) in [
            ("lead", "team-lead", "top"),
            ("dev", "backend-leader", "mid"),
        ] {
            let agent = json!({ "id": id, "role": role, "layer": layer });
            world.call_tool("user", "add_agent", agent).await;
        }
        (world, clock)
    }

    async fn create_task(&self, params: Value) -> String {
        let made = self.call_tool("user", "TaskCreate", params).await;
        made.document["id"].as_str().unwrap().to_owned()
    }

    /// Marks a run as done.
    async fn mark_run_done(&self, run: &str) {
        let id = run.parse().unwrap();
        let name = polis_core::society::run::run_record_name(&id);
        let stored = self.app.store.record(&name).await.unwrap().unwrap();
        let is_done = op::finish_run(&self.app, &id, stored.revision).await;
        assert!(is_done.unwrap());
    }

    async fn list_person_mail(&self, params: PersonMailParams) -> Vec<u64> {
        let user = AgentId::user();
        let letters = op::list_person_mail(&self.app.request(&user), &params)
            .await
            .unwrap();
        letters.messages.iter().map(|message| message.id).collect()
    }
}

#[test]
fn agent_with_task_in_progress_is_working_and_listed_first() {
    run_test(async {
        let world = TestInstallation::new().await;
        let id = world.create_task(json!({ "subject": "one" })).await;
        world
            .call_tool("lead", "TaskClaim", json!({ "taskId": id }))
            .await;
        let now = world.load_overview("user").await;
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
fn agent_with_old_task_in_progress_is_working() {
    run_test(async {
        let world = TestInstallation::new().await;
        let old = world.create_task(json!({ "subject": "old" })).await;
        world
            .call_tool("dev", "TaskClaim", json!({ "taskId": old }))
            .await;
        for n in 0..201 {
            let id = world
                .create_task(json!({ "subject": format!("{n}") }))
                .await;
            world
                .call_tool("lead", "TaskClaim", json!({ "taskId": id }))
                .await;
        }
        let now = world.load_overview("user").await;
        let dev = now.agents.iter().find(|one| one.id.as_str() == "dev");
        let dev = dev.unwrap();
        assert_eq!(dev.status, MemberStatus::Working);
        assert_eq!(dev.task.unwrap().to_string(), old);
    });
}

#[test]
fn member_with_unread_mail_is_working() {
    run_test(async {
        let world = TestInstallation::new().await;
        let start = json!({ "requirement": "build it", "taskId": "r" });
        world.call_tool("user", "start_run", start).await;
        let now = world.load_overview("user").await;
        let root = now.agents.iter().find(|a| a.id.is_root()).unwrap();
        assert_eq!(root.status, MemberStatus::Working);
        assert_eq!(root.run.as_ref().unwrap().as_str(), "r");
        let org = world
            .call_tool("user", "get_org", json!({ "taskId": "r" }))
            .await;
        assert_eq!(org.document["members"][0]["status"], "working");
        let working = json!({ "status": "working" });
        let members = world.call_tool("user", "list_members", working).await;
        assert_eq!(members.document["members"][0]["agentId"], "root");
        let (run, user) = ("r".parse().unwrap(), AgentId::user());
        let one = op::show_member(&world.app.request(&user), &run, &parse_agent_id("root")).await;
        let one = serde_json::to_value(one.unwrap()).unwrap();
        let mut whole = org.document["members"][0].clone();
        whole.as_object_mut().unwrap().remove("spentBelow");
        assert_eq!(one, whole);
        let none =
            op::show_member(&world.app.request(&user), &run, &parse_agent_id("nobody")).await;
        assert_eq!(none.unwrap_err().code(), RefusalCode::AGENT_NOT_FOUND);
        world
            .call_tool("user", "pause_society", json!({ "taskId": "r" }))
            .await;
        let now = world.load_overview("user").await;
        let root = now.agents.iter().find(|a| a.id.is_root()).unwrap();
        assert_eq!(
            root.status,
            MemberStatus::Idle,
            "nobody works for a paused run"
        );
    });
}

#[test]
fn paused_member_is_listed_despite_many_done_runs() {
    run_test(async {
        let world = TestInstallation::new().await;
        for n in 0..60 {
            let id = format!("done-{n:02}");
            let start = json!({ "requirement": "build it", "taskId": id });
            world.call_tool("user", "start_run", start).await;
            world.mark_run_done(&id).await;
        }
        let start = json!({ "requirement": "build it", "taskId": "held" });
        world.call_tool("user", "start_run", start).await;
        let pause = json!({ "taskId": "held", "agentId": "root" });
        world.call_tool("user", "pause_society", pause).await;
        let held = world.load_overview("user").await.attention.blocked_members;
        let runs: Vec<_> = held.iter().filter_map(|one| one.run.as_ref()).collect();
        assert_eq!(runs, [&"held".parse().unwrap()]);
    });
}

#[test]
fn pause_of_a_done_run_is_refused() {
    run_test(async {
        let world = TestInstallation::new().await;
        let start = json!({ "requirement": "build it", "taskId": "r" });
        world.call_tool("user", "start_run", start).await;
        world.mark_run_done("r").await;
        let of_run = json!({ "taskId": "r" });
        let done = world.call_tool("user", "show_run", of_run.clone()).await;
        assert_eq!(done.document["status"], "done");
        let refused = world
            .call_refused("user", "pause_society", of_run.clone())
            .await;
        assert_eq!(refused.0, RefusalCode::WRONG_STATE, "{}", refused.1);
        let after = world.call_tool("user", "show_run", of_run).await;
        assert_eq!(after.document, done.document);
    });
}

#[test]
fn person_message_is_found_by_number() {
    run_test(async {
        let (world, clock) = TestInstallation::with_required_approval().await;
        let send = |by: &'static str, to: &str, delay: u64| {
            let letter = json!({ "to": to, "payload": "hello", "delayMs": delay });
            let world = &world;
            async move { world.call_tool(by, "send_message", letter).await }
        };
        send("dev", "user", 0).await;
        send("user", "dev", 0).await;
        send("dev", "lead", 0).await;
        send("dev", "user", 60_000).await;
        let request = &world.app.person_request();
        let letter = |id| op::get_person_message(request, id);
        assert_eq!(letter(1).await.unwrap().from.as_str(), "dev");
        assert_eq!(letter(2).await.unwrap().to.as_str(), "dev");
        for id in [3, 4, 99] {
            let refused = letter(id).await.unwrap_err();
            assert_eq!(refused.code(), RefusalCode::MESSAGE_NOT_FOUND, "{id}");
        }
        clock.advance_millis(60_000);
        assert_eq!(letter(4).await.unwrap().id, 4);
        let refused = op::get_person_message(&world.app.request(&parse_agent_id("dev")), 1).await;
        assert_eq!(refused.unwrap_err().code(), RefusalCode::PERMISSION_DENIED);
    });
}

#[test]
fn task_with_expired_lease_needs_attention() {
    run_test(async {
        let (world, clock) = TestInstallation::with_required_approval().await;
        let id = world.create_task(json!({ "subject": "one" })).await;
        let claim = json!({ "taskId": id, "leaseMs": 1000 });
        world.call_tool("dev", "TaskClaim", claim).await;
        assert_eq!(world.load_overview("user").await.attention.stale_tasks, []);
        clock.advance_millis(2_000);
        let now = world.load_overview("user").await;
        assert_eq!(now.attention.stale_tasks.len(), 1);
        assert_eq!(
            now.agents[0].status,
            MemberStatus::Idle,
            "nobody works on it"
        );
    });
}

#[test]
fn task_needs_approval_once_its_completion_was_attempted() {
    run_test(async {
        let (world, _) = TestInstallation::with_required_approval().await;
        let id = world
            .create_task(json!({ "subject": "one", "taskType": "testing" }))
            .await;
        world
            .call_tool("dev", "TaskClaim", json!({ "taskId": id }))
            .await;
        assert_eq!(
            world.load_overview("user").await.attention.tasks_to_approve,
            [],
            "it has begun"
        );
        let done = json!({ "taskId": id, "status": "completed" });
        world.call_refused("dev", "TaskUpdate", done.clone()).await;
        let comment = json!({ "taskId": id, "body": "please" });
        world.call_tool("dev", "TaskComment", comment).await;
        assert_eq!(
            world
                .load_overview("user")
                .await
                .attention
                .tasks_to_approve
                .len(),
            1
        );
        world
            .call_tool("user", "TaskApprove", json!({ "taskId": id }))
            .await;
        assert_eq!(
            world.load_overview("user").await.attention.tasks_to_approve,
            []
        );
    });
}

#[test]
fn question_is_open_until_answered_or_dismissed() {
    run_test(async {
        let world = TestInstallation::new().await;
        for (from, to) in [
            ("dev", "user"),
            ("lead", "user"),
            ("dev", "lead"),
            ("dev", "user"),
        ] {
            let message = json!({ "to": to, "payload": "how?" });
            world.call_tool(from, "send_message", message).await;
        }
        let open = async || -> Vec<u64> {
            let waiting = world.load_overview("user").await.attention;
            waiting.questions.iter().map(|message| message.id).collect()
        };
        assert_eq!(open().await, [4, 2, 1]);
        assert_eq!(
            world.list_person_mail(PersonMailParams::default()).await,
            [1, 2, 4]
        );
        let answer = json!({ "to": "dev", "payload": "so", "replyTo": 4 });
        world.call_tool("user", "send_message", answer).await;
        // A reply answers the message it refers to; a message that is not a reply answers all open messages
        // of the agent.
        assert_eq!(open().await, [2, 1]);
        let word = json!({ "to": "dev", "payload": "and so" });
        world.call_tool("user", "send_message", word).await;
        assert_eq!(open().await, [2]);
        let user = AgentId::user();
        let aside = MarkMailReadParams { ids: vec![2, 4] };
        let laid = op::mark_mail_read(&world.app.request(&user), &aside)
            .await
            .unwrap();
        assert_eq!(laid.ids, [2, 4]);
        assert_eq!(open().await, [0; 0]);
        let others = MarkMailReadParams { ids: vec![3] };
        let refused = op::mark_mail_read(&world.app.request(&user), &others).await;
        assert_eq!(refused.unwrap_err().code(), RefusalCode::MESSAGE_NOT_FOUND);
        assert_eq!(world.load_overview("dev").await.attention.questions, []);
    });
}

#[test]
fn question_of_a_dismissed_member_is_closed() {
    run_test(async {
        let world = TestInstallation::new().await;
        let role = json!({ "name": "worker", "rolePrompt": "You work." });
        world.call_tool("user", "create_role", role).await;
        for name in ["ann", "bob"] {
            let hire = json!({ "role": "worker", "name": name, "taskBrief": "Work" });
            world.call_tool("user", "spawn_agent", hire).await;
        }
        // More questions than are read at once, and older letters behind them.
        for (from, text, times) in [
            ("ann", "It is done.", 1),
            ("bob", "How?", 1),
            ("ann", "Why?", 60),
        ] {
            for _ in 0..times {
                let message = json!({ "to": "user", "payload": text });
                world.call_tool(from, "send_message", message).await;
            }
        }
        let open = async || {
            let waiting = world.load_overview("user").await.attention.questions;
            let listed: Vec<u64> = waiting.iter().map(|message| message.id).collect();
            let params = PersonMailParams {
                open: true,
                ..PersonMailParams::default()
            };
            let mut letters = world.list_person_mail(params).await;
            letters.reverse();
            assert_eq!(listed, letters);
            listed
        };
        assert_eq!(open().await.len(), 50);
        let dismiss = json!({ "agentId": "ann" });
        world.call_tool("user", "terminate_agent", dismiss).await;
        // Its report can still be read.
        assert_eq!(open().await, [2, 1]);
    });
}

#[test]
fn person_mail_is_read_backwards_without_marking_it() {
    run_test(async {
        let world = TestInstallation::new().await;
        for _ in 0..3 {
            let ask = json!({ "to": "user", "payload": "how?" });
            world.call_tool("dev", "send_message", ask.clone()).await;
            world.call_tool("lead", "send_message", ask).await;
            let answer = json!({ "to": "dev", "payload": "so" });
            world.call_tool("user", "send_message", answer).await;
        }
        let with_dev = |before| PersonMailParams {
            with: Some(parse_agent_id("dev")),
            limit: Some(4),
            before,
            ..PersonMailParams::default()
        };
        assert_eq!(world.list_person_mail(with_dev(None)).await, [4, 6, 7, 9]);
        assert_eq!(world.list_person_mail(with_dev(Some(4))).await, [1, 3]);
        let unread = world.call_tool("user", "check_messages", json!({})).await;
        assert_eq!(unread.document["messages"].as_array().unwrap().len(), 6);
        let refused =
            op::list_person_mail(&world.app.request(&parse_agent_id("dev")), &with_dev(None)).await;
        assert_eq!(refused.unwrap_err().code(), RefusalCode::PERMISSION_DENIED);
    });
}

#[test]
fn open_decisions_cache_follows_board_changes() {
    run_test(async {
        let world = TestInstallation::new().await;
        let open = async |by: &str| -> Vec<String> {
            let decisions = world.load_overview(by).await.attention.decisions;
            let each = decisions.iter();
            each.map(|open| format!("{} {}", open.board, open.decision.content))
                .collect()
        };
        assert_eq!(open("user").await, [""; 0]);
        let propose =
            |board: &str, what: &str| json!({ "board": board, "act": "propose", "content": what });
        world
            .call_tool("lead", "whiteboard_decide", propose("global", "use Rust"))
            .await;
        world
            .call_tool(
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
            .call_tool("user", "whiteboard_decisions", json!({ "board": "global" }))
            .await;
        let id = &decisions.document["decisions"][0]["id"];
        let veto = json!({ "board": "global", "act": "veto", "id": id, "reason": "no" });
        world.call_tool("cto", "whiteboard_decide", veto).await;
        assert_eq!(open("user").await, ["mid/architect be quick"]);
    });
}

#[test]
fn stats_cache_equals_a_fold_of_the_whole_log() {
    run_test(async {
        let (world, clock) = TestInstallation::with_required_approval().await;
        let keeper = TaskStatsCache::default();
        for round in 0..3 {
            let id = world.create_task(json!({ "subject": "one" })).await;
            world
                .call_tool("dev", "TaskClaim", json!({ "taskId": id }))
                .await;
            let done = json!({ "taskId": id, "status": "completed", "expectedVersion": 1 });
            world.call_refused("dev", "TaskUpdate", done).await;
            for by in [StatsPeriod::Hour, StatsPeriod::Day, StatsPeriod::Week] {
                let query = TaskStatsParams {
                    by: Some(by),
                    ..TaskStatsParams::default()
                };
                let whole = op::task_stats(&world.app.person_request(), &query)
                    .await
                    .unwrap();
                let kept = keeper.load_stats(&world.app, Some(by)).await.unwrap();
                assert_eq!(kept, whole);
                assert_eq!(kept.figures.version_conflicts, round + 1);
            }
            clock.advance_millis(13 * 3_600_000);
        }
        let over_all = keeper.load_stats(&world.app, None).await.unwrap();
        assert_eq!(over_all.periods, None);
    });
}
