//! `[sandbox]`: network, paths, limits and environment of commands in workspaces, for all roles and per role.

use std::collections::BTreeMap;

use polis_core::refusal::Reason;
use polis_core::timestamp::parse_duration;
use polis_core::workspace::command_policy::{
    CommandPolicies, CommandPolicy, NetworkAccess, SandboxTier,
};
use serde::Serialize;
use toml_edit::Item;

use super::config_keys::{
    ConfigKey, check_one_of, expected_table, in_key, parse_string, parse_string_list, suggestion,
};
use crate::refusal_tables::ConfigProblem;

/// `[sandbox]`, with defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SandboxConfig {
    /// Settings of all roles.
    #[serde(flatten)]
    pub(crate) all: SandboxKeys,
    /// Overrides per role, by role name.
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
    limits: BTreeMap<&'static str, LimitValue>,
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
enum LimitValue {
    Number(u64),
    Text(String),
}

/// Unit of a limit.
#[derive(Debug, Clone, Copy)]
enum LimitUnit {
    Bytes,
    Count,
    Seconds,
    Millis,
}

/// A numeric key: unit, minimum, default, and the policy field it sets.
struct LimitKey {
    name: &'static str,
    unit: LimitUnit,
    minimum: u64,
    default: &'static str,
    set: fn(&mut CommandPolicy, u64),
}

const LIMIT_KEYS: [LimitKey; 10] = [
    LimitKey {
        name: "memory",
        unit: LimitUnit::Bytes,
        minimum: 16 << 20,
        default: "4GiB",
        set: |policy, n| policy.limits.memory = n,
    },
    LimitKey {
        name: "processes",
        unit: LimitUnit::Count,
        minimum: 1,
        default: "512",
        set: |policy, n| policy.limits.processes = n,
    },
    LimitKey {
        name: "file_size",
        unit: LimitUnit::Bytes,
        minimum: 1,
        default: "2GiB",
        set: |policy, n| policy.limits.file_size = n,
    },
    LimitKey {
        name: "cpu",
        unit: LimitUnit::Seconds,
        minimum: 1,
        default: "1h",
        set: |policy, n| policy.limits.cpu_seconds = n,
    },
    LimitKey {
        name: "open_files",
        unit: LimitUnit::Count,
        minimum: 16,
        default: "4096",
        set: |policy, n| policy.limits.open_files = n,
    },
    LimitKey {
        name: "tmp",
        unit: LimitUnit::Bytes,
        minimum: 1 << 20,
        default: "512MiB",
        set: |policy, n| policy.limits.tmp = n,
    },
    LimitKey {
        name: "output",
        unit: LimitUnit::Bytes,
        minimum: 1 << 10,
        default: "1MiB",
        set: |policy, n| policy.limits.output = n,
    },
    LimitKey {
        name: "spool",
        unit: LimitUnit::Bytes,
        minimum: 0,
        default: "64MiB",
        set: |policy, n| policy.limits.spool = n,
    },
    LimitKey {
        name: "timeout",
        unit: LimitUnit::Millis,
        minimum: 1,
        default: "1m",
        set: |policy, n| policy.timeout_ms = n,
    },
    LimitKey {
        name: "timeout_ceiling",
        unit: LimitUnit::Millis,
        minimum: 1,
        default: "1h",
        set: |policy, n| policy.timeout_ceiling_ms = n,
    },
];

/// Name of the table that contains the role tables.
pub(super) const ROLES_TABLE: &str = "sandbox.roles";

const SIZE_VALUES: &str = "a size such as \"512MiB\" or \"4GiB\"";

/// The keys of `[sandbox]`.
pub(super) const SANDBOX_KEYS: &[ConfigKey] = &[
    ConfigKey {
        name: "sandbox.network",
        accepted_values: "\"off\", \"loopback\" or \"on\"",
        default: "\"off\"",
        description: "Network access of commands: none, a private loopback interface, or the network of this machine.",
        set: |config, value| config.sandbox.all.set_key("network", value),
    },
    ConfigKey {
        name: "sandbox.read",
        accepted_values: "a list of absolute paths",
        default: "[]",
        description: "Paths of this machine that commands may read, in addition to their workspace and the system's programs.",
        set: |config, value| config.sandbox.all.set_key("read", value),
    },
    ConfigKey {
        name: "sandbox.write",
        accepted_values: "a list of absolute paths",
        default: "[]",
        description: "Paths of this machine that commands may write, in addition to their workspace, such as a package cache.",
        set: |config, value| config.sandbox.all.set_key("write", value),
    },
    ConfigKey {
        name: "sandbox.env",
        accepted_values: "a table from variable to its value, or to \"$NAME\"",
        default: "{}",
        description: "Environment variables of commands; \"$NAME\" passes on the value of polis's own variable NAME. No other variables of polis's environment are passed on.",
        set: |config, value| config.sandbox.all.set_key("env", value),
    },
    ConfigKey {
        name: "sandbox.memory",
        accepted_values: SIZE_VALUES,
        default: "\"4GiB\"",
        description: "Maximum memory of all processes of a command together.",
        set: |config, value| config.sandbox.all.set_key("memory", value),
    },
    ConfigKey {
        name: "sandbox.processes",
        accepted_values: "a number",
        default: "512",
        description: "Maximum number of processes and threads of a command.",
        set: |config, value| config.sandbox.all.set_key("processes", value),
    },
    ConfigKey {
        name: "sandbox.file_size",
        accepted_values: SIZE_VALUES,
        default: "\"2GiB\"",
        description: "Maximum size of a file that a command writes.",
        set: |config, value| config.sandbox.all.set_key("file_size", value),
    },
    ConfigKey {
        name: "sandbox.cpu",
        accepted_values: "a duration",
        default: "\"1h\"",
        description: "Maximum CPU time of each process of a command.",
        set: |config, value| config.sandbox.all.set_key("cpu", value),
    },
    ConfigKey {
        name: "sandbox.open_files",
        accepted_values: "a number",
        default: "4096",
        description: "Maximum number of open files of each process of a command.",
        set: |config, value| config.sandbox.all.set_key("open_files", value),
    },
    ConfigKey {
        name: "sandbox.tmp",
        accepted_values: SIZE_VALUES,
        default: "\"512MiB\"",
        description: "Size of a command's private /tmp.",
        set: |config, value| config.sandbox.all.set_key("tmp", value),
    },
    ConfigKey {
        name: "sandbox.output",
        accepted_values: SIZE_VALUES,
        default: "\"1MiB\"",
        description: "Maximum size of each output stream in a result; of a longer one, the beginning and the end are returned.",
        set: |config, value| config.sandbox.all.set_key("output", value),
    },
    ConfigKey {
        name: "sandbox.spool",
        accepted_values: SIZE_VALUES,
        default: "\"64MiB\"",
        description: "Maximum size of the file that keeps a long output, next to the workspace.",
        set: |config, value| config.sandbox.all.set_key("spool", value),
    },
    ConfigKey {
        name: "sandbox.timeout",
        accepted_values: "a duration",
        default: "\"1m\"",
        description: "Default timeout of a command.",
        set: |config, value| config.sandbox.all.set_key("timeout", value),
    },
    ConfigKey {
        name: "sandbox.timeout_ceiling",
        accepted_values: "a duration",
        default: "\"1h\"",
        description: "Maximum timeout that a request may ask for.",
        set: |config, value| config.sandbox.all.set_key("timeout_ceiling", value),
    },
    ConfigKey {
        name: "sandbox.weakest",
        accepted_values: "\"T0\", \"T0u\", \"T1\" or \"T2\"",
        default: "\"T1\"",
        description: "Weakest sandbox tier that commands may run in; on a machine that has only a weaker tier, commands are refused. T0: namespaces, Landlock, seccomp and a control group; T0u: the same, with memory monitored instead of limited; T1: Landlock and seccomp only; T2: resource limits only, a command can do whatever polis can.",
        set: |config, value| config.sandbox.all.set_key("weakest", value),
    },
    ConfigKey {
        name: ROLES_TABLE,
        accepted_values: "a table from role to a table of the keys above",
        default: "{}",
        description: "Overrides for a role, in a table such as `[sandbox.roles.test-leader]`; for the person, in `[sandbox.roles.user]`.",
        // A role table is read key by key, see `read_sandbox_roles` in `config_keys`.
        set: |_, value| Err(expected_table(value)),
    },
];

impl Default for SandboxConfig {
    fn default() -> Self {
        let policy = CommandPolicy::default();
        let limits = LIMIT_KEYS
            .iter()
            .map(|limit| (limit.name, limit.default_value()));
        Self {
            all: SandboxKeys {
                network: Some(policy.network.as_str().to_owned()),
                read: Some(policy.read),
                write: Some(policy.write),
                env: Some(policy.env),
                limits: limits.collect(),
                weakest: Some(policy.weakest_tier.as_str().to_owned()),
            },
            roles: BTreeMap::new(),
        }
    }
}

impl SandboxConfig {
    /// Returns the command policies, the default and one per role.
    pub(super) fn command_policies(&self) -> CommandPolicies {
        let mut default = CommandPolicy::default();
        self.all.apply_to(&mut default);
        let of_role = |(role, keys): (&String, &SandboxKeys)| {
            let mut policy = default.clone();
            keys.apply_to(&mut policy);
            (role.clone(), policy)
        };
        CommandPolicies {
            roles: self.roles.iter().map(of_role).collect(),
            default,
        }
    }
}

/// Sets a key of a role table.
pub(super) fn set_role_key(
    config: &mut SandboxConfig,
    role: &str,
    name: &str,
    value: &Item,
) -> Result<(), Reason> {
    let full_name = format!("sandbox.{name}");
    if full_name == ROLES_TABLE || !SANDBOX_KEYS.iter().any(|key| key.name == full_name) {
        let names = SANDBOX_KEYS
            .iter()
            .filter_map(|k| k.name.strip_prefix("sandbox."));
        let nearest = super::nearest_name(name, names.filter(|candidate| *candidate != "roles"));
        let suggestion = suggestion(nearest);
        return Err(ConfigProblem::UnknownKey { suggestion }.into());
    }
    let keys = config.roles.entry(role.to_owned()).or_default();
    keys.set_key(name, value)
}

impl SandboxKeys {
    /// Sets a key from its value.
    fn set_key(&mut self, name: &str, value: &Item) -> Result<(), Reason> {
        match name {
            "network" => {
                let network = parse_string(value)?;
                check_one_of(&network, &["off", "loopback", "on"])?;
                self.network = Some(network);
            }
            "read" => self.read = Some(parse_paths(value)?),
            "write" => self.write = Some(parse_paths(value)?),
            "env" => self.env = Some(parse_variables(value)?),
            "weakest" => {
                let weakest = parse_string(value)?;
                check_one_of(&weakest, &["T0", "T0u", "T1", "T2"])?;
                self.weakest = Some(weakest);
            }
            _ => {
                let limit = LIMIT_KEYS.iter().find(|limit| limit.name == name);
                let limit = limit.ok_or_else(|| ConfigProblem::UnknownKey {
                    suggestion: suggestion(None),
                })?;
                let written = match value.as_integer() {
                    Some(n) if matches!(limit.unit, LimitUnit::Bytes | LimitUnit::Count) => {
                        let number = u64::try_from(n);
                        LimitValue::Number(number.map_err(|_| ConfigProblem::OutOfRange {
                            number: n.to_string(),
                        })?)
                    }
                    _ => LimitValue::Text(parse_string(value)?),
                };
                limit.parse_value(&written)?;
                self.limits.insert(limit.name, written);
            }
        }
        Ok(())
    }

    fn apply_to(&self, policy: &mut CommandPolicy) {
        if let Some(network) = self.network.as_deref().and_then(NetworkAccess::from_name) {
            policy.network = network;
        }
        if let Some(weakest) = self.weakest.as_deref().and_then(SandboxTier::from_name) {
            policy.weakest_tier = weakest;
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
        for limit in &LIMIT_KEYS {
            if let Some(Ok(value)) = self.limits.get(limit.name).map(|w| limit.parse_value(w)) {
                (limit.set)(policy, value);
            }
        }
    }
}

impl LimitKey {
    fn parse_value(&self, written: &LimitValue) -> Result<u64, Reason> {
        let value = match (written, self.unit) {
            (LimitValue::Number(number), _) => *number,
            (LimitValue::Text(text), LimitUnit::Bytes) => parse_size(text)?,
            (LimitValue::Text(text), LimitUnit::Count) => {
                let text = format!("{text:?}");
                return Err(ConfigProblem::ExpectedNumberNotText { text }.into());
            }
            (LimitValue::Text(text), LimitUnit::Seconds) => {
                parse_duration(text)?.unsigned_abs() / 1_000
            }
            (LimitValue::Text(text), LimitUnit::Millis) => parse_duration(text)?.unsigned_abs(),
        };
        // The kernel uses signed numbers.
        if i64::try_from(value).is_err() {
            return Err(ConfigProblem::TooLarge.into());
        }
        if value < self.minimum {
            let minimum = self.minimum;
            return Err(ConfigProblem::TooSmall { minimum }.into());
        }
        Ok(value)
    }

    fn default_value(&self) -> LimitValue {
        match self.unit {
            LimitUnit::Count => LimitValue::Number(self.default.parse().unwrap_or(self.minimum)),
            LimitUnit::Bytes | LimitUnit::Seconds | LimitUnit::Millis => {
                LimitValue::Text(self.default.to_owned())
            }
        }
    }
}

/// Parses a size such as `512MiB`; a plain number is in bytes.
pub(super) fn parse_size(text: &str) -> Result<u64, Reason> {
    let wrong = || {
        let text = format!("{text:?}");
        Reason::from(ConfigProblem::NotASize { text })
    };
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

fn parse_paths(value: &Item) -> Result<Vec<String>, Reason> {
    let paths = parse_string_list(value)?;
    let unsound = |path: &&String| {
        !path.starts_with('/') || path.contains('\0') || path.split('/').any(|part| part == "..")
    };
    match paths.iter().find(unsound) {
        Some(bad) => Err(ConfigProblem::NotAnAbsolutePath {
            path: format!("{bad:?}"),
        }
        .into()),
        None => Ok(paths),
    }
}

fn parse_variables(value: &Item) -> Result<BTreeMap<String, String>, Reason> {
    let table = value.as_table_like().ok_or_else(|| expected_table(value))?;
    let mut variables = BTreeMap::new();
    for (name, value) in table.iter() {
        let name = name.to_owned();
        let value = parse_string(value).map_err(|problem| in_key(format!("{name:?}"), problem))?;
        let passed_on = value.strip_prefix('$');
        if let Some(bad) = [Some(name.as_str()), passed_on]
            .into_iter()
            .flatten()
            .find(|name| !is_variable_name(name))
        {
            let name = format!("{bad:?}");
            return Err(ConfigProblem::NotAVariable { name }.into());
        }
        if value.contains('\0') {
            let name = format!("{name:?}");
            return Err(ConfigProblem::NulInValue { name }.into());
        }
        variables.insert(name, value);
    }
    Ok(variables)
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests;
