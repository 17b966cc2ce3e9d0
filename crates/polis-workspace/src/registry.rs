//! Per-user registry of the polis projects and bound workspaces on this machine.
//!
//! A store knows only its own workspaces, and a project's directory says nothing about who made it. The registry answers
//! what needs the whole machine: whether this user created or trusts a project, whether a directory lies in the workspace
//! of an agent, and whether the directory of a workspace is still the one that was bound. It is a directory of small files,
//! one per entry, named by a hash of the path, so that the frequent questions are one look-up each.
//!
//! Agents cannot reach it: it is outside of every workspace, and a directory that holds it cannot be bound.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use polis_core::workspace::path::PROJECT_DATA;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};

use crate::directory::DirectoryIdentity;

/// Where the registry is kept instead of the user's home directory.
pub const STATE_DIR_VARIABLE: &str = "POLIS_STATE_DIR";

/// The file in a project's data directory that tells it from another one at the same path.
const PROJECT_ID: &str = "polis.id";

/// How long an id is.
const ID_BYTES: usize = 16;

/// The longest entry that is read.
const MAX_ENTRY_BYTES: u64 = 64 * 1024;

/// The files of a data directory that decide what polis does.
pub const CONFIGURATION_FILES: [&str; 2] = ["polis.toml", "rbac.yaml"];

/// The directory of a data directory that has the teams.
pub const TEAMS: &str = "teams";

/// What the name of a lock ends with.
const LOCK_SUFFIX: &str = ".lock";

const PROJECTS: &str = "projects";
const WORKSPACES: &str = "workspaces";

/// The registry of the user whom this process runs as.
#[derive(Debug, Clone)]
pub struct MachineRegistry {
    /// Where entries are looked for; the first that can be written takes new ones.
    bases: Vec<PathBuf>,
}

/// A workspace that is bound to a directory of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundWorkspace {
    /// The directory.
    pub directory: PathBuf,
    /// The data directory of the project it belongs to.
    pub project: PathBuf,
    /// The agent it belongs to.
    pub agent: String,
    /// The directory's number in its file system.
    inode: u64,
    /// The number of its file system, which may change with a restart of the machine.
    device: u64,
    /// During which uptime of the machine that was.
    boot: String,
}

/// What is recorded of a project that this user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProject {
    /// The fingerprint of its configuration when it was trusted, or when it was last known to be the user's own.
    pub configuration: String,
    /// The state of git's index in which the configuration was looked at.
    pub git_index: String,
}

/// Keeps a workspace from being forgotten as long as it is held.
#[derive(Debug)]
pub struct WorkspaceHold {
    _lock: fs::File,
}

/// How a directory that is to be bound overlaps something of another project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlap {
    /// It is a workspace, or inside of one, or around one.
    Workspace(BoundWorkspace),
    /// It holds the data of a project, or is inside of it.
    Project(PathBuf),
    /// It holds this registry, or is inside of it.
    Registry,
}

/// Why a directory is not used as a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceRefusal {
    /// It is not the directory that was bound.
    Replaced,
    /// It is not known as a workspace of the project, and overlaps something of another one.
    Overlaps(Overlap),
}

impl MachineRegistry {
    /// Returns the registry of this user: in `$POLIS_STATE_DIR`, else in `.local/state/polis` of the home directory that
    /// the system knows for the user, else of `$HOME`, else in a private directory below `/var/tmp`.
    #[must_use]
    pub fn of_user() -> Self {
        let set = |name: &str| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        if let Some(state) = set(STATE_DIR_VARIABLE) {
            return Self::at(state);
        }
        let user = geteuid().as_raw();
        let mut bases: Vec<PathBuf> = Vec::new();
        for home in [passwd_home(user), set("HOME")].into_iter().flatten() {
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
    pub fn at(directory: PathBuf) -> Self {
        Self {
            bases: vec![directory],
        }
    }

    /// Returns what is recorded of the project of a data directory (canonical), if this user created it here or trusts it.
    pub fn trusted_project(&self, data: &Path) -> Option<TrustedProject> {
        let entry = self.read(PROJECTS, data)?;
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

    /// Records what the configuration of a trusted project is, and in which state of git's index that was. Does nothing if
    /// the project is not trusted any more.
    pub fn record_project(&self, data: &Path, project: &TrustedProject) -> io::Result<()> {
        let lock = self.open_lock(PROJECTS, data)?;
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
        self.write(PROJECTS, data, &fields)
    }

    /// Trusts the project of a data directory (canonical), which has to exist.
    pub fn trust(&self, data: &Path) -> io::Result<()> {
        // One process at a time: with an id of its own, each would take away the trust that another one has just given.
        let lock = self.open_lock(PROJECTS, data)?;
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

    /// Takes trust in a project back.
    pub fn distrust(&self, data: &Path) -> io::Result<()> {
        let lock = self.open_lock(PROJECTS, data)?;
        lock.lock()?;
        self.remove(PROJECTS, data)
    }

    /// Returns the workspace that a path (canonical) is in, or is itself.
    pub fn workspace_around(&self, path: &Path) -> Option<BoundWorkspace> {
        path.ancestors().find_map(|above| self.workspace_at(above))
    }

    /// Returns what a directory (canonical) would overlap if it was bound in the project of `own` data directory.
    pub fn overlap(&self, directory: &Path, own: &Path) -> Option<Overlap> {
        for base in &self.bases {
            let base = base.canonicalize().unwrap_or_else(|_| base.clone());
            if base.starts_with(directory) || directory.starts_with(&base) {
                return Some(Overlap::Registry);
            }
        }
        let data = directory.ancestors().find(|above| {
            let is_data = above.file_name() == Some(OsStr::new(PROJECT_DATA));
            is_data && *above != own
        });
        if let Some(data) = data {
            return Some(Overlap::Project(data.to_owned()));
        }
        let inside = directory.join(PROJECT_DATA);
        if inside != own && inside.symlink_metadata().is_ok() {
            return Some(Overlap::Project(inside));
        }
        let around = self.workspace_around(directory);
        let around = around.filter(|workspace| workspace.project != own);
        let below = || {
            self.workspaces()
                .into_iter()
                .find(|one| one.project != own && one.directory.starts_with(directory))
        };
        if let Some(workspace) = around.or_else(below) {
            return Some(Overlap::Workspace(workspace));
        }
        let project = self
            .projects()
            .into_iter()
            .find(|data| data != own && data.starts_with(directory) && data.is_dir());
        project.map(Overlap::Project)
    }

    /// Checks that a directory is the one that an agent's workspace was bound to, and remembers it at its first use.
    ///
    /// Fails with [`WorkspaceRefusal::Overlaps`] if the directory is not known as a workspace of this project and
    /// overlaps something of another one: a store can name a directory that no `bind` of this machine has looked at.
    pub fn check_workspace(
        &self,
        directory: &Path,
        project: &Path,
        agent: &str,
        identity: DirectoryIdentity,
    ) -> Result<(), WorkspaceRefusal> {
        let known = self.workspace_at(directory);
        if let Some(known) = known.filter(|known| known.project == project) {
            // The number of a file system may be another one after a restart.
            let is_this_boot = known.boot == boot_id();
            if known.inode != identity.inode || is_this_boot && known.device != identity.device {
                return Err(WorkspaceRefusal::Replaced);
            }
            if is_this_boot && known.agent == agent {
                return Ok(());
            }
        } else if let Some(overlap) = self.overlap(directory, project) {
            return Err(WorkspaceRefusal::Overlaps(overlap));
        }
        // Where nothing can be written the check is only as good as the path; the directory was opened without links.
        let _ = self.remember_workspace(directory, project, agent, identity);
        Ok(())
    }

    /// Remembers a directory that a person binds, whichever it was before.
    pub fn bind_workspace(
        &self,
        directory: &Path,
        project: &Path,
        identity: DirectoryIdentity,
    ) -> io::Result<()> {
        let known = self.workspace_at(directory);
        let known = known.filter(|known| known.project == project);
        // Whose it is, is known with its first use.
        let agent = known.map_or_else(String::new, |known| known.agent);
        self.remember_workspace(directory, project, &agent, identity)
    }

    /// Forgets that a directory, or one above it, is a workspace. Returns the one that was forgotten; fails with
    /// `ResourceBusy` while a command runs in it.
    pub fn forget_workspace(&self, directory: &Path) -> io::Result<Option<BoundWorkspace>> {
        let known = self.workspace_around(directory);
        if let Some(known) = &known
            && !self.remove_workspace(&known.directory)?
        {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        Ok(known)
    }

    /// Remembers the directory of an agent's workspace, and forgets the one it had before.
    fn remember_workspace(
        &self,
        directory: &Path,
        project: &Path,
        agent: &str,
        identity: DirectoryIdentity,
    ) -> io::Result<()> {
        let old = self.workspaces().into_iter().filter(|old| {
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
        self.write(WORKSPACES, directory, &fields)
    }

    /// Holds a workspace while a command runs in it.
    pub(crate) fn hold_workspace(&self, directory: &Path) -> io::Result<WorkspaceHold> {
        let lock = self.workspace_lock(directory)?;
        lock.lock_shared()?;
        Ok(WorkspaceHold { _lock: lock })
    }

    /// The file whose lock says that a command runs in a workspace.
    fn workspace_lock(&self, directory: &Path) -> io::Result<fs::File> {
        self.open_lock(WORKSPACES, directory)
    }

    /// Opens the lock file of an entry, in the directory that takes new entries. The file is never removed: two processes
    /// could hold locks on different ones.
    fn open_lock(&self, kind: &str, path: &Path) -> io::Result<fs::File> {
        let name = format!("{}{LOCK_SUFFIX}", entry_name(path));
        self.in_own_directory(kind, |directory| {
            fs::File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(no_follow())
                .open(directory.join(&name))
        })
    }

    /// Removes the entry of a workspace, unless a command runs in it.
    fn remove_workspace(&self, directory: &Path) -> io::Result<bool> {
        let lock = self.workspace_lock(directory)?;
        if lock.try_lock().is_err() {
            return Ok(false);
        }
        self.remove(WORKSPACES, directory)?;
        Ok(true)
    }

    /// The workspace that is bound to a directory, as long as its project is there.
    fn workspace_at(&self, directory: &Path) -> Option<BoundWorkspace> {
        let entry = parse_workspace(self.read(WORKSPACES, directory)?)?;
        (entry.directory == directory && entry.project.is_dir()).then_some(entry)
    }

    fn workspaces(&self) -> Vec<BoundWorkspace> {
        let entries = self.all(WORKSPACES).into_iter().filter_map(parse_workspace);
        entries.filter(|entry| entry.project.is_dir()).collect()
    }

    fn projects(&self) -> BTreeSet<PathBuf> {
        let entries = self.all(PROJECTS).into_iter();
        let paths = entries.filter_map(|fields| fields.into_iter().next());
        paths.map(PathBuf::from).collect()
    }

    /// The directories of the registry that are this user's alone.
    fn own_bases(&self) -> impl Iterator<Item = &PathBuf> {
        self.bases.iter().filter(|base| is_own(base))
    }

    fn read(&self, kind: &str, path: &Path) -> Option<Vec<OsString>> {
        let name = entry_name(path);
        self.own_bases()
            .find_map(|base| read_entry(&base.join(kind).join(&name)))
    }

    fn all(&self, kind: &str) -> Vec<Vec<OsString>> {
        let directories = self.own_bases().map(|base| base.join(kind));
        let entries = directories.filter_map(|directory| fs::read_dir(directory).ok());
        let files = entries.flatten().filter_map(Result::ok);
        // Locks and half-written entries have a suffix.
        let files = files.filter(|file| !file.file_name().as_bytes().contains(&b'.'));
        files.filter_map(|file| read_entry(&file.path())).collect()
    }

    fn write(&self, kind: &str, path: &Path, fields: &[&OsStr]) -> io::Result<()> {
        let content: Vec<&[u8]> = fields.iter().map(|field| field.as_bytes()).collect();
        let content = content.join(&b'\0');
        self.in_own_directory(kind, |directory| {
            write_entry(directory, &entry_name(path), &content)
        })
    }

    /// Returns what `work` returns in the directory of a kind of entries, in the first directory of the registry in which it
    /// succeeds. Nothing is created or opened in a directory before it is known to be this user's alone: another user may
    /// have created it, with links to files of this user in it.
    fn in_own_directory<T>(
        &self,
        kind: &str,
        work: impl Fn(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for base in &self.bases {
            let directory = base.join(kind);
            let done = create_own_directory(base)
                .and_then(|()| create_own_directory(&directory))
                .and_then(|()| work(&directory));
            match done {
                Ok(done) => return Ok(done),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn remove(&self, kind: &str, path: &Path) -> io::Result<()> {
        let name = entry_name(path);
        for base in self.own_bases() {
            match fs::remove_file(base.join(kind).join(&name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns a hash of the files of a data directory that decide what polis does: settings, permissions and teams.
pub fn configuration_fingerprint(data: &Path) -> String {
    let mut files: Vec<PathBuf> = CONFIGURATION_FILES
        .iter()
        .map(|name| data.join(name))
        .collect();
    // A team is a directory of files, in one of each language.
    let mut directories = vec![data.join(TEAMS)];
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
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a directory is this user's, and no one else can write to it.
fn is_own(directory: &Path) -> bool {
    let found = fs::symlink_metadata(directory);
    found.is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

fn entry_name(path: &Path) -> String {
    hex(&Sha256::digest(path.as_os_str().as_bytes()))
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

/// Writes an entry whole, durably.
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
            .custom_flags(no_follow())
            .open(&new)
    };
    let mut file = match create() {
        // Left by a process that was killed and had the same number.
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

/// Creates a private directory if it does not exist. Fails with `PermissionDenied` if it is not this user's alone.
fn create_own_directory(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    if is_own(directory) {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// The flag of `open` with which a link at the end of the path is refused.
fn no_follow() -> i32 {
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
        boot: boot.into_string().ok()?,
    })
}

/// What tells a project from another one that is put at its path later.
fn project_id(data: &Path) -> io::Result<String> {
    let mut id = String::new();
    let flags = i32::try_from(OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits());
    let file = fs::File::options()
        .read(true)
        .custom_flags(flags.unwrap_or_default())
        .open(data.join(PROJECT_ID))?;
    file.take(MAX_ENTRY_BYTES).read_to_string(&mut id)?;
    if id.len() == 2 * ID_BYTES && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(id)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

fn random_id() -> io::Result<String> {
    let mut random = [0; ID_BYTES];
    fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(hex(&random))
}

/// Gives a project an id; the caller holds its lock. Never through a link: the directory may come from anywhere.
fn write_project_id(data: &Path, id: &str) -> io::Result<()> {
    let path = data.join(PROJECT_ID);
    // A process that was killed may have left an incomplete one.
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

/// Whether an entry of a data directory is the project's id, which alone grants nothing.
pub fn is_project_id(entry: &fs::DirEntry) -> bool {
    entry.file_name() == PROJECT_ID && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// The home directory of a user by `/etc/passwd`: `$HOME` may be set to anything, and some programs start others without it.
fn passwd_home(user: u32) -> Option<PathBuf> {
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
