//! Context of a command ([`CommandContext`]): the opened store with configuration and permissions, the
//! calling agent and the async runtime.
//!
//! [`ProjectLocation`] finds the project that the flags name, or searches upward from the current directory,
//! and checks that it is trusted. A PostgreSQL URL in the flags takes precedence over `store` in the
//! configuration, and that over the embedded store in the data directory. `init`, `trust`, the demos and a
//! blackboard given by path choose their directory themselves.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use polis_core::{AgentId, PermissionPolicy, Refusal};
use polis_ops::port::Clock as _;
use polis_ops::{App, PortError, Request, Store};
use polis_store::embedded::StoreMode;
use polis_store::{EmbeddedStore, PostgresStore};
use polis_workspace::files::WorkspaceFiles;
use polis_workspace::machine_registry::MachineRegistry;
use polis_workspace::sandbox::SandboxTerminal;
use tokio::runtime::Runtime;

use crate::cli::GlobalArgs;
use crate::clock::{SystemClock, SystemRandom};
use crate::command::blackboard::BlackboardRoot;
use crate::command::init::{create_data_directory, create_gitignore};
use crate::config::{self, Config};
use crate::error::CliError;
use crate::person_language::PersonLanguage;
use crate::refusal_tables::ProjectRefusal;
use crate::trust;

/// Name of the data directory; a directory that contains it is a polis project.
pub(crate) const DATA_DIR_NAME: &str = polis_core::workspace::workspace_path::PROJECT_DATA_DIR;

/// Context of one command: the operations' state, the calling agent and the async runtime.
#[derive(Debug)]
pub(crate) struct CommandContext {
    pub(crate) app: App,
    pub(crate) agent: AgentId,
    runtime: Runtime,
}

impl CommandContext {
    /// Opens the store that the flags name, for one short-lived command.
    pub(crate) fn open(globals: &GlobalArgs) -> Result<Self, CliError> {
        Self::open_for(globals, StoreMode::OneShot)
    }

    /// Opens the store for a long-running command.
    pub(crate) fn open_for(globals: &GlobalArgs, usage: StoreMode) -> Result<Self, CliError> {
        let location = ProjectLocation::find(globals)?;
        Self::open_location(globals, &location, |data_dir, timeout| {
            open_embedded_store(data_dir, usage, timeout)
        })
    }

    /// Opens the store for a server: like [`Self::open_for`], but on a multi-threaded runtime.
    pub(crate) fn open_serving(globals: &GlobalArgs) -> Result<Self, CliError> {
        let location = ProjectLocation::find(globals)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(worker_thread_count())
            .enable_all()
            .build()?;
        Self::open_on_runtime(runtime, globals, &location, |data_dir, timeout| {
            open_embedded_store(data_dir, StoreMode::Server, timeout)
        })
    }

    /// Opens the store for the `blackboard` command. A blackboard outside a project has its own store next to
    /// it, created on first use.
    pub(crate) fn open_blackboard(
        globals: &GlobalArgs,
        root: &BlackboardRoot,
    ) -> Result<Self, CliError> {
        let data_dir = data_dir_of(&root.parent_dir);
        let failed = |error| PortError::internal("Creating the blackboard's store", error);
        let data_dir = create_data_directory(&data_dir, failed)?;
        let location = ProjectLocation {
            data_dir: Some(data_dir),
            store_url: globals.store.clone().filter(|store| is_postgres(store)),
            language: globals.language.clone(),
        };
        Self::open_location(globals, &location, |data_dir, timeout| {
            create_gitignore(data_dir).map_err(failed)?;
            if root.is_project_data() {
                EmbeddedStore::create(data_dir, StoreMode::OneShot, timeout)
            } else {
                EmbeddedStore::create_with_adjacent_blackboard(
                    data_dir,
                    StoreMode::OneShot,
                    timeout,
                )
            }
        })
    }

    /// Opens the store of a project location; `embedded` opens it if it is in a directory.
    fn open_location(
        globals: &GlobalArgs,
        location: &ProjectLocation,
        embedded: impl FnOnce(&Path, Duration) -> Result<EmbeddedStore, PortError>,
    ) -> Result<Self, CliError> {
        Self::open_on_runtime(new_runtime()?, globals, location, embedded)
    }

    /// Like [`Self::open_location`], on the given runtime.
    fn open_on_runtime(
        runtime: Runtime,
        globals: &GlobalArgs,
        location: &ProjectLocation,
        embedded: impl FnOnce(&Path, Duration) -> Result<EmbeddedStore, PortError>,
    ) -> Result<Self, CliError> {
        let agent = match &globals.agent {
            Some(name) => name.parse()?,
            None => AgentId::user(),
        };
        let config = location.load_config()?;
        let policy = location.load_policy(&config)?;
        let (store, clock): (Arc<dyn Store>, _) = match location.store_target(&config) {
            StoreTarget::Directory(data_dir) => {
                let store = embedded(&data_dir, config.store_timeout())?;
                let store = store.with_kept_versions(config.whiteboards.max_versions);
                (Arc::new(store), SystemClock::default())
            }
            StoreTarget::Postgres(url) => {
                runtime.block_on(connect_postgres(&url, config.store_timeout()))?
            }
        };
        let language = location.language.get();
        let settings = config.to_settings(policy, &location.project_name(), language);
        let mut app = App::new(store, Arc::new(clock), Arc::new(SystemRandom), settings);
        if let Some(data) = location.absolute_data_dir() {
            let registry = MachineRegistry::for_current_user();
            let files = WorkspaceFiles::with_limits(&data, config.file_limits());
            let files = files.with_registry(registry.clone());
            let terminal = SandboxTerminal::new(data).with_registry(registry);
            app = app.with_workspaces(Arc::new(files), Arc::new(terminal));
        }
        Ok(Self {
            app,
            agent,
            runtime,
        })
    }

    /// Returns a request of the calling agent that starts now.
    pub(crate) fn request(&self) -> Request {
        self.app.request(&self.agent)
    }

    /// Runs an operation to completion on this context's runtime.
    pub(crate) fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(work)
    }
}

/// Returns the number of worker threads that serve requests. One CPU is left to the store's writer thread,
/// the busiest of all: with as many workers as CPUs they compete for it, and commits wait.
fn worker_thread_count() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.saturating_sub(1).max(1)
}

/// Connects to a PostgreSQL server. Returns the store and a clock that agrees with the server's.
async fn connect_postgres(
    url: &str,
    timeout: Duration,
) -> Result<(Arc<dyn Store>, SystemClock), PortError> {
    let store = PostgresStore::connect(url, timeout).await?;
    let before = SystemClock::default().now_millis();
    let clock = SystemClock::synchronized_with(store.server_millis().await?, before);
    Ok((Arc::new(store), clock))
}

/// Creates the single-threaded runtime of one command.
pub(crate) fn new_runtime() -> Result<Runtime, CliError> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

fn open_embedded_store(
    data_dir: &Path,
    usage: StoreMode,
    timeout: Duration,
) -> Result<EmbeddedStore, PortError> {
    if !data_dir.join(polis_store::embedded::DATABASE_FILE).exists() {
        return Err(PortError::from(ProjectRefusal::NoDatabase {
            data_dir_name: DATA_DIR_NAME.to_string(),
        }));
    }
    EmbeddedStore::open(data_dir, usage, timeout)
}

/// Location of the store: a data directory or a PostgreSQL server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StoreTarget {
    /// The embedded store in this data directory.
    Directory(PathBuf),
    /// The database at this PostgreSQL URL.
    Postgres(String),
}

/// The project directory a command works on, and the PostgreSQL URL if the flags name one.
#[derive(Debug)]
pub(crate) struct ProjectLocation {
    /// The `.agent-workspace` directory, if there is one.
    pub(crate) data_dir: Option<PathBuf>,
    store_url: Option<String>,
    /// Language of the person, who may have left it to the configuration.
    language: PersonLanguage,
}

impl ProjectLocation {
    /// Finds the project named by the flags, or searches upward from the current directory. Fails if there is
    /// none and the flags do not name a PostgreSQL store either, or if the project is not trusted.
    pub(crate) fn find(globals: &GlobalArgs) -> Result<Self, CliError> {
        let location = Self::find_named(globals.dir.as_deref(), globals.store.as_deref())?;
        Ok(Self {
            language: globals.language.clone(),
            ..location
        })
    }

    /// Like [`Self::find`], with the directory and the store of the flags.
    pub(crate) fn find_named(dir: Option<&Path>, store: Option<&str>) -> Result<Self, Refusal> {
        let (url, directory) = match store {
            Some(store) if is_postgres(store) => (Some(store.to_owned()), dir),
            Some(store) if store.contains("://") => {
                return Err(Refusal::from(ProjectRefusal::InvalidStore));
            }
            Some(store) => (None, Some(Path::new(store))),
            None => (None, dir),
        };
        let named = directory.is_some();
        let data_dir = match directory {
            Some(directory) => Some(data_dir_of(directory)).filter(|w| w.is_dir()),
            None => find_data_dir_upward(),
        };
        let location = Self {
            data_dir,
            store_url: url,
            language: PersonLanguage::default(),
        };
        let has_url = location.store_url.is_some();
        if location.data_dir.is_none() && !has_url {
            return Err(Refusal::from(if named {
                ProjectRefusal::NotFoundThere
            } else {
                ProjectRefusal::NotFoundHere
            }));
        }
        let data_dir = location
            .data_dir
            .as_deref()
            .map(trust::check_trusted)
            .transpose()?;
        Ok(Self {
            data_dir,
            ..location
        })
    }

    /// Reads the project's configuration; the defaults if there is no data directory.
    pub(crate) fn load_config(&self) -> Result<Config, Refusal> {
        let Some(data_dir) = &self.data_dir else {
            return Ok(Config::default());
        };
        let config = Config::load(data_dir)?;
        self.language.set_configured(&config.language);
        Ok(config)
    }

    /// Reads the project's permissions; the defaults if there is no data directory.
    pub(crate) fn load_policy(&self, config: &Config) -> Result<PermissionPolicy, Refusal> {
        self.data_dir.as_deref().map_or_else(
            || Ok(PermissionPolicy::default()),
            |w| config::load_policy(w, config),
        )
    }

    /// Returns the absolute path of the data directory, symlinks resolved, if it is on this machine.
    fn absolute_data_dir(&self) -> Option<PathBuf> {
        let data_dir = self.data_dir.as_deref()?;
        let resolved = data_dir
            .canonicalize()
            .or_else(|_| std::path::absolute(data_dir));
        Some(resolved.unwrap_or_else(|_| data_dir.to_owned()))
    }

    /// Returns the absolute path of the project directory, if it is on this machine.
    pub(crate) fn project_dir(&self) -> Option<PathBuf> {
        self.absolute_data_dir()?.parent().map(Path::to_owned)
    }

    /// Returns the name of the project directory, for titles.
    fn project_name(&self) -> String {
        let root = self.data_dir.as_deref().and_then(Path::parent);
        let resolved = root.and_then(|root| root.canonicalize().ok());
        let name = resolved.as_deref().and_then(Path::file_name);
        name.map_or_else(
            || "polis".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Returns where the store is. The flag takes precedence over the configuration, and the configuration
    /// over the directory.
    pub(crate) fn store_target(&self, config: &Config) -> StoreTarget {
        match (&self.store_url, &self.data_dir) {
            (Some(url), _) => StoreTarget::Postgres(url.clone()),
            (None, _) if is_postgres(&config.store) => StoreTarget::Postgres(config.store.clone()),
            (None, data_dir) => StoreTarget::Directory(data_dir.clone().unwrap_or_default()),
        }
    }
}

/// Returns whether a store is a PostgreSQL URL.
pub(crate) fn is_postgres(store: &str) -> bool {
    store.starts_with("postgres://") || store.starts_with("postgresql://")
}

/// Returns the data directory of a project directory. The path of the data directory itself is accepted too.
pub(crate) fn data_dir_of(directory: &Path) -> PathBuf {
    if directory
        .file_name()
        .is_some_and(|name| name == DATA_DIR_NAME)
    {
        return directory.to_owned();
    }
    directory.join(DATA_DIR_NAME)
}

fn find_data_dir_upward() -> Option<PathBuf> {
    let current_dir = std::env::current_dir().ok()?;
    current_dir
        .ancestors()
        .map(|directory| directory.join(DATA_DIR_NAME))
        .find(|data_dir| data_dir.is_dir())
}
