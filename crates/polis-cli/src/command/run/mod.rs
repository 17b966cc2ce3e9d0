//! `polis run`: starts a run in this directory's project, or resumes one, drives it and shows its progress. A
//! project that does not exist yet is created, after everything that could refuse the run was checked.
//!
//! The requirement and all progress are in the store. If the command ends or is killed, `polis run --resume`
//! or a `polis serve` continues the run; with `--detach` the run is only started.

mod input_commands;
pub(crate) mod input_parser;
pub(crate) mod run_summary;
pub(crate) mod run_watcher;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use polis_core::society::budget::BudgetLimits;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::run_id_json::with_run_id;
use polis_core::society::start_run::StartRunParams;
use polis_core::{Refusal, RefusalCode};
use polis_i18n::msg;
use polis_ops::op::{self, GetOrgParams, PauseSocietyParams, SetBudgetParams};
use polis_ops::tool;
use polis_society::model::LanguageModel;
use polis_workspace::machine_registry::MachineRegistry;
use serde_json::json;

use super::read_text_arg;
use super::society::{BudgetArgs, find_run};
use super::ws::absolute_directory;
use crate::cli::GlobalArgs;
use crate::config::Config;
use crate::context::{CommandContext, DATA_DIR_NAME, ProjectLocation, data_dir_of};
use crate::error::CliError;
use crate::live::renderer::RunRenderer;
use crate::model_selection::{self, EnvironmentSource as _, ProcessEnvironment};
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;
use crate::run_worker::RunWorkerSettings;
use crate::team::{self, TeamTemplate};
use run_watcher::{RunWatcher, WatchOutcome};

/// Grace period of a graceful shutdown.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(10);
/// Exit code of an interrupted run.
const INTERRUPTED_EXIT_CODE: u8 = 130;

/// Start or resume a run, and watch it.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Requirement, in plain words; `-` reads it from standard input
    #[arg(value_name = "REQUIREMENT")]
    requirement: Option<String>,
    /// Directory it works in, created if missing; default: one below .agent-workspace
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    workspace: Option<PathBuf>,
    /// Team template to start with; default: dev-team
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
    /// Model: a configured endpoint, a model name, or replay:FILE
    #[arg(
        long,
        value_name = "MODEL",
        env = "POLIS_MODEL",
        hide_env_values = true
    )]
    model: Option<String>,
    /// Record the model's answers to a file, for --model replay:FILE
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    record: Option<PathBuf>,
    /// Tool whose calls need your approval; may be repeated
    #[arg(long, value_name = "TOOL")]
    approve: Vec<String>,
    /// Resume a run: the named one, or the newest that is not stopped
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["team", "workspace", "approve"])]
    #[expect(
        clippy::option_option,
        reason = "the flag, and whether a run is named with it"
    )]
    resume: Option<Option<String>>,
    /// Only start the run; a `polis serve` on this store drives it
    #[arg(long)]
    detach: bool,
    /// Approve every call that needs approval
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    budget: BudgetArgs,
}

impl RunArgs {
    /// Creates the command that starts a run of a team, as if it had been given on the command line.
    pub(crate) fn for_team(team: &str, workspace: Option<PathBuf>, requirement: String) -> Self {
        Self {
            requirement: Some(requirement),
            workspace,
            team: Some(team.to_owned()),
            model: ProcessEnvironment(None).env_variable("POLIS_MODEL"),
            record: None,
            approve: Vec::new(),
            resume: None,
            detach: false,
            yes: false,
            budget: BudgetArgs::default(),
        }
    }

    pub(crate) fn run(mut self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let requirement = self.requirement.take().map(read_text_arg).transpose()?;
        self.check_arguments(requirement.as_deref())?;
        let limits = self.budget.limits()?;
        // Create a project in the directory only after everything that could refuse the run was checked.
        let existing = find_project(globals)?;
        let config = existing
            .as_ref()
            .map_or_else(|| Ok(Config::default()), ProjectLocation::load_config)?;
        let model = if self.detach && existing.is_some() {
            // In an existing project the server may have a model that is not configured for this process.
            None
        } else {
            Some(self.build_model(existing.as_ref(), &config, &limits)?)
        };
        let location = match existing {
            Some(location) => location,
            None => {
                self.check_new_project(globals, &config)?;
                create_project(globals, out)?
            }
        };
        let config = location.load_config()?;
        let Some(model) = model.filter(|_| !self.detach) else {
            return self.start_detached(
                requirement.unwrap_or_default(),
                limits,
                (globals, &location, &config),
                out,
            );
        };
        let context = CommandContext::open_serving(globals)?;
        let since = context.block_on(run_watcher::newest_message_id(&context))?;
        let resumed = requirement.is_none();
        let run = match requirement {
            Some(text) => self.start_run(&context, &location, &config, text, limits)?,
            None => resume_run(&context, self.resume.flatten().as_deref(), limits)?,
        };
        let model = match &self.record {
            Some(file) => model_selection::record_responses(model, file)?,
            None => model,
        };
        let mut renderer = RunRenderer::for_output(out);
        print_greeting(&mut renderer, &run, resumed)?;
        let watch = RunWatcher::new(&context, &run, renderer, since.filter(|_| !resumed))
            .with_auto_approve(self.yes);
        let environment = ProcessEnvironment(location.project_dir());
        let settings =
            RunWorkerSettings::new("run", model, &config, vec![run.id.clone()], &environment);
        drive_and_watch(&context, settings, &run, watch, out)
    }

    fn check_arguments(&self, requirement: Option<&str>) -> Result<(), CliError> {
        match (requirement, &self.resume) {
            (Some(text), _) if text.trim().is_empty() => {
                Err(CliError::from(CommandRefusal::RequirementEmpty))
            }
            (Some(_), Some(_)) => Err(CliError::from(CommandRefusal::RequirementWithResume)),
            (None, None) => Err(CliError::from(CommandRefusal::RequirementMissing)),
            (None, Some(_)) if self.detach => Err(CliError::from(CommandRefusal::DetachWithResume)),
            _ => Ok(()),
        }
    }

    fn build_model(
        &self,
        location: Option<&ProjectLocation>,
        config: &Config,
        limits: &BudgetLimits,
    ) -> Result<Arc<dyn LanguageModel>, CliError> {
        let environment = ProcessEnvironment(location.and_then(ProjectLocation::project_dir));
        let chosen = model_selection::select_model(config, self.model.as_deref(), &environment)?;
        let has_money_limit = limits
            .micros
            .is_some_and(|most| most != BudgetLimits::NO_LIMIT);
        chosen.check_money_budget(has_money_limit)?;
        chosen.into_model(config, &environment)
    }

    /// Checks everything that could refuse the run, before its project is created.
    fn check_new_project(&self, globals: &GlobalArgs, config: &Config) -> Result<(), CliError> {
        let team = self.team.as_deref().unwrap_or(&config.society.team);
        TeamTemplate::load(None, team, team::team_language(config))?;
        tool::check_tool_names(&self.approve, false)?;
        if let Some(workspace) = &self.workspace {
            let data = data_dir_of(&super::init::target_project_dir(globals)?);
            let workspace = absolute_directory(workspace)?;
            let registry = MachineRegistry::for_current_user();
            let data = std::path::absolute(data)?;
            polis_workspace::files::resolve_directory(
                Path::new(&workspace),
                &data,
                Some(&registry),
            )?;
        }
        Ok(())
    }

    /// Creates the run in the store.
    fn start_run(
        &self,
        context: &CommandContext,
        location: &ProjectLocation,
        config: &Config,
        requirement: String,
        limits: BudgetLimits,
    ) -> Result<Run, CliError> {
        let name = self.team.as_deref().unwrap_or(&config.society.team);
        let team = TeamTemplate::load(
            location.data_dir.as_deref(),
            name,
            team::team_language(config),
        )?;
        let workspace = self
            .workspace
            .as_deref()
            .map(absolute_directory)
            .transpose()?;
        let mut params = start_run_params(&team, requirement, workspace);
        params.approve.clone_from(&self.approve);
        params.budget = Some(limits).filter(|limits| *limits != BudgetLimits::default());
        Ok(context.block_on(op::start_run(&context.request(), &params))?)
    }

    /// Starts a run without driving it (`--detach`); a server drives it.
    fn start_detached(
        &self,
        requirement: String,
        limits: BudgetLimits,
        (globals, location, config): (&GlobalArgs, &ProjectLocation, &Config),
        out: &CliOutput,
    ) -> Result<(), CliError> {
        let context = CommandContext::open(globals)?;
        let run = self.start_run(&context, location, config, requirement, limits)?;
        out.print_result(&run, |run| msg::cli_run_detached(out.lang(), &run.id))
    }
}

/// Returns the parameters that start a run of a team.
pub(crate) fn start_run_params(
    team: &TeamTemplate,
    requirement: String,
    workspace: Option<String>,
) -> StartRunParams {
    StartRunParams {
        message: Some(team.render_requirement(&requirement)),
        requirement,
        workspace_path: workspace,
        team: Some(team.name.clone()),
        roles: team.create_roles(),
        ..StartRunParams::default()
    }
}

/// Returns the project that the run belongs to, or `None` if it does not exist yet.
fn find_project(globals: &GlobalArgs) -> Result<Option<ProjectLocation>, CliError> {
    match ProjectLocation::find(globals) {
        Err(CliError::Op(error)) if error.code() == RefusalCode::NOT_INITIALIZED => Ok(None),
        found => found.map(Some),
    }
}

fn create_project(globals: &GlobalArgs, out: &CliOutput) -> Result<ProjectLocation, CliError> {
    super::init::set_up_project(globals, None)?;
    if !out.is_json() {
        out.print_stderr(&msg::cli_run_project_created(out.lang(), DATA_DIR_NAME));
    }
    ProjectLocation::find(globals)
}

/// Resumes a run and its parked members, which try their model again. If limits are given, the budget is
/// changed, and paused members are resumed as well. Fails with `RunNotFound` if there is no such run or it is
/// stopped.
fn resume_run(
    context: &CommandContext,
    named: Option<&str>,
    limits: BudgetLimits,
) -> Result<Run, CliError> {
    let run = find_run(context, named)?;
    if run.status == RunStatus::Stopped {
        return Err(Refusal::from(CommandRefusal::RunStopped {
            run: run.id.to_string(),
        })
        .into());
    }
    let (app, caller) = (&context.app, &context.agent);
    let more = limits != BudgetLimits::default();
    if more {
        let budget = SetBudgetParams {
            run_id: Some(run.id.clone()),
            agent_id: None,
            budget: limits,
            replace: false,
        };
        context.block_on(op::set_budget(&app.request(caller), &budget))?;
    }
    let hold = |agent| PauseSocietyParams {
        run_id: Some(run.id.clone()),
        agent_id: agent,
        subtree: false,
        reason: None,
    };
    if run.status == RunStatus::Paused {
        context.block_on(op::resume_society(&app.request(caller), &hold(None)))?;
    }
    let org = GetOrgParams {
        run_id: Some(run.id.clone()),
        all: false,
    };
    for member in context
        .block_on(op::get_org(&app.request(caller), &org))?
        .members
    {
        let should_resume = match member.status {
            MemberStatus::Parked => true,
            MemberStatus::Paused => more,
            _ => false,
        };
        if should_resume {
            let params = hold(Some(member.agent_id));
            context.block_on(op::resume_society(&app.request(caller), &params))?;
        }
    }
    Ok(run)
}

fn print_greeting(
    renderer: &mut RunRenderer<'_>,
    run: &Run,
    resumed: bool,
) -> Result<(), CliError> {
    let kind = if resumed { "resumed" } else { "started" };
    renderer.print_document(&with_run_id(
        json!({"kind": kind, "requirement": run.requirement}),
        &run.id,
    ))?;
    let lang = renderer.lang();
    renderer.print_text(&if resumed {
        msg::cli_run_resumed(lang, &run.id)
    } else {
        msg::cli_run_started(lang, &run.id)
    })
}

/// Drives a run and watches it until it ends or the person quits, then prints the summary. Fails with the
/// exit code of a conflict if the run needs the person, or with 130 if it was interrupted.
pub(crate) fn drive_and_watch(
    context: &CommandContext,
    settings: RunWorkerSettings,
    run: &Run,
    mut watch: RunWatcher<'_>,
    out: &CliOutput,
) -> Result<(), CliError> {
    let ended = context.block_on(async {
        let worker = settings.start_worker(context).await?;
        let mut signals = super::serve::ShutdownSignals::new()?;
        let ended = watch.watch_until_end(&worker.society, &mut signals).await;
        watch.print_stopping(ended.as_ref().ok().copied())?;
        tokio::select! {
            () = worker.stop(SHUTDOWN_GRACE_PERIOD) => {}
            () = signals.wait() => {
                watch.close_terminal();
                return Err(CliError::Exit(INTERRUPTED_EXIT_CODE));
            }
        }
        ended
    });
    watch.close_terminal();
    let ended = ended?;
    run_summary::print_run_summary(context, run, ended, &watch, out)?;
    match ended {
        WatchOutcome::Done | WatchOutcome::Stopped | WatchOutcome::Quit => Ok(()),
        WatchOutcome::NeedsPerson => Err(CliError::Exit(crate::error::exit_code(
            polis_core::RefusalKind::Conflict,
        ))),
        WatchOutcome::Interrupted => Err(CliError::Exit(INTERRUPTED_EXIT_CODE)),
    }
}
