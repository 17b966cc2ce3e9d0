//! `polis run`: starts a society on this directory's store, or resumes one, and shows its progress.
//!
//! The requirement and all progress are in the store. This command starts a run there, drives it and watches it. If the
//! command ends or is killed, `polis run --resume` or a `polis serve` continues the run.

pub(crate) mod end;
mod person;
pub(crate) mod typed;
pub(crate) mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use polis_core::society::budget::Limits;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run as Record, RunStatus};
use polis_core::society::start::StartRun;
use polis_core::{Code, Refusal};
use polis_ops::op::{self, GetOrg, HoldSociety, SetBudget};
use polis_ops::tool;
use polis_society::model::Model;
use polis_workspace::registry::MachineRegistry;
use serde_json::json;

use super::society::{BudgetFlags, which};
use super::text_or_stdin;
use super::ws::directory;
use crate::cli::Globals;
use crate::config::Config;
use crate::context::{Context, Place, WORKSPACE, workspace_of};
use crate::error::{Failure, invalid};
use crate::live::renderer::Face;
use crate::model_selection::{self, Here, Surroundings as _};
use crate::output::Output;
use crate::run_worker::Drive;
use crate::team::{self, Team};
use watch::{Ended, Watch};

/// Grace period of a graceful shutdown.
const GRACE: Duration = Duration::from_secs(10);
/// Exit code of an interrupted run.
const INTERRUPTED: u8 = 130;

/// Start a society, or go on with one, and watch it work.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What is to be done, in plain words; `-` reads it from standard input
    #[arg(value_name = "REQUIREMENT")]
    requirement: Option<String>,
    /// The directory it works in, made if it is not there; default: one below .agent-workspace
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    workspace: Option<PathBuf>,
    /// The team it begins with; default: dev-team
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
    /// What it thinks with: an endpoint of the configuration, a model's name, or replay:FILE
    #[arg(
        long,
        value_name = "MODEL",
        env = "POLIS_MODEL",
        hide_env_values = true
    )]
    model: Option<String>,
    /// Record what the model answers, for replay:FILE
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    record: Option<PathBuf>,
    /// A tool whose calls wait until you allow them; may be given several times
    #[arg(long, value_name = "TOOL")]
    approve: Vec<String>,
    /// Go on with a run: the one named, or the newest that is not over
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["team", "workspace", "approve"])]
    #[expect(
        clippy::option_option,
        reason = "the flag, and whether a run is named with it"
    )]
    resume: Option<Option<String>>,
    /// Only start it; a `polis serve` on this store drives it
    #[arg(long)]
    detach: bool,
    /// Allow every call that waits to be allowed
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    budget: BudgetFlags,
}

impl Run {
    /// Creates the command that starts a run of a team, as if it had been given on the command line.
    pub(crate) fn of_team(team: &str, workspace: Option<PathBuf>, requirement: String) -> Self {
        Self {
            requirement: Some(requirement),
            workspace,
            team: Some(team.to_owned()),
            model: Here(None).variable("POLIS_MODEL"),
            record: None,
            approve: Vec::new(),
            resume: None,
            detach: false,
            yes: false,
            budget: BudgetFlags::default(),
        }
    }

    pub(crate) fn run(mut self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let requirement = self.requirement.take().map(text_or_stdin).transpose()?;
        self.check(requirement.as_deref())?;
        let limits = self.budget.limits()?;
        // Create a project in the directory only after everything that could refuse the run was checked.
        let existing = find_project(globals)?;
        let config = existing
            .as_ref()
            .map_or_else(|| Ok(Config::default()), Place::config)?;
        let model = match self.detach && existing.is_some() {
            // In an existing project the server may have a model that is not configured for this process.
            true => None,
            false => Some(self.model(existing.as_ref(), &config, &limits)?),
        };
        let place = match existing {
            Some(place) => place,
            None => {
                self.check_new_project(globals, &config)?;
                create_project(globals, out)?
            }
        };
        let config = place.config()?;
        let Some(model) = model.filter(|_| !self.detach) else {
            return self.leave(
                requirement.unwrap_or_default(),
                limits,
                (globals, &place, &config),
                out,
            );
        };
        let context = Context::open_serving(globals)?;
        let since = context.run(watch::newest_mail(&context))?;
        let resumed = requirement.is_none();
        let run = match requirement {
            Some(text) => self.start(&context, &place, &config, text, limits)?,
            None => go_on(&context, self.resume.flatten().as_deref(), limits)?,
        };
        let model = match &self.record {
            Some(file) => model_selection::recorded(model, file)?,
            None => model,
        };
        let mut face = Face::of(out);
        greet(&mut face, &run, resumed)?;
        let watch = Watch::new(&context, &run, face, since.filter(|_| !resumed)).yes(self.yes);
        let here = Here(place.directory());
        let drive = Drive::new("run", model, &config, vec![run.id.clone()], &here);
        follow(&context, drive, &run, watch, out)
    }

    fn check(&self, requirement: Option<&str>) -> Result<(), Failure> {
        match (requirement, &self.resume) {
            (Some(text), _) if text.trim().is_empty() => Err(invalid(
                "The requirement is empty.",
                "say what is to be done: polis run \"a command line calculator\"",
            )),
            (Some(_), Some(_)) => Err(invalid(
                "A run that goes on has its requirement already.",
                "write to it with `polis society send root TEXT`, or leave --resume out to start another",
            )),
            (None, None) => Err(invalid(
                "It was not said what is to be done.",
                "polis run \"REQUIREMENT\" starts a society; polis run --resume goes on with the newest",
            )),
            (None, Some(_)) if self.detach => Err(invalid(
                "A run that is there already is left to `polis serve` without being started.",
                "start `polis serve`; it goes on with every run of the store",
            )),
            _ => Ok(()),
        }
    }

    fn model(
        &self,
        place: Option<&Place>,
        config: &Config,
        limits: &Limits,
    ) -> Result<Arc<dyn Model>, Failure> {
        let here = Here(place.and_then(Place::directory));
        let chosen = model_selection::choose(config, self.model.as_deref(), &here)?;
        chosen.check_money(limits.micros.is_some())?;
        chosen.model(config, &here)
    }

    /// Checks everything that could refuse the run, before its project is created.
    fn check_new_project(&self, globals: &Globals, config: &Config) -> Result<(), Failure> {
        let team = self.team.as_deref().unwrap_or(&config.society.team);
        Team::find(None, team, team::language(config))?;
        tool::check_names(&self.approve, false)?;
        if let Some(workspace) = &self.workspace {
            let data = workspace_of(&super::init::directory(globals)?);
            let workspace = directory(workspace)?;
            let registry = MachineRegistry::of_user();
            let data = std::path::absolute(data)?;
            polis_workspace::files::resolve(Path::new(&workspace), &data, Some(&registry))?;
        }
        Ok(())
    }

    /// Creates the run in the store.
    fn start(
        &self,
        context: &Context,
        place: &Place,
        config: &Config,
        requirement: String,
        limits: Limits,
    ) -> Result<Record, Failure> {
        let name = self.team.as_deref().unwrap_or(&config.society.team);
        let team = Team::find(place.workspace.as_deref(), name, team::language(config))?;
        let workspace = self.workspace.as_deref().map(directory).transpose()?;
        let mut params = begin(&team, requirement, workspace);
        params.approve.clone_from(&self.approve);
        params.budget = Some(limits).filter(|limits| *limits != Limits::default());
        Ok(context.run(op::start_run(&context.polis, &context.agent, &params))?)
    }

    /// Starts a run without driving it (`--detach`); a server drives it.
    fn leave(
        &self,
        requirement: String,
        limits: Limits,
        (globals, place, config): (&Globals, &Place, &Config),
        out: &Output,
    ) -> Result<(), Failure> {
        let context = Context::open(globals)?;
        let run = self.start(&context, place, config, requirement, limits)?;
        out.answer(&run, |run| {
            format!(
                "Run {} is started. A `polis serve` on this store drives it, as soon as there is one.\n\
                 See it with `polis society tree {}`, or drive it here with `polis run --resume {}`.",
                run.id, run.id, run.id
            )
        })
    }
}

/// Returns the parameters that start a run of a team.
pub(crate) fn begin(team: &Team, requirement: String, workspace: Option<String>) -> StartRun {
    StartRun {
        message: Some(team.requirement(&requirement)),
        requirement,
        workspace_path: workspace,
        team: Some(team.name.clone()),
        roles: team.create_roles(),
        ..StartRun::default()
    }
}

/// Returns the project that the run belongs to, or `None` if it does not exist yet.
fn find_project(globals: &Globals) -> Result<Option<Place>, Failure> {
    match Place::find(globals) {
        Err(Failure::Op(error)) if error.code() == Code::NotInitialized => Ok(None),
        found => found.map(Some),
    }
}

fn create_project(globals: &Globals, out: &Output) -> Result<Place, Failure> {
    super::init::set_up(globals, None)?;
    if !out.is_json() {
        out.warn(&format!("Created {WORKSPACE} here, as `polis init` does."));
    }
    Place::find(globals)
}

/// Resumes a run and its parked members, which try their model again. If the budget was raised, paused members are
/// resumed as well. Fails with `RunNotFound` if the run is stopped.
fn go_on(context: &Context, named: Option<&str>, limits: Limits) -> Result<Record, Failure> {
    let run = which(context, named)?;
    if run.status == RunStatus::Stopped {
        return Err(Refusal::new(
            Code::RunNotFound,
            format!("Run {} is over.", run.id),
            "start another with `polis run \"REQUIREMENT\"`; `polis society ps` shows those that go on",
        )
        .into());
    }
    let (polis, caller) = (&context.polis, &context.agent);
    let more = limits != Limits::default();
    if more {
        let budget = SetBudget {
            task_id: Some(run.id.clone()),
            agent_id: None,
            budget: limits,
            replace: false,
        };
        context.run(op::set_budget(polis, caller, &budget))?;
    }
    let hold = |agent| HoldSociety {
        task_id: Some(run.id.clone()),
        agent_id: agent,
        subtree: false,
        reason: None,
    };
    if run.status == RunStatus::Paused {
        context.run(op::resume_society(polis, caller, &hold(None)))?;
    }
    let org = GetOrg {
        task_id: Some(run.id.clone()),
        all: false,
    };
    for member in context.run(op::get_org(polis, caller, &org))?.members {
        let again = match member.status {
            MemberStatus::Parked => true,
            MemberStatus::Paused => more,
            _ => false,
        };
        if again {
            let params = hold(Some(member.agent_id));
            context.run(op::resume_society(polis, caller, &params))?;
        }
    }
    Ok(run)
}

fn greet(face: &mut Face<'_>, run: &Record, resumed: bool) -> Result<(), Failure> {
    let kind = if resumed { "resumed" } else { "started" };
    face.document(&json!({"kind": kind, "taskId": run.id, "requirement": run.requirement}))?;
    let what = if resumed { "goes on" } else { "begins" };
    face.say(&format!(
        "Run {} {what}. Type to answer, /help for more; Ctrl-C stops it, and it can go on later.",
        run.id
    ))
}

/// Drives a run and watches it until it ends, then prints the summary. Fails with the exit code of a conflict if the
/// run needs the person, or with 130 if it was interrupted.
pub(crate) fn follow(
    context: &Context,
    drive: Drive,
    run: &Record,
    mut watch: Watch<'_>,
    out: &Output,
) -> Result<(), Failure> {
    let ended = context.run(async {
        let driven = drive.start(context).await?;
        let mut signals = super::serve::Signals::new()?;
        let ended = watch.follow(&driven.society, &mut signals).await;
        watch.stopping(ended.as_ref().ok().copied())?;
        tokio::select! {
            () = driven.stop(GRACE) => {}
            () = signals.next() => {
                watch.close();
                return Err(Failure::Exit(INTERRUPTED));
            }
        }
        ended
    });
    watch.close();
    let ended = ended?;
    end::tell(context, run, ended, &watch, out)?;
    match ended {
        Ended::Done | Ended::Over | Ended::Quit => Ok(()),
        Ended::Held => Err(Failure::Exit(crate::error::exit_code(
            polis_core::Kind::Conflict,
        ))),
        Ended::Interrupted => Err(Failure::Exit(INTERRUPTED)),
    }
}
