//! Implementation of the port [`WorkspaceFileAccess`] for the workspaces of a data directory.
//!
//! The directory of a workspace is opened for every request: that is cheap, and detects a directory that was
//! deleted or replaced in the meantime. The directory of a default workspace is created by the first write or
//! command; a bound directory is created only when it is bound. File operations run on tokio's blocking
//! threads, because a write waits for the disk.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use polis_core::RefusalCode;
use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, EditFileResult, FileContent, FileList, FileOperationResult,
    FileSearchResult, ListFilesParams, MakeDirParams, MoveFileParams, ReadFileParams,
    SearchFilesParams, WorkspaceInfo, WriteFileParams, WriteFileResult,
};
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;
use polis_ops::port::{PortFuture, WorkspaceFileAccess, WorkspaceLocation};
use rustix::process::geteuid;

use super::entry_location::fsync_directory;
use super::file_error::{self, FileAccess};
use super::memory_budget::{
    COUNT_SLOTS, LIST_SLOTS, RECURSIVE_LIST_SLOTS, SEARCH_SLOTS, TreeSlots,
};
use super::workspace_binding::{canonical_or_absolute, check_recorded_directory, overlap_error};
use super::{FileLimits, WorkspaceDir, bind_directory, resolve_directory};
use crate::directory::DirectoryIdentity;
use crate::machine_registry::{MachineRegistry, WorkspaceCheckError, WorkspaceInUseGuard};
use crate::refusal_tables::FileRefusal;

/// Subdirectory of the data directory with the default workspaces.
const DEFAULT_WORKSPACES_DIR: &str = "workspaces";

/// Files of all workspaces of one data directory.
#[derive(Debug, Clone)]
pub struct WorkspaceFiles {
    shared: Arc<WorkspaceFilesState>,
}

#[derive(Debug)]
struct WorkspaceFilesState {
    data_dir: PathBuf,
    limits: FileLimits,
    registry: Option<MachineRegistry>,
    /// Cache of bound directories that passed the check, with their identity at that time.
    checked_bindings: Mutex<HashMap<PathBuf, DirectoryIdentity>>,
}

impl WorkspaceFiles {
    /// Creates the files of the workspaces of a data directory. Workspaces that are not bound are directories
    /// below it.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self::with_limits(data_dir, FileLimits::default())
    }

    /// Like [`new`](Self::new), with other limits, which apply to each workspace separately.
    pub fn with_limits(data_dir: impl Into<PathBuf>, limits: FileLimits) -> Self {
        Self {
            shared: Arc::new(WorkspaceFilesState {
                data_dir: data_dir.into(),
                limits,
                registry: None,
                checked_bindings: Mutex::default(),
            }),
        }
    }

    /// Adds a machine registry: bound directories must not overlap other projects, and must be the ones that
    /// were bound.
    #[must_use]
    pub fn with_registry(self, registry: MachineRegistry) -> Self {
        Self {
            shared: Arc::new(WorkspaceFilesState {
                data_dir: self.shared.data_dir.clone(),
                limits: self.shared.limits,
                registry: Some(registry),
                checked_bindings: Mutex::default(),
            }),
        }
    }

    /// Returns the path of a workspace's directory, which need not exist.
    pub fn directory_path(&self, site: &WorkspaceLocation) -> PathBuf {
        self.shared.directory_path(site)
    }

    /// Creates the directory of a default workspace if it does not exist, because a command needs a directory
    /// to run in. A bound directory is never created. Returns its path and its identity. Fails with
    /// `file_not_found` if a bound directory does not exist, and with `invalid_workspace` or
    /// `workspace_overlaps` if it was replaced or may not be bound.
    pub fn prepare_directory(
        &self,
        site: &WorkspaceLocation,
    ) -> Result<(PathBuf, DirectoryIdentity), PortError> {
        let (directory, _) = self.shared.open_or_create(site)?;
        Ok((self.shared.directory_path(site), directory.identity()?))
    }

    /// Keeps the registry entry of a bound workspace while a command runs in it, even if the workspace is
    /// bound to another directory in the meantime: the command can still write to the old one.
    pub(crate) fn mark_workspace_in_use(
        &self,
        site: &WorkspaceLocation,
    ) -> Option<WorkspaceInUseGuard> {
        let bound = site.bound_directory.as_ref()?;
        let registry = self.shared.registry.as_ref()?;
        registry.mark_workspace_in_use(Path::new(bound)).ok()
    }

    fn run_binding(
        &self,
        directory: &str,
        work: fn(&Path, &Path, Option<&MachineRegistry>) -> Result<String, PortError>,
    ) -> PortFuture<'_, String> {
        let shared = Arc::clone(&self.shared);
        let directory = PathBuf::from(directory);
        Box::pin(async move {
            let work = move || work(&directory, &shared.data_dir, shared.registry.as_ref());
            tokio::task::spawn_blocking(work)
                .await
                .map_err(|error| PortError::internal("Binding a directory", error))?
        })
    }

    /// Runs a file operation on a blocking thread.
    fn run_blocking<'a, A, T>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a A,
        work: impl FnOnce(&WorkspaceFilesState, &WorkspaceLocation, &A) -> Result<T, PortError>
        + Send
        + 'static,
    ) -> PortFuture<'a, T>
    where
        A: Clone + Send + Sync + 'static,
        T: Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let (site, params) = (site.clone(), params.clone());
        Box::pin(async move {
            tokio::task::spawn_blocking(move || work(&shared, &site, &params))
                .await
                .map_err(|error| PortError::internal("Working on a file", error))?
        })
    }

    /// Runs an operation that walks a directory tree on a blocking thread, once memory slots are free. The
    /// thread holds the slots, not the caller, because it continues when the caller disconnects.
    fn run_tree_walk<'a, A, T>(
        &'a self,
        count: u32,
        site: &'a WorkspaceLocation,
        params: &'a A,
        work: impl FnOnce(&WorkspaceFilesState, &WorkspaceLocation, &A) -> Result<T, PortError>
        + Send
        + 'static,
    ) -> PortFuture<'a, T>
    where
        A: Clone + Send + Sync + 'static,
        T: Send + 'static,
    {
        Box::pin(async move {
            let slots = TreeSlots::acquire(count).await;
            let work = move |shared: &WorkspaceFilesState, site: &WorkspaceLocation, params: &A| {
                let _slots = slots;
                work(shared, site, params)
            };
            self.run_blocking(site, params, work).await
        })
    }
}

impl WorkspaceFilesState {
    fn directory_path(&self, site: &WorkspaceLocation) -> PathBuf {
        match &site.bound_directory {
            Some(bound) => PathBuf::from(bound),
            None => self
                .data_dir
                .join(DEFAULT_WORKSPACES_DIR)
                .join(site.owner.as_str()),
        }
    }

    /// Opens the workspace's directory. Returns `None` for a default workspace without a directory: nothing
    /// was written yet.
    fn open_existing(&self, site: &WorkspaceLocation) -> Result<Option<WorkspaceDir>, PortError> {
        match WorkspaceDir::open(&self.directory_path(site)) {
            Ok(dir) => {
                self.check_binding(site, &dir)?;
                Ok(Some(dir.with_limits(self.limits)))
            }
            Err(error)
                if error.code == RefusalCode::FILE_NOT_FOUND && site.bound_directory.is_none() =>
            {
                Ok(None)
            }
            Err(error) if error.code == RefusalCode::FILE_NOT_FOUND => {
                Err(PortError::from(FileRefusal::WorkspaceGone))
            }
            Err(error) => Err(error),
        }
    }

    /// Fails if a bound directory is not the one that was bound, or may not be bound.
    fn check_binding(&self, site: &WorkspaceLocation, dir: &WorkspaceDir) -> Result<(), PortError> {
        let Some(bound) = &site.bound_directory else {
            return Ok(());
        };
        let bound = Path::new(bound);
        let identity = dir.identity()?;
        let mut checked = self.checked_bindings.lock();
        if checked.get(bound) == Some(&identity) {
            return Ok(());
        }
        let project = canonical_or_absolute(&self.data_dir);
        check_recorded_directory(bound, &project)?;
        if let Some(registry) = &self.registry {
            let agent = site.owner.as_str();
            registry
                .check_workspace(bound, &project, agent, identity)
                .map_err(|refusal| match refusal {
                    WorkspaceCheckError::Replaced => file_error::workspace_replaced(),
                    WorkspaceCheckError::Overlaps(overlap) => overlap_error(&overlap),
                })?;
        }
        checked.insert(bound.to_owned(), identity);
        Ok(())
    }

    /// Opens the workspace's directory for a path that must already exist in it.
    fn open_for_path(
        &self,
        site: &WorkspaceLocation,
        path: &str,
    ) -> Result<WorkspaceDir, PortError> {
        let path = WorkspacePath::parse(path)?;
        self.open_existing(site)?
            .ok_or_else(|| file_error::not_found(&path.to_string()))
    }

    /// Runs an operation that may be the first write to the workspace. If it fails, a directory created for
    /// it is removed.
    fn run_first_write<T>(
        &self,
        site: &WorkspaceLocation,
        path: &str,
        work: impl FnOnce(&WorkspaceDir) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        WorkspacePath::parse_directory(Some(path))?;
        let (dir, created) = self.open_or_create(site)?;
        let answer = work(&dir);
        if answer.is_err() && created {
            // Fails, as it should, if the directory is not empty.
            let _ = std::fs::remove_dir(self.directory_path(site));
        }
        answer
    }

    /// Opens the workspace's directory, and returns whether this call created it.
    fn open_or_create(&self, site: &WorkspaceLocation) -> Result<(WorkspaceDir, bool), PortError> {
        if let Some(dir) = self.open_existing(site)? {
            return Ok((dir, false));
        }
        let created = self
            .create_default_directory(&self.directory_path(site))
            .map_err(FileAccess::Writing.io_error_mapper(&WorkspacePath::root()))?;
        let dir = self
            .open_existing(site)?
            .ok_or_else(|| file_error::not_found("."))?;
        Ok((dir, created))
    }

    /// Creates the directory of a default workspace durably, with mode 0700 and the owner of the data
    /// directory.
    fn create_default_directory(&self, directory: &Path) -> io::Result<bool> {
        let workspaces = self.data_dir.join(DEFAULT_WORKSPACES_DIR);
        let owner = std::fs::metadata(&self.data_dir).ok();
        let mut created = false;
        for (path, above) in [
            (workspaces.as_path(), self.data_dir.as_path()),
            (directory, workspaces.as_path()),
        ] {
            created = match DirBuilder::new().mode(0o700).create(path) {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                Err(error) => return Err(error),
            };
            if created {
                if let Some(owner) = owner.as_ref().filter(|_| geteuid().is_root()) {
                    std::os::unix::fs::lchown(path, Some(owner.uid()), Some(owner.gid()))?;
                }
                fsync_directory(std::fs::File::open(above)?.as_fd())?;
            }
        }
        Ok(created)
    }
}

impl WorkspaceFileAccess for WorkspaceFiles {
    fn resolve<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String> {
        self.run_binding(directory, resolve_directory)
    }

    fn bind<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String> {
        self.run_binding(directory, bind_directory)
    }

    fn exists<'a>(&'a self, site: &'a WorkspaceLocation) -> PortFuture<'a, bool> {
        self.run_blocking(site, &(), |shared, site, ()| {
            Ok(shared
                .open_existing(site)
                .is_ok_and(|found| found.is_some()))
        })
    }

    fn location(&self, site: &WorkspaceLocation) -> String {
        self.shared
            .directory_path(site)
            .to_string_lossy()
            .into_owned()
    }

    fn read<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a ReadFileParams,
    ) -> PortFuture<'a, FileContent> {
        self.run_blocking(site, params, |shared, site, params| {
            shared.open_for_path(site, &params.path)?.read(params)
        })
    }

    fn write<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a WriteFileParams,
    ) -> PortFuture<'a, WriteFileResult> {
        self.run_blocking(site, params, |shared, site, params| {
            shared.run_first_write(site, &params.path, |dir| dir.write(params))
        })
    }

    fn edit<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a EditFileParams,
    ) -> PortFuture<'a, EditFileResult> {
        self.run_blocking(site, params, |shared, site, params| {
            shared.open_for_path(site, &params.path)?.edit(params)
        })
    }

    fn delete<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a DeleteFileParams,
    ) -> PortFuture<'a, FileOperationResult> {
        self.run_blocking(site, params, |shared, site, params| {
            shared.open_for_path(site, &params.path)?.delete(params)
        })
    }

    fn rename<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a MoveFileParams,
    ) -> PortFuture<'a, FileOperationResult> {
        self.run_blocking(site, params, |shared, site, params| {
            WorkspacePath::parse(&params.to)?;
            shared.open_for_path(site, &params.from)?.rename(params)
        })
    }

    fn make_dir<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a MakeDirParams,
    ) -> PortFuture<'a, FileOperationResult> {
        self.run_blocking(site, params, |shared, site, params| {
            shared.run_first_write(site, &params.path, |dir| dir.make_dir(params))
        })
    }

    fn list<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a ListFilesParams,
    ) -> PortFuture<'a, FileList> {
        let slots = if params.recursive {
            RECURSIVE_LIST_SLOTS
        } else {
            LIST_SLOTS
        };
        self.run_tree_walk(slots, site, params, |shared, site, params| {
            let path = WorkspacePath::parse_directory(params.path.as_deref())?;
            match shared.open_existing(site)? {
                Some(dir) => dir.list(params),
                None if path.is_root() => Ok(FileList::default()),
                None => Err(file_error::not_found(&path.to_string())),
            }
        })
    }

    fn info<'a>(&'a self, site: &'a WorkspaceLocation) -> PortFuture<'a, WorkspaceInfo> {
        self.run_tree_walk(COUNT_SLOTS, site, &(), |shared, site, ()| {
            match shared.open_existing(site)? {
                Some(dir) => dir.info(),
                None => Ok(WorkspaceInfo::default()),
            }
        })
    }

    fn search<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        params: &'a SearchFilesParams,
    ) -> PortFuture<'a, FileSearchResult> {
        self.run_tree_walk(SEARCH_SLOTS, site, params, |shared, site, params| {
            let path = WorkspacePath::parse_directory(params.path.as_deref())?;
            match shared.open_existing(site)? {
                Some(dir) => dir.search(params),
                None if path.is_root() => Ok(FileSearchResult::default()),
                None => Err(file_error::not_found(&path.to_string())),
            }
        })
    }
}
