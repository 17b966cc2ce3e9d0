//! `polis demo` and `polis demo dev-team`: a team of agents builds a program from a requirement, on the real
//! runtime.
//!
//! Without a requirement, the model is a recording in the person's language: responses that were written in
//! advance (`demo/LANGUAGE/dev-team.jsonl`, made from `dev-team.toml` in the same directory) are played back.
//! Everything else is real: agents are hired, messages sent, files written, and commands run in the sandbox. The
//! delivered program is then tested once more. With a requirement it is `polis run` with the same team.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use polis_core::society::run::Run;
use polis_core::society::run_id_json::with_run_id;
use polis_core::workspace::command::RunCommandParams;
use polis_core::{AgentId, Refusal};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, CommandObservers};
use polis_ops::{OpError, PortError};
use polis_society::model::{LanguageModel, ReplayModel};
use serde_json::json;

use crate::cli::GlobalArgs;
use crate::command::init;
use crate::command::run::run_watcher::RunWatcher;
use crate::command::run::{self, RunArgs};
use crate::command::ws::absolute_directory;
use crate::context::{CommandContext, ProjectLocation};
use crate::error::CliError;
use crate::live::renderer::RunRenderer;
use crate::model_selection::ProcessEnvironment;
use crate::output::{CliOutput, TextStyle, sanitize_line, sanitize_lines};
use crate::person_language::PersonLanguage;
use crate::refusal_tables::CommandRefusal;
use crate::run_worker::RunWorkerSettings;
use crate::team::TeamTemplate;

const TEAM_NAME: &str = "dev-team";
/// Name of the demo's directory.
const DEMO_DIR: &str = "polis-demo";
/// Subdirectory of the delivered program.
const PROGRAM_DIR: &str = "calculator";
/// The delivered program's own test.
const TEST_COMMAND: &str = "sh tests/run.sh";
/// Maximum delay before a recorded response, so that a person can follow.
const MAX_RESPONSE_DELAY: Duration = Duration::from_millis(900);

/// A team of agents builds a program.
#[derive(Debug, Default, Args)]
pub(crate) struct DemoDevTeamArgs {
    /// Directory of the program; default: one in the demo's own directory
    #[arg(value_name = "WORKSPACE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    workspace: Option<PathBuf>,
    /// What to build instead of the recorded program; needs a model, see `polis run`
    #[arg(value_name = "REQUIREMENT")]
    requirement: Option<String>,
    /// Play the recording without pauses
    #[arg(long)]
    fast: bool,
}

impl DemoDevTeamArgs {
    /// Creates the demo that plays the recording, in its own directory.
    pub(super) fn from_recording(fast: bool) -> Self {
        Self {
            fast,
            ..Self::default()
        }
    }

    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        if let Some(requirement) = self.requirement {
            return RunArgs::for_team(TEAM_NAME, self.workspace, requirement).run(globals, out);
        }
        let lang = out.lang();
        let home = create_demo_dir()?;
        let globals = GlobalArgs {
            dir: Some(home.clone()),
            store: None,
            agent: None,
            json: globals.json,
            verbose: globals.verbose,
            lang: globals.lang,
            language: PersonLanguage::fixed(lang),
        };
        init::set_up_project(&globals, Some(lang.into()))?;
        let workspace = self.workspace.unwrap_or_else(|| home.join(PROGRAM_DIR));
        play_recording(&globals, &workspace, self.fast, out)
    }
}

/// Returns the recording in a language.
fn recording(lang: UiLanguage) -> &'static str {
    match lang {
        UiLanguage::En => include_str!("../../../demo/en/dev-team.jsonl"),
        UiLanguage::Zh => include_str!("../../../demo/zh/dev-team.jsonl"),
    }
}

/// Creates a new directory for the demo in the current directory, and returns its absolute path.
fn create_demo_dir() -> Result<PathBuf, CliError> {
    for number in 1..10_000 {
        let name = match number {
            1 => DEMO_DIR.to_owned(),
            more => format!("{DEMO_DIR}-{more}"),
        };
        match std::fs::create_dir(&name) {
            Ok(()) => return Ok(std::path::absolute(name)?),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => {
                let failure = PortError::from(CommandRefusal::DemoNotWritable);
                return Err(failure.with_source(e.to_string()).into());
            }
        }
    }
    Err(CliError::from(CommandRefusal::TooManyDemos {
        demo_dir: DEMO_DIR.to_string(),
    }))
}

/// Plays the recording on the real runtime.
fn play_recording(
    globals: &GlobalArgs,
    workspace: &Path,
    fast: bool,
    out: &CliOutput,
) -> Result<(), CliError> {
    let location = ProjectLocation::find(globals)?;
    let config = location.load_config()?;
    let context = CommandContext::open_serving(globals)?;
    check_sandbox(&context)?;
    let lang = out.lang();
    let team = TeamTemplate::load(None, TEAM_NAME, lang.code())?;
    let params = run::start_run_params(
        &team,
        msg::cli_demo_requirement(lang).to_owned(),
        Some(absolute_directory(workspace)?),
    );
    let run = context.block_on(op::start_run(&context.request(), &params))?;
    let mut model = ReplayModel::new(recording(lang))?;
    if !fast && !out.is_json() {
        model = model.with_recorded_delays(MAX_RESPONSE_DELAY);
    }
    let model: Arc<dyn LanguageModel> = Arc::new(model);
    let mut renderer = RunRenderer::for_output(out);
    print_introduction(&mut renderer, &run)?;
    let watch = RunWatcher::new(&context, &run, renderer, Some(0)).non_interactive();
    let environment = ProcessEnvironment(location.project_dir());
    let settings =
        RunWorkerSettings::new("demo", model, &config, vec![run.id.clone()], &environment);
    run::drive_and_watch(&context, settings, &run, watch, out)?;
    run_delivered_test(&context, globals, workspace, out)
}

/// Refuses to start where commands cannot be confined: the team could not test anything, and a test that was
/// not run must not look as if it had passed.
fn check_sandbox(context: &CommandContext) -> Result<(), CliError> {
    let request = context.request();
    let report = op::sandbox_report(&request);
    let report = context.block_on(report)?;
    if crate::command::doctor::check_confinement(context, &report).is_ok() {
        return Ok(());
    }
    Err(Refusal::from(CommandRefusal::DemoUnconfined).into())
}

fn print_introduction(renderer: &mut RunRenderer<'_>, run: &Run) -> Result<(), CliError> {
    let started = json!({"kind": "started", "requirement": run.requirement, "recorded": true});
    renderer.print_document(&with_run_id(started, &run.id))?;
    let text = msg::cli_demo_introduction(renderer.lang(), &run.requirement);
    renderer.print_text(&format!("{text}\n"))
}

/// Runs the delivered program's test once more, outside the recording, and prints where everything is.
fn run_delivered_test(
    context: &CommandContext,
    globals: &GlobalArgs,
    workspace: &Path,
    out: &CliOutput,
) -> Result<(), CliError> {
    let head: AgentId = "architect".parse()?;
    let lang = out.lang();
    let test = context.block_on(run_in_workspace(context, &head, TEST_COMMAND, lang))?;
    let example = "sh calc.sh '2 * (3 + 4)'";
    let example = context.block_on(run_in_workspace(context, &head, example, lang))?;
    let passed = test.exit_code == 0;
    let answer = json!({
        "kind": "test", "command": TEST_COMMAND, "exitCode": test.exit_code, "stdout": test.stdout,
        "sandbox": test.sandbox, "workspacePath": workspace,
    });
    out.print_result(&answer, |_| {
        let polis = program_path();
        let directory = path_from_current_dir(workspace);
        let home = path_from_current_dir(globals.dir.as_deref().unwrap_or(workspace));
        let sandbox = msg::cli_demo_in_sandbox(lang, test.sandbox.as_str());
        let verdict = if passed {
            String::new()
        } else {
            format!("{}\n", msg::cli_demo_test_failed(lang))
        };
        format!(
            "\n{}\n{}\n$ sh calc.sh '2 * (3 + 4)'\n{}\n{verdict}\n{}",
            out.paint(TextStyle::Bold, &format!("$ {TEST_COMMAND}   {sandbox}")),
            sanitize_lines(test.stdout.trim_end()),
            sanitize_lines(example.stdout.trim_end()),
            msg::cli_demo_next_steps(lang, polis, home, directory),
        )
    })?;
    if passed {
        return Ok(());
    }
    Err(CliError::Exit(1))
}

/// Returns how this program was started, so that a printed command works where `polis` is not on the PATH.
fn program_path() -> String {
    let argument = std::env::args_os().next().map(PathBuf::from);
    let path = argument.filter(|path| path.components().count() > 1);
    path.map_or_else(|| "polis".to_owned(), |path| path_from_current_dir(&path))
}

/// Returns a path relative to the current directory.
fn path_from_current_dir(path: &Path) -> String {
    let current_dir = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&current_dir).unwrap_or(path);
    sanitize_line(&path.display().to_string())
}

async fn run_in_workspace(
    context: &CommandContext,
    owner: &AgentId,
    command: &str,
    lang: UiLanguage,
) -> Result<op::CommandResult, OpError> {
    let params = RunCommandParams {
        command: command.to_owned(),
        timeout_ms: None,
    };
    let run = op::run_command(
        &context.request(),
        Some(owner),
        &params,
        CommandObservers::default(),
        lang,
    )
    .await?;
    Ok(run.result)
}
