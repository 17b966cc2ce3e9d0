//! `polis init`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use polis_core::Code;
use polis_ops::PortError;
use polis_store::embedded::Use;
use polis_store::{EmbeddedStore, PostgresStore};
use polis_workspace::registry::{MachineRegistry, STATE_DIR_VARIABLE, is_project_id};
use serde::Serialize;

use crate::cli::Globals;
use crate::config::{self, Config};
use crate::context::{self, WORKSPACE, workspace_of};
use crate::error::Failure;
use crate::output::Output;
use crate::trust;

/// Set a directory up for a team. Running it twice is harmless.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The language of templates; default: from the locale, else English
    #[arg(long)]
    lang: Option<Language>,
}

/// The language of templates.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Language {
    En,
    Zh,
}

impl Language {
    fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the locale is only in the environment"
    )]
    fn of_locale() -> Self {
        let set = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .into_iter()
            .find_map(|v| std::env::var(v).ok().filter(|v| !v.is_empty()));
        if set.is_some_and(|locale| locale.starts_with("zh")) {
            Self::Zh
        } else {
            Self::En
        }
    }
}

/// What was set up.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    dir: String,
    language: String,
    created: bool,
}

impl Init {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let answer = set_up(globals, self.lang)?;
        out.answer(&answer, |a| {
            let what = if a.created { "Created" } else { "Found" };
            format!(
                "{what} {WORKSPACE} ({}).\n\nNext:\n  polis agent add backend-1 --role backend-leader\n  \
                 polis task create --subject \"...\" --required-role backend-leader\n  \
                 polis --as backend-1 task claim\n  polis open      (watch them in a browser; polis tui: in this terminal)\n",
                a.language
            )
        })
    }
}

/// Sets a directory up: what is missing is made, what is there stays.
pub(crate) fn set_up(globals: &Globals, lang: Option<Language>) -> Result<Answer, Failure> {
    let postgres = globals
        .store
        .as_deref()
        .filter(|store| context::is_postgres(store));
    let workspace = workspace_of(&directory(globals)?);
    let workspace = check_data_directory(&workspace)?;
    // The server first: if it cannot be reached nothing is left half made.
    if let Some(url) = postgres {
        connect(url, Config::load(&workspace)?.patience())?;
    }
    let workspace = create_data_directory(&workspace, |error| cannot_create(&error))?;
    keep_private(&workspace);
    let language = lang.unwrap_or_else(Language::of_locale);
    let created = create_configuration(&workspace, language).map_err(|e| cannot_create(&e))?;
    if created {
        // With the configuration that was written now.
        let _ = MachineRegistry::of_user().trust(&workspace);
    }
    let config = Config::load(&workspace)?;
    let configured = Some(config.store.as_str()).filter(|store| context::is_postgres(store));
    match (postgres, configured) {
        (Some(_), _) => {}
        (None, Some(url)) => connect(url, config.patience())?,
        (None, None) => {
            EmbeddedStore::create(&workspace, Use::Brief, Duration::from_secs(30))?;
            for directory in BOARDS {
                std::fs::create_dir_all(workspace.join(directory))
                    .map_err(|e| cannot_create(&e))?;
            }
        }
    }
    keep_workspaces(&workspace)?;
    ignore_in_git(&workspace).map_err(|e| cannot_create(&e))?;
    let root = workspace.parent().unwrap_or(Path::new("."));
    let dir = root
        .canonicalize()
        .unwrap_or_else(|_| root.to_owned())
        .display()
        .to_string();
    Ok(Answer {
        dir,
        language: config.language,
        created,
    })
}

/// Writes the configuration of a new project and returns true; returns false if there is one. Another `polis init` at the
/// same moment reads all of it or nothing.
fn create_configuration(workspace: &Path, language: Language) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = workspace.join(config::FILE);
    if path.exists() {
        return Ok(false);
    }
    let mut file = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(workspace)?;
    file.write_all(config::template(language.as_str()).as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// Refuses a data directory in a place that an agent can write to, and one that exists and is not trusted. Its
/// configuration is not read before.
/// Returns its canonical path.
fn check_data_directory(data: &Path) -> Result<PathBuf, Failure> {
    let data = trust::whole(data);
    if has_content(&data) {
        return Ok(trust::check(&data)?);
    }
    trust::check_place(&MachineRegistry::of_user(), &data)?;
    Ok(data)
}

/// Makes the data directory of a project that this user trusts from now on, or checks the one that exists. Returns its
/// canonical path.
pub(crate) fn create_data_directory(
    data: &Path,
    failed: impl Fn(std::io::Error) -> PortError,
) -> Result<PathBuf, Failure> {
    let data = check_data_directory(data)?;
    if has_content(&data) {
        return Ok(data);
    }
    std::fs::create_dir_all(&data).map_err(&failed)?;
    let data = trust::whole(&data);
    MachineRegistry::of_user()
        .trust(&data)
        .map_err(|error| {
            if error.kind() == std::io::ErrorKind::StorageFull {
                return failed(error);
            }
            PortError::new(
                Code::StoreReadOnly,
                "This user's record of trusted projects cannot be written.",
                format!("make the home directory writable, or set {STATE_DIR_VARIABLE} to a directory of this user"),
            )
            .because(error)
        })?;
    Ok(data)
}

/// Whether a data directory exists with anything in it that has to be trusted.
fn has_content(data: &Path) -> bool {
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !is_project_id(&entry))
}

/// Returns the directory that becomes a project: the one the flags name, else the current one.
pub(crate) fn directory(globals: &Globals) -> Result<PathBuf, Failure> {
    Ok(match (&globals.store, &globals.dir) {
        (Some(store), _) if !context::is_postgres(store) => PathBuf::from(store),
        (_, Some(directory)) => directory.clone(),
        _ => std::env::current_dir()?,
    })
}

/// Where boards will be, so that people find the place before there is one.
const BOARDS: [&str; 3] = ["whiteboards/.locks", "whiteboard-history", "blackboard"];

/// Where workspaces will be, whatever the store is. Nobody else on the machine looks into them.
fn keep_workspaces(workspace: &Path) -> Result<(), PortError> {
    let directory = workspace.join("workspaces");
    std::fs::create_dir_all(&directory).map_err(|e| cannot_create(&e))?;
    keep_private(&directory);
    Ok(())
}

/// The file that keeps a project's data out of git.
const GITIGNORE: &str = ".gitignore";

/// Whether git ignores the data of a project: no database, lock or private workspace is ever committed.
pub(crate) fn is_ignored_in_git(workspace: &Path) -> bool {
    let rules = std::fs::read_to_string(workspace.join(GITIGNORE)).unwrap_or_default();
    let mut rules = rules.lines().map(str::trim);
    rules.any(|rule| rule == "*" || rule.trim_start_matches('/').starts_with("polis.db"))
}

/// Makes git ignore the data of a project. An existing file stays: a team may want its boards in git.
pub(crate) fn ignore_in_git(workspace: &Path) -> std::io::Result<()> {
    match std::fs::File::create_new(workspace.join(GITIGNORE)) {
        Ok(mut file) => std::io::Write::write_all(&mut file, b"*\n"),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Connects once, which creates the tables.
fn connect(url: &str, patience: Duration) -> Result<(), Failure> {
    context::runtime()?.block_on(PostgresStore::connect(url, patience))?;
    Ok(())
}

/// Others on the machine have no business in it.
fn keep_private(workspace: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = std::fs::set_permissions(workspace, std::fs::Permissions::from_mode(0o700));
}

fn cannot_create(error: &std::io::Error) -> PortError {
    use std::io::ErrorKind as K;
    let (code, message) = match error.kind() {
        K::PermissionDenied | K::ReadOnlyFilesystem => {
            (Code::StoreReadOnly, "The directory cannot be written.")
        }
        K::StorageFull | K::QuotaExceeded => (Code::StoreFull, "The disk is full."),
        _ => (Code::InvalidInput, "The directory cannot be created."),
    };
    PortError::new(
        code,
        message,
        "name a directory that you may write to with --dir",
    )
    .because(error.to_string())
}
