//! Command policy (sandbox policy): network, paths, environment, timeouts and resource limits of commands, by
//! default and per role.
//!
//! [`SandboxTier`] names the sandbox strengths; a policy sets the weakest one that a command may run in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Network access of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkAccess {
    /// No network access.
    #[default]
    Off,
    /// Its own loopback interface, not shared with other processes.
    Loopback,
    /// The network of this machine.
    On,
}

impl NetworkAccess {
    /// Returns the setting as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Loopback => "loopback",
            Self::On => "on",
        }
    }

    /// Returns the setting with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::Loopback, Self::On]
            .into_iter()
            .find(|value| value.as_str() == name)
    }
}

/// Strength of a sandbox, ordered from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SandboxTier {
    /// Resource limits only: the command has the same access as polis itself.
    #[serde(rename = "T2")]
    Bare,
    /// Landlock and seccomp without namespaces.
    #[serde(rename = "T1")]
    Landlock,
    /// Namespaces, Landlock and seccomp; memory is monitored, not limited by the kernel.
    #[serde(rename = "T0u")]
    Watched,
    /// Namespaces, Landlock, seccomp and a cgroup.
    #[serde(rename = "T0")]
    Full,
}

impl SandboxTier {
    /// Returns the tier's name in results and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bare => "T2",
            Self::Landlock => "T1",
            Self::Watched => "T0u",
            Self::Full => "T0",
        }
    }

    /// Returns the tier with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Bare, Self::Landlock, Self::Watched, Self::Full]
            .into_iter()
            .find(|value| value.as_str() == name)
    }
}

/// Resource limits of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CommandLimits {
    /// Memory of all its processes together, in bytes.
    pub memory: u64,
    /// Number of processes and threads at the same time.
    pub processes: u64,
    /// Maximum size of a file it may write, in bytes.
    pub file_size: u64,
    /// CPU time of each process, in seconds.
    pub cpu_seconds: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Size of its private `/tmp`, in bytes.
    pub tmp: u64,
    /// Captured bytes of each output stream; the rest is written to a file.
    pub output: u64,
    /// Maximum size of the file with the complete output, in bytes.
    pub spool: u64,
}

impl Default for CommandLimits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            memory: 4_096 * MIB,
            processes: 512,
            file_size: 2_048 * MIB,
            cpu_seconds: 3_600,
            open_files: 4_096,
            tmp: 512 * MIB,
            output: MIB,
            spool: 64 * MIB,
        }
    }
}

/// Policy for running a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandPolicy {
    /// Network access of the command.
    pub network: NetworkAccess,
    /// Paths of this machine it may read, in addition to the system's.
    pub read: Vec<String>,
    /// Paths of this machine it may write, in addition to the workspace.
    pub write: Vec<String>,
    /// Environment variables in addition to the built-in ones. A value of `$NAME` is taken from polis's own
    /// environment.
    pub env: BTreeMap<String, String>,
    /// Resource limits of the command.
    pub limits: CommandLimits,
    /// The weakest sandbox it may run in; with a weaker one it is refused.
    pub weakest_tier: SandboxTier,
    /// Default timeout, in milliseconds.
    pub timeout_ms: u64,
    /// Maximum timeout that a request may set, in milliseconds.
    pub timeout_ceiling_ms: u64,
}

impl CommandPolicy {
    /// Returns the timeout of a command that requests none, in milliseconds.
    pub fn default_timeout_ms(&self) -> u64 {
        self.timeout_ms.min(self.timeout_ceiling_ms)
    }
}

impl Default for CommandPolicy {
    fn default() -> Self {
        Self {
            network: NetworkAccess::Off,
            read: Vec::new(),
            write: Vec::new(),
            env: BTreeMap::new(),
            limits: CommandLimits::default(),
            weakest_tier: SandboxTier::Landlock,
            timeout_ms: 60_000,
            timeout_ceiling_ms: 3_600_000,
        }
    }
}

/// Command policies: the default, and those of roles with their own policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandPolicies {
    /// For roles that are not listed.
    pub default: CommandPolicy,
    /// Policies of the roles that have their own.
    pub roles: BTreeMap<String, CommandPolicy>,
}

impl CommandPolicies {
    /// Returns the policy of a role.
    pub fn for_role(&self, role: &str) -> &CommandPolicy {
        self.roles.get(role).unwrap_or(&self.default)
    }

    /// Returns whether commands of any role have access to the network outside of this machine.
    pub fn any_has_network(&self) -> bool {
        let mut all = self.roles.values().chain([&self.default]);
        all.any(|policy| policy.network == NetworkAccess::On)
    }
}
