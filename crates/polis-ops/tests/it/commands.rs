//! Tests for the command history, while commands run and after they have ended.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polis_core::changeset::{Changeset, Expect, Write};
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::workspace::command::{Captured, CommandRun, Ending};
use polis_core::workspace::policy::Tier;
use polis_core::{AgentId, Code};
use polis_ops::op::{self, CommandEntry, CommandView, ListCommands, LookAround, ShowCommand};
use polis_ops::port::{
    Clock, CommandOrder, Outcome, OutputWatcher, SandboxReport, Site, Stream, Terminal,
};
use polis_ops::{Polis, PortFuture, Settings};
use polis_testkit::test_store::{agent, run};
use polis_testkit::{CountedChance, FixedClock, MemoryStore, MemoryWorkspaces};
use serde_json::json;
use tokio::sync::oneshot;

use crate::world::World;

/// A terminal whose commands write and end under the test's control.
#[derive(Debug, Default)]
struct Stage(Mutex<Option<Actor>>);

#[derive(Debug)]
struct Actor {
    watcher: Arc<dyn OutputWatcher>,
    ends: oneshot::Sender<Ending>,
}

impl Terminal for Stage {
    fn run<'a>(&'a self, _: &'a Site, order: CommandOrder) -> PortFuture<'a, CommandRun> {
        let (ends, ended) = oneshot::channel();
        *self.0.lock().unwrap() = Some(Actor {
            watcher: order.watcher.unwrap(),
            ends,
        });
        Box::pin(async move {
            Ok(CommandRun {
                ending: ended.await.unwrap(),
                stdout: Captured::default(),
                stderr: Captured::default(),
                duration_ms: 700,
                tier: Tier::Full,
                spool: None,
            })
        })
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        unreachable!("nobody asks")
    }
}

/// A clock that only the test advances. A sleeper waits a moment of real time: if sleeping advanced the clock, a
/// running command that is being observed could appear not to have been renewed for a long time.
#[derive(Debug, Default)]
struct Still(FixedClock);

impl Clock for Still {
    fn now_millis(&self) -> i64 {
        self.0.now_millis()
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(1)))
    }
}

/// Creates a world in which commands take as long as the test wants.
async fn staged() -> (World, Arc<Stage>, Arc<Still>) {
    let mut world = World::new().await;
    let (stage, clock) = (Arc::<Stage>::default(), Arc::<Still>::default());
    world.polis = Polis::new(
        Arc::new(MemoryStore::default()),
        Arc::<Still>::clone(&clock),
        Arc::new(CountedChance::default()),
        Settings::default(),
    )
    .with_workspaces(
        Arc::<MemoryWorkspaces>::default(),
        Arc::<Stage>::clone(&stage),
    );
    let lead = json!({ "id": "lead", "role": "team-lead", "layer": "top" });
    world.does("user", "add_agent", lead).await;
    (world, stage, clock)
}

impl World {
    async fn commands(&self, by: &str, ask: &ListCommands) -> Vec<CommandEntry> {
        let listed = op::list_commands(&self.polis, &agent(by), ask).await;
        listed.unwrap().commands
    }

    async fn command(&self, by: &str, id: &str) -> Result<CommandView, Code> {
        let ask = ShowCommand { id: id.to_owned() };
        let shown = op::show_command(&self.polis, &agent(by), &ask).await;
        shown.map_err(|error| error.code())
    }

    /// Waits until the newest command satisfies a condition.
    async fn until(&self, is: impl Fn(&CommandView) -> bool) -> CommandView {
        loop {
            let newest = self.commands("user", &ListCommands::default()).await;
            if let Some(newest) = newest.first()
                && let Ok(view) = self.command("user", &newest.id).await
                && is(&view)
            {
                return view;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn kinds(&self) -> Vec<String> {
        let all = op::LogRead {
            kind: Some("command.".to_owned()),
            ..op::LogRead::default()
        };
        let user = AgentId::user();
        let page = op::read_log(&self.polis, &user, &all).await.unwrap();
        page.events.into_iter().map(|event| event.kind).collect()
    }
}

fn running(
    world: &World,
) -> tokio::task::JoinHandle<Result<polis_ops::tool::Answer, polis_ops::OpError>> {
    let polis = world.polis.clone();
    tokio::spawn(async move {
        let lead = agent("lead");
        let params = json!({ "command": "make" });
        let ask = polis_ops::tool::Ask::new(&lead, params.as_object().unwrap().clone());
        let tool = polis_ops::tool::Tool::find("run_command").unwrap();
        tool.call(&polis, ask).await
    })
}

#[test]
fn a_short_command_is_written_with_its_event_and_never_said_to_run() {
    run(async {
        let world = World::new().await;
        let before = world.polis.store.last_sequence().await.unwrap();
        world
            .does("lead", "run_command", json!({ "command": "make" }))
            .await;
        assert_eq!(world.polis.store.last_sequence().await.unwrap(), before + 1);
        let listed = world.commands("user", &ListCommands::default()).await;
        assert_eq!(listed.len(), 1);
        let view = world.command("lead", &listed[0].id).await.unwrap();
        assert_eq!(view.entry, listed[0]);
        assert_eq!(view.output, "ran make\n");
        assert_eq!((view.entry.exit_code, view.entry.running), (Some(0), false));
        assert_eq!(view.entry.agent, agent("lead"));
        let log = world
            .does("user", "read_log", json!({ "kind": "command." }))
            .await;
        assert_eq!(log.document["events"][0]["data"]["id"], listed[0].id);
        let put = world
            .polis
            .store
            .records(RecordKind::RunningCommand, None, 9);
        assert_eq!(put.await.unwrap(), []);
    });
}

#[test]
fn a_long_command_is_looked_at_while_it_runs() {
    run(async {
        let (world, stage, _) = staged().await;
        let running = running(&world);
        let begun = world.until(|view| view.entry.running).await;
        assert_eq!(begun.output, "");
        assert_eq!(world.kinds().await, ["command.started"]);
        let actor = stage.0.lock().unwrap().take().unwrap();
        actor.watcher.output(Stream::Stdout, b"one\n");
        actor.watcher.output(Stream::Stderr, b"two\n");
        actor.watcher.output(Stream::Stdout, b"three\n");
        let seen = world.until(|view| view.output.len() == 14).await;
        assert_eq!(seen.output, "one\ntwo\nthree\n", "as it came");
        assert_eq!(
            (seen.entry.duration_ms, seen.entry.output_bytes),
            (None, 14)
        );
        let user = AgentId::user();
        let now = op::look_around(&world.polis, &user, &LookAround {})
            .await
            .unwrap();
        assert_eq!(now.commands[0].id, seen.entry.id);
        actor.ends.send(Ending::Exited(3)).unwrap();
        running.await.unwrap().unwrap();
        let ended = world.command("user", &seen.entry.id).await.unwrap();
        assert_eq!(
            (ended.entry.running, ended.entry.exit_code),
            (false, Some(3))
        );
        assert_eq!(ended.output, "one\ntwo\nthree\n");
        assert_eq!(world.kinds().await, ["command.started", "command.run"]);
        let put = world
            .polis
            .store
            .records(RecordKind::RunningCommand, None, 9);
        assert_eq!(put.await.unwrap(), [], "nobody says any more that it runs");
        assert_eq!(
            world.commands("user", &ListCommands::default()).await.len(),
            1
        );
    });
}

/// Recording continues after a conflicting write or a failed commit.
#[test]
fn a_command_is_said_to_run_again_after_that_was_in_vain() {
    run(async {
        let (world, stage, _) = staged().await;
        let running = running(&world);
        let begun = world.until(|view| view.entry.running).await;
        let name = RecordName::new(RecordKind::RunningCommand, &begun.entry.id);
        let store = &world.polis.store;
        loop {
            let there = store.record(&name).await.unwrap().unwrap();
            let between = Changeset {
                actor: AgentId::user(),
                at: world.polis.now(),
                writes: vec![Write::PutRecord {
                    name: name.clone(),
                    expect: Expect::Revision(there.revision),
                    expires_at: None,
                    body: RecordBody::Text(there.body),
                }],
                events: Vec::new(),
            };
            if let Outcome::Committed(_) = store.commit(between).await.unwrap() {
                break;
            }
        }
        let actor = stage.0.lock().unwrap().take().unwrap();
        actor.watcher.output(Stream::Stdout, b"still here\n");
        let seen = world.until(|view| !view.output.is_empty()).await;
        assert_eq!(seen.output, "still here\n");
        assert_eq!(world.kinds().await, ["command.started"], "told once");
        actor.ends.send(Ending::Exited(0)).unwrap();
        running.await.unwrap().unwrap();
        assert_eq!(world.kinds().await, ["command.started", "command.run"]);
    });
}

#[test]
fn a_command_whose_process_was_lost_is_told_as_interrupted() {
    run(async {
        let (world, _stage, clock) = staged().await;
        let running = running(&world);
        let begun = world.until(|view| view.entry.running).await;
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        clock.0.advance(20_000);
        let lost = world.command("user", &begun.entry.id).await.unwrap();
        assert_eq!((lost.entry.running, lost.entry.interrupted), (false, true));
        let of = |running| ListCommands {
            running: Some(running),
            ..ListCommands::default()
        };
        assert_eq!(world.commands("user", &of(true)).await.len(), 0);
        assert_eq!(world.commands("user", &of(false)).await.len(), 1);
    });
}

#[test]
fn an_agent_sees_the_commands_of_its_workspace_and_the_person_all() {
    run(async {
        let world = World::new().await;
        for by in ["lead", "cto", "lead"] {
            world
                .does(by, "run_command", json!({ "command": by }))
                .await;
        }
        let by_user = world.commands("user", &ListCommands::default()).await;
        assert_eq!(by_user.len(), 3);
        let own = world.commands("lead", &ListCommands::default()).await;
        assert_eq!(own.len(), 2);
        assert!(own.iter().all(|entry| entry.workspace == agent("lead")));
        let of_cto = ListCommands {
            workspace: Some(agent("cto")),
            ..ListCommands::default()
        };
        let theirs = world.commands("user", &of_cto).await;
        assert_eq!(theirs.len(), 1);
        let refused = op::list_commands(&world.polis, &agent("lead"), &of_cto).await;
        assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
        let hidden = world.command("lead", &theirs[0].id).await;
        assert_eq!(hidden, Err(Code::CommandNotFound));
        for id in ["", "lead", "lead/", "lead/zz", "no one/1", "lead/../cto"] {
            let none = world.command("user", id).await;
            assert_eq!(none, Err(Code::CommandNotFound), "{id}");
        }
        let of_agent = ListCommands {
            agent: Some(agent("cto")),
            ..ListCommands::default()
        };
        assert_eq!(world.commands("user", &of_agent).await, theirs);
    });
}

/// Returns all commands visible to a person, page by page.
async fn in_pages(world: &World, mut ask: ListCommands) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let listed = op::list_commands(&world.polis, &AgentId::user(), &ask).await;
        let page = listed.unwrap();
        seen.extend(page.commands.into_iter().map(|entry| entry.command));
        match page.next {
            Some(next) => ask.before = Some(next),
            None => return seen,
        }
    }
}

#[test]
fn pages_of_commands_join_and_not_all_are_kept() {
    run(async {
        let (mut world, _, clock) = staged().await;
        world.polis.terminal = Arc::<MemoryWorkspaces>::default();
        for n in 0..620 {
            clock.0.advance(1);
            let command = json!({ "command": format!("echo {n}") });
            world.does("lead", "run_command", command).await;
        }
        let ask = ListCommands {
            limit: Some(90),
            ..ListCommands::default()
        };
        let seen = in_pages(&world, ask).await;
        let newest: Vec<String> = (0..620).rev().map(|n| format!("echo {n}")).collect();
        assert!((500..560).contains(&seen.len()), "{}", seen.len());
        assert_eq!(seen, newest[..seen.len()]);
        let kept = world
            .polis
            .store
            .records(RecordKind::CommandOutput, None, 900);
        assert_eq!(kept.await.unwrap().len(), seen.len(), "with their output");
    });
}

/// Pagination also works across all workspaces, and when filtering by an agent among many others.
#[test]
fn commands_of_all_workspaces_come_in_one_order() {
    run(async {
        let (mut world, _, clock) = staged().await;
        world.polis.terminal = Arc::<MemoryWorkspaces>::default();
        let agents = ["lead", "a", "b", "c"];
        for id in &agents[1..] {
            let agent = json!({ "id": id, "role": "architect", "layer": "top" });
            world.does("user", "add_agent", agent).await;
        }
        for n in 0..40_usize {
            clock.0.advance(1);
            let command = json!({ "command": format!("echo {n}") });
            world.does(agents[n % 4], "run_command", command).await;
        }
        for (who, step) in [(None, 1), (Some("b"), 4)] {
            let ask = ListCommands {
                agent: who.map(agent),
                limit: Some(7),
                ..ListCommands::default()
            };
            let seen = in_pages(&world, ask).await;
            let first = if who.is_some() { 2 } else { 0 };
            let all = (first..40).step_by(step).rev();
            let expected: Vec<String> = all.map(|n| format!("echo {n}")).collect();
            assert_eq!(seen, expected, "{who:?}");
        }
    });
}
