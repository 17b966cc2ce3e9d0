//! `polis doctor`: checks the installation, the configuration, the store, the boards and the sandbox.

use std::path::Path;

use clap::Args;
use polis_core::AgentId;
use polis_ops::op::{self, ListBoards};
use polis_ops::port::SandboxReport;
use polis_store::EmbeddedStore;
use polis_store::embedded::Use;
use serde::Serialize;

use super::init;
use crate::cli::Globals;
use crate::config::Config;
use crate::context::{Context, Place, Target};
use crate::error::Failure;
use crate::output::{Output, Style, clean};

#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    version: &'static str,
    checks: Vec<Check>,
    /// Confinement available for commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<SandboxReport>,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

/// Check the installation and the store, and say what to do about what is wrong.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Repair what can be repaired without losing anything: keep the data of the project out of git
    #[arg(long)]
    fix: bool,
}

impl Doctor {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        check(globals, self.fix, out)
    }
}

/// Runs all checks and prints the report.
fn check(globals: &Globals, fix: bool, out: &Output) -> Result<(), Failure> {
    let mut checks = Vec::new();
    let mut sandbox = None;
    let mut note = |name, found: Result<String, Failure>| {
        let (ok, detail) = match found {
            Ok(detail) => (true, detail),
            Err(Failure::Op(error)) => {
                let document = error.document();
                (
                    false,
                    format!("{} Next: {}", document.error.message, document.error.hint),
                )
            }
            Err(_) => (false, "failed".to_owned()),
        };
        checks.push(Check { name, ok, detail });
        ok
    };
    let place = Place::find(globals);
    let (found, place) = match place {
        Ok(place) => (Ok(directory(&place)), Some(place)),
        Err(failure) => (Err(failure), None),
    };
    note("directory", found);
    if let Some(place) = place {
        if let Some(workspace) = &place.workspace {
            note("gitignore", gitignore(workspace, fix));
        }
        let config = place.config();
        note(
            "configuration",
            config
                .clone()
                .map(|_| "sound".to_owned())
                .map_err(Into::into),
        );
        if let Ok(config) = config {
            note(
                "permissions",
                place
                    .policy(&config)
                    .map(|_| "sound".to_owned())
                    .map_err(Into::into),
            );
            let kind = match place.store(&config) {
                Target::Directory(_) => "embedded",
                Target::Postgres(_) => "PostgreSQL",
            };
            let context = Context::open(globals);
            note(
                "store",
                context
                    .as_ref()
                    .map(|_| kind.to_owned())
                    .map_err(|_| reopen(globals)),
            );
            if let Ok(context) = context {
                note("integrity", integrity(&place, &config));
                note(
                    "content",
                    context
                        .run(op::overview(&context.polis))
                        .map_err(Into::into)
                        .map(|o| {
                            format!(
                                "{} tasks, {} agents, {} events",
                                o.pending + o.in_progress + o.completed,
                                o.agents,
                                o.events
                            )
                        }),
                );
                note("boards", boards(&context, &place, &config));
                note("writable", writable(&place, &config));
                if place.workspace.is_some() {
                    sandbox = context
                        .run(op::sandbox_report(&context.polis, &AgentId::user()))
                        .map_err(|error| note("sandbox", Err(error.into())))
                        .ok();
                }
                if let Some(report) = &sandbox {
                    note("sandbox", confined(&context, report));
                }
            }
        }
    }
    let report = Report {
        ok: checks.iter().all(|c| c.ok),
        version: env!("CARGO_PKG_VERSION"),
        checks,
        sandbox,
    };
    out.answer(&report, |r| {
        let mut text = format!("polis {}\n", r.version);
        for check in &r.checks {
            let mark = if check.ok {
                out.paint(Style::Green, "✓")
            } else {
                out.paint(Style::Red, "✗")
            };
            text.push_str(&format!("{mark} {:<14} {}\n", check.name, check.detail));
        }
        let layers = || r.sandbox.iter().flat_map(|sandbox| &sandbox.layers);
        let width = layers().map(|layer| layer.name.len()).max().unwrap_or(0);
        for layer in layers() {
            let mark = if layer.active { "✓" } else { "–" };
            let detail = clean(&layer.detail);
            text.push_str(&format!("  {mark} {:<width$} {detail}\n", layer.name));
        }
        text
    })?;
    if report.ok {
        Ok(())
    } else {
        Err(Failure::Exit(1))
    }
}

/// Checks that commands are confined as strongly as the configuration requires.
pub(crate) fn confined(context: &Context, report: &SandboxReport) -> Result<String, Failure> {
    let commands = &context.polis.settings.commands;
    let wanted = commands
        .roles
        .iter()
        .map(|(role, policy)| (role.as_str(), policy.weakest))
        .chain([("everybody", commands.default.weakest)])
        .max_by_key(|(_, weakest)| *weakest);
    let tier = report.tier.as_str();
    match wanted {
        Some((who, weakest)) if report.tier < weakest => Err(crate::error::invalid(
            format!(
                "Commands are confined at {tier}, and {} is required for {who}: they are refused.",
                weakest.as_str()
            ),
            "mend what is missing below, or allow less with `sandbox.weakest` in polis.toml",
        )),
        _ => Ok(format!("commands are confined at {tier}")),
    }
}

/// Checks that git ignores the data of the project; repairs it if `fix` is set.
fn gitignore(workspace: &Path, fix: bool) -> Result<String, Failure> {
    if init::is_ignored_in_git(workspace) {
        return Ok("git ignores the data of this project".to_owned());
    }
    if fix {
        init::repair_ignored_in_git(workspace)?;
        return Ok("repaired: git now ignores the data of this project".to_owned());
    }
    Err(crate::error::invalid(
        "git would commit the database, locks and private workspaces of this project.",
        "run `polis doctor --fix`, or add `*` to .agent-workspace/.gitignore yourself",
    ))
}

/// Returns the project directory for display.
fn directory(place: &Place) -> String {
    place.directory().map_or_else(
        || "on the server alone".to_owned(),
        |directory| clean(&directory.to_string_lossy()),
    )
}

/// Opens the store again, to get the error that opening it returns.
fn reopen(globals: &Globals) -> Failure {
    match Context::open(globals) {
        Ok(_) => crate::error::invalid(
            "The store opened only at the second try.",
            "run `polis doctor` again",
        ),
        Err(failure) => failure,
    }
}

/// Opens the embedded store, if the project uses it.
fn embedded(place: &Place, config: &Config) -> Result<Option<EmbeddedStore>, Failure> {
    match place.store(config) {
        Target::Postgres(_) => Ok(None),
        Target::Directory(workspace) => {
            let store = EmbeddedStore::open(&workspace, Use::Brief, config.patience())?;
            Ok(Some(store))
        }
    }
}

fn boards(context: &Context, place: &Place, config: &Config) -> Result<String, Failure> {
    let list = context.run(op::list_boards(
        &context.polis,
        &AgentId::user(),
        &ListBoards::default(),
    ))?;
    let written = list.boards.iter().filter(|board| board.version > 0).count();
    let Some(store) = embedded(place, config)? else {
        return Ok(format!("{written} written"));
    };
    match context.run(store.check_boards())?.first() {
        None => Ok(format!("{written} written, files as the store has them")),
        Some(first) => Err(crate::error::invalid(
            format!("The file of board {first} is not what the store has."),
            "`touch` the file to take what it says as a new version, or delete it to get the store's back",
        )),
    }
}

fn integrity(place: &Place, config: &Config) -> Result<String, Failure> {
    let Some(store) = embedded(place, config)? else {
        return Ok("not checked on PostgreSQL".to_owned());
    };
    match store.check()?.first() {
        None => Ok("no damage found".to_owned()),
        Some(first) => Err(crate::error::invalid(
            format!("The database is damaged: {first}."),
            "restore .agent-workspace/polis.db from a backup",
        )),
    }
}

fn writable(place: &Place, config: &Config) -> Result<String, Failure> {
    if let Target::Directory(workspace) = place.store(config) {
        tempfile::tempfile_in(&workspace).map_err(|_| {
            crate::error::invalid(
                "The directory cannot be written.",
                "check the permissions of .agent-workspace",
            )
        })?;
        return Ok("yes".to_owned());
    }
    Ok("not checked on PostgreSQL".to_owned())
}
