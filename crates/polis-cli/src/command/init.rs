//! `polis init`: creates a project in a directory: data directory, configuration, `.gitignore`, store and trust.

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

/// Result of the setup.
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

/// Sets up a project: creates what is missing, keeps what exists.
pub(crate) fn set_up(globals: &Globals, lang: Option<Language>) -> Result<Answer, Failure> {
    let postgres = globals
        .store
        .as_deref()
        .filter(|store| context::is_postgres(store));
    let workspace = workspace_of(&directory(globals)?);
    let workspace = check_data_directory(&workspace)?;
    // The server first: if it cannot be reached, no half-made project is left.
    if let Some(url) = postgres {
        connect(url, Config::load(&workspace)?.patience())?;
    }
    let workspace = create_data_directory(&workspace, |error| cannot_create(&error))?;
    keep_private(&workspace);
    let language = lang.unwrap_or_else(Language::of_locale);
    let created = create_configuration(&workspace, language).map_err(|e| cannot_create(&e))?;
    if created {
        // Recorded with the configuration that was just written.
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

/// Writes the configuration of a new project. Returns false if there is one already.
fn create_configuration(workspace: &Path, language: Language) -> std::io::Result<bool> {
    let text = config::template(language.as_str());
    create_whole(&workspace.join(config::FILE), &text)
}

/// Creates a file atomically. Returns false if it exists already. A concurrent process, and one that starts after this
/// one was killed, sees the whole text or no file.
fn create_whole(path: &Path, text: &str) -> std::io::Result<bool> {
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

/// Refuses a data directory in a location that an agent can write to, and one that exists and is not trusted. Its
/// configuration is not read before this check. Returns its canonical path.
fn check_data_directory(data: &Path) -> Result<PathBuf, Failure> {
    let data = trust::whole(data);
    if has_content(&data) {
        return Ok(trust::check(&data)?);
    }
    trust::check_place(&MachineRegistry::of_user(), &data)?;
    Ok(data)
}

/// Creates the data directory of a project, which this user trusts from now on, or checks the existing one. Returns its
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

/// Returns whether a data directory exists and contains anything that has to be trusted.
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

/// Directories of the boards, created in advance so that people find them before the first board exists.
const BOARDS: [&str; 3] = ["whiteboards/.locks", "whiteboard-history", "blackboard"];

/// Creates the directory of workspaces, for any kind of store. Other users of the machine cannot read it.
fn keep_workspaces(workspace: &Path) -> Result<(), PortError> {
    let directory = workspace.join("workspaces");
    std::fs::create_dir_all(&directory).map_err(|e| cannot_create(&e))?;
    keep_private(&directory);
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
fn ignored_in_git(workspace: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(workspace.join(GITIGNORE)).unwrap_or_default();
    let rules = text.lines().map(|rule| rule.trim().trim_start_matches('/'));
    let rules = rules.filter(|rule| !rule.is_empty() && !rule.starts_with('#'));
    rules.map(str::to_owned).collect()
}

/// Returns the private data of a project that its `.gitignore` does not cover.
fn not_ignored_in_git(workspace: &Path) -> Vec<&'static str> {
    let rules = ignored_in_git(workspace);
    let is_ignored = |name: &str| {
        let has = |wanted: &str| rules.iter().any(|rule| rule == wanted);
        has("*") || has(name) || has(name.trim_end_matches('/'))
    };
    let mut names = PRIVATE_DATA.to_vec();
    names.retain(|name| !is_ignored(name));
    names
}

/// Returns whether git ignores the private data of a project, so that no database, lock or private workspace is
/// committed.
pub(crate) fn is_ignored_in_git(workspace: &Path) -> bool {
    not_ignored_in_git(workspace).is_empty()
}

/// Creates the `.gitignore` of a new project. An existing file is kept: a team may want its boards in git.
pub(crate) fn ignore_in_git(workspace: &Path) -> std::io::Result<()> {
    create_whole(&workspace.join(GITIGNORE), "*\n").map(|_| ())
}

/// Makes git ignore the private data of a project. A missing `.gitignore`, or one without rules, gets the rules of
/// a new project; to one that has rules, the missing ones are added.
pub(crate) fn repair_ignored_in_git(workspace: &Path) -> std::io::Result<()> {
    let path = workspace.join(GITIGNORE);
    if create_whole(&path, "*\n")? {
        return Ok(());
    }
    let mut text = std::fs::read_to_string(&path)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if ignored_in_git(workspace).is_empty() {
        text.push_str("*\n");
    } else {
        for name in not_ignored_in_git(workspace) {
            text.push_str(name);
            text.push('\n');
        }
    }
    let mut file = tempfile::NamedTempFile::new_in(workspace)?;
    file.as_file()
        .set_permissions(std::fs::metadata(&path)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Connects once, which creates the tables.
fn connect(url: &str, patience: Duration) -> Result<(), Failure> {
    context::runtime()?.block_on(PostgresStore::connect(url, patience))?;
    Ok(())
}

/// Removes access for other users of the machine.
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
