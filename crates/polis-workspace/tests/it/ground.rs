//! A directory to work in, and short ways to ask.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use polis_core::workspace::file::{
    DeleteFile, EditFile, FileContent, FileEntry, FileList, ListFiles, MakeDir, MoveFile, ReadFile,
    SearchFiles, WriteFile, Written,
};
use polis_core::{AgentId, Code};
use polis_ops::PortError;
use polis_ops::port::Site;
use polis_workspace::files::{FileLimits, Resolver, WorkspaceDir, WorkspaceFiles};

/// Both ways to stay inside.
pub(crate) const RESOLVERS: [Resolver; 2] = [Resolver::Kernel, Resolver::Walk];

/// A workspace with something beside it that must never be reached.
pub(crate) struct Ground {
    directory: tempfile::TempDir,
    pub(crate) dir: WorkspaceDir,
}

/// A directory in memory where there is one: thousands of durable writes are waited for otherwise.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

pub(crate) const SECRET: &str = "the secret outside";

impl Ground {
    pub(crate) fn new() -> Self {
        Self::with(Resolver::detect())
    }

    pub(crate) fn with(resolver: Resolver) -> Self {
        Self::within(scratch(), resolver)
    }

    /// On a real disk, where a write takes its time.
    pub(crate) fn on_disk() -> Self {
        Self::within(tempfile::tempdir().unwrap(), Resolver::detect())
    }

    fn within(directory: tempfile::TempDir, resolver: Resolver) -> Self {
        for name in ["ws", "outside", "outside/deep"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        for name in [
            "outside/secret.txt",
            "outside/deep/secret.txt",
            "secret.txt",
        ] {
            std::fs::write(directory.path().join(name), SECRET).unwrap();
        }
        let dir = WorkspaceDir::open(&directory.path().join("ws"))
            .unwrap()
            .with_limits(limits())
            .with_resolver(resolver);
        Self { directory, dir }
    }

    /// A path of this machine, in the workspace.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("ws").join(path)
    }

    /// One beside the workspace.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.directory.path().join("outside").join(path)
    }

    /// Everything outside is as it was.
    pub(crate) fn check_outside(&self) {
        let mut found = Vec::new();
        collect(&self.directory.path().join("outside"), &mut found);
        found.sort();
        assert_eq!(found, ["deep", "secret.txt", "secret.txt"]);
        for name in [
            "outside/secret.txt",
            "outside/deep/secret.txt",
            "secret.txt",
        ] {
            let content = std::fs::read_to_string(self.directory.path().join(name)).unwrap();
            assert_eq!(content, SECRET, "{name}");
        }
        assert_eq!(std::fs::read_dir(self.directory.path()).unwrap().count(), 3);
    }

    /// A message that says where the workspace is would tell too much.
    pub(crate) fn check_silent(&self, error: &PortError) {
        let place = self.directory.path().to_str().unwrap();
        let mut told = format!("{} {}", error.message, error.hint);
        if let Some(source) = &error.source {
            told.push_str(&source.to_string());
        }
        assert!(!told.contains(place), "{told}");
        assert!(!told.contains(SECRET), "{told}");
        assert!(error.message.ends_with('.'), "{told}");
        assert!(!error.hint.is_empty(), "{told}");
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> Result<Written, PortError> {
        self.dir.write(&write(path, content))
    }

    pub(crate) fn read(&self, path: &str) -> Result<FileContent, PortError> {
        self.dir.read(&ReadFile {
            path: path.to_owned(),
            ..ReadFile::default()
        })
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> Result<u64, PortError> {
        let ask = edit(path, old, new);
        self.dir.edit(&ask).map(|edited| edited.replaced)
    }

    pub(crate) fn delete(&self, path: &str, recursive: bool) -> Result<(), PortError> {
        let path = path.to_owned();
        self.dir.delete(&DeleteFile { path, recursive }).map(|_| ())
    }

    pub(crate) fn rename(&self, from: &str, to: &str, overwrite: bool) -> Result<(), PortError> {
        let ask = MoveFile {
            from: from.to_owned(),
            to: to.to_owned(),
            overwrite,
        };
        self.dir.rename(&ask).map(|_| ())
    }

    pub(crate) fn make_dir(&self, path: &str) -> Result<(), PortError> {
        let path = path.to_owned();
        self.dir.make_dir(&MakeDir { path }).map(|_| ())
    }

    pub(crate) fn list(&self, path: &str) -> Result<Vec<FileEntry>, PortError> {
        let ask = ListFiles {
            path: Some(path.to_owned()),
            recursive: false,
            ..ListFiles::default()
        };
        self.dir.list(&ask).map(|list: FileList| list.files)
    }

    /// The names in a directory.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let files = self.list(path).unwrap();
        files.into_iter().map(|entry| entry.name).collect()
    }

    /// `path:line` of all matches.
    pub(crate) fn search(&self, ask: &SearchFiles) -> Vec<String> {
        let found = self.dir.search(ask).unwrap();
        let matches = found.matches.iter();
        matches.map(|m| format!("{}:{}", m.path, m.line)).collect()
    }
}

fn collect(directory: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), names);
        }
    }
}

/// A test is not kept waiting long by a lock that is never given back.
pub(crate) fn limits() -> FileLimits {
    FileLimits {
        lock_wait: Duration::from_secs(30),
        ..FileLimits::default()
    }
}

pub(crate) fn write(path: &str, content: &str) -> WriteFile {
    WriteFile {
        path: path.to_owned(),
        content: content.to_owned(),
        ..WriteFile::default()
    }
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> EditFile {
    EditFile {
        path: path.to_owned(),
        old_text: old.to_owned(),
        new_text: new.to_owned(),
        ..EditFile::default()
    }
}

/// The code of what has to be a refusal.
pub(crate) fn code<T: std::fmt::Debug>(answer: Result<T, PortError>) -> Code {
    answer.unwrap_err().code
}

/// The default workspace of an agent.
pub(crate) fn site(agent: &str) -> Site {
    Site {
        workspace: agent.parse::<AgentId>().unwrap(),
        bound: None,
    }
}

/// A data directory with its workspaces, and a runtime to ask them on.
pub(crate) struct Office {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) files: WorkspaceFiles,
    runtime: tokio::runtime::Runtime,
}

impl Office {
    pub(crate) fn new() -> Self {
        let directory = scratch();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        Self {
            files: WorkspaceFiles::new(directory.path().join("data")),
            directory,
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap(),
        }
    }

    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says on the screen that a test could not do its work here.
pub(crate) fn skipped(why: &str) {
    // Past the test runner, which would keep it to itself.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
