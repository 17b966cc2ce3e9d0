//! What of this machine every command sees: programs, libraries, a few files of `/etc`, a few
//! devices. Looked up once; what a workspace or a policy adds comes later.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::kernel::attribute;
use super::plan::{Fixture, Source, Tree};

/// Where the workspace is, as a command sees it.
pub(crate) const WORKSPACE: &str = "/workspace";

/// Programs and libraries.
const PROGRAMS: [&str; 9] = [
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

/// Devices without a state of their own.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Files and directories of `/etc` that programs need to start and to find each other. Not among
/// them: passwords, keys, and what services keep there.
const SETTINGS: [&str; 47] = [
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

/// What of this machine every command sees.
#[derive(Debug)]
pub(crate) struct System {
    /// Directories shown as they are, read-only.
    directories: Vec<PathBuf>,
    /// Links that stand for directories, as `/bin` does on most systems.
    links: Vec<(PathBuf, PathBuf)>,
    /// The directories, and what links stand for beside them.
    programs: Vec<PathBuf>,
    devices: Vec<PathBuf>,
    /// With whether it is a directory.
    settings: Vec<(PathBuf, bool)>,
}

impl System {
    /// Looks at this machine.
    pub(crate) fn look() -> Self {
        let mut directories = Vec::new();
        let mut links = Vec::new();
        for path in PROGRAMS.map(PathBuf::from) {
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
        let there = |path: &PathBuf| path.exists();
        let mut programs: Vec<PathBuf> = directories.clone();
        for (_, link) in &links {
            let target = link.canonicalize().unwrap_or_else(|_| link.clone());
            if !programs.iter().any(|known| target.starts_with(known)) {
                programs.push(target);
            }
        }
        Self {
            programs,
            directories,
            links,
            devices: DEVICES
                .map(PathBuf::from)
                .into_iter()
                .filter(there)
                .collect(),
            settings: SETTINGS
                .map(|name| Path::new("/etc").join(name))
                .into_iter()
                .filter(there)
                .map(|path| {
                    let is_directory = path.is_dir();
                    (path, is_directory)
                })
                .collect(),
        }
    }

    /// What is made in a new root for it.
    pub(crate) fn fixtures(&self) -> Vec<Fixture> {
        let directory = |path: &str| Fixture::Directory(text(path.as_ref()), 0o755);
        let link =
            |target: &str, path: &str| Fixture::Link(text(target.as_ref()), text(path.as_ref()));
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
            fixtures.extend(way_to(path, &fixtures));
        }
        for (target, path) in &self.links {
            fixtures.extend(way_to(path.parent().unwrap_or(path), &fixtures));
            fixtures.push(Fixture::Link(
                text(target.as_os_str()),
                text(relative(path).as_os_str()),
            ));
        }
        for path in &self.devices {
            fixtures.push(Fixture::File(text(relative(path).as_os_str())));
        }
        fixtures
    }

    /// What is shown in a new root of it.
    pub(crate) fn trees(&self) -> Vec<Tree> {
        let fixed = attribute::READ_ONLY | attribute::NO_SETUID;
        let etc = PathBuf::from("/etc");
        let directories = self.directories.iter().chain([&etc]);
        let directories = directories.map(|path| (path, fixed | attribute::NO_DEVICES));
        let devices = self
            .devices
            .iter()
            .map(|path| (path, fixed | attribute::NO_EXEC));
        directories
            .chain(devices)
            .map(|(path, attributes)| Tree {
                source: Source::Path(text(path.as_os_str())),
                target: text(relative(path).as_os_str()),
                attributes,
            })
            .collect()
    }

    /// Directories with programs and libraries. A link to what is in one of them is not one more.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &Path> {
        self.programs.iter().map(PathBuf::as_path)
    }

    /// Files and directories of `/etc`; true for a directory.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&Path, bool)> {
        self.settings
            .iter()
            .map(|(path, kind)| (path.as_path(), *kind))
    }

    /// Device files.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &Path> {
        self.devices.iter().map(PathBuf::as_path)
    }
}

/// The directories on the way to a path, itself too, that are not among `made` yet.
pub(crate) fn way_to(path: &Path, made: &[Fixture]) -> Vec<Fixture> {
    let mut way: Vec<CString> = relative(path)
        .ancestors()
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| text(path.as_os_str()))
        .collect();
    way.reverse();
    way.retain(|path| {
        // The private `/tmp` is there before all others.
        path.as_c_str() != c"tmp"
            && !made.iter().any(|fixture| match fixture {
                Fixture::Directory(there, _) | Fixture::File(there) | Fixture::Link(_, there) => {
                    there == path
                }
            })
    });
    way.into_iter()
        .map(|path| Fixture::Directory(path, 0o755))
        .collect()
}

/// A path without the slash it begins with.
pub(crate) fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// A path as the kernel takes it. Paths with a NUL do not exist; they become empty, which no call
/// accepts.
pub(crate) fn text(path: &OsStr) -> CString {
    CString::new(path.as_bytes()).unwrap_or_default()
}
