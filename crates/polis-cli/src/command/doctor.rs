//! `polis doctor`: checks the installation, the configuration, the store, the boards and the sandbox, and
//! exits with 1 if a check fails. `--fix` repairs the project's `.gitignore`.

use std::path::Path;

use clap::Args;
use polis_core::AgentId;
use polis_core::workspace::command_policy::SandboxTier;
use polis_i18n::{Surface, UiLanguage, msg};
use polis_ops::op::{self, ListBoardsParams};
use polis_ops::port::SandboxReport;
use polis_store::EmbeddedStore;
use polis_store::embedded::StoreMode;
use polis_view::display_width::pad_to_width;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::init;
use crate::cli::GlobalArgs;
use crate::config::Config;
use crate::context::{CommandContext, ProjectLocation, StoreTarget};
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, sanitize_line};
use crate::refusal_tables::ProjectRefusal;

/// Width of the names of checks, in columns.
const NAME_COLUMNS: usize = 14;

#[derive(Debug, Serialize)]
struct DoctorReport {
    ok: bool,
    version: &'static str,
    checks: Vec<DoctorCheck>,
    /// Confinement available for commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<SandboxReport>,
}

#[derive(Debug, Serialize)]
struct DoctorCheck {
    name: &'static str,
    ok: bool,
    detail: String,
}

/// Check the installation, the configuration and the store, and print how to fix each problem.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired without losing data: make git ignore the data directory
    #[arg(long)]
    fix: bool,
}

impl DoctorArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        run_checks(globals, self.fix, out)
    }
}

/// Runs all checks and prints the report.
fn run_checks(globals: &GlobalArgs, fix: bool, out: &CliOutput) -> Result<(), CliError> {
    // The details are in English for programs.
    let lang = if out.is_json() {
        UiLanguage::En
    } else {
        out.lang()
    };
    let mut checks = Vec::new();
    let mut sandbox = None;
    let mut note = |name, found: Result<String, CliError>| {
        let ok = found.is_ok();
        let detail = found.unwrap_or_else(|failure| describe_problem(&failure, lang));
        checks.push(DoctorCheck { name, ok, detail });
    };
    let valid = || msg::cli_project_valid(lang).to_owned();
    let location = ProjectLocation::find(globals);
    let (found, location) = match location {
        Ok(location) => (Ok(display_project_dir(&location, lang)), Some(location)),
        Err(failure) => (Err(failure), None),
    };
    note(msg::cli_project_check_directory(lang), found);
    if let Some(location) = location {
        if let Some(data_dir) = &location.data_dir {
            let ignored = check_gitignore(data_dir, fix, lang);
            note(msg::cli_project_check_gitignore(lang), ignored);
        }
        let config = location.load_config();
        note(
            msg::cli_project_check_configuration(lang),
            config.clone().map(|_| valid()).map_err(Into::into),
        );
        if let Ok(config) = config {
            let policy = location.load_policy(&config);
            note(
                msg::cli_project_check_permissions(lang),
                policy.map(|_| valid()).map_err(Into::into),
            );
            let kind = match location.store_target(&config) {
                StoreTarget::Directory(_) => msg::cli_project_store_embedded(lang),
                StoreTarget::Postgres(_) => "PostgreSQL",
            };
            let context = CommandContext::open(globals);
            note(
                msg::cli_project_check_store(lang),
                context
                    .as_ref()
                    .map(|_| kind.to_owned())
                    .map_err(|_| reopen_error(globals)),
            );
            if let Ok(context) = context {
                let store = (&location, &config, lang);
                note(
                    msg::cli_project_check_integrity(lang),
                    check_integrity(store),
                );
                note(
                    msg::cli_project_check_content(lang),
                    count_content(&context, lang),
                );
                note(
                    msg::cli_project_check_boards(lang),
                    check_boards(&context, store),
                );
                note(msg::cli_project_check_writable(lang), check_writable(store));
                let name = msg::cli_project_check_sandbox(lang);
                if location.data_dir.is_some() {
                    sandbox = context
                        .block_on(op::sandbox_report(&context.app.request(&AgentId::user())))
                        .map_err(|error| note(name, Err(error.into())))
                        .ok();
                }
                if let Some(report) = &sandbox {
                    let found = check_confinement(&context, report)
                        .map(|tier| msg::cli_project_confined(lang, tier.as_str()))
                        .map_err(|weakness| weakness.into_error(report, lang));
                    note(name, found);
                }
            }
        }
    }
    let report = DoctorReport {
        ok: checks.iter().all(|c| c.ok),
        version: env!("CARGO_PKG_VERSION"),
        checks,
        sandbox,
    };
    out.print_result(&report, |report| render_report(report, out))?;
    if report.ok {
        Ok(())
    } else {
        Err(CliError::Exit(1))
    }
}

fn render_report(report: &DoctorReport, out: &CliOutput) -> String {
    let lang = out.lang();
    let mut text = format!("polis {}\n", report.version);
    for check in &report.checks {
        let mark = if check.ok {
            out.paint(TextStyle::Green, "✓")
        } else {
            out.paint(TextStyle::Red, "✗")
        };
        let name = pad_to_width(check.name, NAME_COLUMNS);
        text.push_str(&format!("{mark} {name} {}\n", check.detail));
    }
    let layers = || report.sandbox.iter().flat_map(|sandbox| &sandbox.layers);
    let width = layers().map(|layer| layer.label(lang).width()).max();
    for layer in layers() {
        let mark = if layer.active { "✓" } else { "–" };
        let name = pad_to_width(layer.label(lang), width.unwrap_or(0));
        let detail = sanitize_line(&layer.detail.render(lang));
        text.push_str(&format!("  {mark} {name} {detail}\n"));
    }
    text
}

fn describe_problem(failure: &CliError, lang: UiLanguage) -> String {
    match failure {
        CliError::Op(error) => {
            let text = error.render(Surface::Cli, lang);
            msg::cli_project_check_problem(lang, text.message, text.hint)
        }
        CliError::BrokenPipe | CliError::Exit(_) => msg::cli_project_check_failed(lang).to_owned(),
    }
}

/// The configuration requires a stronger sandbox than this machine has.
#[derive(Debug)]
pub(crate) struct SandboxWeakness {
    required: SandboxTier,
    /// The role that requires it; `None`: all roles.
    role_name: Option<String>,
}

impl SandboxWeakness {
    fn into_error(self, report: &SandboxReport, lang: UiLanguage) -> CliError {
        let all_roles = || msg::cli_project_all_roles(lang).to_owned();
        CliError::from(ProjectRefusal::SandboxTooWeak {
            tier: report.tier.as_str().to_string(),
            required: self.required.as_str().to_string(),
            role_name: self.role_name.unwrap_or_else(all_roles),
        })
    }
}

/// Counts the tasks, agents and events of the store.
fn count_content(context: &CommandContext, lang: UiLanguage) -> Result<String, CliError> {
    let found = context.block_on(op::count_overview(&context.request()))?;
    let tasks = found.pending + found.in_progress + found.completed;
    Ok(msg::cli_project_store_content(
        lang,
        tasks,
        found.agents,
        found.events,
    ))
}

/// Checks that commands are confined as strongly as the configuration requires. Returns the tier.
pub(crate) fn check_confinement(
    context: &CommandContext,
    report: &SandboxReport,
) -> Result<SandboxTier, SandboxWeakness> {
    let commands = &context.app.settings.command_policies;
    let required = commands
        .roles
        .iter()
        .map(|(role, policy)| (Some(role.as_str()), policy.weakest_tier))
        .chain([(None, commands.default.weakest_tier)])
        .max_by_key(|(_, weakest)| *weakest);
    match required {
        Some((role_name, required)) if report.tier < required => Err(SandboxWeakness {
            required,
            role_name: role_name.map(str::to_owned),
        }),
        _ => Ok(report.tier),
    }
}

/// Checks that git ignores the data of the project; repairs it if `fix` is set.
fn check_gitignore(data_dir: &Path, fix: bool, lang: UiLanguage) -> Result<String, CliError> {
    if init::is_private_data_ignored(data_dir) {
        return Ok(msg::cli_project_git_ignores_data(lang).to_owned());
    }
    if fix {
        init::repair_gitignore(data_dir)?;
        return Ok(msg::cli_project_gitignore_repaired(lang).to_owned());
    }
    Err(CliError::from(ProjectRefusal::GitWouldCommitData))
}

/// Returns the project directory for display.
fn display_project_dir(location: &ProjectLocation, lang: UiLanguage) -> String {
    location.project_dir().map_or_else(
        || msg::cli_project_only_on_server(lang).to_owned(),
        |directory| sanitize_line(&directory.to_string_lossy()),
    )
}

/// Opens the store again, to get the error that opening it returns.
fn reopen_error(globals: &GlobalArgs) -> CliError {
    match CommandContext::open(globals) {
        Ok(_) => CliError::from(ProjectRefusal::OpenedOnSecondAttempt),
        Err(failure) => failure,
    }
}

/// Opens the embedded store, if the project uses it.
fn open_if_embedded(
    location: &ProjectLocation,
    config: &Config,
) -> Result<Option<EmbeddedStore>, CliError> {
    match location.store_target(config) {
        StoreTarget::Postgres(_) => Ok(None),
        StoreTarget::Directory(data_dir) => {
            let store = EmbeddedStore::open(&data_dir, StoreMode::OneShot, config.store_timeout())?;
            Ok(Some(store))
        }
    }
}

/// What a check of the store needs: its location, and the language of its result.
type StoreCheck<'a> = (&'a ProjectLocation, &'a Config, UiLanguage);

fn check_boards(
    context: &CommandContext,
    (location, config, lang): StoreCheck<'_>,
) -> Result<String, CliError> {
    let list = context.block_on(op::list_boards(
        &context.app.request(&AgentId::user()),
        &ListBoardsParams::default(),
    ))?;
    let written = list.boards.iter().filter(|board| board.version > 0).count();
    let Some(store) = open_if_embedded(location, config)? else {
        return Ok(msg::cli_project_boards_written(lang, written));
    };
    match context.block_on(store.check_boards())?.first() {
        None => Ok(msg::cli_project_boards_match(lang, written)),
        Some(first) => Err(CliError::from(ProjectRefusal::MirrorDiffers {
            first: first.to_string(),
        })),
    }
}

fn check_integrity((location, config, lang): StoreCheck<'_>) -> Result<String, CliError> {
    let Some(store) = open_if_embedded(location, config)? else {
        return Ok(msg::cli_project_not_checked_on_postgres(lang).to_owned());
    };
    match store.check_integrity()?.first() {
        None => Ok(msg::cli_project_no_damage(lang).to_owned()),
        Some(first) => Err(CliError::from(ProjectRefusal::DatabaseDamaged {
            first: first.to_string(),
        })),
    }
}

fn check_writable((location, config, lang): StoreCheck<'_>) -> Result<String, CliError> {
    if let StoreTarget::Directory(data_dir) = location.store_target(config) {
        tempfile::tempfile_in(&data_dir)
            .map_err(|_| CliError::from(ProjectRefusal::DirectoryNotWritable))?;
        return Ok(msg::cli_project_is_writable(lang).to_owned());
    }
    Ok(msg::cli_project_not_checked_on_postgres(lang).to_owned())
}
