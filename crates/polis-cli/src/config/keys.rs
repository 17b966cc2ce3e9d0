//! The keys of `polis.toml`: a table with each key's name, value, default and description, the parser that reads a file
//! with it, and the template for new projects.

use polis_core::time::parse_duration;
use polis_core::{AgentId, Code, Refusal, RoleSet, TaskType};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::sandbox::{self, ROLES};
use super::{Config, FILE, models, nearest, serve, society};
use crate::context::is_postgres;

/// A configuration key.
#[derive(Debug)]
pub(crate) struct Key {
    /// Full name including its table: `tasks.default_lease`.
    pub(crate) name: &'static str,
    /// Accepted values, in words.
    pub(crate) takes: &'static str,
    /// Default value, as TOML.
    pub(crate) default: &'static str,
    /// Description.
    pub(crate) about: &'static str,
    pub(super) set: fn(&mut Config, &DeValue<'_>) -> Result<(), String>,
}

/// Returns all keys, table by table.
pub(crate) fn all() -> impl Iterator<Item = &'static Key> {
    KEYS.iter()
        .chain(sandbox::KEYS)
        .chain(serve::KEYS)
        .chain(society::KEYS)
        .chain(models::KEYS)
}

/// Keys of the tables that have no module of their own.
const KEYS: &[Key] = &[
    Key {
        name: "language",
        takes: "\"en\" or \"zh\"",
        default: "\"en\"",
        about: "The language of templates.",
        set: |config, value| {
            config.language = text(value)?;
            one_of(&config.language, &["en", "zh"])
        },
    },
    Key {
        name: "store",
        takes: "a postgres:// URL, or \"\" for the embedded store",
        default: "\"\"",
        about: "Where state is kept. --store and POLIS_STORE win over it.",
        set: |config, value| {
            config.store = text(value)?;
            if config.store.is_empty() || is_postgres(&config.store) {
                return Ok(());
            }
            Err("expected a postgres:// URL, or \"\" for the embedded store".to_owned())
        },
    },
    Key {
        name: "roles",
        takes: "a list of names",
        default: "[]",
        about: "Roles beside the eight default ones.",
        set: |config, value| {
            config.roles = texts(value)?;
            match config
                .roles
                .iter()
                .find(|role| role.parse::<AgentId>().is_err())
            {
                Some(bad) => Err(format!(
                    "{bad:?} cannot be a role: use letters, digits, '-', '_' and '.'"
                )),
                None => Ok(()),
            }
        },
    },
    Key {
        name: "registered_only",
        takes: "true or false",
        default: "false",
        about: "Whether a name that is not registered is refused instead of getting the role it reads like.",
        set: |config, value| {
            config.registered_only = switch(value)?;
            Ok(())
        },
    },
    Key {
        name: "patience",
        takes: "a length of time",
        default: "\"30s\"",
        about: "How long a command waits for a locked store, or for a server's answer.",
        set: |config, value| {
            config.patience = text(value)?;
            parse_duration(&config.patience).map(|_| ())
        },
    },
    Key {
        name: "tasks.approval_required",
        takes: "a list of task types",
        default: "[]",
        about: "Tasks of these types are completed only after `polis task approve`.",
        set: |config, value| {
            config.tasks.approval_required = texts(value)?;
            let all: Vec<&str> = TaskType::ALL.iter().map(|t| t.as_str()).collect();
            config
                .tasks
                .approval_required
                .iter()
                .try_for_each(|name| one_of(name, &all))
        },
    },
    Key {
        name: "tasks.default_lease",
        takes: "a length of time, or \"\" for none",
        default: "\"\"",
        about: "The lease of claims that do not name one; past it a task is stale and may be claimed again.",
        set: |config, value| {
            config.tasks.default_lease = text(value)?;
            if config.tasks.default_lease.is_empty() {
                return Ok(());
            }
            parse_duration(&config.tasks.default_lease).map(|_| ())
        },
    },
    Key {
        name: "whiteboards.max_versions",
        takes: "a number from 1 to 1000",
        default: "10",
        about: "How many versions of a board history keeps.",
        set: |config, value| {
            config.whiteboards.max_versions = count(value, 1_000)?;
            Ok(())
        },
    },
    Key {
        name: "whiteboards.mid_reads_all_bottom",
        takes: "true or false",
        default: "false",
        about: "Whether every middle agent reads every bottom board, not only those of its subordinates.",
        set: |config, value| {
            config.whiteboards.mid_reads_all_bottom = switch(value)?;
            Ok(())
        },
    },
    Key {
        name: "whiteboards.project",
        takes: "a name, or \"\" for the directory's",
        default: "\"\"",
        about: "What the template of the global board names.",
        set: |config, value| {
            config.whiteboards.project = text(value)?;
            Ok(())
        },
    },
    Key {
        name: "decisions.signatures",
        takes: "a number from 1 to 100",
        default: "2",
        about: "How many signatures approve a decision; where there are fewer signers, all of them and the person's.",
        set: |config, value| {
            config.decisions.signatures = count(value, 100)?;
            Ok(())
        },
    },
    Key {
        name: "decisions.milestone_signatures",
        takes: "a number from 1 to 100",
        default: "3",
        about: "How many signatures approve that a milestone is reached.",
        set: |config, value| {
            config.decisions.milestone_signatures = count(value, 100)?;
            Ok(())
        },
    },
    Key {
        name: "decisions.appeal_signatures",
        takes: "a number from 1 to 100",
        default: "2",
        about: "How many signatures approve a decision that was vetoed and appealed.",
        set: |config, value| {
            config.decisions.appeal_signatures = count(value, 100)?;
            Ok(())
        },
    },
    Key {
        name: "decisions.signers",
        takes: "a list of agents",
        default: "[]",
        about: "Whose signatures count, and who may veto; without any, every active top-layer agent.",
        set: |config, value| {
            config.decisions.signers = texts(value)?;
            Ok(())
        },
    },
    Key {
        name: "blackboard.lock_wait",
        takes: "a length of time",
        default: "\"5s\"",
        about: "How long a blackboard write waits for somebody else's lock before it tries again.",
        set: |config, value| {
            config.blackboard.lock_wait = text(value)?;
            parse_duration(&config.blackboard.lock_wait).map(|_| ())
        },
    },
    Key {
        name: "blackboard.lock_tries",
        takes: "a number from 1 to 100",
        default: "3",
        about: "How often it tries before it answers `423 LOCKED`.",
        set: |config, value| {
            config.blackboard.lock_tries = count(value, 100)?;
            Ok(())
        },
    },
    Key {
        name: "blackboard.writers",
        takes: "a table: a role, an agent or \"*\", and a list of path patterns",
        default: "{ product-manager = [\"**\"] }",
        about: "Who writes to the blackboard. `*` is anything within a part of the path, `**` any number of parts.",
        set: |config, value| {
            let table = value
                .as_table()
                .ok_or_else(|| format!("expected a table, found {}", value.type_str()))?;
            let entry = |(who, patterns): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                let who: &std::borrow::Cow<'_, str> = who.get_ref();
                let patterns = texts(patterns.get_ref()).map_err(|why| format!("{who:?}: {why}"));
                patterns.map(|patterns| (who.to_string(), patterns))
            };
            config.blackboard.writers = table.iter().map(entry).collect::<Result<_, _>>()?;
            Ok(())
        },
    },
    Key {
        name: "workspaces.quota",
        takes: "a size such as \"2GiB\", or \"\" for none",
        default: "\"\"",
        about: "The most that the files of a workspace may have together before file tools refuse to write; each write then counts them. Commands are not held to it.",
        set: |config, value| {
            config.workspaces.quota = text(value)?;
            if config.workspaces.quota.is_empty() {
                return Ok(());
            }
            sandbox::parse_size(&config.workspaces.quota).map(|_| ())
        },
    },
    Key {
        name: "workspaces.max_read",
        takes: "a size such as \"10MiB\"",
        default: "\"10MiB\"",
        about: "The most of a file that is answered at once; more of it is read in parts.",
        set: |config, value| {
            config.workspaces.max_read = text(value)?;
            sandbox::parse_size(&config.workspaces.max_read).map(|_| ())
        },
    },
];

pub(super) fn switch(value: &DeValue<'_>) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| format!("expected true or false, found {}", value.type_str()))
}

pub(super) fn count(value: &DeValue<'_>, most: u32) -> Result<u32, String> {
    let number = value
        .as_integer()
        .and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
    number
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| (1..=most).contains(n))
        .ok_or_else(|| format!("expected a number from 1 to {most}"))
}

pub(super) fn text(value: &DeValue<'_>) -> Result<String, String> {
    value
        .as_str()
        .map(ToOwned::to_owned)
        .ok_or_else(|| format!("expected a text, found {}", value.type_str()))
}

pub(super) fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let list = value
        .as_array()
        .ok_or_else(|| format!("expected a list, found {}", value.type_str()))?;
    list.iter().map(|entry| text(entry.get_ref())).collect()
}

pub(super) fn one_of(value: &str, allowed: &[&str]) -> Result<(), String> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let meant = nearest(value, allowed.iter().copied())
        .map(|n| format!(" (did you mean {n:?}?)"))
        .unwrap_or_default();
    Err(format!(
        "{value:?} is not one of {}{meant}",
        allowed.join(", ")
    ))
}

/// Parses a configuration file. Errors name the line.
pub(super) fn parse(source: &str) -> Result<Config, Refusal> {
    let table = DeTable::parse(source).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(source, span.start));
        fault(line, error.message())
    })?;
    let mut config = Config::default();
    read_table(source, "", table.get_ref(), &mut config)?;
    check_roles(source, table.get_ref(), &config)?;
    check_default(source, table.get_ref(), &config)?;
    Ok(config)
}

fn read_table(
    source: &str,
    prefix: &str,
    table: &DeTable<'_>,
    config: &mut Config,
) -> Result<(), Refusal> {
    for (key, value) in table.iter() {
        let name = format!("{prefix}{}", key.get_ref());
        let line = line_of(source, key.span().start);
        if let Some(roles) = value.get_ref().as_table().filter(|_| name == ROLES) {
            read_roles(source, roles, config)?;
        } else if let Some(known) = all().find(|k| k.name == name) {
            (known.set)(config, value.get_ref()).map_err(|why| {
                fault(
                    line_of(source, value.span().start),
                    &format!("{name}: {why}"),
                )
            })?;
        } else if let Some(endpoint) = value.get_ref().as_table().filter(|_| prefix == ENDPOINTS) {
            models::read(config, key.get_ref(), endpoint).map_err(|(at, why)| {
                let line = if at == 0 { line } else { line_of(source, at) };
                fault(line, &why)
            })?;
        } else if let Some(inner) = table_of(&name, value) {
            read_table(source, &format!("{name}."), inner, config)?;
        } else {
            let meant =
                nearest(&name, all().map(|k| k.name)).map(|n| format!("; did you mean {n:?}?"));
            return Err(fault(
                line,
                &format!("unknown key {name:?}{}", meant.unwrap_or_default()),
            ));
        }
    }
    Ok(())
}

/// Prefix of the names of endpoint tables.
const ENDPOINTS: &str = "models.";

/// Reads the role tables below `sandbox.roles`.
fn read_roles(source: &str, roles: &DeTable<'_>, config: &mut Config) -> Result<(), Refusal> {
    for (role, value) in roles.iter() {
        let role_name = role.get_ref();
        let keys = value.get_ref().as_table().ok_or_else(|| {
            let found = value.get_ref().type_str();
            let why = format!("{ROLES}.{role_name}: expected a table of keys, found {found}");
            fault(line_of(source, role.span().start), &why)
        })?;
        for (key, value) in keys.iter() {
            let name = key.get_ref();
            sandbox::set_of_role(&mut config.sandbox, role_name, name, value.get_ref()).map_err(
                |why| {
                    let why = format!("{ROLES}.{role_name}.{name}: {why}");
                    fault(line_of(source, key.span().start), &why)
                },
            )?;
        }
    }
    Ok(())
}

/// Returns the subtable of this name.
fn below<'a, 'i>(table: &'a DeTable<'i>, name: &str) -> Option<&'a DeTable<'i>> {
    let (_, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    value.get_ref().as_table()
}

/// Refuses a table of an unknown role. Runs after the whole file is read, because `roles` may be defined after the
/// table.
fn check_roles(source: &str, table: &DeTable<'_>, config: &Config) -> Result<(), Refusal> {
    let named = below(table, "sandbox").and_then(|sandbox| below(sandbox, "roles"));
    let Some(named) = named else {
        return Ok(());
    };
    let roles = RoleSet::with(config.roles.iter().cloned());
    for (role, _) in named.iter() {
        // The human user has no role; its permissions are set under its name.
        if role.get_ref() == AgentId::USER {
            continue;
        }
        if let Err(refusal) = roles.check_agent(role.get_ref()) {
            let why = format!("sandbox.roles: {}", refusal.message);
            return Err(fault(line_of(source, role.span().start), &why));
        }
    }
    Ok(())
}

/// Refuses a default endpoint that is not defined.
fn check_default(source: &str, table: &DeTable<'_>, config: &Config) -> Result<(), Refusal> {
    let models = &config.models;
    if models.default.is_empty() || models.endpoints.contains_key(&models.default) {
        return Ok(());
    }
    let written = below(table, models::TABLE).and_then(|models| {
        models
            .iter()
            .find(|(key, _)| key.get_ref() == "default")
            .map(|(key, _)| key.span().start)
    });
    let meant = nearest(&models.default, models.endpoints.keys().map(String::as_str))
        .map_or_else(String::new, |n| format!("; did you mean {n:?}?"));
    let why = format!(
        "models.default: there is no [models.{}]{meant}",
        models.default
    );
    Err(fault(line_of(source, written.unwrap_or(0)), &why))
}

/// Returns the value as a table, if there are keys below its name.
fn table_of<'a, 'i>(name: &str, value: &'a Spanned<DeValue<'i>>) -> Option<&'a DeTable<'i>> {
    let below = format!("{name}.");
    all()
        .any(|k| k.name.starts_with(&below))
        .then(|| value.get_ref().as_table())
        .flatten()
}

fn line_of(source: &str, at: usize) -> usize {
    source.bytes().take(at).filter(|b| *b == b'\n').count() + 1
}

fn fault(line: usize, why: &str) -> Refusal {
    Refusal::new(
        Code::InvalidConfig,
        format!("{FILE}, line {line}: {why}"),
        "mend the line and run `polis config check`; docs/reference/configuration.md lists every key",
    )
}

/// Returns a file that lists every key with its default, commented out.
pub(crate) fn template(language: &str) -> String {
    let mut out =
        "# polis: every key there is, with its default. `polis config check` checks this file.\n"
            .to_owned();
    let mut section = "";
    for key in all() {
        let (table, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if table != section {
            section = table;
            out.push_str(&format!("\n[{table}]\n"));
        }
        let set = key.name == "language";
        let value = if set {
            format!("{language:?}")
        } else {
            key.default.to_owned()
        };
        let mark = if set { "" } else { "# " };
        out.push_str(&format!(
            "\n# {} Takes {}.\n{mark}{name} = {value}\n",
            key.about, key.takes
        ));
    }
    out.push_str("\n# An endpoint of models; there may be several.\n# [models.NAME]\n");
    for key in models::ENDPOINT_KEYS {
        out.push_str(&format!(
            "\n# {} Takes {}.\n# {} = {}\n",
            key.about, key.takes, key.name, key.default
        ));
    }
    out
}

#[cfg(test)]
mod tests;
