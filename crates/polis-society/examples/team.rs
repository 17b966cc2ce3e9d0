//! Runs a society from Rust code: `cargo run --example team -p polis-society`.
//!
//! The model is a scripted recording, so that the example runs anywhere; for a real model use
//! `polis_society::model::Endpoints` instead.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polis_core::AgentId;
use polis_core::society::role::CreateRole;
use polis_core::society::start::StartRun;
use polis_ops::op::{self, CheckMessages, Desk, GetOrg};
use polis_ops::port::Clock;
use polis_ops::{Polis, Settings};
use polis_society::model::Replay;
use polis_society::progress::Step;
use polis_society::{Society, SocietySettings};
use polis_store::EmbeddedStore;
use polis_store::embedded::Use;
use polis_testkit::CountedChance;
use polis_workspace::files::WorkspaceFiles;
use polis_workspace::sandbox::SandboxTerminal;

/// The responses of all agents, in order: the agent, and how many messages it has received by then.
const SCRIPT: &str = r#"{"recording":1,"about":"an example","loose":true}
{"agent":"root","heard":1,"text":"One writer will do.","calls":[{"tool":"spawn_agent","arguments":{"role":"writer","name":"ada","taskBrief":{"objective":"Write a haiku into haiku.txt."}}},{"tool":"send_message","arguments":{"to":"ada","payload":"Please begin."}}]}
{"agent":"root","heard":1,"text":"Ada writes it."}
{"agent":"ada","heard":1,"text":"","calls":[{"tool":"write_file","arguments":{"path":"haiku.txt","content":"Commits, one by one.\nThe process dies; the next one\nknows what it had done.\n"}},{"tool":"send_message","arguments":{"to":"user","payload":"It is in haiku.txt."}}]}
{"agent":"ada","heard":1,"text":"Done."}
"#;

/// The system clock.
#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_millis(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The operations: a store, and a directory for files and commands.
    let place = tempfile::tempdir()?;
    let store = EmbeddedStore::create(place.path(), Use::Long, Duration::from_secs(5))?;
    let polis = Polis::new(
        Arc::new(store),
        Arc::new(SystemClock),
        Arc::new(CountedChance::default()),
        Settings::default(),
    )
    .with_workspaces(
        Arc::new(WorkspaceFiles::new(place.path())),
        Arc::new(SandboxTerminal::new(place.path().to_owned())),
    );

    // A society drives all runs of the store, regardless of which process started them. This one uses the script as its
    // model.
    let model = Arc::new(Replay::new(SCRIPT)?);
    let society = Society::start(polis.clone(), model, SocietySettings::of("example")).await?;
    let mut progress = society.progress();

    // A run: one requirement, and its initial roles.
    let user = AgentId::user();
    let run = StartRun {
        requirement: "A haiku about crashes.".to_owned(),
        roles: vec![CreateRole {
            name: "writer".to_owned(),
            role_prompt: "You write short texts.".to_owned(),
            tools: None,
            model: None,
            approve: None,
        }],
        ..StartRun::default()
    };
    let run = op::start_run(&polis, &user, &run).await?;

    // The society is settled when no member has work left.
    society.settled().await;
    while let Ok(heard) = progress.try_recv() {
        if let Step::Called { tool, end, .. } = heard.step {
            println!("{}: {tool} ({end:?})", heard.member.agent);
        }
    }

    let org = GetOrg {
        task_id: Some(run.id.clone()),
        all: false,
    };
    for member in op::get_org(&polis, &user, &org).await?.members {
        let spent = member.spent.turns;
        println!(
            "{} ({}) answered {spent} times",
            member.agent_id, member.role_name
        );
    }
    let mail = op::check_messages(&polis, &user, &CheckMessages::default()).await?;
    for letter in mail.messages {
        println!("{} says {}", letter.from, letter.payload.text());
    }
    let ada: AgentId = "ada".parse()?;
    let info = op::get_workspace_info(&polis, Desk::own(&ada)).await?;
    println!("{} file in the workspace", info.info.file_count);
    society.stop(Duration::from_secs(5)).await;
    Ok(())
}
