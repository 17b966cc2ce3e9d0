//! `polis init`: creates a project in a directory (data directory, configuration, store and `.gitignore`),
//! and records that this user trusts it. In an existing project it creates only what is missing.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use polis_i18n::{UiLanguage, msg};
use polis_ops::PortError;
use polis_store::embedded::StoreMode;
use polis_store::{EmbeddedStore, PostgresStore};
use polis_workspace::machine_registry::{MachineRegistry, STATE_DIR_VARIABLE, is_project_id};
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::config::{self, Config};
use crate::context::{self, DATA_DIR_NAME, data_dir_of};
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::ProjectRefusal;
use crate::trust;

/// Create a project in a directory. Running it again is harmless.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {}

/// Language of a command, and of the board templates and roles of a project.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LanguageArg {
    En,
    Zh,
}

impl LanguageArg {
    /// Parses a language code, as clap does.
    pub(crate) fn from_code(code: &str) -> Option<Self> {
        Self::from_str(code, false).ok()
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }
}

impl From<LanguageArg> for UiLanguage {
    fn from(argument: LanguageArg) -> Self {
        match argument {
            LanguageArg::En => Self::En,
            LanguageArg::Zh => Self::Zh,
        }
    }
}

impl From<UiLanguage> for LanguageArg {
    fn from(language: UiLanguage) -> Self {
        match language {
            UiLanguage::En => Self::En,
            UiLanguage::Zh => Self::Zh,
        }
    }
}

/// Result of `polis init`.
#[derive(Debug, Serialize)]
pub(crate) struct InitResult {
    dir: String,
    language: String,
    created: bool,
}

impl InitArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let answer = set_up_project(globals, None)?;
        out.print_result(&answer, |a| {
            let lang = out.lang();
            let what = if a.created {
                msg::cli_project_created(lang, DATA_DIR_NAME, &a.language)
            } else {
                msg::cli_project_found(lang, DATA_DIR_NAME, &a.language)
            };
            format!(
                "{what}\n\n{}\n  polis agent add backend-1 --role backend-leader\n  \
                 polis task create --subject \"...\" --required-role backend-leader\n  \
                 polis --as backend-1 task claim\n  polis open      {}\n",
                msg::cli_project_next(lang),
                msg::cli_project_watch_hint(lang)
            )
        })
    }
}

/// Sets up a project: creates what is missing, keeps what exists.
pub(crate) fn set_up_project(
    globals: &GlobalArgs,
    lang: Option<LanguageArg>,
) -> Result<InitResult, CliError> {
    let postgres = globals
        .store
        .as_deref()
        .filter(|store| context::is_postgres(store));
    let data_dir = data_dir_of(&target_project_dir(globals)?);
    let data_dir = check_data_directory(&data_dir)?;
    // The server first: if it cannot be reached, no half-made project is left.
    if let Some(url) = postgres {
        create_postgres_tables(url, Config::load(&data_dir)?.store_timeout())?;
    }
    let data_dir = create_data_directory(&data_dir, |error| create_error(&error))?;
    restrict_to_owner(&data_dir);
    let language = lang.unwrap_or_else(|| globals.language.get_without_project().into());
    let created = create_configuration(&data_dir, language).map_err(|e| create_error(&e))?;
    if created {
        // Recorded with the configuration that was just written.
        let _ = MachineRegistry::for_current_user().trust_project(&data_dir);
    }
    let config = Config::load(&data_dir)?;
    let configured = Some(config.store.as_str()).filter(|store| context::is_postgres(store));
    match (postgres, configured) {
        (Some(_), _) => {}
        (None, Some(url)) => create_postgres_tables(url, config.store_timeout())?,
        (None, None) => {
            EmbeddedStore::create(&data_dir, StoreMode::OneShot, Duration::from_secs(30))?;
            for directory in BOARD_DIRS {
                std::fs::create_dir_all(data_dir.join(directory)).map_err(|e| create_error(&e))?;
            }
        }
    }
    create_workspaces_dir(&data_dir)?;
    create_gitignore(&data_dir).map_err(|e| create_error(&e))?;
    let root = data_dir.parent().unwrap_or(Path::new("."));
    let dir = root
        .canonicalize()
        .unwrap_or_else(|_| root.to_owned())
        .display()
        .to_string();
    Ok(InitResult {
        dir,
        language: config.language,
        created,
    })
}

/// Writes the configuration of a new project. Returns false if there is one already.
fn create_configuration(data_dir: &Path, language: LanguageArg) -> std::io::Result<bool> {
    let text = config::config_template(language.into());
    create_file_atomically(&data_dir.join(config::CONFIG_FILE), &text)
}

/// Creates a file atomically: a temporary file is written, synced (`fsync`) and renamed. Returns false if the
/// file exists already. A concurrent process, and one that starts after this one was killed, sees the whole
/// text or no file.
fn create_file_atomically(path: &Path, text: &str) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    if path.exists() {
        return Ok(false);
    }
    let mut file = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// Refuses a data directory in a location that an agent can write to, and one that exists and is not trusted.
/// Its configuration is not read before this check. Returns its canonical path.
fn check_data_directory(data: &Path) -> Result<PathBuf, CliError> {
    let data = trust::canonicalize_existing(data);
    if has_content(&data) {
        return Ok(trust::check_trusted(&data)?);
    }
    trust::check_location(&MachineRegistry::for_current_user(), &data)?;
    Ok(data)
}

/// Creates the data directory of a project, which this user trusts from now on, or checks the existing one.
/// Returns its canonical path.
pub(crate) fn create_data_directory(
    data: &Path,
    failed: impl Fn(std::io::Error) -> PortError,
) -> Result<PathBuf, CliError> {
    let data = check_data_directory(data)?;
    if has_content(&data) {
        return Ok(data);
    }
    std::fs::create_dir_all(&data).map_err(&failed)?;
    let data = trust::canonicalize_existing(&data);
    MachineRegistry::for_current_user()
        .trust_project(&data)
        .map_err(|error| {
            if error.kind() == std::io::ErrorKind::StorageFull {
                return failed(error);
            }
            PortError::from(ProjectRefusal::TrustRecordNotWritable {
                state_dir_variable: STATE_DIR_VARIABLE.to_string(),
            })
            .with_source(error)
        })?;
    Ok(data)
}

/// Returns whether a data directory exists and contains anything that has to be trusted.
fn has_content(data: &Path) -> bool {
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !is_project_id(&entry))
}

/// Returns the directory that becomes a project: the one the flags name, else the current one.
pub(crate) fn target_project_dir(globals: &GlobalArgs) -> Result<PathBuf, CliError> {
    Ok(match (&globals.store, &globals.dir) {
        (Some(store), _) if !context::is_postgres(store) => PathBuf::from(store),
        (_, Some(directory)) => directory.clone(),
        _ => std::env::current_dir()?,
    })
}

/// Directories of the boards, created in advance so that people find them before the first board exists.
const BOARD_DIRS: [&str; 3] = ["whiteboards/.locks", "whiteboard-history", "blackboard"];

/// Creates the directory of workspaces, for any kind of store. Other users of the machine cannot read it.
fn create_workspaces_dir(data_dir: &Path) -> Result<(), PortError> {
    let directory = data_dir.join("workspaces");
    std::fs::create_dir_all(&directory).map_err(|e| create_error(&e))?;
    restrict_to_owner(&directory);
    Ok(())
}

/// The file that keeps a project's data out of git.
const GITIGNORE: &str = ".gitignore";

/// Names in a data directory that must never be committed.
const PRIVATE_DATA: [&str; 6] = [
    "polis.db*",
    "polis.id",
    "polis.lock",
    "serve.url",
    "workspaces/",
    "whiteboards/.locks/",
];

/// Returns the rules of the project's `.gitignore`.
fn gitignore_rules(data_dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(data_dir.join(GITIGNORE)).unwrap_or_default();
    let rules = text.lines().map(|rule| rule.trim().trim_start_matches('/'));
    let rules = rules.filter(|rule| !rule.is_empty() && !rule.starts_with('#'));
    rules.map(str::to_owned).collect()
}

/// Returns the private data of a project that its `.gitignore` does not cover.
fn unignored_private_data(data_dir: &Path) -> Vec<&'static str> {
    let rules = gitignore_rules(data_dir);
    let is_ignored = |name: &str| {
        let has = |pattern: &str| rules.iter().any(|rule| rule == pattern);
        has("*") || has(name) || has(name.trim_end_matches('/'))
    };
    let mut names = PRIVATE_DATA.to_vec();
    names.retain(|name| !is_ignored(name));
    names
}

/// Returns whether git ignores the private data of a project, so that no database, lock or private workspace
/// is committed.
pub(crate) fn is_private_data_ignored(data_dir: &Path) -> bool {
    unignored_private_data(data_dir).is_empty()
}

/// Creates the `.gitignore` of a new project. An existing file is kept: a team may want its boards in git.
pub(crate) fn create_gitignore(data_dir: &Path) -> std::io::Result<()> {
    create_file_atomically(&data_dir.join(GITIGNORE), "*\n").map(|_| ())
}

/// Makes git ignore the private data of a project. A missing `.gitignore`, or one without rules, gets the
/// rules of a new project; to one that has rules, the missing ones are added.
pub(crate) fn repair_gitignore(data_dir: &Path) -> std::io::Result<()> {
    let path = data_dir.join(GITIGNORE);
    if create_file_atomically(&path, "*\n")? {
        return Ok(());
    }
    let mut text = std::fs::read_to_string(&path)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if gitignore_rules(data_dir).is_empty() {
        text.push_str("*\n");
    } else {
        for name in unignored_private_data(data_dir) {
            text.push_str(name);
            text.push('\n');
        }
    }
    let mut file = tempfile::NamedTempFile::new_in(data_dir)?;
    file.as_file()
        .set_permissions(std::fs::metadata(&path)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Connects to a PostgreSQL server once, which creates the tables.
fn create_postgres_tables(url: &str, timeout: Duration) -> Result<(), CliError> {
    context::new_runtime()?.block_on(PostgresStore::connect(url, timeout))?;
    Ok(())
}

/// Removes access for other users of the machine (mode 0700).
fn restrict_to_owner(data_dir: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = std::fs::set_permissions(data_dir, std::fs::Permissions::from_mode(0o700));
}

fn create_error(error: &std::io::Error) -> PortError {
    use std::io::ErrorKind as K;
    let failure = match error.kind() {
        K::PermissionDenied | K::ReadOnlyFilesystem => ProjectRefusal::CreateDenied,
        K::StorageFull | K::QuotaExceeded => ProjectRefusal::CreateFull,
        _ => ProjectRefusal::CreateFailed,
    };
    PortError::from(failure).with_source(error.to_string())
}
