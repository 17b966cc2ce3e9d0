//! `polis demo` and `polis demo dev-team`: a team of agents builds a program from a requirement, on the real runtime.
//!
//! Without a requirement the model is a recording: answers that were written in advance (`demo/dev-team.toml`) are
//! played back. Everything else is real: agents are hired, messages sent, files written, and commands run in the
//! sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use polis_core::society::run::Run as Record;
use polis_core::workspace::command::RunCommand;
use polis_core::{AgentId, Code, Refusal};
use polis_ops::op::{self, Desk, Follow};
use polis_ops::{OpError, PortError};
use polis_society::model::{Model, Replay};
use serde_json::json;

use crate::cli::Globals;
use crate::command::run::watch::Watch;
use crate::command::run::{self, Run};
use crate::command::ws::directory;
use crate::context::{Context, Place};
use crate::error::Failure;
use crate::live::renderer::Face;
use crate::model_selection::Here;
use crate::output::{Output, Style, clean, clean_lines};
use crate::run_worker::Drive;
use crate::team::Team;

/// Requirement that the recording answers.
const REQUIREMENT: &str = "Create a simple calculator program: a shell script that evaluates expressions such as \
                           2 * (3 + 4) with whole numbers, brackets and + - * / %. It must need nothing but POSIX sh.";
const RECORDING: &str = include_str!("../../../demo/dev-team.jsonl");
const TEAM: &str = "dev-team";
/// Name of the demo's directory.
const DIRECTORY: &str = "polis-demo";
/// Subdirectory of the delivered program.
const PROGRAM: &str = "calculator";
/// The delivered program's own test.
const TEST: &str = "sh tests/run.sh";
/// Maximum delay before a recorded answer, so that a person can follow.
const PACE: Duration = Duration::from_millis(900);

/// A team of agents builds a program.
#[derive(Debug, Default, Args)]
pub(crate) struct DevTeam {
    /// Where the program goes; default: a directory of the demo's own
    #[arg(value_name = "WORKSPACE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    workspace: Option<PathBuf>,
    /// What to build instead; needs a model, see `polis run`
    #[arg(value_name = "REQUIREMENT")]
    requirement: Option<String>,
    /// Play the recording as fast as it goes
    #[arg(long)]
    fast: bool,
}

impl DevTeam {
    /// Creates the demo that plays the recording, in its own directory.
    pub(super) fn recorded(fast: bool) -> Self {
        Self {
            fast,
            ..Self::default()
        }
    }

    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        if let Some(requirement) = self.requirement {
            return Run::of_team(TEAM, self.workspace, requirement).run(globals, out);
        }
        let home = free_directory()?;
        let globals = Globals {
            dir: Some(home.clone()),
            store: None,
            agent: None,
            json: globals.json,
            verbose: globals.verbose,
        };
        crate::command::init::set_up(&globals, Some(crate::command::init::Language::En))?;
        let workspace = self.workspace.unwrap_or_else(|| home.join(PROGRAM));
        play(&globals, &workspace, self.fast, out)
    }
}

/// Returns an unused directory name in the current directory.
fn free_directory() -> Result<PathBuf, Failure> {
    for number in 1..10_000 {
        let name = match number {
            1 => DIRECTORY.to_owned(),
            more => format!("{DIRECTORY}-{more}"),
        };
        match std::fs::create_dir(&name) {
            Ok(()) => return Ok(std::path::absolute(name)?),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => {
                let failure = PortError::new(
                    Code::StoreReadOnly,
                    "The demo's directory cannot be made here.",
                    "go to a directory that you may write to",
                );
                return Err(failure.because(e.to_string()).into());
            }
        }
    }
    Err(crate::error::invalid(
        "There are thousands of demos here already.",
        format!("remove the directories {DIRECTORY}-*"),
    ))
}

/// Plays the recording on the real runtime.
fn play(globals: &Globals, workspace: &Path, fast: bool, out: &Output) -> Result<(), Failure> {
    let place = Place::find(globals)?;
    let config = place.config()?;
    let context = Context::open_serving(globals)?;
    check_sandbox(&context)?;
    let team = Team::find(None, TEAM, "en")?;
    let params = run::begin(&team, REQUIREMENT.to_owned(), Some(directory(workspace)?));
    let run = context.run(op::start_run(&context.polis, &context.agent, &params))?;
    let mut model = Replay::new(RECORDING)?;
    if !fast && !out.is_json() {
        model = model.paced(PACE);
    }
    let model: Arc<dyn Model> = Arc::new(model);
    let mut face = Face::of(out);
    introduce(&mut face, &run)?;
    let watch = Watch::new(&context, &run, face, Some(0)).alone();
    let here = Here(place.directory());
    let drive = Drive::new("demo", model, &config, vec![run.id.clone()], &here);
    run::follow(&context, drive, &run, watch, out)?;
    prove(&context, globals, workspace, out)
}

/// Refuses to start where commands cannot be confined: the team could not test anything, and a test that was not run
/// must not look as if it had passed.
fn check_sandbox(context: &Context) -> Result<(), Failure> {
    let report = op::sandbox_report(&context.polis, &context.agent);
    let report = context.run(report)?;
    if crate::command::doctor::confined(context, &report).is_ok() {
        return Ok(());
    }
    Err(Refusal::new(
        Code::SandboxUnavailable,
        "This machine cannot confine commands, so the team could not test what it builds; nothing was played.",
        "`polis doctor` says what is missing; `polis demo board` runs without it",
    )
    .into())
}

fn introduce(face: &mut Face<'_>, run: &Record) -> Result<(), Failure> {
    face.document(&json!({"kind": "started", "taskId": run.id, "requirement": run.requirement, "recorded": true}))?;
    face.say(&format!(
        "A team of agents builds a program: \"{REQUIREMENT}\"\n\n\
         The model is a RECORDING: its answers were written beforehand and are played back, and no model is asked.\n\
         Everything else is real: hiring, messages, files, and commands in the sandbox.\n"
    ))
}

/// Runs the delivered program's test once more, outside the recording, and prints where everything is.
fn prove(
    context: &Context,
    globals: &Globals,
    workspace: &Path,
    out: &Output,
) -> Result<(), Failure> {
    let head: AgentId = "architect".parse()?;
    let desk = Desk {
        by: &context.agent,
        of: Some(&head),
    };
    let test = context.run(execute(context, desk, TEST))?;
    let shown = context.run(execute(context, desk, "sh calc.sh '2 * (3 + 4)'"))?;
    let passed = test.exit_code == 0;
    let answer = json!({
        "kind": "test", "command": TEST, "exitCode": test.exit_code, "stdout": test.stdout,
        "sandbox": test.sandbox, "workspacePath": workspace,
    });
    out.answer(&answer, |_| {
        let polis = invoked_as();
        let directory = from_here(workspace);
        let home = from_here(globals.dir.as_deref().unwrap_or(workspace));
        format!(
            "\n{}\n{}\n$ sh calc.sh '2 * (3 + 4)'\n{}\n{}\n\
             Open its page:   {polis} --dir {home} open\n\
             Try the program: sh {directory}/calc.sh '7 * 6'\n\
             Look closer:     {polis} --dir {home} society tree --all\n\
             Your own team:   export OPENAI_API_KEY=..., then {polis} run \"REQUIREMENT\"\n\
             Remove the demo: rm -r {home}",
            out.paint(
                Style::Bold,
                &format!("$ {TEST}   (in the sandbox, {})", test.sandbox.as_str())
            ),
            clean_lines(test.stdout.trim_end()),
            clean_lines(shown.stdout.trim_end()),
            if passed {
                ""
            } else {
                "THE TEST DID NOT PASS.\n"
            },
        )
    })?;
    if passed {
        return Ok(());
    }
    Err(Failure::Exit(1))
}

/// Returns how this program was started, so that a printed command works where `polis` is not on the PATH.
fn invoked_as() -> String {
    let typed = std::env::args_os().next().map(PathBuf::from);
    let path = typed.filter(|path| path.components().count() > 1);
    path.map_or_else(|| "polis".to_owned(), |path| from_here(&path))
}

/// Returns a path relative to the current directory.
fn from_here(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).unwrap_or(path);
    clean(&path.display().to_string())
}

async fn execute(
    context: &Context,
    desk: Desk<'_>,
    command: &str,
) -> Result<op::CommandResult, OpError> {
    let params = RunCommand {
        command: command.to_owned(),
        timeout_ms: None,
    };
    let run = op::run_command(&context.polis, desk, &params, Follow::default()).await?;
    Ok(run.answer)
}
