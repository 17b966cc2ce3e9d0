//! What a command may do: network, paths, environment, limits; set for everybody and per role.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What of the network a command reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Nothing.
    #[default]
    Off,
    /// Its own loopback, shared with nobody.
    Loopback,
    /// Whatever this machine reaches.
    On,
}

impl Network {
    /// The setting as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Loopback => "loopback",
            Self::On => "on",
        }
    }

    /// The setting of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::Loopback, Self::On]
            .into_iter()
            .find(|known| known.as_str() == name)
    }
}

/// How strong a sandbox is. Ordered from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// Nothing but limits: the command has all that polis itself has.
    #[serde(rename = "T2")]
    Bare,
    /// Landlock and seccomp without namespaces.
    #[serde(rename = "T1")]
    Landlock,
    /// Namespaces, Landlock and seccomp; memory is watched, not limited by the kernel.
    #[serde(rename = "T0u")]
    Watched,
    /// Namespaces, Landlock, seccomp and a control group.
    #[serde(rename = "T0")]
    Full,
}

impl Tier {
    /// The tier's name in results and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bare => "T2",
            Self::Landlock => "T1",
            Self::Watched => "T0u",
            Self::Full => "T0",
        }
    }

    /// The tier of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Bare, Self::Landlock, Self::Watched, Self::Full]
            .into_iter()
            .find(|known| known.as_str() == name)
    }
}

/// The most a command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Memory of all its processes together, in bytes.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// The largest file it may write, in bytes.
    pub file_size: u64,
    /// Processor time of each process, in seconds.
    pub cpu_seconds: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Its private `/tmp`, in bytes.
    pub tmp: u64,
    /// What is kept of each output stream, in bytes; the rest goes to a file.
    pub output: u64,
    /// The file that the whole output goes to, in bytes.
    pub spool: u64,
}

impl Default for Limits {
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

/// What a command may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandPolicy {
    /// What of the network it reaches.
    pub network: Network,
    /// Paths of this machine it may read beside the system's.
    pub read: Vec<String>,
    /// Paths of this machine it may write beside the workspace.
    pub write: Vec<String>,
    /// Variables it gets beside the built-in ones. A value of `$NAME` is taken from polis's own
    /// environment.
    pub env: BTreeMap<String, String>,
    /// The most it may use.
    pub limits: Limits,
    /// The weakest sandbox it may run in; a weaker one is refused.
    pub weakest: Tier,
    /// How long it may run if the request does not say, in milliseconds.
    pub timeout_ms: u64,
    /// The longest a request may ask for, in milliseconds.
    pub timeout_ceiling_ms: u64,
}

impl Default for CommandPolicy {
    fn default() -> Self {
        Self {
            network: Network::Off,
            read: Vec::new(),
            write: Vec::new(),
            env: BTreeMap::new(),
            limits: Limits::default(),
            weakest: Tier::Landlock,
            timeout_ms: 60_000,
            timeout_ceiling_ms: 3_600_000,
        }
    }
}

/// What commands may do: for everybody, and for roles that have a policy of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandPolicies {
    /// For roles that are not listed.
    pub default: CommandPolicy,
    /// For these roles.
    pub roles: BTreeMap<String, CommandPolicy>,
}

impl CommandPolicies {
    /// What commands of a role may do.
    pub fn of(&self, role: &str) -> &CommandPolicy {
        self.roles.get(role).unwrap_or(&self.default)
    }

    /// Whether commands of any role reach what is outside of this machine.
    pub fn reach_network(&self) -> bool {
        let mut all = self.roles.values().chain([&self.default]);
        all.any(|policy| policy.network == Network::On)
    }
}
