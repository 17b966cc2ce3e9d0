//! The port `Terminal` over the sandbox: each command on a thread of its own, ended when nobody
//! waits for it any more.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use polis_core::Code;
use polis_core::workspace::command::CommandRun;
use polis_core::workspace::path::PROJECT_DATA;
use polis_ops::PortError;
use polis_ops::port::{CommandOrder, PortFuture, SandboxReport, Site, Terminal};
use rustix::fs::{AtFlags, renameat_with};
use rustix::io::Errno;

use super::{Cancel, Job, Sandbox, SandboxError};
use crate::directory::{DirectoryIdentity, open_without_links};
use crate::files::WorkspaceFiles;
use crate::registry::MachineRegistry;

/// Runs commands in the workspaces of a polis.
#[derive(Debug)]
pub struct SandboxTerminal {
    /// Made with the first command: looking at the machine is for nothing where none is run.
    sandbox: OnceLock<Arc<Sandbox>>,
    files: WorkspaceFiles,
    data: PathBuf,
}

impl SandboxTerminal {
    /// A terminal for the workspaces of a data directory.
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

    /// The same with a registry of this machine, as [`WorkspaceFiles::with_registry`].
    #[must_use]
    pub fn with_registry(mut self, registry: MachineRegistry) -> Self {
        self.files = self.files.with_registry(registry);
        self
    }
}

/// Renames the data of a polis project that a command made in its workspace. The kernel cannot keep a command from making a
/// directory of a certain name, and a person who runs polis there must not find an agent's project.
fn rename_planted_project(workspace: &OwnedFd, run: &mut CommandRun) {
    let flags = rustix::fs::RenameFlags::NOREPLACE;
    let renamed = (1..1_000)
        .map(|number| format!("agent-workspace.renamed-{number}"))
        .map(|name| {
            let done = renameat_with(workspace, PROJECT_DATA, workspace, &name, flags);
            (name, done)
        })
        .find(|(_, done)| *done != Err(Errno::EXIST));
    if let Some((free, Ok(()))) = renamed {
        if !run.stderr.text.is_empty() && !run.stderr.text.ends_with('\n') {
            run.stderr.text.push('\n');
        }
        run.stderr.text.push_str(&format!(
            "polis: the name {PROJECT_DATA} is reserved; it was renamed to {free}\n"
        ));
    }
}

fn has_entry(directory: &OwnedFd, name: &str) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Ends the command if the one who asked for it goes away.
struct EndOnDrop(Arc<Cancel>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.trigger();
    }
}

impl Terminal for SandboxTerminal {
    fn run<'a>(&'a self, site: &'a Site, order: CommandOrder) -> PortFuture<'a, CommandRun> {
        Box::pin(async move {
            let (directory, identity) = self.files.prepare(site)?;
            let in_use = self.files.hold_workspace(site);
            let own = site.bound.is_none();
            let data = self.data.clone();
            let output = self.data.join("output").join(site.workspace.as_str());
            let failed = |error: std::io::Error| PortError::internal("Starting a command", error);
            let cancel = Arc::new(Cancel::new().map_err(failed)?);
            let (answer, wait) = tokio::sync::oneshot::channel();
            let sandbox = Arc::clone(self.sandbox());
            let ends = EndOnDrop(Arc::clone(&cancel));
            let work = move || {
                let watch = |stream, bytes: &[u8]| {
                    if let Some(watcher) = &order.watcher {
                        watcher.output(stream, bytes);
                    }
                };
                // Held open: another directory at the same path is no matter of this command.
                let workspace = open_without_links(&directory).ok().filter(|open| {
                    DirectoryIdentity::of(open.as_fd()).is_ok_and(|found| found == identity)
                });
                let workspace = workspace.filter(|open| !has_entry(open, PROJECT_DATA));
                let mut run = sandbox.run(&Job {
                    workspace: &directory,
                    identity: Some(identity),
                    command: &order.command,
                    policy: &order.policy,
                    timeout: Duration::from_millis(order.timeout_ms),
                    private: Some(&data),
                    output: Some(&output),
                    hand_over: own,
                    cancel: Some(&cancel),
                    watch: Some(&watch),
                });
                if let (Ok(run), Some(workspace)) = (&mut run, &workspace)
                    && has_entry(workspace, PROJECT_DATA)
                {
                    rename_planted_project(workspace, run);
                }
                drop(in_use);
                // Nobody may be waiting any more.
                drop(answer.send(run));
            };
            std::thread::Builder::new()
                .name("polis-command".to_owned())
                .spawn(work)
                .map_err(failed)?;
            let run = wait.await;
            drop(ends);
            match run {
                Ok(run) => run.map_err(refusal),
                Err(gone) => Err(PortError::internal("Running a command", gone)),
            }
        })
    }

    fn report(&self) -> PortFuture<'_, SandboxReport> {
        Box::pin(async move { Ok(self.sandbox().report()) })
    }
}

fn refusal(error: SandboxError) -> PortError {
    match error {
        SandboxError::Unavailable(why) => PortError::new(
            Code::SandboxUnavailable,
            format!("This system cannot confine the command as strongly as is required: {why}."),
            "see what is missing with `polis doctor`; `sandbox.weakest` in polis.toml says how weak is allowed",
        ),
        SandboxError::BadPolicy(why) => PortError::new(
            Code::InvalidConfig,
            why,
            "check `read` and `write` below [sandbox] in polis.toml",
        ),
        SandboxError::Failed(why) => PortError::new(
            Code::CommandFailed,
            format!("The command was not started: {why}."),
            "run `polis doctor`, or try again",
        ),
    }
}
