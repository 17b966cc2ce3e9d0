//! `polis demo board`: a small team of real processes works on a task board and a whiteboard. One of them is killed,
//! and one runs a program in the team's workspace.
//!
//! The board, the claims, the leases and the kill are real; the work itself is a pause.

mod terminal;

use polis_core::event::kind;
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Args;
use polis_core::agent::AgentAdd;
use polis_core::board::BoardName;
use polis_core::board::milestone::milestones;
use polis_core::role::role_of_name;
use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, Code, Event, TaskId, TaskStatus};
use polis_ops::op::{
    self, BoardAppend, BoardRead, LogRead, MilestoneChange, StatsQuery, TaskHeartbeat,
};
use polis_ops::{OpError, PortError};
use polis_store::embedded::Use;
use polis_workspace::registry::MachineRegistry;
use rustix::process::{Pid, Signal, kill_process};

use crate::cli::Globals;
use crate::command::init::create_data_directory;
use crate::command::log;
use crate::context::{Context, WORKSPACE};
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::trust;

/// Lease of a claim in the demo, in milliseconds.
const LEASE_MS: u64 = 1_200;
/// Title of the team's milestone.
const MILESTONE: &str = "Launch";
/// Prefix of the two workers that share a role: when one of them is killed, the other takes over.
const SHARED: &str = "backend-leader-";
/// Agents of the team.
const TEAM: [&str; 7] = [
    "product-manager",
    "architect",
    "backend-leader-1",
    "backend-leader-2",
    "frontend-leader",
    "test-leader",
    "devops-leader",
];

/// A task of the plan: subject, role, type, and the indexes (from 0) of the tasks that block it.
type Step = (&'static str, &'static str, &'static str, &'static [usize]);
const PLAN: [Step; 16] = [
    (
        "Clarify what the shop must do",
        "product-manager",
        "requirement_analysis",
        &[],
    ),
    (
        "Compare payment providers",
        "architect",
        "tech_research",
        &[],
    ),
    (
        "Design the architecture",
        "architect",
        "architecture_design",
        &[0, 1],
    ),
    ("Design the API", "architect", "api_design", &[2]),
    ("Sketch the screens", "product-manager", "ui_design", &[0]),
    (
        "Implement the catalogue",
        "backend-leader",
        "backend_implementation",
        &[3],
    ),
    (
        "Implement the basket",
        "backend-leader",
        "backend_implementation",
        &[3],
    ),
    (
        "Implement payments",
        "backend-leader",
        "backend_implementation",
        &[3],
    ),
    (
        "Implement invoices",
        "backend-leader",
        "backend_implementation",
        &[7],
    ),
    (
        "Build the catalogue page",
        "frontend-leader",
        "frontend_implementation",
        &[4, 5],
    ),
    (
        "Build the checkout page",
        "frontend-leader",
        "frontend_implementation",
        &[4, 6, 7],
    ),
    ("Test the catalogue", "test-leader", "testing", &[9]),
    ("Test the checkout", "test-leader", "testing", &[10, 8]),
    ("Prepare the servers", "devops-leader", "deployment", &[2]),
    (
        "Write the manual",
        "product-manager",
        "documentation",
        &[9, 10],
    ),
    ("Go live", "devops-leader", "deployment", &[11, 12, 13, 14]),
];

/// Watch a small team of real processes work a board in a throw-away directory.
#[derive(Debug, Args)]
pub(crate) struct Board {
    /// Keep the directory afterwards
    #[arg(long)]
    keep: bool,
    /// Be one worker of the demo
    #[arg(long, hide = true)]
    worker: bool,
}

impl Board {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        if self.worker {
            return work_on(&Context::open_for(globals, Use::Brief)?);
        }
        let mut place = tempfile::Builder::new().prefix("polis-demo-").tempdir()?;
        let globals = Globals {
            dir: Some(place.path().to_owned()),
            store: None,
            agent: None,
            json: false,
            verbose: false,
        };
        let workspace = place.path().join(WORKSPACE);
        create_data_directory(&workspace, |error| {
            PortError::internal("Creating the demo's store", error)
        })?;
        polis_store::EmbeddedStore::create(&workspace, Use::Long, Duration::from_secs(30))?;
        let context = Context::open_for(&globals, Use::Long)?;
        say(
            out,
            &format!(
                "A team of {} processes and {} tasks, on one board:",
                TEAM.len(),
                PLAN.len()
            ),
        )?;
        say(
            out,
            "each claims what is ready for its role; one is killed (kill -9) in the middle of its work.\n",
        )?;
        register(&context)?;
        let tasks = plan(&context)?;
        let graph = context.run(op::graph_tasks(&context.polis, None))?;
        say(out, &graph.to_text())?;
        let since = context.run(context.polis.store.last_sequence())?;
        let mut team = Team::hire(place.path())?;
        let watched = watch(&context, &mut team, since, out);
        team.dismiss();
        let events = watched?;
        report(&context, &tasks, &events, out)?;
        if !self.keep {
            MachineRegistry::of_user().distrust(&trust::whole(&workspace))?;
        }
        if self.keep {
            place.disable_cleanup(true);
            say(
                out,
                &format!(
                    "\nThe board is kept: polis --dir {} task list",
                    place.path().display()
                ),
            )?;
        }
        Ok(())
    }
}

fn say(out: &Output, text: &str) -> Result<(), Failure> {
    if out.is_json() {
        Ok(())
    } else {
        out.line(text)
    }
}

/// Registers the team under a lead, and adds a milestone to the global board.
fn register(context: &Context) -> Result<(), Failure> {
    let user = AgentId::user();
    let lead: AgentId = "team-lead".parse()?;
    let add = |id: &str, role: &str, supervisor: Option<AgentId>| -> Result<(), Failure> {
        let params = AgentAdd {
            id: id.parse()?,
            name: None,
            role: role.to_owned(),
            layer: None,
            supervisor,
            workspace_path: None,
        };
        context.run(op::add_agent(&context.polis, &user, &params))?;
        Ok(())
    };
    add(lead.as_str(), lead.as_str(), None)?;
    for name in TEAM {
        add(name, role_of_name(name), Some(lead.clone()))?;
    }
    let milestone = MilestoneChange {
        board: BoardName::Global,
        title: MILESTONE.to_owned(),
        add: Some("the shop is live".to_owned()),
    };
    context.run(op::change_milestone(&context.polis, &lead, &milestone))?;
    Ok(())
}

/// Creates the tasks of the plan.
fn plan(context: &Context) -> Result<Vec<TaskId>, Failure> {
    let lead: AgentId = "team-lead".parse()?;
    let mut ids: Vec<TaskId> = Vec::new();
    for (subject, role, task_type, waits) in PLAN {
        let params = TaskCreate {
            subject: subject.to_owned(),
            required_role: Some(role.to_owned()),
            task_type: Some(task_type.to_owned()),
            add_blocked_by: waits.iter().filter_map(|&n| ids.get(n).copied()).collect(),
            ..TaskCreate::default()
        };
        ids.push(
            context
                .run(op::create_task(&context.polis, &lead, &params))?
                .task
                .id,
        );
    }
    Ok(ids)
}

/// The worker processes.
struct Team(Vec<(&'static str, Child)>);

impl Team {
    fn hire(directory: &std::path::Path) -> Result<Self, Failure> {
        let program = std::env::current_exe()?;
        let mut team = Self(Vec::new());
        for name in TEAM {
            let child = Command::new(&program)
                .arg("--dir")
                .arg(directory)
                .args(["--as", name, "demo", "board", "--worker"])
                .env_remove("POLIS_STORE")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            team.0.push((name, child));
        }
        Ok(team)
    }

    /// Sends SIGKILL to a worker if it still holds the task. It is stopped with SIGSTOP for the check, and continued if
    /// it does not hold the task. Returns whether it was killed.
    fn kill_holding(&mut self, context: &Context, name: &str, task: &str) -> Result<bool, Failure> {
        let Some((_, child)) = self.0.iter_mut().find(|(n, _)| *n == name) else {
            return Ok(false);
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let Some(pid) = pid else { return Ok(false) };
        let stopped = kill_process(pid, Signal::STOP).is_ok();
        let id: TaskId = task.trim_start_matches("task/").parse()?;
        let view = context.run(op::get_task(&context.polis, id))?;
        if stopped && view.task.owner == name && view.task.status == TaskStatus::InProgress {
            child.kill()?;
            child.wait()?;
            return Ok(true);
        }
        let _ = kill_process(pid, Signal::CONT);
        Ok(false)
    }

    fn dismiss(&mut self) {
        for (_, child) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.dismiss();
    }
}

/// Prints events until all tasks are completed.
fn watch(
    context: &Context,
    team: &mut Team,
    mut since: u64,
    out: &Output,
) -> Result<Vec<Event>, Failure> {
    let mut all = Vec::new();
    let mut completed = 0;
    let mut killed = false;
    let give_up = context.polis.clock.now_millis() + 60_000;
    while completed < PLAN.len() {
        if context.polis.clock.now_millis() > give_up {
            return Err(PortError::new(
                Code::StoreBusy,
                "The team did not finish within a minute.",
                "run it again",
            )
            .into());
        }
        let ask = LogRead {
            since,
            ..LogRead::default()
        };
        let page = op::read_log(&context.polis, &context.agent, &ask);
        let events = context.run(page)?.events;
        if events.is_empty() {
            context.run(
                context
                    .polis
                    .store
                    .wait_beyond(since, Duration::from_millis(500)),
            )?;
        }
        for event in events {
            since = event.seq;
            if event.kind != kind::TASK_HEARTBEAT {
                log::show(&event, out)?;
            }
            completed += usize::from(event.kind == kind::TASK_COMPLETED);
            let shared = event.kind == kind::TASK_CLAIMED && event.actor.starts_with(SHARED);
            if shared && !killed && team.kill_holding(context, &event.actor, &event.subject)? {
                killed = true;
                let news = format!(
                    "        {} was killed while it held {}",
                    event.actor, event.subject
                );
                say(out, &out.paint(Style::Red, &news))?;
            }
            all.push(event);
        }
    }
    Ok(all)
}

/// Prints a summary that the log proves.
fn report(
    context: &Context,
    tasks: &[TaskId],
    events: &[Event],
    out: &Output,
) -> Result<(), Failure> {
    let mut claims: BTreeMap<&str, usize> = BTreeMap::new();
    let mut completions: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events {
        match event.kind.as_str() {
            kind::TASK_CLAIMED => *claims.entry(&event.subject).or_default() += 1,
            kind::TASK_COMPLETED => *completions.entry(&event.subject).or_default() += 1,
            _ => {}
        }
    }
    let taken_over: Vec<&str> = claims
        .iter()
        .filter(|(_, n)| **n > 1)
        .map(|(task, _)| *task)
        .collect();
    let done_once = completions.values().filter(|n| **n == 1).count();
    let stats = context.run(op::task_stats(&context.polis, &StatsQuery::default()))?;
    say(
        out,
        &format!(
            "\n{done_once} of {} tasks completed exactly once; taken over after the kill: {}.",
            tasks.len(),
            if taken_over.is_empty() {
                "none".to_owned()
            } else {
                taken_over.join(", ")
            }
        ),
    )?;
    let rate = stats.figures.role_match_rate.unwrap_or_default();
    say(
        out,
        &format!(
            "Role match {rate:.0}%, invalid transitions {}.",
            stats.figures.invalid_transitions
        ),
    )?;
    whiteboard(context, tasks, out)?;
    terminal::show(context, out)?;
    say(
        out,
        "\nYour own board: polis init, then polis task create --subject \"...\" and polis task claim.",
    )
}

/// Prints the result of the global board, to which every worker appended.
fn whiteboard(context: &Context, tasks: &[TaskId], out: &Output) -> Result<(), Failure> {
    let lead: AgentId = "team-lead".parse()?;
    let reached = MilestoneChange {
        board: BoardName::Global,
        title: MILESTONE.to_owned(),
        add: None,
    };
    context.run(op::change_milestone(&context.polis, &lead, &reached))?;
    let params = BoardRead::of(BoardName::Global);
    let board = context.run(op::read_board(&context.polis, &lead, &params))?;
    let text = board.content.unwrap_or_default();
    let whole = |id: &TaskId| {
        text.lines()
            .filter(|line| line.starts_with(&format!("Finished #{id}: ")))
            .count()
            == 1
    };
    let entries = tasks.iter().filter(|id| whole(id)).count();
    let done = milestones(&text).iter().filter(|m| m.done).count();
    say(
        out,
        &format!(
            "The global whiteboard has {entries} of {} entries, each once and whole, and {done} milestone reached \
             (version {}).",
            tasks.len(),
            board.version
        ),
    )
}

/// Main loop of a worker process: claims, works and completes until no task is left.
fn work_on(context: &Context) -> Result<(), Failure> {
    let polis = &context.polis;
    let claim = TaskClaim {
        lease_ms: Some(LEASE_MS),
        ..TaskClaim::default()
    };
    loop {
        let seen = context.run(polis.store.last_sequence())?;
        match context.run(op::claim_task(polis, &context.agent, &claim)) {
            Ok(view) => work(context, view.task.id)?,
            Err(OpError::Refused(refusal)) if refusal.code == Code::NothingToClaim => {
                let left = context.run(op::overview(polis))?;
                if left.pending + left.in_progress == 0 {
                    return Ok(());
                }
                context.run(polis.store.wait_beyond(seen, Duration::from_millis(200)))?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn work(context: &Context, id: TaskId) -> Result<(), Failure> {
    // Long enough to be visible, different for each task.
    let pause = Duration::from_millis(150 + id.number() * 37 % 250);
    std::thread::sleep(pause / 2);
    let beat = TaskHeartbeat {
        task_id: id,
        lease_ms: None,
    };
    context.run(op::heartbeat_task(&context.polis, &context.agent, &beat))?;
    std::thread::sleep(pause / 2);
    let subject = context.run(op::get_task(&context.polis, id))?.task.subject;
    let entry = BoardAppend {
        board: BoardName::Global,
        content: format!("Finished #{id}: {subject}"),
    };
    context.run(op::append_board(&context.polis, &context.agent, &entry))?;
    let done = TaskUpdate {
        status: Some(TaskStatus::Completed),
        ..TaskUpdate::of(id)
    };
    context.run(op::update_task(&context.polis, &context.agent, &done))?;
    Ok(())
}
