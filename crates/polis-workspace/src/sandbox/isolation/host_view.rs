//! Host files that every command sees: programs, libraries, some files of `/etc`, some devices. Detected
//! once; the workspace and paths of the policy are added later (`blueprint`). Used both for the mounts of a
//! new root and for Landlock rules.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::sandbox::kernel::mount_attr;
use crate::sandbox::sandbox_plan::{MountTree, RootEntry, TreeSource};

/// Mount point of the workspace, inside the sandbox.
pub(crate) const WORKSPACE_MOUNT: &str = "/workspace";

/// Directories with programs and libraries.
const PROGRAM_DIRECTORIES: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/run/current-system",
];

/// Devices without state.
const DEVICE_FILES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Files and directories of `/etc` that programs need to start and to find each other. Without passwords,
/// keys and data of services.
const ETC_FILES: [&str; 47] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "environment.d",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "login.defs",
    "magic",
    "magic.mime",
    "mailcap",
    "manpath.config",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls",
    "profile",
    "protocols",
    "python3",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];

/// Host files that every command sees.
#[derive(Debug)]
pub(crate) struct HostSystemView {
    /// Directories that are mounted read-only.
    directories: Vec<PathBuf>,
    /// Symbolic links to directories, such as `/bin` on most systems: target and path.
    links: Vec<(PathBuf, PathBuf)>,
    /// The directories, and the targets of links outside of them.
    programs: Vec<PathBuf>,
    devices: Vec<PathBuf>,
    /// Path, and whether it is a directory.
    etc_files: Vec<(PathBuf, bool)>,
}

impl HostSystemView {
    /// Detects the files of this machine.
    pub(crate) fn detect() -> Self {
        let mut directories = Vec::new();
        let mut links = Vec::new();
        for path in PROGRAM_DIRECTORIES.map(PathBuf::from) {
            match std::fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => directories.push(path),
                Ok(found) if found.is_symlink() => {
                    if let Ok(target) = std::fs::read_link(&path) {
                        links.push((target, path));
                    }
                }
                _ => {}
            }
        }
        let exists = |path: &PathBuf| path.exists();
        let mut programs: Vec<PathBuf> = directories.clone();
        for (_, link) in &links {
            let target = link.canonicalize().unwrap_or_else(|_| link.clone());
            if !programs.iter().any(|program| target.starts_with(program)) {
                programs.push(target);
            }
        }
        Self {
            programs,
            directories,
            links,
            devices: DEVICE_FILES
                .map(PathBuf::from)
                .into_iter()
                .filter(exists)
                .collect(),
            etc_files: ETC_FILES
                .map(|name| Path::new("/etc").join(name))
                .into_iter()
                .filter(exists)
                .map(|path| {
                    let is_directory = path.is_dir();
                    (path, is_directory)
                })
                .collect(),
        }
    }

    /// Returns the entries to create in a new root.
    pub(crate) fn root_entries(&self) -> Vec<RootEntry> {
        let directory = |path: &str| RootEntry::Directory(to_c_string(path.as_ref()), 0o755);
        let link = |target: &str, path: &str| {
            RootEntry::Link(to_c_string(target.as_ref()), to_c_string(path.as_ref()))
        };
        let mut fixtures = vec![
            directory("etc"),
            directory("dev"),
            directory("proc"),
            directory("tmp/.shm"),
            directory("tmp/home"),
            directory("workspace"),
            link("/proc/self/fd", "dev/fd"),
            link("/proc/self/fd/0", "dev/stdin"),
            link("/proc/self/fd/1", "dev/stdout"),
            link("/proc/self/fd/2", "dev/stderr"),
            link("/tmp/.shm", "dev/shm"),
        ];
        for path in &self.directories {
            fixtures.extend(missing_parent_entries(path, &fixtures));
        }
        for (target, path) in &self.links {
            fixtures.extend(missing_parent_entries(
                path.parent().unwrap_or(path),
                &fixtures,
            ));
            fixtures.push(RootEntry::Link(
                to_c_string(target.as_os_str()),
                to_c_string(strip_leading_slash(path).as_os_str()),
            ));
        }
        for path in &self.devices {
            fixtures.push(RootEntry::File(to_c_string(
                strip_leading_slash(path).as_os_str(),
            )));
        }
        fixtures
    }

    /// Returns the trees to mount in a new root. `/etc` is mounted as a whole; Landlock restricts reading to
    /// the listed files.
    pub(crate) fn mount_trees(&self) -> Vec<MountTree> {
        let fixed = mount_attr::RDONLY | mount_attr::NOSUID;
        let etc = PathBuf::from("/etc");
        let directories = self.directories.iter().chain([&etc]);
        let directories = directories.map(|path| (path, fixed | mount_attr::NODEV));
        let devices = self
            .devices
            .iter()
            .map(|path| (path, fixed | mount_attr::NOEXEC));
        directories
            .chain(devices)
            .map(|(path, attributes)| MountTree {
                source: TreeSource::Path(to_c_string(path.as_os_str())),
                target: to_c_string(strip_leading_slash(path).as_os_str()),
                attributes,
            })
            .collect()
    }

    /// Returns the directories with programs and libraries. The target of a link is included only if it is
    /// outside of the others.
    pub(crate) fn program_directories(&self) -> impl Iterator<Item = &Path> {
        self.programs.iter().map(PathBuf::as_path)
    }

    /// Returns files and directories of `/etc`; true for a directory.
    pub(crate) fn etc_files(&self) -> impl Iterator<Item = (&Path, bool)> {
        self.etc_files
            .iter()
            .map(|(path, kind)| (path.as_path(), *kind))
    }

    /// Returns the device files.
    pub(crate) fn device_files(&self) -> impl Iterator<Item = &Path> {
        self.devices.iter().map(PathBuf::as_path)
    }
}

/// Returns entries for a path and its parent directories, as far as they are not in `existing` yet.
pub(crate) fn missing_parent_entries(path: &Path, existing: &[RootEntry]) -> Vec<RootEntry> {
    let mut parents: Vec<CString> = strip_leading_slash(path)
        .ancestors()
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| to_c_string(path.as_os_str()))
        .collect();
    parents.reverse();
    parents.retain(|path| {
        // The private `/tmp` is mounted before all others.
        path.as_c_str() != c"tmp"
            && !existing.iter().any(|fixture| match fixture {
                RootEntry::Directory(existing_path, _)
                | RootEntry::File(existing_path)
                | RootEntry::Link(_, existing_path) => existing_path == path,
            })
    });
    parents
        .into_iter()
        .map(|path| RootEntry::Directory(path, 0o755))
        .collect()
}

/// Returns a path without its leading slash.
pub(crate) fn strip_leading_slash(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// Converts a path to a C string. A path with a NUL cannot exist; it becomes empty, which every call refuses.
pub(crate) fn to_c_string(path: &OsStr) -> CString {
    CString::new(path.as_bytes()).unwrap_or_default()
}
