//! Implementation of the port [`SandboxedTerminal`] with the sandbox: each command runs on its own thread,
//! and is cancelled when its future is dropped.
//!
//! A command cannot plant a polis project in its workspace: an entry named `.agent-workspace` that it creates
//! is renamed after it has ended.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use polis_core::refusal::{ListArg, ListStyle, Reason};
use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::CommandOutcome;
use polis_core::workspace::workspace_path::PROJECT_DATA_DIR;
use polis_ops::PortError;
use polis_ops::port::{
    OutputWatcher, PortFuture, SandboxReport, SandboxedTerminal, WorkspaceLocation,
};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fstat, openat, renameat_with, statat};
use rustix::io::Errno;

use super::{CancelHandle, Sandbox, SandboxContext, SandboxError};
use crate::directory::{DirectoryIdentity, open_directory_no_symlinks};
use crate::files::WorkspaceFiles;
use crate::machine_registry::MachineRegistry;
use crate::refusal_tables::SandboxRefusal;

/// Runs commands in the workspaces of a data directory.
#[derive(Debug)]
pub struct SandboxTerminal {
    /// Created with the first command: detecting the machine's features is wasted time if none is run.
    sandbox: OnceLock<Arc<Sandbox>>,
    files: WorkspaceFiles,
    data: PathBuf,
}

impl SandboxTerminal {
    /// Creates a terminal for the workspaces of a data directory.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        let data = data.into();
        Self {
            sandbox: OnceLock::new(),
            files: WorkspaceFiles::new(&data),
            data,
        }
    }

    fn sandbox(&self) -> &Arc<Sandbox> {
        self.sandbox.get_or_init(|| Arc::new(Sandbox::new()))
    }

    /// Adds a machine registry, as [`WorkspaceFiles::with_registry`].
    #[must_use]
    pub fn with_registry(mut self, registry: MachineRegistry) -> Self {
        self.files = self.files.with_registry(registry);
        self
    }
}

/// Watches the reserved name in a workspace while a command runs there. The kernel cannot prevent a command
/// from creating a directory with a certain name, and the person who runs polis there must not find a project
/// planted by an agent.
#[derive(Debug)]
struct ReservedNameWatch {
    /// Kept open: another directory at the same path does not concern this command.
    workspace: OwnedFd,
    /// Entry with the name before the command started. Kept open, so that its inode number is not reused.
    before: Option<OwnedFd>,
}

impl ReservedNameWatch {
    fn observe(workspace: OwnedFd) -> Self {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let before = openat(&workspace, PROJECT_DATA_DIR, flags, Mode::empty()).ok();
        Self { workspace, before }
    }

    /// Renames the entry with the reserved name, unless it existed before. Returns the new name. Commands may
    /// overlap: one that started while the directory of another existed can create its own after that was
    /// renamed.
    fn rename_if_new(&self) -> Option<String> {
        let now = statat(&self.workspace, PROJECT_DATA_DIR, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let before = self.before.as_ref().and_then(|open| fstat(open).ok());
        let is_old =
            before.is_some_and(|before| (before.st_dev, before.st_ino) == (now.st_dev, now.st_ino));
        if is_old {
            return None;
        }
        rename_reserved_entry(&self.workspace)
    }
}

/// Renames the entry with the reserved name in a workspace. Returns the new name, or `None` if there is no
/// such entry.
fn rename_reserved_entry(workspace: &OwnedFd) -> Option<String> {
    let renamed = (1..1_000)
        .map(|number| format!("agent-workspace.renamed-{number}"))
        .map(|name| {
            let flags = RenameFlags::NOREPLACE;
            let done = renameat_with(workspace, PROJECT_DATA_DIR, workspace, &name, flags);
            (name, done)
        })
        .find(|(_, done)| *done != Err(Errno::EXIST));
    renamed.and_then(|(name, done)| done.is_ok().then_some(name))
}

/// Cancels the command when its future is dropped.
struct CancelOnDrop(Arc<CancelHandle>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl SandboxedTerminal for SandboxTerminal {
    fn run<'a>(
        &'a self,
        site: &'a WorkspaceLocation,
        request: CommandRequest,
        watcher: Arc<dyn OutputWatcher>,
    ) -> PortFuture<'a, CommandOutcome> {
        Box::pin(async move {
            let (directory, identity) = self.files.prepare_directory(site)?;
            let in_use = self.files.mark_workspace_in_use(site);
            let own = site.bound_directory.is_none();
            let data = self.data.clone();
            let output = self.data.join("output").join(site.owner.as_str());
            let failed = |error: std::io::Error| PortError::internal("Starting a command", error);
            let cancel = Arc::new(CancelHandle::new().map_err(failed)?);
            let (answer, wait) = tokio::sync::oneshot::channel();
            let sandbox = Arc::clone(self.sandbox());
            let ends = CancelOnDrop(Arc::clone(&cancel));
            let work = move || {
                let watch = |stream, bytes: &[u8]| watcher.on_output(stream, bytes);
                let workspace = open_directory_no_symlinks(&directory).ok().filter(|open| {
                    DirectoryIdentity::from_fd(open.as_fd()).is_ok_and(|found| found == identity)
                });
                // A default workspace is inside polis's data, where no person has a project. Such an entry
                // was left by a command whose polis was killed, and in tier T1 every command would be refused
                // because of it.
                let leftover = workspace
                    .as_ref()
                    .filter(|_| own)
                    .and_then(rename_reserved_entry);
                let reserved = workspace.map(ReservedNameWatch::observe);
                let context = SandboxContext {
                    workspace: &directory,
                    identity: Some(identity),
                    private_data: Some(&data),
                    output_directory: Some(&output),
                    may_chown: own,
                    cancel: Some(&cancel),
                    on_output: Some(&watch),
                };
                let mut run = sandbox.run(&request, &context);
                let planted = reserved.and_then(|reserved| reserved.rename_if_new());
                if let Ok(run) = &mut run {
                    run.renamed_entries = [leftover, planted].into_iter().flatten().collect();
                }
                drop(in_use);
                // The receiver may be gone.
                drop(answer.send(run));
            };
            std::thread::Builder::new()
                .name("polis-command".to_owned())
                .spawn(work)
                .map_err(failed)?;
            let run = wait.await;
            drop(ends);
            match run {
                Ok(run) => run.map_err(sandbox_port_error),
                Err(error) => Err(PortError::internal("Running a command", error)),
            }
        })
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        Box::pin(async move { Ok(self.sandbox().probe()) })
    }
}

fn sandbox_port_error(error: SandboxError) -> PortError {
    match error {
        SandboxError::Unavailable(problems) => PortError::from(SandboxRefusal::TooWeak {
            reason: ListArg::new(
                ListStyle::Semicolons,
                problems.into_iter().map(Reason::from),
            ),
        }),
        SandboxError::BadPolicy(problem) => PortError::from(SandboxRefusal::InvalidPolicy {
            problem: problem.name().to_owned(),
        }),
        SandboxError::Failed(problem) => PortError::from(SandboxRefusal::NotStarted {
            reason: problem.into(),
        }),
    }
}
