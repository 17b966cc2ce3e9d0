//! Per-user registry of the polis projects and bound workspaces on this machine.
//!
//! A store knows only its own workspaces, and a project's directory does not show who created it. The
//! registry answers the questions that concern the whole machine: did this user create the project or trust
//! it, with which configuration ([`configuration_fingerprint`]), is a directory inside the workspace of an
//! agent, and is the directory of a workspace still the one that was bound. It is a directory of small files,
//! one per entry, named by a hash of the path, so that the frequent questions are one lookup each.
//!
//! It also locks a workspace's entry while a command runs in it. It is outside of every workspace, and a
//! directory that contains it cannot be bound. So agents cannot reach it, except by commands in tier T2,
//! or if the configuration grants the path.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use polis_core::workspace::workspace_path::PROJECT_DATA_DIR;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};

use crate::directory::DirectoryIdentity;

/// Environment variable with the directory of the registry; replaces the default below the user's home
/// directory.
pub const STATE_DIR_VARIABLE: &str = "POLIS_STATE_DIR";

/// File in a project's data directory with its random id, which distinguishes it from another project at the
/// same path.
const PROJECT_ID_FILE: &str = "polis.id";

/// Length of a project id before hex encoding.
const PROJECT_ID_BYTES: usize = 16;

/// Maximum size of an entry that is read.
const MAX_ENTRY_BYTES: u64 = 64 * 1024;

/// Configuration files in a data directory.
pub const CONFIGURATION_FILES: [&str; 2] = ["polis.toml", "rbac.yaml"];

/// Subdirectory of a data directory with the teams.
pub const TEAMS_DIR: &str = "teams";

/// Suffix of lock files.
const LOCK_SUFFIX: &str = ".lock";

const PROJECTS_DIR: &str = "projects";
const WORKSPACES_DIR: &str = "workspaces";

/// Registry of the user this process runs as.
#[derive(Debug, Clone)]
pub struct MachineRegistry {
    /// Directories that are searched for entries; new entries go to the first one that can be written.
    bases: Vec<PathBuf>,
}

/// A workspace that is bound to a directory of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundWorkspace {
    /// Directory of the workspace.
    pub directory: PathBuf,
    /// Data directory of its project.
    pub project: PathBuf,
    /// Agent the workspace belongs to; empty until its first use.
    pub agent: String,
    /// Inode number of the directory.
    inode: u64,
    /// Device number of the file system, which may change with a reboot.
    device: u64,
    /// Boot id of the machine at the time the entry was written.
    boot_id: String,
}

/// Registry entry of a project that this user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProject {
    /// Fingerprint of its configuration when it was trusted, or when it was last known to be the user's own.
    pub configuration: String,
    /// State of git's index at the time the configuration was checked.
    pub git_index: String,
}

/// Keeps the entry of a workspace while a command runs in it; released on drop.
#[derive(Debug)]
pub struct WorkspaceInUseGuard {
    _lock: fs::File,
}

/// Overlap of a directory to be bound with something of another project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceOverlap {
    /// It is a workspace, is inside one or contains one.
    OtherWorkspace(BoundWorkspace),
    /// It contains the data of a project, or is inside it.
    OtherProject(PathBuf),
    /// It contains this registry, or is inside it.
    MachineRegistry,
}

/// Reason why a directory cannot be used as a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceCheckError {
    /// It is not the directory that was bound.
    Replaced,
    /// It is not recorded as a workspace of the project, and overlaps something of another one.
    Overlaps(WorkspaceOverlap),
}

impl MachineRegistry {
    /// Returns the registry of this user: in `$POLIS_STATE_DIR`, else in `.local/state/polis` of the home
    /// directory from `/etc/passwd`, else of `$HOME`, else in a private directory below `/var/tmp`.
    #[must_use]
    pub fn for_current_user() -> Self {
        let set = |name: &str| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        if let Some(state) = set(STATE_DIR_VARIABLE) {
            return Self::in_directory(state);
        }
        let user = geteuid().as_raw();
        let mut bases: Vec<PathBuf> = Vec::new();
        for home in [home_from_passwd(user), set("HOME")].into_iter().flatten() {
            let base = home.join(".local/state/polis");
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
        bases.push(PathBuf::from(format!("/var/tmp/polis-{user}")));
        Self { bases }
    }

    /// Returns the registry in a directory.
    #[must_use]
    pub fn in_directory(directory: PathBuf) -> Self {
        Self {
            bases: vec![directory],
        }
    }

    /// Returns the entry of the project of a data directory (canonical path), if this user created it here or
    /// trusts it.
    pub fn trusted_project(&self, data: &Path) -> Option<TrustedProject> {
        let entry = self.find_entry(PROJECTS_DIR, data)?;
        let [path, id, configuration, git_index] = entry.as_slice() else {
            return None;
        };
        let is_this = path.as_bytes() == data.as_os_str().as_bytes()
            && project_id(data).is_ok_and(|found| found.as_bytes() == id.as_bytes());
        is_this.then(|| TrustedProject {
            configuration: configuration.to_string_lossy().into_owned(),
            git_index: git_index.to_string_lossy().into_owned(),
        })
    }

    /// Records the configuration fingerprint of a trusted project and the state of git's index. Does nothing
    /// if the project is no longer trusted. Fails if the registry cannot be written.
    pub fn record_project(&self, data: &Path, project: &TrustedProject) -> io::Result<()> {
        let lock = self.open_lock(PROJECTS_DIR, data)?;
        lock.lock()?;
        if self.trusted_project(data).is_none() {
            return Ok(());
        }
        let id = project_id(data)?;
        self.write_project(data, &id, project)
    }

    fn write_project(&self, data: &Path, id: &str, project: &TrustedProject) -> io::Result<()> {
        let fields = [
            data.as_os_str(),
            OsStr::new(id),
            OsStr::new(&project.configuration),
            OsStr::new(&project.git_index),
        ];
        self.store_entry(PROJECTS_DIR, data, &fields)
    }

    /// Trusts the project of a data directory (canonical), which has to exist. Writes a random id to it if it
    /// has none. Fails if the registry or the id cannot be written.
    pub fn trust_project(&self, data: &Path) -> io::Result<()> {
        // One process at a time: otherwise each would write its own id and revoke the trust that another has
        // just recorded.
        let lock = self.open_lock(PROJECTS_DIR, data)?;
        lock.lock()?;
        let project = TrustedProject {
            configuration: configuration_fingerprint(data),
            git_index: String::new(),
        };
        match project_id(data) {
            Ok(id) => self.write_project(data, &id, &project),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let id = random_id()?;
                self.write_project(data, &id, &project)?;
                write_project_id(data, &id)
            }
            Err(error) => Err(error),
        }
    }

    /// Revokes trust in a project. Fails if the registry cannot be changed.
    pub fn distrust_project(&self, data: &Path) -> io::Result<()> {
        let lock = self.open_lock(PROJECTS_DIR, data)?;
        lock.lock()?;
        self.remove_entry(PROJECTS_DIR, data)
    }

    /// Returns the workspace that contains a path (canonical), or is it.
    pub fn workspace_containing(&self, path: &Path) -> Option<BoundWorkspace> {
        path.ancestors().find_map(|above| self.workspace_at(above))
    }

    /// Returns the registry, the project or the workspace that a directory would overlap if it were bound in
    /// the project with this data directory (both are canonical paths). Bound workspaces of the same project
    /// do not count.
    pub fn find_overlap(&self, directory: &Path, own: &Path) -> Option<WorkspaceOverlap> {
        for base in &self.bases {
            let base = base.canonicalize().unwrap_or_else(|_| base.clone());
            if base.starts_with(directory) || directory.starts_with(&base) {
                return Some(WorkspaceOverlap::MachineRegistry);
            }
        }
        let data = directory.ancestors().find(|above| {
            let is_data = above.file_name() == Some(OsStr::new(PROJECT_DATA_DIR));
            is_data && *above != own
        });
        if let Some(data) = data {
            return Some(WorkspaceOverlap::OtherProject(data.to_owned()));
        }
        let inside = directory.join(PROJECT_DATA_DIR);
        if inside != own && inside.symlink_metadata().is_ok() {
            return Some(WorkspaceOverlap::OtherProject(inside));
        }
        let around = self.workspace_containing(directory);
        let around = around.filter(|workspace| workspace.project != own);
        let below = || {
            self.all_workspaces()
                .into_iter()
                .find(|one| one.project != own && one.directory.starts_with(directory))
        };
        if let Some(workspace) = around.or_else(below) {
            return Some(WorkspaceOverlap::OtherWorkspace(workspace));
        }
        let project = self
            .all_projects()
            .into_iter()
            .find(|data| data != own && data.starts_with(directory) && data.is_dir());
        project.map(WorkspaceOverlap::OtherProject)
    }

    /// Checks that a directory is the one that an agent's workspace was bound to, and records it at its first
    /// use.
    ///
    /// Fails with [`WorkspaceCheckError::Overlaps`] if the directory is not recorded as a workspace of this
    /// project and overlaps something of another one: a store can name a directory that no `bind` on this
    /// machine has checked.
    pub fn check_workspace(
        &self,
        directory: &Path,
        project: &Path,
        agent: &str,
        identity: DirectoryIdentity,
    ) -> Result<(), WorkspaceCheckError> {
        let existing = self.workspace_at(directory);
        if let Some(existing) = existing.filter(|existing| existing.project == project) {
            // Device numbers may change with a reboot.
            let is_this_boot = existing.boot_id == boot_id();
            if existing.inode != identity.inode
                || is_this_boot && existing.device != identity.device
            {
                return Err(WorkspaceCheckError::Replaced);
            }
            if is_this_boot && existing.agent == agent {
                return Ok(());
            }
        } else if let Some(overlap) = self.find_overlap(directory, project) {
            return Err(WorkspaceCheckError::Overlaps(overlap));
        }
        // If the registry is not writable, the check relies on the path alone; the directory was opened
        // without following links.
        let _ = self.remember_workspace(directory, project, agent, identity);
        Ok(())
    }

    /// Records a directory that the person binds, replacing an earlier entry. Fails if the registry cannot be
    /// written.
    pub fn bind_workspace(
        &self,
        directory: &Path,
        project: &Path,
        identity: DirectoryIdentity,
    ) -> io::Result<()> {
        let existing = self.workspace_at(directory);
        let existing = existing.filter(|existing| existing.project == project);
        // The agent is recorded at the first use.
        let agent = existing.map_or_else(String::new, |existing| existing.agent);
        self.remember_workspace(directory, project, &agent, identity)
    }

    /// Removes the entry of the workspace at or above a directory. Returns the removed entry; fails with
    /// `ResourceBusy` while a command runs in it.
    pub fn forget_workspace(&self, directory: &Path) -> io::Result<Option<BoundWorkspace>> {
        let existing = self.workspace_containing(directory);
        if let Some(existing) = &existing
            && !self.remove_workspace(&existing.directory)?
        {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        Ok(existing)
    }

    /// Records the directory of an agent's workspace, and removes the entry of its previous directory.
    fn remember_workspace(
        &self,
        directory: &Path,
        project: &Path,
        agent: &str,
        identity: DirectoryIdentity,
    ) -> io::Result<()> {
        let old = self.all_workspaces().into_iter().filter(|old| {
            let is_same = old.project == project && old.agent == agent && !agent.is_empty();
            is_same && old.directory != directory
        });
        for old in old {
            self.remove_workspace(&old.directory)?;
        }
        let fields: [&OsStr; 6] = [
            directory.as_os_str(),
            project.as_os_str(),
            OsStr::new(agent),
            &OsString::from(identity.inode.to_string()),
            &OsString::from(identity.device.to_string()),
            &OsString::from(boot_id()),
        ];
        self.store_entry(WORKSPACES_DIR, directory, &fields)
    }

    /// Marks a workspace as in use while a command runs in it, with a shared lock.
    pub(crate) fn mark_workspace_in_use(
        &self,
        directory: &Path,
    ) -> io::Result<WorkspaceInUseGuard> {
        let lock = self.open_workspace_lock(directory)?;
        lock.lock_shared()?;
        Ok(WorkspaceInUseGuard { _lock: lock })
    }

    /// Opens the lock file that is locked while a command runs in a workspace.
    fn open_workspace_lock(&self, directory: &Path) -> io::Result<fs::File> {
        self.open_lock(WORKSPACES_DIR, directory)
    }

    /// Opens the lock file of an entry, in the directory for new entries. The file is never removed:
    /// otherwise two processes could hold locks on different files.
    fn open_lock(&self, kind: &str, path: &Path) -> io::Result<fs::File> {
        let name = format!("{}{LOCK_SUFFIX}", entry_file_name(path));
        self.with_private_directory(kind, |directory| {
            fs::File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(nofollow_flag())
                .open(directory.join(&name))
        })
    }

    /// Removes the entry of a workspace, unless a command runs in it.
    fn remove_workspace(&self, directory: &Path) -> io::Result<bool> {
        let lock = self.open_workspace_lock(directory)?;
        if lock.try_lock().is_err() {
            return Ok(false);
        }
        self.remove_entry(WORKSPACES_DIR, directory)?;
        Ok(true)
    }

    /// Returns the workspace that is bound to a directory, if its project still exists.
    fn workspace_at(&self, directory: &Path) -> Option<BoundWorkspace> {
        let entry = parse_workspace(self.find_entry(WORKSPACES_DIR, directory)?)?;
        (entry.directory == directory && entry.project.is_dir()).then_some(entry)
    }

    fn all_workspaces(&self) -> Vec<BoundWorkspace> {
        let entries = self
            .read_all_entries(WORKSPACES_DIR)
            .into_iter()
            .filter_map(parse_workspace);
        entries.filter(|entry| entry.project.is_dir()).collect()
    }

    fn all_projects(&self) -> BTreeSet<PathBuf> {
        let entries = self.read_all_entries(PROJECTS_DIR).into_iter();
        let paths = entries.filter_map(|fields| fields.into_iter().next());
        paths.map(PathBuf::from).collect()
    }

    /// Returns the directories of the registry that only this user can write.
    fn private_bases(&self) -> impl Iterator<Item = &PathBuf> {
        self.bases.iter().filter(|base| is_private_directory(base))
    }

    fn find_entry(&self, kind: &str, path: &Path) -> Option<Vec<OsString>> {
        let name = entry_file_name(path);
        self.private_bases()
            .find_map(|base| read_entry(&base.join(kind).join(&name)))
    }

    fn read_all_entries(&self, kind: &str) -> Vec<Vec<OsString>> {
        let directories = self.private_bases().map(|base| base.join(kind));
        let entries = directories.filter_map(|directory| fs::read_dir(directory).ok());
        let files = entries.flatten().filter_map(Result::ok);
        // Lock files and half-written entries have a suffix.
        let files = files.filter(|file| !file.file_name().as_bytes().contains(&b'.'));
        files.filter_map(|file| read_entry(&file.path())).collect()
    }

    fn store_entry(&self, kind: &str, path: &Path, fields: &[&OsStr]) -> io::Result<()> {
        let content: Vec<&[u8]> = fields.iter().map(|field| field.as_bytes()).collect();
        let content = content.join(&b'\0');
        self.with_private_directory(kind, |directory| {
            write_entry(directory, &entry_file_name(path), &content)
        })
    }

    /// Runs `work` in the directory for a kind of entries, and returns the result of the first registry
    /// directory in which it succeeds. Nothing is created or opened in a directory before it is known to be
    /// private: another user may have created it, with links to files of this user in it.
    fn with_private_directory<T>(
        &self,
        kind: &str,
        work: impl Fn(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for base in &self.bases {
            let directory = base.join(kind);
            let done = create_private_directory(base)
                .and_then(|()| create_private_directory(&directory))
                .and_then(|()| work(&directory));
            match done {
                Ok(done) => return Ok(done),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn remove_entry(&self, kind: &str, path: &Path) -> io::Result<()> {
        let name = entry_file_name(path);
        for base in self.private_bases() {
            match fs::remove_file(base.join(kind).join(&name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns a hash of the configuration in a data directory: settings, permissions and teams.
pub fn configuration_fingerprint(data: &Path) -> String {
    let mut files: Vec<PathBuf> = CONFIGURATION_FILES
        .iter()
        .map(|name| data.join(name))
        .collect();
    // A team is a directory of files, with one subdirectory per language.
    let mut directories = vec![data.join(TEAMS_DIR)];
    let mut teams = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(entry.path());
            } else {
                teams.push(entry.path());
            }
        }
    }
    teams.sort();
    files.extend(teams);
    let mut hash = Sha256::new();
    for file in files {
        let content = fs::read(&file).unwrap_or_default();
        hash.update(file.as_os_str().as_bytes());
        hash.update((content.len() as u64).to_le_bytes());
        hash.update(content);
    }
    hex_string(&hash.finalize())
}

fn hex_string(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether this user owns a directory and no other user can write to it.
fn is_private_directory(directory: &Path) -> bool {
    let found = fs::symlink_metadata(directory);
    found.is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

fn entry_file_name(path: &Path) -> String {
    hex_string(&Sha256::digest(path.as_os_str().as_bytes()))
}

fn read_entry(file: &Path) -> Option<Vec<OsString>> {
    let mut content = Vec::new();
    let file = fs::File::open(file).ok()?;
    file.take(MAX_ENTRY_BYTES).read_to_end(&mut content).ok()?;
    let fields = content.split(|byte| *byte == 0);
    Some(
        fields
            .map(|field| OsString::from_vec(field.to_vec()))
            .collect(),
    )
}

/// Writes an entry atomically and durably: temporary file, fsync, rename.
fn write_entry(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    // Threads of one process may write the same entry.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let new = directory.join(format!("{name}.{}.{number}", std::process::id()));
    let create = || {
        fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(nofollow_flag())
            .open(&new)
    };
    let mut file = match create() {
        // Leftover of a killed process with the same process id.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(&new)?;
            create()?
        }
        created => created?,
    };
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, directory.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Creates a directory with mode 0700 if it does not exist. Fails with `PermissionDenied` if others can write
/// to it.
fn create_private_directory(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    if is_private_directory(directory) {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// Returns `O_NOFOLLOW`: `open` fails if the path ends in a symbolic link.
fn nofollow_flag() -> i32 {
    i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default()
}

fn parse_workspace(fields: Vec<OsString>) -> Option<BoundWorkspace> {
    let [directory, project, agent, inode, device, boot] = fields.try_into().ok()?;
    Some(BoundWorkspace {
        directory: directory.into(),
        project: project.into(),
        agent: agent.into_string().ok()?,
        inode: inode.to_str()?.parse().ok()?,
        device: device.to_str()?.parse().ok()?,
        boot_id: boot.into_string().ok()?,
    })
}

/// Returns the id of a project, which distinguishes it from another project created later at its path.
fn project_id(data: &Path) -> io::Result<String> {
    let mut id = String::new();
    let flags = i32::try_from(OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits());
    let file = fs::File::options()
        .read(true)
        .custom_flags(flags.unwrap_or_default())
        .open(data.join(PROJECT_ID_FILE))?;
    file.take(MAX_ENTRY_BYTES).read_to_string(&mut id)?;
    if id.len() == 2 * PROJECT_ID_BYTES && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(id)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

fn random_id() -> io::Result<String> {
    let mut random = [0; PROJECT_ID_BYTES];
    fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(hex_string(&random))
}

/// Writes the id of a project; the caller holds its lock. Never follows a link: the directory may come from
/// anywhere.
fn write_project_id(data: &Path, id: &str) -> io::Result<()> {
    let path = data.join(PROJECT_ID_FILE);
    // A killed process may have left an incomplete id.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(id.as_bytes())?;
    file.sync_all()
}

/// Returns whether an entry of a data directory is the file with the project's id, which alone grants
/// nothing.
pub fn is_project_id(entry: &fs::DirEntry) -> bool {
    entry.file_name() == PROJECT_ID_FILE && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// Returns the home directory of a user from `/etc/passwd`: `$HOME` may be set to anything, and some programs
/// start others without it.
fn home_from_passwd(user: u32) -> Option<PathBuf> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    let home = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_user = fields.nth(2)?.parse::<u32>().ok()? == user;
        let home = fields.nth(2)?;
        is_user.then(|| PathBuf::from(home))
    })?;
    (home.is_absolute() && home.is_dir()).then_some(home)
}

fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests;
