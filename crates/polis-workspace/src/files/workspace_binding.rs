//! Checks, resolves and creates the directory to which the person wants to bind a workspace. System
//! directories, whole home directories, polis's own data, and directories that overlap other projects of the
//! machine registry are refused.
//!
//! A directory that the store records as bound is checked again before its use
//! ([`check_recorded_directory`]): the store may be older than these rules. Its overlap with other projects
//! is checked by [`MachineRegistry::check_workspace`].

use std::fs::{DirBuilder, Metadata};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Component, Path, PathBuf};

use polis_ops::PortError;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::directory::{DirectoryIdentity, open_directory_no_symlinks};
use crate::machine_registry::{MachineRegistry, WorkspaceOverlap};
use crate::refusal_tables::BindingRefusal;

/// System directories that no workspace may be in. Every command can read those with programs.
const SYSTEM_DIRECTORIES: [&str; 9] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/nix/store",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
];

/// Directories that may contain workspaces but cannot be one themselves.
const SHARED_PARENT_DIRECTORIES: [&str; 15] = [
    "/",
    "/home",
    "/media",
    "/mnt",
    "/nix",
    "/opt",
    "/root",
    "/run",
    "/snap",
    "/srv",
    "/tmp",
    "/var",
    "/var/lib",
    "/var/tmp",
    "/workspaces",
];

/// Binds a directory: creates it if it does not exist, and returns its absolute canonical path.
///
/// Fails before anything is created if the path is not absolute, is a system directory or inside one, is a
/// whole home directory, contains `data_dir` or is inside it, or overlaps another project of the registry.
/// Also fails if it is not a directory or cannot be written.
pub fn bind_directory(
    directory: &Path,
    data_dir: &Path,
    registry: Option<&MachineRegistry>,
) -> Result<String, PortError> {
    let target = BindTarget::inspect(directory, data_dir, registry)?;
    if !target.missing.is_empty() {
        create_missing_directories(&target.existing, &target.missing)?;
    }
    check_writable(&target.full_path)?;
    if let Some(registry) = registry {
        let identity = open_directory_no_symlinks(&target.full_path)
            .and_then(|open| DirectoryIdentity::from_fd(open.as_fd()))
            .map_err(|errno| bind_io_error(errno.into()))?;
        // If this fails, the first use of the workspace records it.
        let _ = registry.bind_workspace(
            &target.full_path,
            &canonical_or_absolute(data_dir),
            identity,
        );
    }
    Ok(target.text)
}

/// Like [`bind_directory`], but creates nothing. Fails in the same cases.
pub fn resolve_directory(
    directory: &Path,
    data_dir: &Path,
    registry: Option<&MachineRegistry>,
) -> Result<String, PortError> {
    let target = BindTarget::inspect(directory, data_dir, registry)?;
    let next = target
        .missing
        .first()
        .map(|name| target.existing.join(name));
    let dangling = |path: PathBuf| {
        path.symlink_metadata()
            .is_ok_and(|found| found.is_symlink())
    };
    if next.is_some_and(dangling) {
        return Err(bind_io_error(io::ErrorKind::AlreadyExists.into()));
    }
    check_writable(&target.existing)?;
    Ok(target.text)
}

/// Fails if a directory that is recorded as bound may not be bound.
///
/// The store may be older than these rules, or not written by polis at all. The directory has been opened
/// without following links, so its path is canonical if it has no `..` and the like.
pub(super) fn check_recorded_directory(directory: &Path, data_dir: &Path) -> Result<(), PortError> {
    let plain = directory
        .components()
        .filter(|name| matches!(name, Component::RootDir | Component::Normal(_)));
    if plain.collect::<PathBuf>().as_os_str() != directory.as_os_str() {
        return Err(PortError::from(BindingRefusal::RecordedPathNotCanonical));
    }
    check_allowed_location(directory, data_dir)
}

/// A directory that passed the checks for binding.
struct BindTarget {
    /// Longest existing part of the path.
    existing: PathBuf,
    /// Components that do not exist yet.
    missing: Vec<PathBuf>,
    full_path: PathBuf,
    text: String,
}

impl BindTarget {
    fn inspect(
        directory: &Path,
        data_dir: &Path,
        registry: Option<&MachineRegistry>,
    ) -> Result<Self, PortError> {
        if !directory.is_absolute() {
            return Err(PortError::from(BindingRefusal::PathNotAbsolute));
        }
        let (existing, missing) = nearest_existing_ancestor(directory)?;
        let whole = missing
            .iter()
            .fold(existing.clone(), |path, name| path.join(name));
        let data_dir = canonical_or_absolute(data_dir);
        check_allowed_location(&whole, &data_dir)?;
        if let Some(overlap) =
            registry.and_then(|machine_registry| machine_registry.find_overlap(&whole, &data_dir))
        {
            return Err(overlap_error(&overlap));
        }
        let text = whole
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| PortError::from(BindingRefusal::PathNotUtf8))?;
        check_is_directory(&existing.metadata().map_err(bind_io_error)?)?;
        Ok(Self {
            existing,
            missing,
            full_path: whole,
            text,
        })
    }
}

fn check_writable(directory: &Path) -> Result<(), PortError> {
    let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, directory, access, AtFlags::EACCESS).map_err(|errno| bind_io_error(errno.into()))
}

/// Returns the longest existing part of a path, canonical, and the remaining components.
fn nearest_existing_ancestor(directory: &Path) -> Result<(PathBuf, Vec<PathBuf>), PortError> {
    let mut missing = Vec::new();
    let mut path = directory;
    loop {
        match path.canonicalize() {
            Ok(existing) => {
                missing.reverse();
                return Ok((existing, missing));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(bind_io_error(error)),
        }
        // A `..` after a missing component cannot be resolved reliably.
        match (path.components().next_back(), path.parent()) {
            (Some(Component::Normal(name)), Some(above)) => {
                missing.push(PathBuf::from(name));
                path = above;
            }
            _ => {
                return Err(PortError::from(BindingRefusal::ParentAfterMissing));
            }
        }
    }
}

fn check_allowed_location(directory: &Path, data_dir: &Path) -> Result<(), PortError> {
    let home = std::env::var_os("HOME").map(|home| canonical_or_absolute(Path::new(&home)));
    let is_home =
        directory.parent() == Some(Path::new("/home")) || home.as_deref() == Some(directory);
    let in_system = SYSTEM_DIRECTORIES
        .iter()
        .any(|tree| directory.starts_with(tree))
        && !(directory.starts_with("/dev/shm") && directory != Path::new("/dev/shm"));
    let in_lib = matches!(
        directory.components().nth(1),
        Some(Component::Normal(name)) if name.to_string_lossy().starts_with("lib")
    );
    if is_home
        || in_system
        || in_lib
        || SHARED_PARENT_DIRECTORIES
            .iter()
            .any(|wide| directory == Path::new(wide))
    {
        return Err(PortError::from(BindingRefusal::SystemDirectory));
    }
    if directory.starts_with(data_dir) || data_dir.starts_with(directory) {
        return Err(PortError::from(BindingRefusal::InDataDirectory));
    }
    Ok(())
}

/// Returns the error for a directory that overlaps something of another project. Paths are only in the cause,
/// for the person at this machine.
pub(super) fn overlap_error(overlap: &WorkspaceOverlap) -> PortError {
    let (refusal, cause) = match overlap {
        WorkspaceOverlap::OtherWorkspace(workspace) => (
            BindingRefusal::OverlapsOtherWorkspace,
            format!(
                "{} is bound in the project of {}",
                workspace.directory.display(),
                workspace.project.display()
            ),
        ),
        WorkspaceOverlap::OtherProject(data) => (
            BindingRefusal::OverlapsOtherProject,
            data.display().to_string(),
        ),
        WorkspaceOverlap::MachineRegistry => (BindingRefusal::OverlapsRegistry, String::new()),
    };
    let error = PortError::from(refusal);
    if cause.is_empty() {
        error
    } else {
        error.with_source(cause)
    }
}

fn check_is_directory(found: &Metadata) -> Result<(), PortError> {
    if found.is_dir() {
        return Ok(());
    }
    Err(PortError::from(BindingRefusal::NotADirectory))
}

/// Creates nested directories. If one cannot be created, removes those created before.
fn create_missing_directories(existing: &Path, missing: &[PathBuf]) -> Result<(), PortError> {
    let mut created: Vec<PathBuf> = Vec::new();
    let mut path = existing.to_path_buf();
    for name in missing {
        path.push(name);
        match DirBuilder::new().create(&path) {
            Ok(()) => created.push(path.clone()),
            // Created concurrently; a link does not count.
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && path.symlink_metadata().is_ok_and(|found| found.is_dir()) => {}
            Err(error) => {
                for path in created.iter().rev() {
                    let _ = std::fs::remove_dir(path);
                }
                return Err(bind_io_error(error));
            }
        }
    }
    Ok(())
}

pub(super) fn canonical_or_absolute(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_path_buf())
}

fn bind_io_error(error: io::Error) -> PortError {
    use io::ErrorKind as K;
    match error.kind() {
        K::PermissionDenied | K::ReadOnlyFilesystem => PortError::from(BindingRefusal::NotWritable),
        K::NotADirectory => PortError::from(BindingRefusal::ComponentNotADirectory),
        _ => PortError::from(BindingRefusal::CannotOpen),
    }
    .with_source(error)
}
