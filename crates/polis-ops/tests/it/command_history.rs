//! Tests for the command history, while commands run and after they have ended.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polis_core::changeset::{Changeset, StoreWrite, WritePrecondition};
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::{CommandEnding, CommandOutcome, OutputStream};
use polis_core::workspace::command_policy::SandboxTier;
use polis_core::{AgentId, RefusalCode};
use polis_ops::op::{
    self, CommandEntry, CommandView, ListCommandsParams, OverviewParams, ShowCommandParams,
};
use polis_ops::port::{
    Clock, CommitOutcome, OutputWatcher, SandboxReport, SandboxedTerminal, WorkspaceLocation,
};
use polis_ops::{App, InstallationSettings, PortFuture};
use polis_testkit::store_factory::{parse_agent_id, run_test};
use polis_testkit::{CountingRandomSource, FixedClock, MemoryStore, MemoryWorkspaces};
use serde_json::json;
use tokio::sync::oneshot;

use crate::test_installation::TestInstallation;

/// A terminal whose commands write and end under the test's control.
#[derive(Debug, Default)]
struct ControlledTerminal(Mutex<Option<PendingCommand>>);

#[derive(Debug)]
struct PendingCommand {
    watcher: Arc<dyn OutputWatcher>,
    end_sender: oneshot::Sender<CommandEnding>,
}

impl SandboxedTerminal for ControlledTerminal {
    fn run<'a>(
        &'a self,
        _: &'a WorkspaceLocation,
        _: CommandRequest,
        watcher: Arc<dyn OutputWatcher>,
    ) -> PortFuture<'a, CommandOutcome> {
        let (ends, ended) = oneshot::channel();
        *self.0.lock().unwrap() = Some(PendingCommand {
            watcher,
            end_sender: ends,
        });
        Box::pin(async move {
            let ending = ended.await.unwrap();
            Ok(CommandOutcome::without_output(
                ending,
                700,
                Some(SandboxTier::Full),
            ))
        })
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        unreachable!("no test requests a report")
    }
}

/// A clock that only the test advances. A sleeper waits a moment of real time: if sleeping advanced the
/// clock, a running command that is being observed could appear not to have been renewed for a long time.
#[derive(Debug, Default)]
struct ManualClock(FixedClock);

impl Clock for ManualClock {
    fn now_millis(&self) -> i64 {
        self.0.now_millis()
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(1)))
    }
}

/// Creates an installation in which commands take as long as the test wants.
async fn installation_with_controlled_terminal()
-> (TestInstallation, Arc<ControlledTerminal>, Arc<ManualClock>) {
    let mut world = TestInstallation::new().await;
    let (stage, clock) = (
        Arc::<ControlledTerminal>::default(),
        Arc::<ManualClock>::default(),
    );
    world.app = App::new(
        Arc::new(MemoryStore::default()),
        Arc::<ManualClock>::clone(&clock),
        Arc::new(CountingRandomSource::default()),
        InstallationSettings::default(),
    )
    .with_workspaces(
        Arc::<MemoryWorkspaces>::default(),
        Arc::<ControlledTerminal>::clone(&stage),
    );
    let lead = json!({ "id": "lead", "role": "team-lead", "layer": "top" });
    world.call_tool("user", "add_agent", lead).await;
    (world, stage, clock)
}

impl TestInstallation {
    async fn list_commands(&self, by: &str, ask: &ListCommandsParams) -> Vec<CommandEntry> {
        let listed = op::list_commands(&self.app.request(&parse_agent_id(by)), ask).await;
        listed.unwrap().commands
    }

    async fn show_command(&self, by: &str, id: &str) -> Result<CommandView, RefusalCode> {
        let ask = ShowCommandParams { id: id.to_owned() };
        let shown = op::show_command(&self.app.request(&parse_agent_id(by)), &ask).await;
        shown.map_err(|error| error.code())
    }

    /// Waits until the newest command satisfies a condition.
    async fn wait_for_newest(&self, is: impl Fn(&CommandView) -> bool) -> CommandView {
        loop {
            let newest = self
                .list_commands("user", &ListCommandsParams::default())
                .await;
            if let Some(newest) = newest.first()
                && let Ok(view) = self.show_command("user", &newest.id).await
                && is(&view)
            {
                return view;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn command_event_kinds(&self) -> Vec<String> {
        let all = op::LogReadParams {
            kind: Some("command.".to_owned()),
            ..op::LogReadParams::default()
        };
        let user = AgentId::user();
        let page = op::read_log(&self.app.request(&user), &all).await.unwrap();
        page.events.into_iter().map(|event| event.kind).collect()
    }
}

fn spawn_command(
    world: &TestInstallation,
) -> tokio::task::JoinHandle<Result<polis_ops::tool::ToolOutput, polis_ops::OpError>> {
    let app = world.app.clone();
    tokio::spawn(async move {
        let lead = parse_agent_id("lead");
        let params = json!({ "command": "make" });
        let ask = polis_ops::tool::ToolRequest::new(params.as_object().unwrap().clone());
        let tool = polis_ops::tool::Tool::find("run_command").unwrap();
        tool.call(&app.request(&lead), ask).await
    })
}

fn ending_of(view: &CommandView) -> Option<CommandEnding> {
    view.entry.outcome.as_ref().map(|outcome| outcome.ending)
}

#[test]
fn short_command_is_recorded_only_when_it_ends() {
    run_test(async {
        let world = TestInstallation::new().await;
        let before = world.app.store.last_sequence().await.unwrap();
        world
            .call_tool("lead", "run_command", json!({ "command": "make" }))
            .await;
        assert_eq!(world.app.store.last_sequence().await.unwrap(), before + 1);
        let listed = world
            .list_commands("user", &ListCommandsParams::default())
            .await;
        assert_eq!(listed.len(), 1);
        let view = world.show_command("lead", &listed[0].id).await.unwrap();
        assert_eq!(view.entry, listed[0]);
        assert_eq!(view.output, "ran make\n");
        assert_eq!(ending_of(&view), Some(CommandEnding::Exited(0)));
        assert!(!view.entry.running);
        assert_eq!(view.entry.agent, parse_agent_id("lead"));
        let log = world
            .call_tool("user", "read_log", json!({ "kind": "command." }))
            .await;
        assert_eq!(log.document["events"][0]["data"]["id"], listed[0].id);
        let put = world.app.store.records(RecordKind::RunningCommand, None, 9);
        assert_eq!(put.await.unwrap(), []);
    });
}

#[test]
fn long_command_is_visible_while_it_runs() {
    run_test(async {
        let (world, stage, _) = installation_with_controlled_terminal().await;
        let running = spawn_command(&world);
        let begun = world.wait_for_newest(|view| view.entry.running).await;
        assert_eq!(begun.output, "");
        assert_eq!(world.command_event_kinds().await, ["command.started"]);
        let actor = stage.0.lock().unwrap().take().unwrap();
        actor.watcher.on_output(OutputStream::Stdout, b"one\n");
        actor.watcher.on_output(OutputStream::Stderr, b"two\n");
        actor.watcher.on_output(OutputStream::Stdout, b"three\n");
        let seen = world.wait_for_newest(|view| view.output.len() == 14).await;
        assert_eq!(seen.output, "one\ntwo\nthree\n", "as it came");
        assert_eq!((&seen.entry.outcome, seen.entry.output_bytes), (&None, 14));
        let user = AgentId::user();
        let now = op::load_overview(&world.app.request(&user), &OverviewParams {})
            .await
            .unwrap();
        assert_eq!(now.commands[0].id, seen.entry.id);
        actor.end_sender.send(CommandEnding::Exited(3)).unwrap();
        running.await.unwrap().unwrap();
        let ended = world.show_command("user", &seen.entry.id).await.unwrap();
        assert_eq!(
            (ended.entry.running, ending_of(&ended)),
            (false, Some(CommandEnding::Exited(3)))
        );
        assert_eq!(ended.output, "one\ntwo\nthree\n");
        assert_eq!(
            world.command_event_kinds().await,
            ["command.started", "command.run"]
        );
        let put = world.app.store.records(RecordKind::RunningCommand, None, 9);
        assert_eq!(put.await.unwrap(), [], "nobody says any more that it runs");
        assert_eq!(
            world
                .list_commands("user", &ListCommandsParams::default())
                .await
                .len(),
            1
        );
    });
}

#[test]
fn stored_records_of_all_endings_are_listed() {
    run_test(async {
        let world = TestInstallation::new().await;
        let fields = [
            json!({"exitCode": 0, "sandbox": "T0"}),
            json!({"exitCode": 143, "signal": "SIGTERM", "sandbox": "T1"}),
            json!({"exitCode": 137, "signal": "SIGKILL", "outOfMemory": true, "sandbox": "T0u"}),
            json!({"timedOut": true, "sandbox": "T2"}),
            json!({"cancelled": true}),
        ];
        for (number, ending) in fields.iter().enumerate() {
            let mut ended = ending.clone();
            ended["durationMs"] = 7.into();
            let body = json!({
                "agent": "lead", "command": "make", "startedAt": "2026-01-01T00:00:00.000Z",
                "outputBytes": 3, "ended": ended,
            });
            let put = Changeset {
                actor: AgentId::user(),
                at: world.app.now(),
                writes: vec![StoreWrite::PutRecord {
                    name: RecordName::new(RecordKind::Command, format!("lead/{number}")),
                    expect: WritePrecondition::Absent,
                    expires_at: None,
                    body: RecordBody::Text(body.to_string()),
                }],
                events: Vec::new(),
            };
            let put = world.app.store.commit(put).await.unwrap();
            assert!(matches!(put, CommitOutcome::Committed(_)));
        }
        let listed = world
            .list_commands("user", &ListCommandsParams::default())
            .await;
        assert_eq!(listed.len(), fields.len());
        for (entry, mut expected) in listed.iter().zip(fields) {
            for (name, value) in [
                ("id", json!(entry.id)),
                ("agent", json!("lead")),
                ("workspace", json!("lead")),
                ("command", json!("make")),
                ("startedAt", json!("2026-01-01T00:00:00.000Z")),
                ("running", json!(false)),
                ("durationMs", json!(7)),
                ("outputBytes", json!(3)),
            ] {
                expected[name] = value;
            }
            assert_eq!(serde_json::to_value(entry).unwrap(), expected);
        }
    });
}

/// Recording continues after a conflicting write or a failed commit.
#[test]
fn running_record_is_written_again_after_a_failed_write() {
    run_test(async {
        let (world, stage, _) = installation_with_controlled_terminal().await;
        let running = spawn_command(&world);
        let begun = world.wait_for_newest(|view| view.entry.running).await;
        let name = RecordName::new(RecordKind::RunningCommand, &begun.entry.id);
        let store = &world.app.store;
        loop {
            let there = store.record(&name).await.unwrap().unwrap();
            let between = Changeset {
                actor: AgentId::user(),
                at: world.app.now(),
                writes: vec![StoreWrite::PutRecord {
                    name: name.clone(),
                    expect: WritePrecondition::Revision(there.revision),
                    expires_at: None,
                    body: RecordBody::Text(there.body),
                }],
                events: Vec::new(),
            };
            if let CommitOutcome::Committed(_) = store.commit(between).await.unwrap() {
                break;
            }
        }
        let actor = stage.0.lock().unwrap().take().unwrap();
        actor
            .watcher
            .on_output(OutputStream::Stdout, b"still here\n");
        let seen = world.wait_for_newest(|view| !view.output.is_empty()).await;
        assert_eq!(seen.output, "still here\n");
        assert_eq!(
            world.command_event_kinds().await,
            ["command.started"],
            "told once"
        );
        actor.end_sender.send(CommandEnding::Exited(0)).unwrap();
        running.await.unwrap().unwrap();
        assert_eq!(
            world.command_event_kinds().await,
            ["command.started", "command.run"]
        );
    });
}

#[test]
fn command_of_a_dead_process_is_reported_as_interrupted() {
    run_test(async {
        let (world, _stage, clock) = installation_with_controlled_terminal().await;
        let running = spawn_command(&world);
        let begun = world.wait_for_newest(|view| view.entry.running).await;
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        clock.0.advance_millis(20_000);
        let lost = world.show_command("user", &begun.entry.id).await.unwrap();
        assert_eq!((lost.entry.running, lost.entry.interrupted), (false, true));
        let of = |running| ListCommandsParams {
            running: Some(running),
            ..ListCommandsParams::default()
        };
        assert_eq!(world.list_commands("user", &of(true)).await.len(), 0);
        assert_eq!(world.list_commands("user", &of(false)).await.len(), 1);
    });
}

#[test]
fn commands_are_visible_per_workspace_and_all_to_the_person() {
    run_test(async {
        let world = TestInstallation::new().await;
        for by in ["lead", "cto", "lead"] {
            world
                .call_tool(by, "run_command", json!({ "command": by }))
                .await;
        }
        let by_user = world
            .list_commands("user", &ListCommandsParams::default())
            .await;
        assert_eq!(by_user.len(), 3);
        let own = world
            .list_commands("lead", &ListCommandsParams::default())
            .await;
        assert_eq!(own.len(), 2);
        assert!(
            own.iter()
                .all(|entry| entry.workspace == parse_agent_id("lead"))
        );
        let of_cto = ListCommandsParams {
            workspace: Some(parse_agent_id("cto")),
            ..ListCommandsParams::default()
        };
        let theirs = world.list_commands("user", &of_cto).await;
        assert_eq!(theirs.len(), 1);
        let refused = op::list_commands(&world.app.request(&parse_agent_id("lead")), &of_cto).await;
        assert_eq!(refused.unwrap_err().code(), RefusalCode::PERMISSION_DENIED);
        let hidden = world.show_command("lead", &theirs[0].id).await;
        assert_eq!(hidden, Err(RefusalCode::COMMAND_NOT_FOUND));
        for id in ["", "lead", "lead/", "lead/zz", "no one/1", "lead/../cto"] {
            let none = world.show_command("user", id).await;
            assert_eq!(none, Err(RefusalCode::COMMAND_NOT_FOUND), "{id}");
        }
        let of_agent = ListCommandsParams {
            agent: Some(parse_agent_id("cto")),
            ..ListCommandsParams::default()
        };
        assert_eq!(world.list_commands("user", &of_agent).await, theirs);
    });
}

/// Returns all commands visible to a person, page by page.
async fn list_all_pages(world: &TestInstallation, mut ask: ListCommandsParams) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let listed = op::list_commands(&world.app.request(&AgentId::user()), &ask).await;
        let page = listed.unwrap();
        seen.extend(page.commands.into_iter().map(|entry| entry.command));
        match page.next {
            Some(next) => ask.before = Some(next),
            None => return seen,
        }
    }
}

#[test]
fn command_pages_are_contiguous_and_old_commands_are_removed() {
    run_test(async {
        let (mut world, _, clock) = installation_with_controlled_terminal().await;
        world.app.terminal = Arc::<MemoryWorkspaces>::default();
        for n in 0..620 {
            clock.0.advance_millis(1);
            let command = json!({ "command": format!("echo {n}") });
            world.call_tool("lead", "run_command", command).await;
        }
        let ask = ListCommandsParams {
            limit: Some(90),
            ..ListCommandsParams::default()
        };
        let seen = list_all_pages(&world, ask).await;
        let newest: Vec<String> = (0..620).rev().map(|n| format!("echo {n}")).collect();
        assert!((500..560).contains(&seen.len()), "{}", seen.len());
        assert_eq!(seen, newest[..seen.len()]);
        let kept = world
            .app
            .store
            .records(RecordKind::CommandOutput, None, 900);
        assert_eq!(kept.await.unwrap().len(), seen.len(), "with their output");
    });
}

/// Pagination also works across all workspaces, and when filtering by an agent among many others.
#[test]
fn commands_of_all_workspaces_are_sorted_together() {
    run_test(async {
        let (mut world, _, clock) = installation_with_controlled_terminal().await;
        world.app.terminal = Arc::<MemoryWorkspaces>::default();
        let agents = ["lead", "a", "b", "c"];
        for id in &agents[1..] {
            let agent = json!({ "id": id, "role": "architect", "layer": "top" });
            world.call_tool("user", "add_agent", agent).await;
        }
        for n in 0..40_usize {
            clock.0.advance_millis(1);
            let command = json!({ "command": format!("echo {n}") });
            world.call_tool(agents[n % 4], "run_command", command).await;
        }
        for (who, step) in [(None, 1), (Some("b"), 4)] {
            let ask = ListCommandsParams {
                agent: who.map(parse_agent_id),
                limit: Some(7),
                ..ListCommandsParams::default()
            };
            let seen = list_all_pages(&world, ask).await;
            let first = if who.is_some() { 2 } else { 0 };
            let all = (first..40).step_by(step).rev();
            let expected: Vec<String> = all.map(|n| format!("echo {n}")).collect();
            assert_eq!(seen, expected, "{who:?}");
        }
    });
}
