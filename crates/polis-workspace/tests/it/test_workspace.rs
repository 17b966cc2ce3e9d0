//! Test workspace: a workspace directory with shorthands for the file tools, and secret files outside that
//! must never be reached. Also a data directory with default workspaces.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, FileContent, FileEntry, FileList, ListFilesParams,
    MakeDirParams, MoveFileParams, ReadFileParams, SearchFilesParams, WriteFileParams,
    WriteFileResult,
};
use polis_core::{AgentId, RefusalCode};
use polis_i18n::{RefusalText, Surface, UiLanguage};
use polis_ops::PortError;
use polis_ops::port::WorkspaceLocation;
use polis_workspace::files::{FileLimits, PathResolver, WorkspaceDir, WorkspaceFiles};

/// Both path resolvers.
pub(crate) const RESOLVERS: [PathResolver; 2] =
    [PathResolver::Openat2, PathResolver::ComponentWalk];

/// A workspace next to files that must never be reached.
pub(crate) struct TestWorkspace {
    directory: tempfile::TempDir,
    pub(crate) dir: WorkspaceDir,
}

/// Returns a directory in memory if possible: thousands of fsyncs on a disk take long.
fn scratch_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

pub(crate) const SECRET: &str = "the secret outside";

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        Self::with_resolver(PathResolver::detect())
    }

    pub(crate) fn with_resolver(resolver: PathResolver) -> Self {
        Self::in_directory(scratch_directory(), resolver)
    }

    /// Creates it on a real disk, where a write takes time.
    pub(crate) fn on_disk() -> Self {
        Self::in_directory(tempfile::tempdir().unwrap(), PathResolver::detect())
    }

    fn in_directory(directory: tempfile::TempDir, resolver: PathResolver) -> Self {
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
            .with_limits(test_limits())
            .with_resolver(resolver);
        Self { directory, dir }
    }

    /// Returns the host path of a file in the workspace.
    pub(crate) fn host_path(&self, path: &str) -> PathBuf {
        self.directory.path().join("ws").join(path)
    }

    /// Returns the host path of a file outside of the workspace.
    pub(crate) fn outside_path(&self, path: &str) -> PathBuf {
        self.directory.path().join("outside").join(path)
    }

    /// Checks that nothing outside has changed.
    pub(crate) fn check_outside_unchanged(&self) {
        let mut found = Vec::new();
        collect_file_names(&self.directory.path().join("outside"), &mut found);
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

    /// Checks that an error reveals neither the path of the workspace nor the secret.
    pub(crate) fn check_error_reveals_nothing(&self, error: &PortError) {
        let place = self.directory.path().to_str().unwrap();
        let mut told = format!("{} {}", rendered(error).message, rendered(error).hint);
        if let Some(source) = &error.source {
            told.push_str(&source.to_string());
        }
        assert!(!told.contains(place), "{told}");
        assert!(!told.contains(SECRET), "{told}");
        assert!(rendered(error).message.ends_with('.'), "{told}");
        assert!(!rendered(error).hint.is_empty(), "{told}");
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> Result<WriteFileResult, PortError> {
        self.dir.write(&write_params(path, content))
    }

    pub(crate) fn read(&self, path: &str) -> Result<FileContent, PortError> {
        self.dir.read(&ReadFileParams {
            path: path.to_owned(),
            ..ReadFileParams::default()
        })
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> Result<u64, PortError> {
        let ask = edit_params(path, old, new);
        self.dir.edit(&ask).map(|edited| edited.replaced)
    }

    pub(crate) fn delete(&self, path: &str, recursive: bool) -> Result<(), PortError> {
        let path = path.to_owned();
        self.dir
            .delete(&DeleteFileParams { path, recursive })
            .map(|_| ())
    }

    pub(crate) fn rename(&self, from: &str, to: &str, overwrite: bool) -> Result<(), PortError> {
        let ask = MoveFileParams {
            from: from.to_owned(),
            to: to.to_owned(),
            overwrite,
        };
        self.dir.rename(&ask).map(|_| ())
    }

    pub(crate) fn make_dir(&self, path: &str) -> Result<(), PortError> {
        let path = path.to_owned();
        self.dir.make_dir(&MakeDirParams { path }).map(|_| ())
    }

    pub(crate) fn list(&self, path: &str) -> Result<Vec<FileEntry>, PortError> {
        let ask = ListFilesParams {
            path: Some(path.to_owned()),
            recursive: false,
            ..ListFilesParams::default()
        };
        self.dir.list(&ask).map(|list: FileList| list.files)
    }

    /// Returns the names in a directory.
    pub(crate) fn file_names(&self, path: &str) -> Vec<String> {
        let files = self.list(path).unwrap();
        files.into_iter().map(|entry| entry.name).collect()
    }

    /// Returns `path:line` of all matches.
    pub(crate) fn search(&self, ask: &SearchFilesParams) -> Vec<String> {
        let found = self.dir.search(ask).unwrap();
        let matches = found.matches.iter();
        matches.map(|m| format!("{}:{}", m.path, m.line)).collect()
    }
}

fn collect_file_names(directory: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect_file_names(&entry.path(), names);
        }
    }
}

/// Limits for tests: a lock that is never released does not block for long.
pub(crate) fn test_limits() -> FileLimits {
    FileLimits {
        lock_timeout: Duration::from_secs(30),
        ..FileLimits::default()
    }
}

pub(crate) fn write_params(path: &str, content: &str) -> WriteFileParams {
    WriteFileParams {
        path: path.to_owned(),
        content: content.to_owned(),
        ..WriteFileParams::default()
    }
}

pub(crate) fn edit_params(path: &str, old: &str, new: &str) -> EditFileParams {
    EditFileParams {
        path: path.to_owned(),
        old_text: old.to_owned(),
        new_text: new.to_owned(),
        ..EditFileParams::default()
    }
}

/// Returns the code of a result that must be a refusal.
pub(crate) fn refusal_code<T: std::fmt::Debug>(answer: Result<T, PortError>) -> RefusalCode {
    answer.unwrap_err().code
}

/// Returns the default workspace of an agent.
pub(crate) fn default_location(agent: &str) -> WorkspaceLocation {
    WorkspaceLocation {
        owner: agent.parse::<AgentId>().unwrap(),
        bound_directory: None,
    }
}

/// A data directory with its workspaces, and a runtime for the port's futures.
pub(crate) struct TestDataDirectory {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) files: WorkspaceFiles,
    runtime: tokio::runtime::Runtime,
}

impl TestDataDirectory {
    pub(crate) fn new() -> Self {
        let directory = scratch_directory();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        Self {
            files: WorkspaceFiles::new(directory.path().join("data")),
            directory,
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap(),
        }
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Reports on the terminal that a test could not run here.
pub(crate) fn report_skipped(why: &str) {
    // Bypasses the test runner, which would capture it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Returns the text of an error as a model reads it.
pub(crate) fn rendered(error: &PortError) -> RefusalText {
    error.render(Surface::Tool, UiLanguage::En)
}
