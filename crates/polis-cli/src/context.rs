//! Builds the context of a command from flags, environment and files: the opened store, the configuration, the
//! permissions and the calling agent.
//!
//! This is the only module that decides which project directory and which store a command works on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use polis_core::{AgentId, Code, Policy, Refusal};
use polis_ops::port::Clock as _;
use polis_ops::{Polis, PortError, Store};
use polis_store::embedded::Use;
use polis_store::{EmbeddedStore, PostgresStore};
use polis_workspace::files::WorkspaceFiles;
use polis_workspace::registry::MachineRegistry;
use polis_workspace::sandbox::SandboxTerminal;
use tokio::runtime::Runtime;

use crate::cli::Globals;
use crate::clock::{SystemChance, SystemClock};
use crate::command::blackboard::Root;
use crate::command::init::{create_data_directory, ignore_in_git};
use crate::config::{self, Config};
use crate::error::{Failure, invalid};
use crate::trust;

/// Name of the data directory; a directory that contains it is a polis project.
pub(crate) const WORKSPACE: &str = polis_core::workspace::path::PROJECT_DATA;

/// Context of one command: the operations' state, the calling agent and the async runtime.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) polis: Polis,
    pub(crate) agent: AgentId,
    runtime: Runtime,
}

impl Context {
    /// Opens the store that the flags name, for one short-lived command.
    pub(crate) fn open(globals: &Globals) -> Result<Self, Failure> {
        Self::open_for(globals, Use::Brief)
    }

    /// Opens the store for a long-running command.
    pub(crate) fn open_for(globals: &Globals, usage: Use) -> Result<Self, Failure> {
        let place = Place::find(globals)?;
        Self::at(globals, &place, |workspace, patience| {
            open_embedded(workspace, usage, patience)
        })
    }

    /// Opens the store for a server: like [`Self::open_for`], but on a multi-threaded runtime.
    pub(crate) fn open_serving(globals: &Globals) -> Result<Self, Failure> {
        let place = Place::find(globals)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers())
            .enable_all()
            .build()?;
        Self::on(runtime, globals, &place, |workspace, patience| {
            open_embedded(workspace, Use::Long, patience)
        })
    }

    /// Opens the store for the `blackboard` command. A blackboard outside a project has its own store next to it,
    /// created on first use.
    pub(crate) fn open_blackboard(globals: &Globals, root: &Root) -> Result<Self, Failure> {
        let workspace = workspace_of(&root.home);
        let failed = |error| PortError::internal("Creating the blackboard's store", error);
        let workspace = create_data_directory(&workspace, failed)?;
        let place = Place {
            workspace: Some(workspace),
            url: globals.store.clone().filter(|store| is_postgres(store)),
        };
        Self::at(globals, &place, |workspace, patience| {
            ignore_in_git(workspace).map_err(failed)?;
            if root.is_workspace() {
                EmbeddedStore::create(workspace, Use::Brief, patience)
            } else {
                EmbeddedStore::create_beside_blackboard(workspace, Use::Brief, patience)
            }
        })
    }

    /// Opens the store of a project location; `embedded` opens it if it is in a directory.
    fn at(
        globals: &Globals,
        place: &Place,
        embedded: impl FnOnce(&Path, Duration) -> Result<EmbeddedStore, PortError>,
    ) -> Result<Self, Failure> {
        Self::on(runtime()?, globals, place, embedded)
    }

    /// Like [`Self::at`], on the given runtime.
    fn on(
        runtime: Runtime,
        globals: &Globals,
        place: &Place,
        embedded: impl FnOnce(&Path, Duration) -> Result<EmbeddedStore, PortError>,
    ) -> Result<Self, Failure> {
        let agent = match &globals.agent {
            Some(name) => name.parse()?,
            None => AgentId::user(),
        };
        let config = place.config()?;
        let policy = place.policy(&config)?;
        let (store, clock): (Arc<dyn Store>, _) = match place.store(&config) {
            Target::Directory(workspace) => {
                let store = embedded(&workspace, config.patience())?;
                let store = store.keeping(config.whiteboards.max_versions);
                (Arc::new(store), SystemClock::default())
            }
            Target::Postgres(url) => runtime.block_on(connect(&url, config.patience()))?,
        };
        let settings = config.settings(policy, &place.project());
        let mut polis = Polis::new(store, Arc::new(clock), Arc::new(SystemChance), settings);
        if let Some(data) = place.data() {
            let registry = MachineRegistry::of_user();
            let files = WorkspaceFiles::with_limits(&data, config.file_limits());
            let files = files.with_registry(registry.clone());
            let terminal = SandboxTerminal::new(data).with_registry(registry);
            polis = polis.with_workspaces(Arc::new(files), Arc::new(terminal));
        }
        Ok(Self {
            polis,
            agent,
            runtime,
        })
    }

    /// Runs an operation to completion on this context's runtime.
    pub(crate) fn run<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(work)
    }
}

/// Returns the number of worker threads that serve requests. One CPU is left to the store's writer thread, the busiest
/// of all: with as many workers as CPUs they compete for it, and commits wait.
fn workers() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.saturating_sub(1).max(1)
}

/// Connects to a PostgreSQL server. Returns the store and a clock that agrees with the server's.
async fn connect(
    url: &str,
    patience: Duration,
) -> Result<(Arc<dyn Store>, SystemClock), PortError> {
    let store = PostgresStore::connect(url, patience).await?;
    let before = SystemClock::default().now_millis();
    let clock = SystemClock::set_by(store.server_millis().await?, before);
    Ok((Arc::new(store), clock))
}

/// Creates the single-threaded runtime of one command.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

fn open_embedded(
    workspace: &Path,
    usage: Use,
    patience: Duration,
) -> Result<EmbeddedStore, PortError> {
    if !workspace.join(polis_store::embedded::DATABASE).exists() {
        return Err(PortError::new(
            Code::NotInitialized,
            format!("There is no database in {WORKSPACE}."),
            "run `polis init` here",
        ));
    }
    EmbeddedStore::open(workspace, usage, patience)
}

/// Location of the state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The embedded store in this data directory.
    Directory(PathBuf),
    /// A PostgreSQL URL.
    Postgres(String),
}

/// The project directory a command works on, and the PostgreSQL URL if the flags name one.
#[derive(Debug)]
pub(crate) struct Place {
    /// The `.agent-workspace` directory, if there is one.
    pub(crate) workspace: Option<PathBuf>,
    url: Option<String>,
}

impl Place {
    /// Finds the project named by the flags, or searches upward from the current directory.
    pub(crate) fn find(globals: &Globals) -> Result<Self, Failure> {
        let (url, directory) = match &globals.store {
            Some(store) if is_postgres(store) => (Some(store.clone()), globals.dir.clone()),
            Some(store) if store.contains("://") => {
                return Err(invalid(
                    "The store is neither a directory nor a postgres:// URL.",
                    "give --store DIR, or --store postgres://user@host/database",
                ));
            }
            Some(store) => (None, Some(PathBuf::from(store))),
            None => (None, globals.dir.clone()),
        };
        let named = directory.is_some();
        let workspace = match directory {
            Some(directory) => Some(workspace_of(&directory)).filter(|w| w.is_dir()),
            None => find_upward(),
        };
        let place = Self { workspace, url };
        let elsewhere = place.url.is_some();
        if place.workspace.is_none() && !elsewhere {
            return Err(Refusal::new(
                Code::NotInitialized,
                if named {
                    "There is no polis in that directory."
                } else {
                    "There is no polis here or in a directory above."
                },
                "run `polis init` in your project, or name its directory with --dir",
            )
            .into());
        }
        let workspace = place.workspace.as_deref().map(trust::check).transpose()?;
        Ok(Self { workspace, ..place })
    }

    /// Reads the project's configuration; the defaults if there is no data directory.
    pub(crate) fn config(&self) -> Result<Config, Refusal> {
        self.workspace
            .as_deref()
            .map_or_else(|| Ok(Config::default()), Config::load)
    }

    /// Reads the project's permissions; the defaults if there is no data directory.
    pub(crate) fn policy(&self, config: &Config) -> Result<Policy, Refusal> {
        self.workspace
            .as_deref()
            .map_or_else(|| Ok(Policy::default()), |w| config::load_policy(w, config))
    }

    /// Returns the absolute path of the data directory, symlinks resolved, if it is on this machine.
    fn data(&self) -> Option<PathBuf> {
        let workspace = self.workspace.as_deref()?;
        let whole = workspace
            .canonicalize()
            .or_else(|_| std::path::absolute(workspace));
        Some(whole.unwrap_or_else(|_| workspace.to_owned()))
    }

    /// Returns the absolute path of the project directory, if it is on this machine.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.data()?.parent().map(Path::to_owned)
    }

    /// Returns the name of the project directory, for titles.
    fn project(&self) -> String {
        let root = self.workspace.as_deref().and_then(Path::parent);
        let whole = root.and_then(|root| root.canonicalize().ok());
        let name = whole.as_deref().and_then(Path::file_name);
        name.map_or_else(
            || "polis".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Returns where the state is. The flag wins over the configuration, the configuration over the directory.
    pub(crate) fn store(&self, config: &Config) -> Target {
        match (&self.url, &self.workspace) {
            (Some(url), _) => Target::Postgres(url.clone()),
            (None, _) if is_postgres(&config.store) => Target::Postgres(config.store.clone()),
            (None, workspace) => Target::Directory(workspace.clone().unwrap_or_default()),
        }
    }
}

/// Returns whether a store is a PostgreSQL URL.
pub(crate) fn is_postgres(store: &str) -> bool {
    store.starts_with("postgres://") || store.starts_with("postgresql://")
}

/// Returns the data directory of a project directory. The path of the data directory itself is accepted too.
pub(crate) fn workspace_of(directory: &Path) -> PathBuf {
    if directory.file_name().is_some_and(|name| name == WORKSPACE) {
        return directory.to_owned();
    }
    directory.join(WORKSPACE)
}

fn find_upward() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .map(|directory| directory.join(WORKSPACE))
        .find(|workspace| workspace.is_dir())
}
