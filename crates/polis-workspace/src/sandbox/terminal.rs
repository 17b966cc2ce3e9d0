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
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fstat, openat, renameat_with, statat};
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

/// Looks after the reserved name in a workspace while a command runs there. The kernel cannot keep a command from making a
/// directory of a certain name, and a person who runs polis there must not find an agent's project.
#[derive(Debug)]
struct ReservedName {
    /// Held open: another directory at the same path is no matter of this command.
    workspace: OwnedFd,
    /// What had the name before the command. Held open, so that its number is not given to another one.
    before: Option<OwnedFd>,
}

impl ReservedName {
    fn watch(workspace: OwnedFd) -> Self {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let before = openat(&workspace, PROJECT_DATA, flags, Mode::empty()).ok();
        Self { workspace, before }
    }

    /// Renames what has the name now, unless it had it before. Returns the new name. Commands may overlap: one that began
    /// while the directory of another one was there can make its own after that was renamed.
    fn rename_new(&self) -> Option<String> {
        let now = statat(&self.workspace, PROJECT_DATA, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let before = self.before.as_ref().and_then(|open| fstat(open).ok());
        let is_old =
            before.is_some_and(|before| (before.st_dev, before.st_ino) == (now.st_dev, now.st_ino));
        if is_old {
            return None;
        }
        rename_reserved(&self.workspace)
    }
}

/// Renames what has the reserved name in a workspace. Returns the new name; none if there is nothing of the name.
fn rename_reserved(workspace: &OwnedFd) -> Option<String> {
    let renamed = (1..1_000)
        .map(|number| format!("agent-workspace.renamed-{number}"))
        .map(|name| {
            let flags = RenameFlags::NOREPLACE;
            let done = renameat_with(workspace, PROJECT_DATA, workspace, &name, flags);
            (name, done)
        })
        .find(|(_, done)| *done != Err(Errno::EXIST));
    renamed.and_then(|(name, done)| done.is_ok().then_some(name))
}

/// Says in a command's answer that something was renamed.
fn note_renamed(run: &mut CommandRun, name: &str) {
    if !run.stderr.text.is_empty() && !run.stderr.text.ends_with('\n') {
        run.stderr.text.push('\n');
    }
    run.stderr.text.push_str(&format!(
        "polis: the name {PROJECT_DATA} is reserved; it was renamed to {name}\n"
    ));
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
                let workspace = open_without_links(&directory).ok().filter(|open| {
                    DirectoryIdentity::of(open.as_fd()).is_ok_and(|found| found == identity)
                });
                // A default workspace is in polis's own data, where no person has a project: what is there was left by a
                // command whose polis was killed, and at T1 every command would be refused for it.
                let leftover = workspace.as_ref().filter(|_| own).and_then(rename_reserved);
                let reserved = workspace.map(ReservedName::watch);
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
                let planted = reserved.and_then(|reserved| reserved.rename_new());
                if let Ok(run) = &mut run {
                    for name in [leftover, planted].iter().flatten() {
                        note_renamed(run, name);
                    }
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
