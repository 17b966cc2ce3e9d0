//! `polis mcp install` and `uninstall`: adds the polis server to the configuration file of an MCP client, or
//! removes it. `install` also registers the agent that the server acts as; `uninstall` leaves it registered.
//!
//! Nothing is written before the whole change is known to work: the file is read, and the change made and
//! checked in memory; then the agent is registered, then the file is replaced. If that last step fails, the
//! agent stays registered, and the command can be repeated.

mod agent_registration;
mod client_table;
mod config_file;
mod config_location;
mod entry_edit;
mod install_plan;
mod jsonc;
mod server_launch;
mod toml;
mod yaml;

use std::path::PathBuf;

use clap::Args;
use polis_core::agent::Agent;
use polis_core::{AgentId, Refusal};
use polis_i18n::{UiLanguage, msg};
use polis_ops::tool;
use serde::Serialize;
use serde_json::Value;

use agent_registration::register_agent;
use client_table::{ClientProfile, McpClient, ToolPermission};
use config_file::ReplaceOutcome;
use config_location::{ConfigFile, ConfigScope};
use entry_edit::EntryField;
use install_plan::{InstallPlan, choose_config_file, plan_install, plan_uninstall};
use server_launch::ServerLaunch;

use crate::cli::GlobalArgs;
use crate::context::{ProjectLocation, is_postgres};
use crate::error::CliError;
use crate::output::{CliOutput, sanitize_line};
use crate::refusal_tables::InstallRefusal;

/// Maximum number of attempts if another process changes the file at the same time.
const MAX_REPLACE_ATTEMPTS: usize = 5;

/// Add the server to an MCP client's configuration, and register its agent. The rest of the file stays
/// unchanged, and a backup is kept next to it. Running it again is harmless.
#[derive(Debug, Args)]
pub(super) struct McpInstallArgs {
    /// MCP client
    client: McpClient,
    /// Agent that the client acts as; default: the client's name
    // The id is explicit, because `agent` is the id of the global flag `--as`.
    #[arg(id = "installed_agent", long = "agent", value_name = "ID")]
    agent: Option<String>,
    /// Role of a new agent; default: by its name, or backend-leader
    #[arg(long)]
    role: Option<String>,
    /// Tool groups listed for the client; default: usual. `all`: every tool for agents. By default and with `all`
    /// the client may call every tool, otherwise only the listed ones
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    tools: Vec<String>,
    /// Configuration to write; default: the project's, if the client has one
    #[arg(long)]
    scope: Option<ConfigScope>,
    /// Let the client use all tools of polis without asking you (codex, gemini)
    #[arg(long)]
    allow_tools: bool,
    /// Only print what would be written
    #[arg(long)]
    print: bool,
}

/// Remove the server from an MCP client's configuration; its agent stays registered.
#[derive(Debug, Args)]
pub(super) struct McpUninstallArgs {
    /// MCP client
    client: McpClient,
    /// Configuration to change; default: the project's, if the client has one
    #[arg(long)]
    scope: Option<ConfigScope>,
}

#[derive(Debug, Serialize)]
struct McpInstallResult<'a> {
    client: &'a str,
    scope: &'a str,
    file: String,
    changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    registered: bool,
    entry: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Debug, Serialize)]
struct McpUninstallResult<'a> {
    client: &'a str,
    scope: &'a str,
    file: String,
    changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
}

impl McpInstallArgs {
    pub(super) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let profile = self.client.profile();
        let agent: AgentId = self.agent.as_deref().unwrap_or(profile.id).parse()?;
        if AgentId::RESERVED_NAMES.contains(&agent.as_str()) {
            return Err(CliError::from(InstallRefusal::NotAClientAgent {
                agent: agent.to_string(),
            }));
        }
        tool::select_tools(&self.tools)?;
        let project = find_project_dir(globals)?;
        let launch = ServerLaunch::for_agent(&agent, &self.tools, &project)?;
        check_expanded_syntax(profile, &launch)?;
        let allow_tools = self
            .allow_tools
            .then(|| require_allow_tools_field(profile, out.lang()))
            .transpose()?;
        let scope = resolve_scope(profile, self.scope)?;
        let file = choose_config_file(profile, scope, &project)?;
        if self.print {
            let plan = plan_install(profile, &file, "", &launch, allow_tools.as_ref())?;
            return self.print_entry(profile, scope, &file, plan, &agent, out);
        }
        let mut registration: Option<(Agent, bool)> = None;
        for _ in 0..MAX_REPLACE_ATTEMPTS {
            let before = file.read_text()?;
            let plan = plan_install(
                profile,
                &file,
                before.as_deref().unwrap_or_default(),
                &launch,
                allow_tools.as_ref(),
            )?;
            let (registered, new) = match registration.take() {
                Some(previous) => previous,
                None => register_agent(globals, &agent, self.role.as_deref())?,
            };
            let backup = match &plan.text {
                None => None,
                Some(text) => {
                    let private = scope == ConfigScope::User;
                    match file.replace_text(before.as_deref(), text, private)? {
                        ReplaceOutcome::Replaced(backup) => backup,
                        ReplaceOutcome::ConcurrentChange => {
                            registration = Some((registered, new));
                            continue;
                        }
                    }
                }
            };
            let answer = McpInstallResult {
                client: profile.id,
                scope: scope.as_str(),
                file: file.path.display().to_string(),
                changed: plan.text.is_some(),
                backup: backup.map(|backup| backup.display().to_string()),
                agent: registered.id.to_string(),
                role: Some(registered.role.clone()),
                registered: new,
                entry: plan.entry,
                text: None,
            };
            return out.print_result(&answer, |answer| {
                let layer = registered.layer.as_str();
                render_install_result(profile, answer, plan.existed, (layer, out.lang()))
            });
        }
        Err(file_busy_error(&file))
    }

    fn print_entry(
        &self,
        profile: &'static ClientProfile,
        scope: ConfigScope,
        file: &ConfigFile,
        plan: InstallPlan,
        agent: &AgentId,
        out: &CliOutput,
    ) -> Result<(), CliError> {
        let InstallPlan { text, entry, .. } = plan;
        let text = text.unwrap_or_default();
        let path = file.path.display();
        out.print_remark(&msg::cli_mcp_print_remark(out.lang(), path, agent));
        let answer = McpInstallResult {
            client: profile.id,
            scope: scope.as_str(),
            file: file.path.display().to_string(),
            changed: false,
            backup: None,
            agent: agent.to_string(),
            role: self.role.clone(),
            registered: false,
            entry,
            text: Some(text),
        };
        out.print_result(&answer, |answer| answer.text.clone().unwrap_or_default())
    }
}

impl McpUninstallArgs {
    pub(super) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let profile = self.client.profile();
        let scope = resolve_scope(profile, self.scope)?;
        // The entry of a deleted project can still be removed.
        let project = find_project_dir(globals).or_else(|failure| {
            let directory = globals.dir.clone().map_or_else(std::env::current_dir, Ok);
            directory.map_err(|_| failure)
        })?;
        let file = choose_config_file(profile, scope, &project)?;
        for _ in 0..MAX_REPLACE_ATTEMPTS {
            let before = file.read_text()?;
            let text = before.as_deref().unwrap_or_default();
            let mut answer = McpUninstallResult {
                client: profile.id,
                scope: scope.as_str(),
                file: file.path.display().to_string(),
                changed: false,
                backup: None,
            };
            if let Some(after) = plan_uninstall(profile, &file, text)? {
                match file.replace_text(before.as_deref(), &after, scope == ConfigScope::User)? {
                    ReplaceOutcome::Replaced(backup) => {
                        answer.changed = true;
                        answer.backup = backup.map(|backup| backup.display().to_string());
                    }
                    ReplaceOutcome::ConcurrentChange => continue,
                }
            }
            return out.print_result(&answer, |answer| {
                let (lang, file) = (out.lang(), sanitize_line(&answer.file));
                let Some(backup) = &answer.backup else {
                    return msg::cli_mcp_not_installed(lang, profile.title, file);
                };
                format!(
                    "{}\n{}\n{}",
                    msg::cli_mcp_removed(lang, profile.title, file),
                    msg::cli_mcp_backup(lang, sanitize_line(backup)),
                    msg::cli_mcp_agent_stays(lang)
                )
            });
        }
        Err(file_busy_error(&file))
    }
}

/// Returns the scope of the configuration; refuses a scope that the client does not have.
fn resolve_scope(
    profile: &ClientProfile,
    requested: Option<ConfigScope>,
) -> Result<ConfigScope, CliError> {
    match (requested, profile.project_files.is_empty()) {
        (Some(ConfigScope::Project), true) => Err(CliError::from(InstallRefusal::NoProjectScope {
            client: profile.title.to_string(),
        })),
        (Some(scope), _) => Ok(scope),
        (None, true) => Ok(ConfigScope::User),
        (None, false) => Ok(ConfigScope::Project),
    }
}

/// Returns the absolute path of the project directory. A store that only the flags name would not be known to
/// the client later, and a URL may contain a password, so it is not written to the file.
fn find_project_dir(globals: &GlobalArgs) -> Result<PathBuf, CliError> {
    let location = ProjectLocation::find(globals)?;
    if globals.store.as_deref().is_some_and(is_postgres) {
        return Err(CliError::from(InstallRefusal::StoreByFlag));
    }
    location
        .project_dir()
        .ok_or_else(|| CliError::from(InstallRefusal::NoProjectForClient))
}

/// Returns the field that lets the client use every tool without asking, if the client supports one.
fn require_allow_tools_field(
    profile: &ClientProfile,
    lang: UiLanguage,
) -> Result<EntryField, CliError> {
    match profile.tool_permission {
        ToolPermission::EntryField(field) => Ok(field()),
        ToolPermission::Elsewhere(instruction) => {
            Err(CliError::from(InstallRefusal::NoAllowedTools {
                client: profile.title.to_string(),
                alternative: instruction(lang).to_string(),
            }))
        }
    }
}

/// Refuses an entry whose values the client would change by expanding variables in them.
fn check_expanded_syntax(profile: &ClientProfile, launch: &ServerLaunch) -> Result<(), CliError> {
    let mut texts = launch.arguments.iter().chain([&launch.program]);
    let found = texts.find_map(|text| {
        profile
            .expanded_syntax
            .iter()
            .find(|mark| text.contains(**mark))
    });
    match found {
        None => Ok(()),
        Some(mark) => Err(CliError::from(InstallRefusal::ExpandedPath {
            mark: mark.to_string(),
            client: profile.title.to_string(),
        })),
    }
}

/// Formats the result for a person.
fn render_install_result(
    profile: &ClientProfile,
    answer: &McpInstallResult<'_>,
    existed: bool,
    (layer, lang): (&str, UiLanguage),
) -> String {
    let (title, file) = (profile.title, sanitize_line(&answer.file));
    let mut lines = vec![match (answer.changed, existed) {
        (true, false) => msg::cli_mcp_added(lang, title, file),
        (true, true) => msg::cli_mcp_updated(lang, title, file),
        (false, _) => msg::cli_mcp_unchanged(lang, title, file),
    }];
    if let Some(backup) = &answer.backup {
        lines.push(msg::cli_mcp_backup(lang, sanitize_line(backup)));
    }
    let (agent, role) = (
        &answer.agent,
        sanitize_line(answer.role.as_deref().unwrap_or_default()),
    );
    lines.push(if answer.registered {
        msg::cli_agent_registered(lang, agent, role, layer)
    } else {
        msg::cli_mcp_agent_known(lang, agent, role)
    });
    if client_table::is_entry_disabled(&answer.entry) {
        lines.push(msg::cli_mcp_entry_disabled(lang).to_owned());
    }
    lines.push(String::new());
    lines.push((profile.next_steps)(lang).to_owned());
    let notes = profile.notes.iter().map(|note| note(lang));
    let is_project = answer.scope == ConfigScope::Project.as_str();
    let local_paths = is_project.then(|| msg::cli_mcp_note_local_paths(lang));
    lines.extend(
        notes
            .chain(local_paths)
            .map(|note| msg::cli_mcp_note(lang, note)),
    );
    lines.join("\n")
}

fn file_busy_error(file: &ConfigFile) -> CliError {
    Refusal::from(InstallRefusal::KeepsChanging {
        file: file.display_name.to_string(),
    })
    .into()
}

#[cfg(test)]
mod tests;
