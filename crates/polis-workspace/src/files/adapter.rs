//! The files of all workspaces, as the port the operations use.
//!
//! A workspace is found by its site each time: opening a directory is cheap, and one that was
//! deleted or put elsewhere meanwhile is noticed. The work is done on threads that may wait, since a
//! write waits for the disk.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use polis_core::Code;
use polis_core::workspace::file::{
    DeleteFile, Done, EditFile, Edited, FileContent, FileList, ListFiles, MakeDir, MoveFile,
    ReadFile, SearchFiles, SearchResult, WorkspaceInfo, WriteFile, Written,
};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use polis_ops::port::{Files, PortFuture, Site};
use rustix::process::geteuid;

use super::bind::{canonical_or_given, check_recorded, overlaps};
use super::fault::{self, Doing};
use super::memory::{LIST_SLOTS, RECURSIVE_LIST_SLOTS, SEARCH_SLOTS, SUM_SLOTS, TreeSlots};
use super::place::sync_directory;
use super::{FileLimits, WorkspaceDir, bind, resolve};
use crate::directory::DirectoryIdentity;
use crate::registry::{MachineRegistry, WorkspaceHold, WorkspaceRefusal};

/// Where default workspaces are, below the data directory.
const WORKSPACES: &str = "workspaces";

/// The files of the workspaces of one data directory.
#[derive(Debug, Clone)]
pub struct WorkspaceFiles {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    data_dir: PathBuf,
    limits: FileLimits,
    registry: Option<MachineRegistry>,
    /// Bound directories that were found to be the right ones.
    checked: Mutex<HashMap<PathBuf, DirectoryIdentity>>,
}

impl WorkspaceFiles {
    /// The workspaces of a data directory; those that are not bound elsewhere are below it.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self::with_limits(data_dir, FileLimits::default())
    }

    /// The same with other limits, which count for each workspace.
    pub fn with_limits(data_dir: impl Into<PathBuf>, limits: FileLimits) -> Self {
        Self {
            shared: Arc::new(Shared {
                data_dir: data_dir.into(),
                limits,
                registry: None,
                checked: Mutex::default(),
            }),
        }
    }

    /// The same with a registry of this machine: bound directories must not overlap other projects, and have to be the
    /// ones that were bound.
    #[must_use]
    pub fn with_registry(self, registry: MachineRegistry) -> Self {
        Self {
            shared: Arc::new(Shared {
                data_dir: self.shared.data_dir.clone(),
                limits: self.shared.limits,
                registry: Some(registry),
                checked: Mutex::default(),
            }),
        }
    }

    /// Where the directory of a workspace is, whether it is there or not.
    pub fn directory(&self, site: &Site) -> PathBuf {
        self.shared.directory(site)
    }

    /// Makes the directory of a default workspace if it is not there: what a command runs in has
    /// to exist. A bound one is never made again. Returns where it is and which one it is.
    pub fn prepare(&self, site: &Site) -> Result<(PathBuf, DirectoryIdentity), PortError> {
        let (directory, _) = self.shared.open_or_make(site)?;
        Ok((self.shared.directory(site), directory.identity()?))
    }

    /// Keeps the directory of a bound workspace known as one as long as a command runs in it, even if the workspace is
    /// bound elsewhere meanwhile: the command can still write there.
    pub(crate) fn hold_workspace(&self, site: &Site) -> Option<WorkspaceHold> {
        let bound = site.bound.as_ref()?;
        let registry = self.shared.registry.as_ref()?;
        registry.hold_workspace(Path::new(bound)).ok()
    }

    fn binding(
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

    /// Does something with the workspace's directory on a thread that may wait.
    fn on<'a, A, T>(
        &'a self,
        site: &'a Site,
        ask: &'a A,
        work: impl FnOnce(&Shared, &Site, &A) -> Result<T, PortError> + Send + 'static,
    ) -> PortFuture<'a, T>
    where
        A: Clone + Send + Sync + 'static,
        T: Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let (site, ask) = (site.clone(), ask.clone());
        Box::pin(async move {
            tokio::task::spawn_blocking(move || work(&shared, &site, &ask))
                .await
                .map_err(|error| PortError::internal("Working on a file", error))?
        })
    }

    /// Runs an operation that walks a directory tree, once memory slots are free. The thread holds the slots, not the
    /// caller, because it continues when the caller disconnects.
    fn on_tree<'a, A, T>(
        &'a self,
        count: u32,
        site: &'a Site,
        ask: &'a A,
        work: impl FnOnce(&Shared, &Site, &A) -> Result<T, PortError> + Send + 'static,
    ) -> PortFuture<'a, T>
    where
        A: Clone + Send + Sync + 'static,
        T: Send + 'static,
    {
        Box::pin(async move {
            let slots = TreeSlots::wait(count).await;
            let work = move |shared: &Shared, site: &Site, ask: &A| {
                let _slots = slots;
                work(shared, site, ask)
            };
            self.on(site, ask, work).await
        })
    }
}

impl Shared {
    fn directory(&self, site: &Site) -> PathBuf {
        match &site.bound {
            Some(bound) => PathBuf::from(bound),
            None => self.data_dir.join(WORKSPACES).join(site.workspace.as_str()),
        }
    }

    /// The workspace's directory; `None` for a default one that nobody has written to.
    fn open(&self, site: &Site) -> Result<Option<WorkspaceDir>, PortError> {
        match WorkspaceDir::open(&self.directory(site)) {
            Ok(dir) => {
                self.check(site, &dir)?;
                Ok(Some(dir.with_limits(self.limits)))
            }
            Err(error) if error.code == Code::FileNotFound && site.bound.is_none() => Ok(None),
            Err(error) if error.code == Code::FileNotFound => Err(PortError::new(
                Code::FileNotFound,
                "The directory of the workspace is not there any more.",
                "have it put back, or the workspace bound to another directory",
            )),
            Err(error) => Err(error),
        }
    }

    /// Refuses a bound directory that is not the one that was bound, or that could not be bound.
    fn check(&self, site: &Site, dir: &WorkspaceDir) -> Result<(), PortError> {
        let Some(bound) = &site.bound else {
            return Ok(());
        };
        let bound = Path::new(bound);
        let identity = dir.identity()?;
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.get(bound) == Some(&identity) {
            return Ok(());
        }
        let project = canonical_or_given(&self.data_dir);
        check_recorded(bound, &project)?;
        if let Some(registry) = &self.registry {
            let agent = site.workspace.as_str();
            registry
                .check_workspace(bound, &project, agent, identity)
                .map_err(|refusal| match refusal {
                    WorkspaceRefusal::Replaced => fault::replaced(),
                    WorkspaceRefusal::Overlaps(overlap) => overlaps(&overlap),
                })?;
        }
        checked.insert(bound.to_owned(), identity);
        Ok(())
    }

    /// The workspace's directory for something that is in it already.
    fn open_for(&self, site: &Site, path: &str) -> Result<WorkspaceDir, PortError> {
        let path = WorkspacePath::parse(path)?;
        self.open(site)?
            .ok_or_else(|| fault::not_found(&path.to_string()))
    }

    /// Does something that may be the first write. The directory made for it goes again if it
    /// fails.
    fn writing<T>(
        &self,
        site: &Site,
        path: &str,
        work: impl FnOnce(&WorkspaceDir) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        WorkspacePath::parse_directory(Some(path))?;
        let (dir, made) = self.open_or_make(site)?;
        let answer = work(&dir);
        if answer.is_err() && made {
            // Only if it is empty still.
            let _ = std::fs::remove_dir(self.directory(site));
        }
        answer
    }

    /// The workspace's directory, and whether it was made now.
    fn open_or_make(&self, site: &Site) -> Result<(WorkspaceDir, bool), PortError> {
        if let Some(dir) = self.open(site)? {
            return Ok((dir, false));
        }
        let made = self
            .make(&self.directory(site))
            .map_err(Doing::Writing.io_at(&WorkspacePath::root()))?;
        let dir = self.open(site)?.ok_or_else(|| fault::not_found("."))?;
        Ok((dir, made))
    }

    /// Makes the directory of a default workspace, durably: only its owner may look into it, and
    /// its owner is that of the data directory.
    fn make(&self, directory: &Path) -> io::Result<bool> {
        let workspaces = self.data_dir.join(WORKSPACES);
        let owner = std::fs::metadata(&self.data_dir).ok();
        let mut made = false;
        for (path, above) in [
            (workspaces.as_path(), self.data_dir.as_path()),
            (directory, workspaces.as_path()),
        ] {
            made = match DirBuilder::new().mode(0o700).create(path) {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                Err(error) => return Err(error),
            };
            if made {
                if let Some(owner) = owner.as_ref().filter(|_| geteuid().is_root()) {
                    std::os::unix::fs::lchown(path, Some(owner.uid()), Some(owner.gid()))?;
                }
                sync_directory(std::fs::File::open(above)?.as_fd())?;
            }
        }
        Ok(made)
    }
}

impl Files for WorkspaceFiles {
    fn resolve<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String> {
        self.binding(directory, resolve)
    }

    fn bind<'a>(&'a self, directory: &'a str) -> PortFuture<'a, String> {
        self.binding(directory, bind)
    }

    fn exists<'a>(&'a self, site: &'a Site) -> PortFuture<'a, bool> {
        self.on(site, &(), |shared, site, ()| {
            Ok(shared.open(site).is_ok_and(|found| found.is_some()))
        })
    }

    fn location(&self, site: &Site) -> String {
        self.shared.directory(site).to_string_lossy().into_owned()
    }

    fn read<'a>(&'a self, site: &'a Site, ask: &'a ReadFile) -> PortFuture<'a, FileContent> {
        self.on(site, ask, |shared, site, ask| {
            shared.open_for(site, &ask.path)?.read(ask)
        })
    }

    fn write<'a>(&'a self, site: &'a Site, ask: &'a WriteFile) -> PortFuture<'a, Written> {
        self.on(site, ask, |shared, site, ask| {
            shared.writing(site, &ask.path, |dir| dir.write(ask))
        })
    }

    fn edit<'a>(&'a self, site: &'a Site, ask: &'a EditFile) -> PortFuture<'a, Edited> {
        self.on(site, ask, |shared, site, ask| {
            shared.open_for(site, &ask.path)?.edit(ask)
        })
    }

    fn delete<'a>(&'a self, site: &'a Site, ask: &'a DeleteFile) -> PortFuture<'a, Done> {
        self.on(site, ask, |shared, site, ask| {
            shared.open_for(site, &ask.path)?.delete(ask)
        })
    }

    fn rename<'a>(&'a self, site: &'a Site, ask: &'a MoveFile) -> PortFuture<'a, Done> {
        self.on(site, ask, |shared, site, ask| {
            WorkspacePath::parse(&ask.to)?;
            shared.open_for(site, &ask.from)?.rename(ask)
        })
    }

    fn make_dir<'a>(&'a self, site: &'a Site, ask: &'a MakeDir) -> PortFuture<'a, Done> {
        self.on(site, ask, |shared, site, ask| {
            shared.writing(site, &ask.path, |dir| dir.make_dir(ask))
        })
    }

    fn list<'a>(&'a self, site: &'a Site, ask: &'a ListFiles) -> PortFuture<'a, FileList> {
        let slots = match ask.recursive {
            true => RECURSIVE_LIST_SLOTS,
            false => LIST_SLOTS,
        };
        self.on_tree(slots, site, ask, |shared, site, ask| {
            let path = WorkspacePath::parse_directory(ask.path.as_deref())?;
            match shared.open(site)? {
                Some(dir) => dir.list(ask),
                None if path.is_root() => Ok(FileList::default()),
                None => Err(fault::not_found(&path.to_string())),
            }
        })
    }

    fn info<'a>(&'a self, site: &'a Site) -> PortFuture<'a, WorkspaceInfo> {
        self.on_tree(SUM_SLOTS, site, &(), |shared, site, ()| {
            match shared.open(site)? {
                Some(dir) => dir.info(),
                None => Ok(WorkspaceInfo::default()),
            }
        })
    }

    fn search<'a>(&'a self, site: &'a Site, ask: &'a SearchFiles) -> PortFuture<'a, SearchResult> {
        self.on_tree(SEARCH_SLOTS, site, ask, |shared, site, ask| {
            let path = WorkspacePath::parse_directory(ask.path.as_deref())?;
            match shared.open(site)? {
                Some(dir) => dir.search(ask),
                None if path.is_root() => Ok(SearchResult::default()),
                None => Err(fault::not_found(&path.to_string())),
            }
        })
    }
}
