//! The measured society: runs in a child process over the embedded store, and prints its figures as JSON.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::message::{Recipients, SendMessage};
use polis_core::record::RecordKind;
use polis_core::society::brief::TaskBrief;
use polis_core::society::hire::SpawnAgent;
use polis_core::society::role::CreateRole;
use polis_core::society::run::{self, HireLimits};
use polis_core::society::start::StartRun;
use polis_core::society::turn::{Entry, Turn};
use polis_core::{AgentId, MemberKey, Raw, RunId};
use polis_ops::{Polis, Settings, op};
use polis_society::model::{EndpointSettings, Endpoints, EndpointsSettings};
use polis_society::{Society, SocietySettings};
use polis_store::embedded::{EmbeddedStore, Use};
use serde_json::{Value, json};

use super::{resident, spent};
use crate::ground::ground_with;
use crate::scene::Fallible;

/// Name of the run.
const RUN: &str = "bench";

/// Runs a society with this number of agents until all are idle. Continues the run if the store already has it. Returns
/// the figures.
pub(super) fn run(base: &str, place: &Path, agents: usize) -> Fallible<Value> {
    runtime()?.block_on(async {
        let polis = open(place)?;
        let run: RunId = RUN.parse()?;
        let workers = hire(&polis, &run, agents, true).await?;
        let before = size(place);
        let (begun, cpu) = (Instant::now(), spent());
        let endpoint = EndpointSettings::new("scripted", base, "scripted");
        let endpoints = Endpoints::new(EndpointsSettings {
            endpoints: vec![endpoint],
            ..EndpointsSettings::default()
        })?;
        let society = Society::start(
            polis.clone(),
            Arc::new(endpoints),
            SocietySettings::of("bench"),
        )
        .await?;
        let (samples, mut sampled) = tokio::sync::mpsc::unbounded_channel();
        let sampling = tokio::spawn(async move {
            while samples.send(resident()).is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        society.settled().await;
        let (wall, cpu) = (begun.elapsed().as_secs_f64(), spent() - cpu);
        sampling.abort();
        let at_end = resident();
        let mut memory = Vec::new();
        while let Ok(sample) = sampled.try_recv() {
            memory.push(sample);
        }
        let half = memory.get(memory.len() / 2).copied().unwrap_or(at_end);
        society.stop(Duration::from_secs(5)).await;
        let (turns, conversations) = talked(&polis, &run, &workers).await?;
        let effects = count_effects(&polis).await?;
        drop(polis);
        Ok(json!({
            "turns": turns,
            "wall": wall,
            "cpu": cpu,
            "effects": effects,
            "resident": at_end,
            "residentHalf": half,
            "conversations": conversations,
            "grown": size(place).saturating_sub(before),
        }))
    })
}

/// Measures the memory of a process with this number of idle agents.
pub(super) fn idle(place: &Path, agents: usize) -> Fallible<Value> {
    runtime()?.block_on(async {
        {
            let polis = open(place)?;
            hire(&polis, &RUN.parse()?, agents, false).await?;
        }
        let polis = open(place)?;
        let before = resident();
        let endpoint = EndpointSettings::new("none", "http://127.0.0.1:9/v1", "none");
        let endpoints = Endpoints::new(EndpointsSettings {
            endpoints: vec![endpoint],
            ..EndpointsSettings::default()
        })?;
        let society =
            Society::start(polis, Arc::new(endpoints), SocietySettings::of("bench")).await?;
        society.settled().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let held = resident();
        society.stop(Duration::from_secs(5)).await;
        Ok(json!({ "before": before, "resident": held }))
    })
}

fn runtime() -> Fallible<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // As in the binary: one processor is left to the store's writer thread.
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.saturating_sub(1).max(1))
        .enable_all()
        .build()?)
}

fn open(place: &Path) -> Fallible<Polis> {
    let home = place.join(".agent-workspace");
    std::fs::create_dir_all(&home)?;
    let patience = Duration::from_secs(30);
    let store = if home.join("polis.db").exists() {
        EmbeddedStore::open(&home, Use::Long, patience)?
    } else {
        EmbeddedStore::create(&home, Use::Long, patience)?
    };
    let mut settings = Settings::default();
    settings.society.hire = HireLimits {
        depth: 5,
        agents: 100_000,
        a_minute: 1_000_000,
    };
    Ok(ground_with(Arc::new(store), settings))
}

/// Hires a lead, foremen below it and workers below them, and with `begin` sends each worker a message. Does nothing if
/// the run exists. Returns the workers' names.
async fn hire(polis: &Polis, run: &RunId, agents: usize, begin: bool) -> Fallible<Vec<AgentId>> {
    let user = AgentId::user();
    let names = (0..agents).map(|n| format!("worker-{n}").parse());
    let names: Vec<AgentId> = names.collect::<Result<_, _>>()?;
    if polis.store.record(&run::record_name(run)).await?.is_some() {
        return Ok(names);
    }
    let start = StartRun {
        requirement: "Nothing.".to_owned(),
        task_id: Some(run.clone()),
        ..StartRun::default()
    };
    op::start_run(polis, &user, &start).await?;
    let task =
        json!({ "subject": "What everybody looks at", "description": "Do the thing. ".repeat(20) });
    op::create_task(polis, &user, &serde_json::from_value(task)?).await?;
    let within = polis.within(run.clone());
    let root: AgentId = "root".parse()?;
    // Consume root's first message: root's turn is not part of the measurement.
    op::check_messages(&within, &root, &op::CheckMessages::default()).await?;
    let role = |name: &str| CreateRole {
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
    op::create_role(&within, &root, &role("lead")).await?;
    let lead = op::spawn_agent(
        &within,
        &root,
        &spawn("lead", None, brief("Lead.".to_owned())),
    )
    .await?;
    for name in ["foreman", "worker"] {
        op::create_role(polis, &lead.id, &role(name)).await?;
    }
    // At most 100 workers per foreman: no agent hires more than a person could name.
    for part in names.chunks(100) {
        let foreman = spawn(
            "foreman",
            None,
            brief("See that the work is done.".to_owned()),
        );
        let foreman = op::spawn_agent(polis, &lead.id, &foreman).await?;
        for name in part {
            let worker = spawn(
                "worker",
                Some(name),
                brief(format!("Do the work of {name}.")),
            );
            op::spawn_agent(polis, &foreman.id, &worker).await?;
        }
        if begin {
            let message = SendMessage {
                to: Recipients::Several(part.iter().map(ToString::to_string).collect()),
                payload: Raw::of(&json!({ "text": "Begin." }))?,
                reply_to: None,
                delay_ms: None,
            };
            op::send_message(polis, &foreman.id, &message).await?;
        }
    }
    Ok(names)
}

fn spawn(role: &str, name: Option<&AgentId>, task_brief: TaskBrief) -> SpawnAgent {
    SpawnAgent {
        role: Some(role.to_owned()),
        name: name.map(ToString::to_string),
        task_brief,
        ..SpawnAgent::default()
    }
}

/// Returns the number of model answers, and the size of all conversations in bytes.
async fn talked(polis: &Polis, run: &RunId, workers: &[AgentId]) -> Fallible<(u64, usize)> {
    let (mut answers, mut bytes) = (0, 0);
    for worker in workers {
        let member = MemberKey::new(run.clone(), worker.clone());
        for turn in polis.store.turns(&member, 0, u32::MAX).await? {
            let turn: Turn = serde_json::from_str(&turn.body)?;
            for entry in &turn.of {
                answers += u64::from(matches!(entry, Entry::Said { .. }));
                let (Entry::Heard { m, .. }
                | Entry::Said { m, .. }
                | Entry::Did { m, .. }
                | Entry::Told { m }
                | Entry::Summed { m, .. }) = entry;
                bytes += m.text().len();
            }
        }
    }
    Ok((answers, bytes))
}

/// Returns the number of artifacts and tasks, without the one task that the setup creates for calls that read.
async fn count_effects(polis: &Polis) -> Fallible<usize> {
    let artifacts = polis
        .store
        .records(RecordKind::Artifact, None, u32::MAX)
        .await?;
    let tasks = polis.store.last_task_number().await?;
    Ok(artifacts.len() + usize::try_from(tasks.saturating_sub(1))?)
}

/// Returns the size of the store's database file in bytes.
fn size(place: &Path) -> u64 {
    let home = place.join(".agent-workspace");
    let bytes = |name: &str| std::fs::metadata(home.join(name)).map_or(0, |found| found.len());
    bytes("polis.db")
}
