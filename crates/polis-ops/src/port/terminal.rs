//! Port [`SandboxedTerminal`]: runs commands in workspaces, in a sandbox. An [`OutputWatcher`] receives the
//! output of a running command.

use std::sync::Arc;

use polis_core::refusal::Reason;
use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::{CommandOutcome, OutputStream};
use polis_i18n::{Surface, UiLanguage, msg, render_reason};
use serde::{Serialize, Serializer};

use super::{PortFuture, WorkspaceLocation};

/// Callback that receives a command's output as it is written. Must not block.
pub trait OutputWatcher: Send + Sync + std::fmt::Debug {
    /// Receives a chunk of output, in the order in which it was read.
    fn on_output(&self, stream: OutputStream, bytes: &[u8]);
}

/// A layer of the sandbox, and whether it is available on this system.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SandboxLayer {
    /// Name of the layer.
    pub name: &'static str,
    /// Whether it is available.
    pub active: bool,
    /// What it does, or why it is missing.
    pub detail: SandboxLayerDetail,
}

impl SandboxLayer {
    /// Returns the display name of the layer.
    pub fn label(&self, lang: UiLanguage) -> &'static str {
        match self.name {
            "user" => msg::sandbox_layer_user(lang),
            "namespaces" => msg::sandbox_layer_namespaces(lang),
            "landlock" => msg::sandbox_layer_landlock(lang),
            "seccomp" => msg::sandbox_layer_seccomp(lang),
            "control group" => msg::sandbox_layer_control_group(lang),
            "without namespaces" => msg::sandbox_layer_without_namespaces(lang),
            other => other,
        }
    }
}

/// What a layer of the sandbox does, or why it is missing. Serialized as an English text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxLayerDetail {
    /// Commands run as this user, because polis runs as root.
    CommandUser(u32),
    /// Commands run as the user that polis runs as.
    CurrentUser,
    /// Commands run in namespaces of their own.
    Namespaces,
    /// Landlock restricts files, network, signals and abstract sockets; version of its interface.
    LandlockScoped(i32),
    /// Landlock restricts only files.
    LandlockUnscoped {
        /// Version of its interface.
        version: i32,
        /// Version from which it restricts signals and abstract sockets too.
        required: i32,
    },
    /// The kernel has no Landlock.
    LandlockMissing,
    /// The kernel accepts the seccomp filter.
    FilterAccepted,
    /// Control groups limit memory, and resource limits the number of processes.
    MemoryGroup,
    /// Control groups limit memory and the number of processes.
    MemoryAndProcessGroup,
    /// Commands can be confined without namespaces.
    NamespacesDispensable {
        /// Whether a command could change modes and times of all files of its user.
        exposes_file_modes: bool,
        /// Whether a command could send signals to other processes of its user.
        exposes_processes: bool,
    },
    /// A sandbox with this layer has failed since polis was started.
    FailedBefore,
    /// A missing layer, or a failed step and the error of the system.
    Problem(Reason),
    /// An error of the system, in English.
    SystemError(String),
}

impl SandboxLayerDetail {
    /// Renders the detail.
    pub fn render(&self, lang: UiLanguage) -> String {
        match self {
            Self::CommandUser(uid) => msg::sandbox_command_user(lang, uid),
            Self::CurrentUser => msg::sandbox_current_user(lang).to_owned(),
            Self::Namespaces => msg::sandbox_namespaces(lang).to_owned(),
            Self::LandlockScoped(version) => msg::sandbox_landlock_scoped(lang, version),
            Self::LandlockUnscoped { version, required } => {
                msg::sandbox_landlock_unscoped(lang, version, required)
            }
            Self::LandlockMissing => msg::sandbox_landlock_missing(lang).to_owned(),
            Self::FilterAccepted => msg::sandbox_filter_accepted(lang).to_owned(),
            Self::MemoryGroup => msg::sandbox_memory_group(lang).to_owned(),
            Self::MemoryAndProcessGroup => msg::sandbox_memory_and_process_group(lang).to_owned(),
            Self::NamespacesDispensable {
                exposes_file_modes,
                exposes_processes,
            } => {
                let mut text = msg::sandbox_namespaces_dispensable(lang).to_owned();
                if *exposes_file_modes {
                    text.push_str(msg::sandbox_file_modes_unprotected(lang));
                }
                if *exposes_processes {
                    text.push_str(msg::sandbox_processes_unprotected(lang));
                }
                text
            }
            Self::FailedBefore => msg::sandbox_failed_before(lang).to_owned(),
            Self::Problem(reason) => render_reason(reason, Surface::Cli, lang).message,
            Self::SystemError(text) => text.clone(),
        }
    }
}

impl Serialize for SandboxLayerDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.render(UiLanguage::En))
    }
}

/// Description of this system's sandbox.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SandboxReport {
    /// The tier reached with all available layers.
    pub tier: polis_core::workspace::command_policy::SandboxTier,
    /// Layers of the sandbox, available or not.
    pub layers: Vec<SandboxLayer>,
}

/// Runs commands in a sandbox.
///
/// All processes that a command starts are gone when the command has ended, was killed, or polis itself died.
/// If the available sandbox is weaker than the policy's minimum, the command is refused and never run.
pub trait SandboxedTerminal: Send + Sync + std::fmt::Debug {
    /// Runs a command in a workspace and waits until it ends. The watcher receives its output. Dropping the
    /// future kills the command. Fails with `sandbox_unavailable` if the sandbox is weaker than the policy
    /// requires, and with `command_failed` if the command cannot be started.
    fn run<'a>(
        &'a self,
        location: &'a WorkspaceLocation,
        request: CommandRequest,
        watcher: Arc<dyn OutputWatcher>,
    ) -> PortFuture<'a, CommandOutcome>;

    /// Reports the layers of the sandbox on this system, determined by probing.
    fn report(&self) -> PortFuture<'_, SandboxReport>;
}
