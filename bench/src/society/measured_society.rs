//! The measured society: runs in a child process over the embedded store, and prints its figures as JSON.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::message::{MessageRecipients, SendMessageParams};
use polis_core::record::RecordKind;
use polis_core::society::brief::TaskBrief;
use polis_core::society::hire::SpawnAgentParams;
use polis_core::society::run::{self, HireLimits};
use polis_core::society::society_role::CreateRoleParams;
use polis_core::society::start_run::StartRunParams;
use polis_core::society::turn::{ConversationEntry, ConversationTurn};
use polis_core::{AgentId, MemberKey, RawJson, RunId};
use polis_ops::{App, InstallationSettings, op};
use polis_society::model::{EndpointSettings, ModelEndpoints, ModelEndpointsSettings};
use polis_society::{Society, WorkerSettings};
use polis_store::embedded::{EmbeddedStore, StoreMode};
use serde_json::{Value, json};

use super::{cpu_seconds, resident_bytes};
use crate::bench_env::BenchResult;
use crate::polis_setup::new_polis_with_settings;

/// Name of the run.
const RUN_NAME: &str = "bench";

/// Runs a society with this number of agents until all are idle. Continues the run if the store already has
/// it. Returns the figures.
pub(super) fn run_society(base: &str, directory: &Path, agents: usize) -> BenchResult<Value> {
    new_runtime()?.block_on(async {
        let app = open_app(directory)?;
        let run: RunId = RUN_NAME.parse()?;
        let workers = hire_team(&app, &run, agents, true).await?;
        let before = database_bytes(directory);
        let (started, cpu) = (Instant::now(), cpu_seconds());
        let endpoint = EndpointSettings::new("scripted", base, "scripted");
        let endpoints = ModelEndpoints::new(ModelEndpointsSettings {
            endpoints: vec![endpoint],
            ..ModelEndpointsSettings::default()
        })?;
        let society = Society::start(
            app.clone(),
            Arc::new(endpoints),
            WorkerSettings::for_worker("bench"),
        )
        .await?;
        let (samples, mut sampled) = tokio::sync::mpsc::unbounded_channel();
        let sampling = tokio::spawn(async move {
            while samples.send(resident_bytes()).is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        society.wait_until_settled().await;
        let (wall, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        sampling.abort();
        let at_end = resident_bytes();
        let mut memory = Vec::new();
        while let Ok(sample) = sampled.try_recv() {
            memory.push(sample);
        }
        let half = memory.get(memory.len() / 2).copied().unwrap_or(at_end);
        society.stop(Duration::from_secs(5)).await;
        let (turns, conversations) = conversation_totals(&app, &run, &workers).await?;
        let effects = count_effects(&app).await?;
        drop(app);
        Ok(json!({
            "turns": turns,
            "wall": wall,
            "cpu": cpu,
            "effects": effects,
            "resident": at_end,
            "residentHalf": half,
            "conversations": conversations,
            "grown": database_bytes(directory).saturating_sub(before),
        }))
    })
}

/// Measures the memory of a process with this number of idle agents.
pub(super) fn measure_idle_memory(directory: &Path, agents: usize) -> BenchResult<Value> {
    new_runtime()?.block_on(async {
        {
            let app = open_app(directory)?;
            hire_team(&app, &RUN_NAME.parse()?, agents, false).await?;
        }
        let app = open_app(directory)?;
        let before = resident_bytes();
        let endpoint = EndpointSettings::new("none", "http://127.0.0.1:9/v1", "none");
        let endpoints = ModelEndpoints::new(ModelEndpointsSettings {
            endpoints: vec![endpoint],
            ..ModelEndpointsSettings::default()
        })?;
        let society = Society::start(
            app,
            Arc::new(endpoints),
            WorkerSettings::for_worker("bench"),
        )
        .await?;
        society.wait_until_settled().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let resident = resident_bytes();
        society.stop(Duration::from_secs(5)).await;
        Ok(json!({ "before": before, "resident": resident }))
    })
}

fn new_runtime() -> BenchResult<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // As in the binary: one processor is left to the store's writer thread.
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.saturating_sub(1).max(1))
        .enable_all()
        .build()?)
}

fn open_app(directory: &Path) -> BenchResult<App> {
    let home = directory.join(".agent-workspace");
    std::fs::create_dir_all(&home)?;
    let timeout = Duration::from_secs(30);
    let store = if home.join("polis.db").exists() {
        EmbeddedStore::open(&home, StoreMode::Server, timeout)?
    } else {
        EmbeddedStore::create(&home, StoreMode::Server, timeout)?
    };
    let mut settings = InstallationSettings::default();
    settings.society.hire_limits = HireLimits {
        depth: 5,
        agents: 100_000,
        per_minute: 1_000_000,
    };
    Ok(new_polis_with_settings(Arc::new(store), settings))
}

/// Hires a lead, foremen below it and workers below them, and with `begin` sends each worker a message. Does
/// nothing if the run exists. Returns the workers' names.
async fn hire_team(
    app: &App,
    run: &RunId,
    agents: usize,
    begin: bool,
) -> BenchResult<Vec<AgentId>> {
    let user = AgentId::user();
    let names = (0..agents).map(|n| format!("worker-{n}").parse());
    let names: Vec<AgentId> = names.collect::<Result<_, _>>()?;
    if app
        .store
        .record(&run::run_record_name(run))
        .await?
        .is_some()
    {
        return Ok(names);
    }
    let start = StartRunParams {
        requirement: "Nothing.".to_owned(),
        run_id: Some(run.clone()),
        ..StartRunParams::default()
    };
    op::start_run(&app.request(&user), &start).await?;
    let task =
        json!({ "subject": "What everybody looks at", "description": "Do the thing. ".repeat(20) });
    op::create_task(&app.request(&user), &serde_json::from_value(task)?).await?;
    let root = app.request(&AgentId::root()).in_run(run.clone());
    // Consume root's first message: root's turn is not part of the measurement.
    op::check_messages(&root, &op::CheckMessagesParams::default()).await?;
    let role = |name: &str| CreateRoleParams {
        name: name.to_owned(),
        role_prompt: "You do what you are told, one step after another, and say so.".to_owned(),
        tools: None,
        model: None,
        approve: None,
    };
    let brief = |what: String| TaskBrief {
        objective: what,
        ..TaskBrief::default()
    };
    op::create_role(&root, &role("lead")).await?;
    let lead = op::spawn_agent(
        &root,
        &spawn_agent_params("lead", None, brief("Lead.".to_owned())),
    )
    .await?;
    for name in ["foreman", "worker"] {
        op::create_role(&app.request(&lead.id), &role(name)).await?;
    }
    // At most 100 workers per foreman: no agent hires more than a person could name.
    for part in names.chunks(100) {
        let foreman = spawn_agent_params(
            "foreman",
            None,
            brief("See that the work is done.".to_owned()),
        );
        let foreman = op::spawn_agent(&app.request(&lead.id), &foreman).await?;
        for name in part {
            let worker = spawn_agent_params(
                "worker",
                Some(name),
                brief(format!("Do the work of {name}.")),
            );
            op::spawn_agent(&app.request(&foreman.id), &worker).await?;
        }
        if begin {
            let message = SendMessageParams {
                to: MessageRecipients::Several(part.iter().map(ToString::to_string).collect()),
                payload: RawJson::from_value(&json!({ "text": "Begin." }))?,
                reply_to: None,
                delay_ms: None,
            };
            op::send_message(&app.request(&foreman.id), &message).await?;
        }
    }
    Ok(names)
}

fn spawn_agent_params(
    role: &str,
    name: Option<&AgentId>,
    task_brief: TaskBrief,
) -> SpawnAgentParams {
    SpawnAgentParams {
        role: Some(role.to_owned()),
        name: name.map(ToString::to_string),
        task_brief,
        ..SpawnAgentParams::default()
    }
}

/// Returns the number of model responses, and the size of all conversations in bytes.
async fn conversation_totals(
    app: &App,
    run: &RunId,
    workers: &[AgentId],
) -> BenchResult<(u64, usize)> {
    let (mut answers, mut bytes) = (0, 0);
    for worker in workers {
        let member = MemberKey::new(run.clone(), worker.clone());
        for turn in app.store.turns(&member, 0, u32::MAX).await? {
            let turn: ConversationTurn = serde_json::from_str(&turn.body)?;
            for entry in &turn.entries {
                answers += u64::from(matches!(entry, ConversationEntry::Response { .. }));
                let (ConversationEntry::Received { message, .. }
                | ConversationEntry::Response { message, .. }
                | ConversationEntry::ToolResult { message, .. }
                | ConversationEntry::Note { message }
                | ConversationEntry::Summary { message, .. }) = entry;
                bytes += message.as_str().len();
            }
        }
    }
    Ok((answers, bytes))
}

/// Returns the number of artifacts and tasks, without the one task that the setup creates for calls that
/// read.
async fn count_effects(app: &App) -> BenchResult<usize> {
    let artifacts = app
        .store
        .records(RecordKind::Artifact, None, u32::MAX)
        .await?;
    let tasks = app.store.last_task_number().await?;
    Ok(artifacts.len() + usize::try_from(tasks.saturating_sub(1))?)
}

/// Returns the size of the store's database file in bytes.
fn database_bytes(directory: &Path) -> u64 {
    let home = directory.join(".agent-workspace");
    let bytes = |name: &str| std::fs::metadata(home.join(name)).map_or(0, |found| found.len());
    bytes("polis.db")
}
