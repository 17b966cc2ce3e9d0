//! Which directories can be a workspace.

use std::fs::{DirBuilder, Metadata};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Component, Path, PathBuf};

use polis_core::Code;
use polis_ops::PortError;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::directory::{DirectoryIdentity, open_without_links};
use crate::registry::{MachineRegistry, Overlap};

/// Directories of the system that no workspace may be in. What is in those with programs, every
/// command sees.
const SYSTEM_TREES: [&str; 9] = [
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

/// Directories that a workspace may be in, but that cannot be one.
const TOO_WIDE: [&str; 15] = [
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

/// A directory as it is bound to a workspace: made if it is not there, canonical and absolute.
///
/// Refused before anything is made: a path that is not absolute, a directory of the system, one
/// that holds `data_dir` or is in it, one that overlaps another project of the registry. Refused too: what is not a
/// directory, or cannot be written.
pub fn bind(
    directory: &Path,
    data_dir: &Path,
    registry: Option<&MachineRegistry>,
) -> Result<String, PortError> {
    let place = Wanted::look(directory, data_dir, registry)?;
    if !place.missing.is_empty() {
        make(&place.there, &place.missing)?;
    }
    check_writable(&place.whole)?;
    if let Some(registry) = registry {
        let identity = open_without_links(&place.whole)
            .and_then(|open| DirectoryIdentity::of(open.as_fd()))
            .map_err(|errno| failed(errno.into()))?;
        // Should it fail, the first use of the workspace does it.
        let _ = registry.bind_workspace(&place.whole, &canonical_or_given(data_dir), identity);
    }
    Ok(place.text)
}

/// The same directory, refused for the same reasons, but nothing is made.
pub fn resolve(
    directory: &Path,
    data_dir: &Path,
    registry: Option<&MachineRegistry>,
) -> Result<String, PortError> {
    let place = Wanted::look(directory, data_dir, registry)?;
    let next = place.missing.first().map(|name| place.there.join(name));
    let dangling = |path: PathBuf| {
        path.symlink_metadata()
            .is_ok_and(|found| found.is_symlink())
    };
    if next.is_some_and(dangling) {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    check_writable(&place.there)?;
    Ok(place.text)
}

/// Refuses a directory that is recorded as bound but could not be bound.
///
/// The store that names it may be older than these rules, or not be written by polis at all. The directory has been opened
/// without following links, so its path is the real one if it has no `..` and the like.
pub(super) fn check_recorded(directory: &Path, data_dir: &Path) -> Result<(), PortError> {
    let plain = directory
        .components()
        .filter(|name| matches!(name, Component::RootDir | Component::Normal(_)));
    if plain.collect::<PathBuf>().as_os_str() != directory.as_os_str() {
        return Err(invalid(
            "The path that is recorded for the workspace is not the plain path of a directory.",
            "have the person bind the workspace again: `polis ws bind`",
        ));
    }
    check_place(directory, data_dir)
}

/// A directory that may be bound.
struct Wanted {
    /// The part of it that is there.
    there: PathBuf,
    /// The names that are not.
    missing: Vec<PathBuf>,
    whole: PathBuf,
    text: String,
}

impl Wanted {
    fn look(
        directory: &Path,
        data_dir: &Path,
        registry: Option<&MachineRegistry>,
    ) -> Result<Self, PortError> {
        if !directory.is_absolute() {
            return Err(invalid(
                "The path of the directory is not absolute.",
                "give the whole path, from / on",
            ));
        }
        let (there, missing) = nearest(directory)?;
        let whole = missing
            .iter()
            .fold(there.clone(), |path, name| path.join(name));
        let data_dir = canonical_or_given(data_dir);
        check_place(&whole, &data_dir)?;
        if let Some(overlap) = registry.and_then(|known| known.overlap(&whole, &data_dir)) {
            return Err(overlaps(&overlap));
        }
        let text = whole.to_str().map(str::to_owned).ok_or_else(|| {
            invalid(
                "The path of the directory is not UTF-8.",
                "use a directory with another name",
            )
        })?;
        check_directory(&there.metadata().map_err(failed)?)?;
        Ok(Self {
            there,
            missing,
            whole,
            text,
        })
    }
}

fn check_writable(directory: &Path) -> Result<(), PortError> {
    let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, directory, access, AtFlags::EACCESS).map_err(|errno| failed(errno.into()))
}

/// The longest part of a path that is there, canonical, and the names that are not.
fn nearest(directory: &Path) -> Result<(PathBuf, Vec<PathBuf>), PortError> {
    let mut missing = Vec::new();
    let mut path = directory;
    loop {
        match path.canonicalize() {
            Ok(there) => {
                missing.reverse();
                return Ok((there, missing));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        // A name such as `..` after one that is not there means nothing certain.
        match (path.components().next_back(), path.parent()) {
            (Some(Component::Normal(name)), Some(above)) => {
                missing.push(PathBuf::from(name));
                path = above;
            }
            _ => {
                return Err(invalid(
                    "The path of the directory has a .. after a directory that is not there.",
                    "give the path without ..",
                ));
            }
        }
    }
}

fn check_place(wanted: &Path, data_dir: &Path) -> Result<(), PortError> {
    let home = std::env::var_os("HOME").map(|home| canonical_or_given(Path::new(&home)));
    let is_home = wanted.parent() == Some(Path::new("/home")) || home.as_deref() == Some(wanted);
    let in_system = SYSTEM_TREES.iter().any(|tree| wanted.starts_with(tree))
        && !(wanted.starts_with("/dev/shm") && wanted != Path::new("/dev/shm"));
    let in_lib = matches!(
        wanted.components().nth(1),
        Some(Component::Normal(name)) if name.to_string_lossy().starts_with("lib")
    );
    if is_home || in_system || in_lib || TOO_WIDE.iter().any(|wide| wanted == Path::new(wide)) {
        return Err(invalid(
            "A directory of the system, or a whole home directory, cannot be a workspace.",
            "make a directory of its own for the work",
        ));
    }
    if wanted.starts_with(data_dir) || data_dir.starts_with(wanted) {
        return Err(PortError::new(
            Code::WorkspaceOverlaps,
            "The directory is polis's own data, or in it, or holds it.",
            "use a directory beside the one polis keeps its data in",
        ));
    }
    Ok(())
}

/// The refusal of a directory that overlaps something of another project. Paths are for the person who asks for causes.
pub(super) fn overlaps(overlap: &Overlap) -> PortError {
    let (message, cause) = match overlap {
        Overlap::Workspace(workspace) => (
            "The directory overlaps a workspace of another polis project of this machine.",
            format!(
                "{} is bound in the project of {}",
                workspace.directory.display(),
                workspace.project.display()
            ),
        ),
        Overlap::Project(data) => (
            "The directory holds another polis project, or is in its data.",
            data.display().to_string(),
        ),
        Overlap::Registry => (
            "The directory holds polis's own records of this machine, or is in them.",
            String::new(),
        ),
    };
    let error = PortError::new(
        Code::WorkspaceOverlaps,
        message,
        "choose a directory that is apart from all polis projects; with --verbose the cause is shown",
    );
    if cause.is_empty() {
        error
    } else {
        error.because(cause)
    }
}

fn check_directory(found: &Metadata) -> Result<(), PortError> {
    if found.is_dir() {
        return Ok(());
    }
    Err(PortError::new(
        Code::NotADirectory,
        "What is at this path is not a directory.",
        "give the path of a directory, or of one that is to be made",
    ))
}

/// Makes directories one below the other; takes back those that were made if one cannot be.
fn make(there: &Path, missing: &[PathBuf]) -> Result<(), PortError> {
    let mut made: Vec<PathBuf> = Vec::new();
    let mut path = there.to_path_buf();
    for name in missing {
        path.push(name);
        match DirBuilder::new().create(&path) {
            Ok(()) => made.push(path.clone()),
            // Another made it meanwhile; a link is not taken for it.
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && path.symlink_metadata().is_ok_and(|found| found.is_dir()) => {}
            Err(error) => {
                for path in made.iter().rev() {
                    let _ = std::fs::remove_dir(path);
                }
                return Err(failed(error));
            }
        }
    }
    Ok(())
}

pub(super) fn canonical_or_given(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_path_buf())
}

fn invalid(message: &str, hint: &str) -> PortError {
    PortError::new(Code::InvalidWorkspace, message, hint)
}

fn failed(error: io::Error) -> PortError {
    use io::ErrorKind as K;
    match error.kind() {
        K::PermissionDenied | K::ReadOnlyFilesystem => PortError::new(
            Code::PermissionDenied,
            "The directory cannot be made or written.",
            "check who owns it and the directories above, and their permissions",
        ),
        K::NotADirectory => PortError::new(
            Code::NotADirectory,
            "Something on the way to the directory is not a directory.",
            "give another path",
        ),
        _ => invalid(
            "The directory cannot be made or opened.",
            "check the path; with --verbose the cause is shown",
        ),
    }
    .because(error)
}
