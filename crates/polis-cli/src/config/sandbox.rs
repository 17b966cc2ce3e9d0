//! `[sandbox]`: network, paths, limits and environment of commands in workspaces, for all roles and per role.

use std::collections::BTreeMap;

use polis_core::time::parse_duration;
use polis_core::workspace::policy::{CommandPolicies, CommandPolicy, Network, Tier};
use serde::Serialize;
use toml::de::DeValue;

use super::keys::{Key, one_of, text, texts};

/// `[sandbox]`, with defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SandboxConfig {
    /// Settings of all roles.
    #[serde(flatten)]
    pub(crate) all: SandboxKeys,
    /// Overrides per role.
    pub(crate) roles: BTreeMap<String, SandboxKeys>,
}

/// The keys of `[sandbox]` and of `[sandbox.roles.ROLE]`, as written in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SandboxKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    limits: BTreeMap<&'static str, Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest: Option<String>,
}

impl SandboxConfig {
    /// Returns every path of this machine that commands of any role may read or write.
    pub(crate) fn granted_paths(&self) -> Vec<String> {
        let keys = std::iter::once(&self.all).chain(self.roles.values());
        let paths = keys.flat_map(|keys| [&keys.read, &keys.write]);
        paths.flatten().flatten().cloned().collect()
    }
}

/// A number as written in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

/// Unit of a limit.
#[derive(Debug, Clone, Copy)]
enum Unit {
    Bytes,
    Count,
    Seconds,
    Millis,
}

/// A numeric key: unit, minimum, default, and the policy field it sets.
struct Limit {
    name: &'static str,
    unit: Unit,
    least: u64,
    default: &'static str,
    set: fn(&mut CommandPolicy, u64),
}

const LIMITS: [Limit; 10] = [
    Limit {
        name: "memory",
        unit: Unit::Bytes,
        least: 16 << 20,
        default: "4GiB",
        set: |policy, n| policy.limits.memory = n,
    },
    Limit {
        name: "processes",
        unit: Unit::Count,
        least: 1,
        default: "512",
        set: |policy, n| policy.limits.processes = n,
    },
    Limit {
        name: "file_size",
        unit: Unit::Bytes,
        least: 1,
        default: "2GiB",
        set: |policy, n| policy.limits.file_size = n,
    },
    Limit {
        name: "cpu",
        unit: Unit::Seconds,
        least: 1,
        default: "1h",
        set: |policy, n| policy.limits.cpu_seconds = n,
    },
    Limit {
        name: "open_files",
        unit: Unit::Count,
        least: 16,
        default: "4096",
        set: |policy, n| policy.limits.open_files = n,
    },
    Limit {
        name: "tmp",
        unit: Unit::Bytes,
        least: 1 << 20,
        default: "512MiB",
        set: |policy, n| policy.limits.tmp = n,
    },
    Limit {
        name: "output",
        unit: Unit::Bytes,
        least: 1 << 10,
        default: "1MiB",
        set: |policy, n| policy.limits.output = n,
    },
    Limit {
        name: "spool",
        unit: Unit::Bytes,
        least: 0,
        default: "64MiB",
        set: |policy, n| policy.limits.spool = n,
    },
    Limit {
        name: "timeout",
        unit: Unit::Millis,
        least: 1,
        default: "1m",
        set: |policy, n| policy.timeout_ms = n,
    },
    Limit {
        name: "timeout_ceiling",
        unit: Unit::Millis,
        least: 1,
        default: "1h",
        set: |policy, n| policy.timeout_ceiling_ms = n,
    },
];

/// Name of the table that contains the role tables.
pub(super) const ROLES: &str = "sandbox.roles";

const SIZE: &str = "a size such as \"512MiB\" or \"4GiB\"";

/// The keys of `[sandbox]`.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "sandbox.network",
        takes: "\"off\", \"loopback\" or \"on\"",
        default: "\"off\"",
        about: "What of the network commands reach: nothing, a loopback of their own, or whatever this machine reaches.",
        set: |config, value| config.sandbox.all.set("network", value),
    },
    Key {
        name: "sandbox.read",
        takes: "a list of absolute paths",
        default: "[]",
        about: "What of this machine commands may read beside their workspace and the system's programs.",
        set: |config, value| config.sandbox.all.set("read", value),
    },
    Key {
        name: "sandbox.write",
        takes: "a list of absolute paths",
        default: "[]",
        about: "What of this machine commands may write beside their workspace, such as a package cache.",
        set: |config, value| config.sandbox.all.set("write", value),
    },
    Key {
        name: "sandbox.env",
        takes: "a table: a variable, and its value or \"$NAME\"",
        default: "{}",
        about: "Variables that commands get; \"$NAME\" passes on what polis itself was given. Everything else of the environment is kept from them.",
        set: |config, value| config.sandbox.all.set("env", value),
    },
    Key {
        name: "sandbox.memory",
        takes: SIZE,
        default: "\"4GiB\"",
        about: "The memory of all processes of a command together.",
        set: |config, value| config.sandbox.all.set("memory", value),
    },
    Key {
        name: "sandbox.processes",
        takes: "a number",
        default: "512",
        about: "How many processes and threads a command has at once.",
        set: |config, value| config.sandbox.all.set("processes", value),
    },
    Key {
        name: "sandbox.file_size",
        takes: SIZE,
        default: "\"2GiB\"",
        about: "The largest file a command writes.",
        set: |config, value| config.sandbox.all.set("file_size", value),
    },
    Key {
        name: "sandbox.cpu",
        takes: "a length of time",
        default: "\"1h\"",
        about: "The processor time of each process of a command.",
        set: |config, value| config.sandbox.all.set("cpu", value),
    },
    Key {
        name: "sandbox.open_files",
        takes: "a number",
        default: "4096",
        about: "How many files each process of a command has open at once.",
        set: |config, value| config.sandbox.all.set("open_files", value),
    },
    Key {
        name: "sandbox.tmp",
        takes: SIZE,
        default: "\"512MiB\"",
        about: "The size of a command's private /tmp.",
        set: |config, value| config.sandbox.all.set("tmp", value),
    },
    Key {
        name: "sandbox.output",
        takes: SIZE,
        default: "\"1MiB\"",
        about: "How much of each output stream is answered, from its beginning and its end.",
        set: |config, value| config.sandbox.all.set("output", value),
    },
    Key {
        name: "sandbox.spool",
        takes: SIZE,
        default: "\"64MiB\"",
        about: "How much of a long output is kept in a file beside the workspace.",
        set: |config, value| config.sandbox.all.set("spool", value),
    },
    Key {
        name: "sandbox.timeout",
        takes: "a length of time",
        default: "\"1m\"",
        about: "How long a command runs if the request does not say.",
        set: |config, value| config.sandbox.all.set("timeout", value),
    },
    Key {
        name: "sandbox.timeout_ceiling",
        takes: "a length of time",
        default: "\"1h\"",
        about: "The longest that a request may ask for.",
        set: |config, value| config.sandbox.all.set("timeout_ceiling", value),
    },
    Key {
        name: "sandbox.weakest",
        takes: "\"T0\", \"T0u\", \"T1\" or \"T2\"",
        default: "\"T1\"",
        about: "The weakest sandbox that commands may run in; where this machine has only a weaker one they are refused. T0: namespaces, Landlock, seccomp and a control group; T0u: the same with memory watched instead of limited; T1: Landlock and seccomp alone; T2: nothing but limits, a command may do whatever polis may.",
        set: |config, value| config.sandbox.all.set("weakest", value),
    },
    Key {
        name: ROLES,
        takes: "a table: a role, and a table of the keys above",
        default: "{}",
        about: "What is otherwise for a role, in a table such as `[sandbox.roles.test-leader]`; for the person, in `[sandbox.roles.user]`.",
        // A role table is read key by key, see `read_roles` in `keys`.
        set: |_, value| Err(format!("expected a table, found {}", value.type_str())),
    },
];

impl Default for SandboxConfig {
    fn default() -> Self {
        let policy = CommandPolicy::default();
        let limits = LIMITS.iter().map(|limit| (limit.name, limit.default()));
        Self {
            all: SandboxKeys {
                network: Some(policy.network.as_str().to_owned()),
                read: Some(policy.read),
                write: Some(policy.write),
                env: Some(policy.env),
                limits: limits.collect(),
                weakest: Some(policy.weakest.as_str().to_owned()),
            },
            roles: BTreeMap::new(),
        }
    }
}

impl SandboxConfig {
    /// Returns the command policies, the default and one per role.
    pub(super) fn policies(&self) -> CommandPolicies {
        let mut default = CommandPolicy::default();
        self.all.apply(&mut default);
        let of_role = |(role, keys): (&String, &SandboxKeys)| {
            let mut policy = default.clone();
            keys.apply(&mut policy);
            (role.clone(), policy)
        };
        CommandPolicies {
            roles: self.roles.iter().map(of_role).collect(),
            default,
        }
    }
}

/// Sets a key of a role table.
pub(super) fn set_of_role(
    config: &mut SandboxConfig,
    role: &str,
    name: &str,
    value: &DeValue<'_>,
) -> Result<(), String> {
    let whole = format!("sandbox.{name}");
    if whole == ROLES || !KEYS.iter().any(|key| key.name == whole) {
        let known = KEYS.iter().filter_map(|k| k.name.strip_prefix("sandbox."));
        let meant = super::nearest(name, known.filter(|known| *known != "roles"))
            .map(|n| format!("; did you mean {n:?}?"));
        return Err(format!("unknown key{}", meant.unwrap_or_default()));
    }
    let keys = config.roles.entry(role.to_owned()).or_default();
    keys.set(name, value)
}

impl SandboxKeys {
    /// Sets a key from its value.
    fn set(&mut self, name: &str, value: &DeValue<'_>) -> Result<(), String> {
        match name {
            "network" => {
                let network = text(value)?;
                one_of(&network, &["off", "loopback", "on"])?;
                self.network = Some(network);
            }
            "read" => self.read = Some(paths(value)?),
            "write" => self.write = Some(paths(value)?),
            "env" => self.env = Some(variables(value)?),
            "weakest" => {
                let weakest = text(value)?;
                one_of(&weakest, &["T0", "T0u", "T1", "T2"])?;
                self.weakest = Some(weakest);
            }
            _ => {
                let limit = LIMITS.iter().find(|limit| limit.name == name);
                let limit = limit.ok_or_else(|| "unknown key".to_owned())?;
                let written = match value.as_integer() {
                    Some(n) if matches!(limit.unit, Unit::Bytes | Unit::Count) => {
                        let number = u64::from_str_radix(n.as_str(), n.radix());
                        Written::Number(number.map_err(|_| format!("{n} is not possible"))?)
                    }
                    _ => Written::Text(text(value)?),
                };
                limit.read(&written)?;
                self.limits.insert(limit.name, written);
            }
        }
        Ok(())
    }

    fn apply(&self, policy: &mut CommandPolicy) {
        if let Some(network) = self.network.as_deref().and_then(Network::from_name) {
            policy.network = network;
        }
        if let Some(weakest) = self.weakest.as_deref().and_then(Tier::from_name) {
            policy.weakest = weakest;
        }
        if let Some(read) = &self.read {
            policy.read.clone_from(read);
        }
        if let Some(write) = &self.write {
            policy.write.clone_from(write);
        }
        if let Some(env) = &self.env {
            policy.env.clone_from(env);
        }
        for limit in &LIMITS {
            if let Some(Ok(value)) = self.limits.get(limit.name).map(|w| limit.read(w)) {
                (limit.set)(policy, value);
            }
        }
    }
}

impl Limit {
    fn read(&self, written: &Written) -> Result<u64, String> {
        let value = match (written, self.unit) {
            (Written::Number(number), _) => *number,
            (Written::Text(text), Unit::Bytes) => parse_size(text)?,
            (Written::Text(text), Unit::Count) => {
                return Err(format!("expected a number, found {text:?}"));
            }
            (Written::Text(text), Unit::Seconds) => parse_duration(text)?.unsigned_abs() / 1_000,
            (Written::Text(text), Unit::Millis) => parse_duration(text)?.unsigned_abs(),
        };
        // The kernel uses signed numbers.
        if i64::try_from(value).is_err() {
            return Err("that is too much".to_owned());
        }
        if value < self.least {
            return Err(format!("that is too little: at least {}", self.least));
        }
        Ok(value)
    }

    fn default(&self) -> Written {
        match self.unit {
            Unit::Count => Written::Number(self.default.parse().unwrap_or(self.least)),
            Unit::Bytes | Unit::Seconds | Unit::Millis => Written::Text(self.default.to_owned()),
        }
    }
}

/// Parses a size such as `512MiB`; a plain number is in bytes.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; write for example 512MiB, 4GiB or 65536");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let factor: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.trim_end().parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

fn paths(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let paths = texts(value)?;
    let unsound = |path: &&String| {
        !path.starts_with('/') || path.contains('\0') || path.split('/').any(|part| part == "..")
    };
    match paths.iter().find(unsound) {
        Some(bad) => Err(format!("{bad:?} is not an absolute path without \"..\"")),
        None => Ok(paths),
    }
}

fn variables(value: &DeValue<'_>) -> Result<BTreeMap<String, String>, String> {
    let table = value
        .as_table()
        .ok_or_else(|| format!("expected a table, found {}", value.type_str()))?;
    let mut variables = BTreeMap::new();
    for (name, value) in table.iter() {
        let name = name.get_ref().to_string();
        let value = text(value.get_ref()).map_err(|why| format!("{name:?}: {why}"))?;
        let passed_on = value.strip_prefix('$');
        if let Some(bad) = [Some(name.as_str()), passed_on]
            .into_iter()
            .flatten()
            .find(|name| !is_variable(name))
        {
            return Err(format!(
                "{bad:?} is not the name of a variable: letters, digits and '_', not beginning with a digit"
            ));
        }
        if value.contains('\0') {
            return Err(format!("{name:?}: a value cannot hold a NUL character"));
        }
        variables.insert(name, value);
    }
    Ok(variables)
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests;
