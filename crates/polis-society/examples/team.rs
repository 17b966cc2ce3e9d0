//! Runs a society from Rust code: `cargo run --example team -p polis-society`.
//!
//! The model is a scripted recording, so that the example runs anywhere; for a real model use
//! `polis_society::model::ModelEndpoints` instead.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polis_core::AgentId;
use polis_core::number::saturating_cast;
use polis_core::society::society_role::CreateRoleParams;
use polis_core::society::start_run::StartRunParams;
use polis_ops::op::{self, CheckMessagesParams, GetOrgParams};
use polis_ops::port::Clock;
use polis_ops::{App, InstallationSettings};
use polis_society::model::ReplayModel;
use polis_society::progress_event::ProgressStep;
use polis_society::{Society, WorkerSettings};
use polis_store::EmbeddedStore;
use polis_store::embedded::StoreMode;
use polis_testkit::CountingRandomSource;
use polis_workspace::files::WorkspaceFiles;
use polis_workspace::sandbox::SandboxTerminal;

/// The responses of all agents, in order: the agent, and how many messages it has received by then.
const SCRIPT: &str = r#"{"recording":1,"about":"an example","loose":true}
{"agent":"root","heard":1,"text":"One writer will do.","calls":[{"tool":"spawn_agent","arguments":{"role":"writer","name":"ada","taskBrief":{"objective":"Write a haiku into haiku.txt."}}},{"tool":"send_message","arguments":{"to":"ada","payload":"Please begin."}}]}
{"agent":"root","heard":1,"text":"Ada writes it."}
{"agent":"ada","heard":1,"text":"","calls":[{"tool":"write_file","arguments":{"path":"haiku.txt","content":"Commits, one by one.\nThe process dies; the next one\nknows what it had done.\n"}},{"tool":"send_message","arguments":{"to":"user","payload":"It is in haiku.txt."}}]}
{"agent":"ada","heard":1,"text":"Done."}
"#;

/// Clock with the real time.
#[derive(Debug)]
struct ExampleClock;

impl Clock for ExampleClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_millis(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        saturating_cast::<i64>(since.as_millis())
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The operations: a store, and a directory for files and commands.
    let directory = tempfile::tempdir()?;
    let store = EmbeddedStore::create(directory.path(), StoreMode::Server, Duration::from_secs(5))?;
    let app = App::new(
        Arc::new(store),
        Arc::new(ExampleClock),
        Arc::new(CountingRandomSource::default()),
        InstallationSettings::default(),
    )
    .with_workspaces(
        Arc::new(WorkspaceFiles::new(directory.path())),
        Arc::new(SandboxTerminal::new(directory.path().to_owned())),
    );

    // A society drives all runs of the store, regardless of which process started them. This one uses the
    // script as its model.
    let model = Arc::new(ReplayModel::new(SCRIPT)?);
    let society = Society::start(app.clone(), model, WorkerSettings::for_worker("example")).await?;
    let mut progress = society.subscribe_progress();

    // A run: one requirement, and its initial roles.
    let user = AgentId::user();
    let run = StartRunParams {
        requirement: "A haiku about crashes.".to_owned(),
        roles: vec![CreateRoleParams {
            name: "writer".to_owned(),
            role_prompt: "You write short texts.".to_owned(),
            tools: None,
            model: None,
            approve: None,
        }],
        ..StartRunParams::default()
    };
    let run = op::start_run(&app.request(&user), &run).await?;

    // The society is settled when no member has work left.
    society.wait_until_settled().await;
    while let Ok(event) = progress.try_recv() {
        if let ProgressStep::ToolCallEnded { tool, end, .. } = event.step {
            println!("{}: {tool} ({end:?})", event.member.agent);
        }
    }

    let org = GetOrgParams {
        run_id: Some(run.id.clone()),
        all: false,
    };
    for member in op::get_org(&app.request(&user), &org).await?.members {
        let spent = member.spent.turns;
        println!(
            "{} ({}) answered {spent} times",
            member.agent_id, member.role_name
        );
    }
    let mail = op::check_messages(&app.request(&user), &CheckMessagesParams::default()).await?;
    for message in mail.messages {
        println!("{} says {}", message.from, message.payload.as_str());
    }
    let ada: AgentId = "ada".parse()?;
    let info = op::get_workspace_info(&app.request(&ada), None).await?;
    println!("{} file in the workspace", info.info.file_count);
    society.stop(Duration::from_secs(5)).await;
    Ok(())
}
