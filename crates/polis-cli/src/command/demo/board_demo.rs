//! `polis demo board`: a small team of real processes works on a task board and a whiteboard, and one of them is
//! killed. Afterwards the command itself, acting as an agent of the team, runs a program in the team's workspace.
//!
//! The board, the claims, the leases and the kill are real; the work itself is a pause.

mod sandbox_demo;

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Args;
use polis_core::agent::AgentAddParams;
use polis_core::board::BoardName;
use polis_core::board::milestone::parse_milestones;
use polis_core::role::role_from_name;
use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{AgentId, Event, EventKind, RefusalCode, TaskId, TaskStatus};
use polis_i18n::{MessageLabel, UiLanguage, msg};
use polis_ops::op::{
    self, BoardAppendParams, BoardReadParams, LogReadParams, MilestoneChangeParams,
    TaskHeartbeatParams, TaskStatsParams,
};
use polis_ops::{OpError, PortError};
use polis_store::embedded::StoreMode;
use polis_workspace::machine_registry::MachineRegistry;
use rustix::process::{Pid, Signal, kill_process};

use crate::cli::GlobalArgs;
use crate::command::init::create_data_directory;
use crate::command::log;
use crate::config;
use crate::context::{CommandContext, DATA_DIR_NAME};
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle};
use crate::person_language::PersonLanguage;
use crate::refusal_tables::CommandRefusal;
use crate::trust;

/// Lease of a claim in the demo, in milliseconds.
const CLAIM_LEASE_MS: u64 = 1_200;
/// Prefix of the two workers that share a role: when one of them is killed, the other takes over.
const SHARED_ROLE_PREFIX: &str = "backend-leader-";
/// Agents of the team below its lead; each acts in a process of its own.
const TEAM_AGENTS: [&str; 7] = [
    "product-manager",
    "architect",
    "backend-leader-1",
    "backend-leader-2",
    "frontend-leader",
    "test-leader",
    "devops-leader",
];

/// A task of the plan: subject, role, type, and the indexes (from 0) of the tasks that block it.
type PlannedTask = (MessageLabel, &'static str, &'static str, &'static [usize]);
const TASK_PLAN: [PlannedTask; 16] = [
    (
        msg::cli_demo_task_requirements,
        "product-manager",
        "requirement_analysis",
        &[],
    ),
    (
        msg::cli_demo_task_payment_research,
        "architect",
        "tech_research",
        &[],
    ),
    (
        msg::cli_demo_task_architecture,
        "architect",
        "architecture_design",
        &[0, 1],
    ),
    (msg::cli_demo_task_api, "architect", "api_design", &[2]),
    (
        msg::cli_demo_task_screens,
        "product-manager",
        "ui_design",
        &[0],
    ),
    (
        msg::cli_demo_task_catalogue,
        "backend-leader",
        "backend_implementation",
        &[3],
    ),
    (
        msg::cli_demo_task_basket,
        "backend-leader",
        "backend_implementation",
        &[3],
    ),
    (
        msg::cli_demo_task_payments,
        "backend-leader",
        "backend_implementation",
        &[3],
    ),
    (
        msg::cli_demo_task_invoices,
        "backend-leader",
        "backend_implementation",
        &[7],
    ),
    (
        msg::cli_demo_task_catalogue_page,
        "frontend-leader",
        "frontend_implementation",
        &[4, 5],
    ),
    (
        msg::cli_demo_task_checkout_page,
        "frontend-leader",
        "frontend_implementation",
        &[4, 6, 7],
    ),
    (
        msg::cli_demo_task_catalogue_test,
        "test-leader",
        "testing",
        &[9],
    ),
    (
        msg::cli_demo_task_checkout_test,
        "test-leader",
        "testing",
        &[10, 8],
    ),
    (
        msg::cli_demo_task_servers,
        "devops-leader",
        "deployment",
        &[2],
    ),
    (
        msg::cli_demo_task_manual,
        "product-manager",
        "documentation",
        &[9, 10],
    ),
    (
        msg::cli_demo_task_launch,
        "devops-leader",
        "deployment",
        &[11, 12, 13, 14],
    ),
];

/// Watch a small team of real processes work on a task board in a temporary directory.
#[derive(Debug, Args)]
pub(crate) struct DemoBoardArgs {
    /// Keep the directory afterwards
    #[arg(long)]
    keep: bool,
    /// Run as one worker of the demo
    #[arg(long, hide = true)]
    worker: bool,
}

impl DemoBoardArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        if self.worker {
            let context = CommandContext::open_for(globals, StoreMode::OneShot)?;
            return run_worker_loop(&context, out.lang());
        }
        let lang = out.lang();
        let mut directory = tempfile::Builder::new().prefix("polis-demo-").tempdir()?;
        let globals = GlobalArgs {
            dir: Some(directory.path().to_owned()),
            store: None,
            agent: None,
            json: false,
            verbose: false,
            lang: globals.lang,
            language: PersonLanguage::fixed(lang),
        };
        let workspace = directory.path().join(DATA_DIR_NAME);
        let failed = |error| PortError::internal("Creating the demo's store", error);
        create_data_directory(&workspace, failed)?;
        let configuration = config::config_template(lang);
        std::fs::write(workspace.join(config::CONFIG_FILE), configuration).map_err(failed)?;
        polis_store::EmbeddedStore::create(&workspace, StoreMode::Server, Duration::from_secs(30))?;
        let context = CommandContext::open_for(&globals, StoreMode::Server)?;
        print_unless_json(
            out,
            &msg::cli_demo_board_team(lang, TEAM_AGENTS.len(), TASK_PLAN.len()),
        )?;
        let explanation = msg::cli_demo_board_explanation(lang);
        print_unless_json(out, &format!("{explanation}\n"))?;
        register_team(&context, lang)?;
        let tasks = create_planned_tasks(&context, lang)?;
        let graph = context.block_on(op::task_graph(&context.request(), None))?;
        let graph = graph.to_text(|id| msg::cli_task_shown_above(lang, id));
        print_unless_json(out, &graph)?;
        let since = context.block_on(context.app.store.last_sequence())?;
        let mut team = WorkerProcesses::spawn_all(directory.path(), lang)?;
        let watched = follow_events(&context, &mut team, since, out);
        team.kill_all();
        let events = watched?;
        print_summary(&context, &tasks, &events, out)?;
        if !self.keep {
            MachineRegistry::for_current_user()
                .distrust_project(&trust::canonicalize_existing(&workspace))?;
        }
        if self.keep {
            directory.disable_cleanup(true);
            let kept = msg::cli_demo_board_kept(lang, directory.path().display());
            print_unless_json(out, &format!("\n{kept}"))?;
        }
        Ok(())
    }
}

fn print_unless_json(out: &CliOutput, text: &str) -> Result<(), CliError> {
    if out.is_json() {
        Ok(())
    } else {
        out.print_line(text)
    }
}

/// Registers the team under a lead, and adds a milestone to the global board.
fn register_team(context: &CommandContext, lang: UiLanguage) -> Result<(), CliError> {
    let user = AgentId::user();
    let lead: AgentId = "team-lead".parse()?;
    let add = |id: &str, role: &str, supervisor: Option<AgentId>| -> Result<(), CliError> {
        let params = AgentAddParams {
            id: id.parse()?,
            name: None,
            role: role.to_owned(),
            layer: None,
            supervisor,
            workspace_path: None,
        };
        context.block_on(op::add_agent(&context.app.request(&user), &params))?;
        Ok(())
    };
    add(lead.as_str(), lead.as_str(), None)?;
    for name in TEAM_AGENTS {
        add(name, role_from_name(name), Some(lead.clone()))?;
    }
    let milestone = MilestoneChangeParams {
        board: BoardName::Global,
        title: msg::cli_demo_milestone(lang).to_owned(),
        add: Some(msg::cli_demo_milestone_description(lang).to_owned()),
    };
    context.block_on(op::change_milestone(
        &context.app.request(&lead),
        &milestone,
    ))?;
    Ok(())
}

/// Creates the tasks of the plan.
fn create_planned_tasks(
    context: &CommandContext,
    lang: UiLanguage,
) -> Result<Vec<TaskId>, CliError> {
    let lead: AgentId = "team-lead".parse()?;
    let mut ids: Vec<TaskId> = Vec::new();
    for (subject, role, task_type, waits) in TASK_PLAN {
        let params = TaskCreateParams {
            subject: subject(lang).to_owned(),
            required_role: Some(role.to_owned()),
            task_type: Some(task_type.to_owned()),
            add_blocked_by: waits.iter().filter_map(|&n| ids.get(n).copied()).collect(),
            ..TaskCreateParams::default()
        };
        ids.push(
            context
                .block_on(op::create_task(&context.app.request(&lead), &params))?
                .task
                .id,
        );
    }
    Ok(ids)
}

/// The worker processes of the demo. Dropping it kills them.
struct WorkerProcesses(Vec<(&'static str, Child)>);

impl WorkerProcesses {
    fn spawn_all(directory: &std::path::Path, lang: UiLanguage) -> Result<Self, CliError> {
        let program = std::env::current_exe()?;
        let mut team = Self(Vec::new());
        for name in TEAM_AGENTS {
            let child = Command::new(&program)
                .arg("--dir")
                .arg(directory)
                .args(["--lang", lang.code(), "--as", name])
                .args(["demo", "board", "--worker"])
                .env_remove("POLIS_STORE")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            team.0.push((name, child));
        }
        Ok(team)
    }

    /// Sends SIGKILL to a worker if it still holds the task. It is stopped with SIGSTOP for the check, and
    /// continued if it does not hold the task. Returns whether it was killed.
    fn kill_if_holding(
        &mut self,
        context: &CommandContext,
        name: &str,
        task: &str,
    ) -> Result<bool, CliError> {
        let Some((_, child)) = self.0.iter_mut().find(|(n, _)| *n == name) else {
            return Ok(false);
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let Some(pid) = pid else { return Ok(false) };
        let stopped = kill_process(pid, Signal::STOP).is_ok();
        let id: TaskId = task.trim_start_matches("task/").parse()?;
        let view = context.block_on(op::get_task(&context.request(), id))?;
        if stopped && view.task.owner == name && view.task.status == TaskStatus::InProgress {
            child.kill()?;
            child.wait()?;
            return Ok(true);
        }
        let _ = kill_process(pid, Signal::CONT);
        Ok(false)
    }

    fn kill_all(&mut self) {
        for (_, child) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for WorkerProcesses {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// Prints events until all tasks are completed, and kills the first of the shared-role workers that claims a
/// task. Returns the events. Fails if that takes more than a minute.
fn follow_events(
    context: &CommandContext,
    team: &mut WorkerProcesses,
    mut since: u64,
    out: &CliOutput,
) -> Result<Vec<Event>, CliError> {
    let mut all = Vec::new();
    let mut completed = 0;
    let mut killed = false;
    let deadline = context.app.clock.now_millis() + 60_000;
    while completed < TASK_PLAN.len() {
        if context.app.clock.now_millis() > deadline {
            return Err(PortError::from(CommandRefusal::DemoTimeout).into());
        }
        let params = LogReadParams {
            since,
            ..LogReadParams::default()
        };
        let request = context.request();
        let page = op::read_log(&request, &params);
        let events = context.block_on(page)?.events;
        if events.is_empty() {
            context.block_on(
                context
                    .app
                    .store
                    .wait_for_event_after(since, Duration::from_millis(500)),
            )?;
        }
        for event in events {
            since = event.seq;
            if event.known_kind() != Some(EventKind::TaskHeartbeat) {
                log::print_event(&event, out)?;
            }
            completed += usize::from(event.known_kind() == Some(EventKind::TaskCompleted));
            let shared = event.known_kind() == Some(EventKind::TaskClaimed)
                && event.actor.starts_with(SHARED_ROLE_PREFIX);
            if shared && !killed && team.kill_if_holding(context, &event.actor, &event.subject)? {
                killed = true;
                let killed = msg::cli_demo_worker_killed(out.lang(), &event.actor, &event.subject);
                let message = format!("        {killed}");
                print_unless_json(out, &out.paint(TextStyle::Red, &message))?;
            }
            all.push(event);
        }
    }
    Ok(all)
}

/// Prints a summary that is computed from the log.
fn print_summary(
    context: &CommandContext,
    tasks: &[TaskId],
    events: &[Event],
    out: &CliOutput,
) -> Result<(), CliError> {
    let mut claims: BTreeMap<&str, usize> = BTreeMap::new();
    let mut completions: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events {
        match event.known_kind() {
            Some(EventKind::TaskClaimed) => *claims.entry(&event.subject).or_default() += 1,
            Some(EventKind::TaskCompleted) => *completions.entry(&event.subject).or_default() += 1,
            _ => {}
        }
    }
    let taken_over: Vec<&str> = claims
        .iter()
        .filter(|(_, n)| **n > 1)
        .map(|(task, _)| *task)
        .collect();
    let done_once = completions.values().filter(|n| **n == 1).count();
    let stats = context.block_on(op::task_stats(
        &context.request(),
        &TaskStatsParams::default(),
    ))?;
    let lang = out.lang();
    let taken_over = if taken_over.is_empty() {
        msg::common_none(lang).to_owned()
    } else {
        taken_over.join(msg::common_list_separator(lang))
    };
    let completed = msg::cli_demo_board_completed(lang, done_once, tasks.len(), taken_over);
    print_unless_json(out, &format!("\n{completed}"))?;
    let rate = format!("{:.0}", stats.figures.role_match_rate.unwrap_or_default());
    let invalid = stats.figures.invalid_transitions;
    print_unless_json(out, &msg::cli_demo_board_health(lang, rate, invalid))?;
    print_board_summary(context, tasks, out)?;
    sandbox_demo::run_sandbox_demo(context, out)?;
    print_unless_json(out, &format!("\n{}", msg::cli_demo_own_board(lang)))
}

/// Marks the milestone as reached, and prints how many entries the workers appended to the global board.
fn print_board_summary(
    context: &CommandContext,
    tasks: &[TaskId],
    out: &CliOutput,
) -> Result<(), CliError> {
    let lang = out.lang();
    let lead: AgentId = "team-lead".parse()?;
    let reached = MilestoneChangeParams {
        board: BoardName::Global,
        title: msg::cli_demo_milestone(lang).to_owned(),
        add: None,
    };
    context.block_on(op::change_milestone(&context.app.request(&lead), &reached))?;
    let params = BoardReadParams::for_board(BoardName::Global);
    let board = context.block_on(op::read_board(&context.app.request(&lead), &params))?;
    let text = board.content.unwrap_or_default();
    let is_complete = |(id, (subject, ..)): &(&TaskId, &PlannedTask)| {
        let entry = msg::cli_demo_board_entry(lang, id, subject(lang));
        text.lines().filter(|line| *line == entry).count() == 1
    };
    let entries = tasks.iter().zip(&TASK_PLAN).filter(is_complete).count();
    let done = parse_milestones(&text).iter().filter(|m| m.done).count();
    print_unless_json(
        out,
        &msg::cli_demo_board_entries(lang, entries, tasks.len(), done, board.version),
    )
}

/// Main loop of a worker process: claims, works and completes until no task is left.
fn run_worker_loop(context: &CommandContext, lang: UiLanguage) -> Result<(), CliError> {
    let app = &context.app;
    let claim = TaskClaimParams {
        lease_ms: Some(CLAIM_LEASE_MS),
        ..TaskClaimParams::default()
    };
    loop {
        let sequence = context.block_on(app.store.last_sequence())?;
        match context.block_on(op::claim_task(&app.request(&context.agent), &claim)) {
            Ok(view) => work_on_task(context, view.task.id, lang)?,
            Err(OpError::Refused(refusal)) if refusal.code == RefusalCode::NOTHING_TO_CLAIM => {
                let left = context.block_on(op::count_overview(&app.person_request()))?;
                if left.pending + left.in_progress == 0 {
                    return Ok(());
                }
                context.block_on(
                    app.store
                        .wait_for_event_after(sequence, Duration::from_millis(200)),
                )?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn work_on_task(context: &CommandContext, id: TaskId, lang: UiLanguage) -> Result<(), CliError> {
    // Long enough to be visible, different for each task.
    let pause = Duration::from_millis(150 + id.number() * 37 % 250);
    std::thread::sleep(pause / 2);
    let heartbeat = TaskHeartbeatParams {
        task_id: id,
        lease_ms: None,
    };
    context.block_on(op::heartbeat_task(&context.request(), &heartbeat))?;
    std::thread::sleep(pause / 2);
    let subject = context
        .block_on(op::get_task(&context.request(), id))?
        .task
        .subject;
    let entry = BoardAppendParams {
        board: BoardName::Global,
        content: msg::cli_demo_board_entry(lang, id, subject),
    };
    context.block_on(op::append_board(&context.request(), &entry))?;
    let update = TaskUpdateParams {
        status: Some(TaskStatus::Completed),
        ..TaskUpdateParams::new(id)
    };
    context.block_on(op::update_task(&context.request(), &update))?;
    Ok(())
}
