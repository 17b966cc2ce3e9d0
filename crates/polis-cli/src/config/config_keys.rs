//! The keys of `polis.toml`: the type of a key ([`ConfigKey`]: name, accepted values, default, description),
//! the keys of tables without a module of their own, the parser that reads a file with all keys, and the
//! template for new projects.
//!
//! Unknown keys are errors. An error names the line and suggests the nearest known name.

use polis_core::board::BlackboardGlob;
use polis_core::refusal::Reason;
use polis_core::timestamp::parse_duration;
use polis_core::{AgentId, Refusal, RoleSet, TaskType};
use polis_i18n::{DefinitionTable, UiLanguage, definition_text, msg};
use toml_edit::{Document, Item, TableLike};

use super::sandbox_config::{self, ROLES_TABLE};
use super::{CONFIG_FILE, Config, models_config, nearest_name, serve_config, society_config};
use crate::context::is_postgres;
use crate::refusal_tables::{ConfigProblem, ProjectRefusal, TomlType};

/// A key of `polis.toml`, with the function that sets it in a [`Config`].
#[derive(Debug)]
pub(crate) struct ConfigKey {
    /// Full name including its table: `tasks.default_lease`.
    pub(crate) name: &'static str,
    /// Description of the accepted values.
    pub(crate) accepted_values: &'static str,
    /// Default value, as TOML.
    pub(crate) default: &'static str,
    /// Description, shown by `polis config show` and in the reference.
    pub(crate) description: &'static str,
    pub(super) set: fn(&mut Config, &Item) -> Result<(), Reason>,
}

impl ConfigKey {
    /// Returns the description and the accepted values in a language.
    pub(crate) fn texts(&self, lang: UiLanguage) -> KeyTexts {
        let id = self.name.replace('.', "-");
        KeyTexts::find(&id, (self.description, self.accepted_values), lang)
    }
}

/// Texts of a key in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyTexts {
    pub(crate) description: &'static str,
    pub(crate) accepted_values: &'static str,
}

impl KeyTexts {
    /// Returns the texts in the catalogue. The English ones are in the tables of keys.
    pub(super) fn find(id: &str, english: (&'static str, &'static str), lang: UiLanguage) -> Self {
        let text = |part| definition_text(DefinitionTable::Config, lang, id, part);
        Self {
            description: text(None).unwrap_or(english.0),
            accepted_values: text(Some("accepts")).unwrap_or(english.1),
        }
    }
}

/// Returns all keys, table by table.
pub(crate) fn all_keys() -> impl Iterator<Item = &'static ConfigKey> {
    GENERAL_KEYS
        .iter()
        .chain(sandbox_config::SANDBOX_KEYS)
        .chain(serve_config::SERVE_KEYS)
        .chain(society_config::SOCIETY_KEYS)
        .chain(models_config::MODELS_KEYS)
}

/// Keys of the tables that have no module of their own.
const GENERAL_KEYS: &[ConfigKey] = &[
    ConfigKey {
        name: "language",
        accepted_values: "\"en\" or \"zh\"",
        default: "\"en\"",
        description: "Language of templates and roles. With \"zh\", commands, the terminal UI and what agents see are Chinese too.",
        set: |config, value| {
            config.language = parse_string(value)?;
            check_one_of(&config.language, &["en", "zh"])
        },
    },
    ConfigKey {
        name: "store",
        accepted_values: "a postgres:// URL, or \"\" for the embedded store",
        default: "\"\"",
        description: "Store of the project. --store and POLIS_STORE take precedence.",
        set: |config, value| {
            config.store = parse_string(value)?;
            if config.store.is_empty() || is_postgres(&config.store) {
                return Ok(());
            }
            Err(ConfigProblem::ExpectedStoreUrl.into())
        },
    },
    ConfigKey {
        name: "roles",
        accepted_values: "a list of names",
        default: "[]",
        description: "Roles in addition to the eight default ones.",
        set: |config, value| {
            config.roles = parse_string_list(value)?;
            match config
                .roles
                .iter()
                .find(|role| role.parse::<AgentId>().is_err())
            {
                Some(bad) => Err(ConfigProblem::NotARole {
                    name: format!("{bad:?}"),
                }
                .into()),
                None => Ok(()),
            }
        },
    },
    ConfigKey {
        name: "registered_only",
        accepted_values: "true or false",
        default: "false",
        description: "Whether agents that are not registered are refused. If false, an unregistered agent gets the role that its name implies.",
        set: |config, value| {
            config.registered_only = parse_bool(value)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "patience",
        accepted_values: "a duration",
        default: "\"30s\"",
        description: "Maximum time a command waits for a locked store or for the database server.",
        set: |config, value| {
            config.patience = parse_string(value)?;
            check_duration(&config.patience)
        },
    },
    ConfigKey {
        name: "tasks.approval_required",
        accepted_values: "a list of task types",
        default: "[]",
        description: "Task types that can be completed only after `polis task approve`.",
        set: |config, value| {
            config.tasks.approval_required = parse_string_list(value)?;
            let all: Vec<&str> = TaskType::ALL.iter().map(|t| t.as_str()).collect();
            config
                .tasks
                .approval_required
                .iter()
                .try_for_each(|name| check_one_of(name, &all))
        },
    },
    ConfigKey {
        name: "tasks.default_lease",
        accepted_values: "a duration, or \"\" for none",
        default: "\"\"",
        description: "Default lease of a claim. When it expires, the task is stale and can be claimed by another agent.",
        set: |config, value| {
            config.tasks.default_lease = parse_string(value)?;
            if config.tasks.default_lease.is_empty() {
                return Ok(());
            }
            check_duration(&config.tasks.default_lease)
        },
    },
    ConfigKey {
        name: "whiteboards.max_versions",
        accepted_values: "a number from 1 to 1000",
        default: "10",
        description: "Number of versions kept in a board's history.",
        set: |config, value| {
            config.whiteboards.max_versions = parse_count(value, 1_000)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "whiteboards.mid_reads_all_bottom",
        accepted_values: "true or false",
        default: "false",
        description: "Whether every mid-layer agent may read every bottom board, not only those of its subordinates.",
        set: |config, value| {
            config.whiteboards.mid_reads_all_bottom = parse_bool(value)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "whiteboards.project",
        accepted_values: "a name, or \"\" for the directory's name",
        default: "\"\"",
        description: "Project name in the template of the global board.",
        set: |config, value| {
            config.whiteboards.project = parse_string(value)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "decisions.signatures",
        accepted_values: "a number from 1 to 100",
        default: "2",
        description: "Number of signatures that approve a decision. With fewer signers, all of them and the person must sign.",
        set: |config, value| {
            config.decisions.signatures = parse_count(value, 100)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "decisions.milestone_signatures",
        accepted_values: "a number from 1 to 100",
        default: "3",
        description: "Number of signatures that confirm that a milestone is reached.",
        set: |config, value| {
            config.decisions.milestone_signatures = parse_count(value, 100)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "decisions.appeal_signatures",
        accepted_values: "a number from 1 to 100",
        default: "2",
        description: "Number of signatures that approve a decision after a veto and an appeal.",
        set: |config, value| {
            config.decisions.appeal_signatures = parse_count(value, 100)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "decisions.signers",
        accepted_values: "a list of agents",
        default: "[]",
        description: "Agents whose signatures count and who may veto. If empty: every active top-layer agent.",
        set: |config, value| {
            config.decisions.signers = parse_string_list(value)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "blackboard.lock_wait",
        accepted_values: "a duration",
        default: "\"5s\"",
        description: "Maximum time a blackboard write waits for another writer's lock, per attempt.",
        set: |config, value| {
            config.blackboard.lock_wait = parse_string(value)?;
            check_duration(&config.blackboard.lock_wait)
        },
    },
    ConfigKey {
        name: "blackboard.lock_tries",
        accepted_values: "a number from 1 to 100",
        default: "3",
        description: "Number of attempts before a blackboard write fails with `423 LOCKED`.",
        set: |config, value| {
            config.blackboard.lock_tries = parse_count(value, 100)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "blackboard.writers",
        accepted_values: "a table from role, agent or \"*\" to a list of path patterns",
        default: "{ product-manager = [\"**\"] }",
        description: "Paths of the blackboard that each role or agent may write. `*` matches within one path component, `**` any number of components.",
        set: |config, value| {
            let table = value.as_table_like().ok_or_else(|| expected_table(value))?;
            let entry = |(who, patterns): (&str, &Item)| {
                let quoted = || format!("{who:?}");
                let patterns =
                    parse_string_list(patterns).map_err(|problem| in_key(quoted(), problem))?;
                for pattern in &patterns {
                    BlackboardGlob::parse(pattern).map_err(|error| {
                        ConfigProblem::InvalidPattern {
                            writer: quoted(),
                            error,
                        }
                    })?;
                }
                Ok::<_, Reason>((who.to_owned(), patterns))
            };
            config.blackboard.writers = table.iter().map(entry).collect::<Result<_, _>>()?;
            Ok(())
        },
    },
    ConfigKey {
        name: "workspaces.quota",
        accepted_values: "a size such as \"2GiB\", or \"\" for none",
        default: "\"\"",
        description: "Maximum total size of a workspace's files; file tools refuse to write beyond it. With a quota, each write measures the workspace. Commands are not limited by it.",
        set: |config, value| {
            config.workspaces.quota = parse_string(value)?;
            if config.workspaces.quota.is_empty() {
                return Ok(());
            }
            sandbox_config::parse_size(&config.workspaces.quota).map(|_| ())
        },
    },
    ConfigKey {
        name: "workspaces.max_read",
        accepted_values: "a size such as \"10MiB\"",
        default: "\"10MiB\"",
        description: "Maximum size of one file read; larger files are read in parts.",
        set: |config, value| {
            config.workspaces.max_read = parse_string(value)?;
            sandbox_config::parse_size(&config.workspaces.max_read).map(|_| ())
        },
    },
];

pub(super) fn parse_bool(value: &Item) -> Result<bool, Reason> {
    let found = || type_of(value.type_name());
    let bool = value.as_bool();
    bool.ok_or_else(|| ConfigProblem::ExpectedBool { found: found() }.into())
}

pub(super) fn parse_count(value: &Item, limit: u32) -> Result<u32, Reason> {
    value
        .as_integer()
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| (1..=limit).contains(n))
        .ok_or_else(|| ConfigProblem::ExpectedCount { limit }.into())
}

pub(super) fn parse_string(value: &Item) -> Result<String, Reason> {
    let text = value.as_str().map(ToOwned::to_owned);
    text.ok_or_else(|| expected_string(value.type_name()))
}

pub(super) fn parse_string_list(value: &Item) -> Result<Vec<String>, Reason> {
    let found = || type_of(value.type_name());
    let list = value
        .as_array()
        .ok_or_else(|| ConfigProblem::ExpectedList { found: found() })?;
    let texts = list.iter().map(|entry| {
        let text = entry.as_str().map(ToOwned::to_owned);
        text.ok_or_else(|| expected_string(entry.type_name()))
    });
    texts.collect()
}

fn expected_string(found: &str) -> Reason {
    let found = type_of(found);
    ConfigProblem::ExpectedString { found }.into()
}

/// Returns the problem of a value that is not a table.
pub(super) fn expected_table(value: &Item) -> Reason {
    let found = type_of(value.type_name());
    ConfigProblem::ExpectedTable { found }.into()
}

/// Returns the phrase for a type of TOML, by the parser's name for it.
pub(super) fn type_of(name: &str) -> Reason {
    match name {
        "string" => TomlType::String,
        "integer" => TomlType::Integer,
        "float" => TomlType::Float,
        "boolean" => TomlType::Boolean,
        "datetime" => TomlType::Datetime,
        "array" => TomlType::Array,
        "inline table" => TomlType::InlineTable,
        "table" => TomlType::Table,
        "array of tables" => TomlType::ArrayOfTables,
        _ => TomlType::Nothing,
    }
    .into()
}

/// Returns a problem with the name of the key or entry before it.
pub(super) fn in_key(key: String, problem: Reason) -> Reason {
    ConfigProblem::Key { key, problem }.into()
}

pub(super) fn check_duration(text: &str) -> Result<(), Reason> {
    parse_duration(text)?;
    Ok(())
}

pub(super) fn check_one_of(value: &str, allowed: &[&str]) -> Result<(), Reason> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let nearest = nearest_name(value, allowed.iter().copied());
    Err(ConfigProblem::NotOneOf {
        value: format!("{value:?}"),
        names: allowed.join(", "),
        suggestion: match nearest {
            Some(name) => ConfigProblem::DidYouMeanOneOf {
                name: format!("{name:?}"),
            },
            None => ConfigProblem::NoSuggestion,
        }
        .into(),
    }
    .into())
}

/// Returns the end of a message about an unknown name: the nearest one, if there is any.
pub(super) fn suggestion(nearest: Option<&str>) -> Reason {
    match nearest {
        Some(name) => ConfigProblem::DidYouMean {
            name: format!("{name:?}"),
        },
        None => ConfigProblem::NoSuggestion,
    }
    .into()
}

/// Parses a configuration file. Errors name the line.
pub(super) fn parse_config(source: &str) -> Result<Config, Refusal> {
    let document = Document::parse(source).map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| line_number(source, span.start));
        let error = error.message().to_owned();
        config_error(line, ConfigProblem::Syntax { error }.into())
    })?;
    let mut config = Config::default();
    let table = document.as_table();
    read_table(source, "", table, &mut config)?;
    check_sandbox_roles(source, table, &config)?;
    check_default_endpoint(source, table, &config)?;
    Ok(config)
}

fn read_table(
    source: &str,
    prefix: &str,
    table: &dyn TableLike,
    config: &mut Config,
) -> Result<(), Refusal> {
    for (key, value) in table.iter() {
        let name = format!("{prefix}{key}");
        let line = line_number(source, key_offset(table, key));
        if let Some(roles) = value.as_table_like().filter(|_| name == ROLES_TABLE) {
            read_sandbox_roles(source, roles, config)?;
        } else if let Some(config_key) = all_keys().find(|k| k.name == name) {
            (config_key.set)(config, value).map_err(|reason| {
                let line = line_number(source, value_offset(table, key));
                config_error(line, in_key(name.clone(), reason))
            })?;
        } else if let Some(endpoint) = value.as_table_like().filter(|_| prefix == ENDPOINT_PREFIX) {
            models_config::read_endpoint(config, key, endpoint).map_err(|(at, reason)| {
                let line = if at == 0 {
                    line
                } else {
                    line_number(source, at)
                };
                config_error(line, reason)
            })?;
        } else if let Some(inner) = known_subtable(&name, value) {
            read_table(source, &format!("{name}."), inner, config)?;
        } else {
            let problem = ConfigProblem::UnknownNamedKey {
                key: format!("{name:?}"),
                suggestion: suggestion(nearest_name(&name, all_keys().map(|k| k.name))),
            };
            return Err(config_error(line, problem.into()));
        }
    }
    Ok(())
}

/// Prefix of the names of endpoint tables.
const ENDPOINT_PREFIX: &str = "models.";

/// Reads the role tables below `sandbox.roles`.
fn read_sandbox_roles(
    source: &str,
    roles: &dyn TableLike,
    config: &mut Config,
) -> Result<(), Refusal> {
    for (role, value) in roles.iter() {
        let keys = value.as_table_like().ok_or_else(|| {
            let found = type_of(value.type_name());
            let problem = ConfigProblem::ExpectedKeyTable { found }.into();
            let line = line_number(source, key_offset(roles, role));
            config_error(line, in_key(format!("{ROLES_TABLE}.{role}"), problem))
        })?;
        for (key, value) in keys.iter() {
            sandbox_config::set_role_key(&mut config.sandbox, role, key, value).map_err(
                |reason| {
                    let name = format!("{ROLES_TABLE}.{role}.{key}");
                    let line = line_number(source, key_offset(keys, key));
                    config_error(line, in_key(name, reason))
                },
            )?;
        }
    }
    Ok(())
}

/// Returns the subtable of this name.
fn find_subtable<'a>(table: &'a dyn TableLike, name: &str) -> Option<&'a dyn TableLike> {
    table.get(name)?.as_table_like()
}

/// Refuses a table of an unknown role. Runs after the whole file is read, because `roles` may be defined
/// after the table.
fn check_sandbox_roles(
    source: &str,
    table: &dyn TableLike,
    config: &Config,
) -> Result<(), Refusal> {
    let named = find_subtable(table, "sandbox").and_then(|sandbox| find_subtable(sandbox, "roles"));
    let Some(named) = named else {
        return Ok(());
    };
    let roles = RoleSet::with_additional(config.roles.iter().cloned());
    for (role, _) in named.iter() {
        // The person has no role; its settings are in the table `user`.
        if role == AgentId::USER {
            continue;
        }
        if let Err(refusal) = roles.check_agent_role(role) {
            let line = line_number(source, key_offset(named, role));
            let problem = in_key(ROLES_TABLE.to_owned(), refusal.reason);
            return Err(config_error(line, problem));
        }
    }
    Ok(())
}

/// Refuses a default endpoint that is not defined.
fn check_default_endpoint(
    source: &str,
    table: &dyn TableLike,
    config: &Config,
) -> Result<(), Refusal> {
    let models = &config.models;
    if models.default.is_empty() || models.endpoints.contains_key(&models.default) {
        return Ok(());
    }
    let written = find_subtable(table, models_config::MODELS_TABLE);
    let offset = written.map_or(0, |models| key_offset(models, "default"));
    let nearest = nearest_name(&models.default, models.endpoints.keys().map(String::as_str));
    let problem = ConfigProblem::NoDefaultEndpoint {
        endpoint: models.default.clone(),
        suggestion: suggestion(nearest),
    };
    Err(config_error(line_number(source, offset), problem.into()))
}

/// Returns the value as a table, if there are keys below its name.
fn known_subtable<'a>(name: &str, value: &'a Item) -> Option<&'a dyn TableLike> {
    let below = format!("{name}.");
    all_keys()
        .any(|k| k.name.starts_with(&below))
        .then(|| value.as_table_like())
        .flatten()
}

/// Returns the offset of a table's key in the file.
pub(super) fn key_offset(table: &dyn TableLike, key: &str) -> usize {
    let span = table.key(key).and_then(toml_edit::Key::span);
    span.unwrap_or_default().start
}

/// Returns the offset of a value in the file; that of its key, if it is a table without a header.
pub(super) fn value_offset(table: &dyn TableLike, key: &str) -> usize {
    let span = table.get(key).and_then(Item::span);
    match span.filter(|span| !span.is_empty()) {
        Some(span) => span.start,
        None => key_offset(table, key),
    }
}

fn line_number(source: &str, at: usize) -> usize {
    source.bytes().take(at).filter(|b| *b == b'\n').count() + 1
}

fn config_error(line: usize, reason: Reason) -> Refusal {
    Refusal::from(ProjectRefusal::ConfigLine {
        config_file: CONFIG_FILE.to_string(),
        line: line.to_string(),
        reason,
    })
}

/// Returns a file that lists every key with its default, commented out.
pub(crate) fn config_template(lang: UiLanguage) -> String {
    let mut out = format!("# {}\n", msg::cli_config_template_heading(lang));
    let mut section = "";
    for key in all_keys() {
        let (table, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if table != section {
            section = table;
            out.push_str(&format!("\n[{table}]\n"));
        }
        let set = key.name == "language";
        let value = if set {
            format!("{:?}", lang.code())
        } else {
            key.default.to_owned()
        };
        let mark = if set { "" } else { "# " };
        let comment = key_comment(key.texts(lang), lang);
        out.push_str(&format!("\n# {comment}\n{mark}{name} = {value}\n"));
    }
    let comment = msg::cli_config_endpoint_comment(lang);
    out.push_str(&format!("\n# {comment}\n# [models.NAME]\n"));
    for key in models_config::ENDPOINT_KEYS {
        let comment = key_comment(key.texts(lang), lang);
        let (name, default) = (key.name, key.default);
        out.push_str(&format!("\n# {comment}\n# {name} = {default}\n"));
    }
    out
}

fn key_comment(texts: KeyTexts, lang: UiLanguage) -> String {
    msg::cli_config_key_comment(lang, texts.description, texts.accepted_values)
}

#[cfg(test)]
mod tests;
