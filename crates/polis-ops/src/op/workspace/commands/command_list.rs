//! Operations that read recorded commands: lists finished and running commands, and shows the output of one.

use polis_core::id::quote_untrusted;
use polis_core::number::saturating_cast;
use polis_core::record::{RecordKind, StoredRecord};
use polis_core::workspace::command_outcome::CommandOutcome;
use polis_core::{AgentId, CallerKind, Refusal, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CommandOutputRecord, CommandRecord, MIN_STORED_COMMANDS, record_name};
use crate::app::App;
use crate::error::OpError;
use crate::loading::workspace_resolution::resolve_workspace;
use crate::port::PortError;
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;

/// Maximum number of commands per page.
const MAX_PAGE_SIZE: u32 = 200;
/// Default number of commands per page.
const DEFAULT_PAGE_SIZE: u32 = 50;
/// Maximum number of pages read for one response when filtering by agent.
const MAX_PAGES_READ: u32 = 20;
/// Maximum number of running commands read.
const MAX_RUNNING_READ: u32 = 1_000;
/// A running command whose record was not renewed for this long counts as interrupted, in milliseconds. The
/// record is renewed every five seconds.
const RENEWAL_TIMEOUT_MS: i64 = 15_000;

/// Parameters of `list_commands`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListCommandsParams {
    /// Only commands in the workspace of this agent; agents see only the workspace they work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<AgentId>,
    /// Only commands run by this agent.
    #[serde(default, rename = "agentId", skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// True: only running commands; false: only finished ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    /// Only commands before this id: `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Maximum number of commands; default: 50, up to 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of commands, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandList {
    /// The commands.
    pub commands: Vec<CommandEntry>,
    /// Cursor of the next page; omitted on the last page. A page may be short and still have a next page,
    /// because one response searches only a part of the commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A running or finished command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandEntry {
    /// Its id: `WORKSPACE/…`.
    pub id: String,
    /// Agent that ran it.
    pub agent: AgentId,
    /// Agent whose workspace it ran in.
    pub workspace: AgentId,
    /// The shell command.
    pub command: String,
    /// Whether `command` is truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "commandCut")]
    pub command_truncated: bool,
    /// When it started.
    pub started_at: Timestamp,
    /// Whether it is running.
    pub running: bool,
    /// Whether it was interrupted because the process that ran it died.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// How it ended, without its output; absent while it runs and if it was interrupted.
    #[serde(flatten)]
    pub outcome: Option<CommandOutcome>,
    /// Bytes written to stdout and stderr.
    pub output_bytes: u64,
}

/// Parameters of `show_command`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowCommandParams {
    /// Its id.
    pub id: String,
}

/// A command and its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandView {
    /// The command.
    #[serde(flatten)]
    pub entry: CommandEntry,
    /// Stdout and stderr in the order of arrival; only the end, if there is much. Up to half a second old
    /// while the command runs.
    pub output: String,
    /// Number of bytes omitted before `output`.
    pub omitted: u64,
}

/// Returns the commands visible to the caller, newest first. Fails with `workspace_not_assigned` if an agent
/// has no workspace, with `permission_denied` if the caller may not use the given one, and with
/// `command_not_found` if `before` is not a command's id.
pub async fn list_commands(
    request: &Request,
    params: &ListCommandsParams,
) -> Result<CommandList, OpError> {
    let workspace = visible_workspace(request, params.workspace.as_ref()).await?;
    let limit = params
        .limit
        .unwrap_or(DEFAULT_PAGE_SIZE)
        .clamp(1, MAX_PAGE_SIZE);
    let max_entries = saturating_cast::<usize>(limit);
    let before = match &params.before {
        None => "",
        Some(id) => split_command_id(id)?.1,
    };
    // Interrupted commands are included.
    let mut found = list_running_commands(&request.app).await?;
    found.retain(|entry| (workspace.as_ref()).is_none_or(|owner| *owner == entry.workspace));
    let mut through = None;
    if params.running != Some(true) {
        let mut ended = Vec::new();
        through = collect_finished_commands(
            &request.app,
            workspace.as_ref(),
            params.agent.as_ref(),
            before,
            limit,
            &mut ended,
        )
        .await?;
        found.append(&mut ended);
    }
    found.retain(|entry| {
        let key = sort_key(&entry.id);
        key > before
            && through.as_ref().is_none_or(|end| key <= sort_key(end))
            && params
                .running
                .is_none_or(|running| running == entry.running)
            && params
                .agent
                .as_ref()
                .is_none_or(|agent| *agent == entry.agent)
    });
    found.sort_by(|a, b| sort_key(&a.id).cmp(sort_key(&b.id)));
    let more = found.len() > max_entries;
    found.truncate(max_entries);
    let last = found.last().filter(|_| more).map(|last| last.id.clone());
    Ok(CommandList {
        commands: found,
        next: last.or(through),
    })
}

/// Returns a command and the end of its output. Fails with `CommandNotFound` if it does not exist or the
/// caller may not see it.
pub async fn show_command(
    request: &Request,
    params: &ShowCommandParams,
) -> Result<CommandView, OpError> {
    let id = params.id.as_str();
    let workspace = split_command_id(id)?.0;
    let access = visible_workspace(request, Some(&workspace)).await;
    let Ok(_) = access else {
        return Err(command_not_found(id).into());
    };
    // A command that ends during the search moves from `RunningCommand` to `Command`, so `Command` is read
    // again.
    for kind in [
        RecordKind::Command,
        RecordKind::RunningCommand,
        RecordKind::Command,
    ] {
        let Some(stored) = request.app.store.record(&record_name(kind, id)).await? else {
            continue;
        };
        let mut entry = read_command_entry(&request.app, &stored)?;
        let output = record_name(RecordKind::CommandOutput, id);
        let output: CommandOutputRecord = match request.app.store.record(&output).await? {
            Some(stored) => parse_record(&stored)?,
            None => CommandOutputRecord::default(),
        };
        // Include output that was written between the two reads.
        let text_bytes = saturating_cast::<u64>(output.text.len());
        entry.output_bytes = (entry.output_bytes).max(output.omitted.saturating_add(text_bytes));
        return Ok(CommandView {
            entry,
            output: output.text,
            omitted: output.omitted,
        });
    }
    Err(command_not_found(id).into())
}

/// Returns the running and the interrupted commands. Fails only if the store does.
pub(crate) async fn list_running_commands(app: &App) -> Result<Vec<CommandEntry>, OpError> {
    let kind = RecordKind::RunningCommand;
    let found = app.store.records(kind, None, MAX_RUNNING_READ).await?;
    let mut entries = Vec::with_capacity(found.len());
    for stored in &found {
        entries.push(read_command_entry(app, stored)?);
    }
    Ok(entries)
}

fn read_command_entry(app: &App, stored: &StoredRecord) -> Result<CommandEntry, OpError> {
    let record: CommandRecord = parse_record(stored)?;
    let (workspace, _) = split_command_id(&stored.id)?;
    let is_overdue = record.renewed_at.map(|renewed_at| {
        let now = app.clock.now_millis();
        now.saturating_sub(renewed_at) > RENEWAL_TIMEOUT_MS
    });
    Ok(CommandEntry {
        id: stored.id.clone(),
        agent: record.agent,
        workspace,
        command: record.command,
        command_truncated: record.command_truncated,
        started_at: record.started_at,
        running: is_overdue == Some(false),
        interrupted: is_overdue == Some(true),
        outcome: record.outcome,
        output_bytes: record.output_bytes,
    })
}

/// Collects finished commands into `found`, newest first, until there are more than `limit`; optionally
/// only of one workspace or one agent. Returns the id of the last record read if there may be more.
async fn collect_finished_commands(
    app: &App,
    workspace: Option<&AgentId>,
    agent: Option<&AgentId>,
    before: &str,
    limit: u32,
    found: &mut Vec<CommandEntry>,
) -> Result<Option<String>, OpError> {
    let (max_entries, store) = (saturating_cast::<usize>(limit), &app.store);
    let page = match agent {
        Some(_) => MIN_STORED_COMMANDS,
        None => limit + 1,
    };
    let mut after = before.to_owned();
    let mut through = None;
    for _ in 0..MAX_PAGES_READ {
        let records = match workspace {
            None => store.commands_of_all_owners(&after, page).await?,
            Some(owner) => {
                let after = format!("{owner}/{after}");
                let kind = RecordKind::Command;
                (store.records_of_owner(kind, owner.as_str(), Some(&after), page)).await?
            }
        };
        let is_full = records.len() >= saturating_cast::<usize>(page);
        for stored in records {
            let entry = read_command_entry(app, &stored)?;
            sort_key(&stored.id).clone_into(&mut after);
            through = Some(stored.id);
            if agent.is_none_or(|agent| *agent == entry.agent) {
                found.push(entry);
            }
        }
        if !is_full {
            return Ok(None);
        }
        if found.len() > max_entries {
            break;
        }
    }
    Ok(through)
}

/// Returns the workspace whose commands the caller may see, or `None` for all workspaces (the person, if
/// none is named).
async fn visible_workspace(
    request: &Request,
    owner: Option<&AgentId>,
) -> Result<Option<AgentId>, OpError> {
    let human = request.resolve_caller().await?.kind == CallerKind::Person;
    if human && owner.is_none() {
        return Ok(None);
    }
    let actor = resolve_workspace(request, owner, "list_commands", None).await?;
    Ok(Some(actor.location.owner))
}

/// Splits a command id into its workspace and its name there.
fn split_command_id(id: &str) -> Result<(AgentId, &str), Refusal> {
    let parts = id.split_once('/').filter(|(_, rest)| !rest.is_empty());
    let (workspace, rest) = parts.ok_or_else(|| command_not_found(id))?;
    let workspace = workspace.parse().map_err(|_| command_not_found(id))?;
    Ok((workspace, rest))
}

/// Returns a command's name within its workspace, which is the sort key across workspaces.
fn sort_key(id: &str) -> &str {
    id.split_once('/').map_or("", |(_, rest)| rest)
}

fn parse_record<T: for<'de> Deserialize<'de>>(stored: &StoredRecord) -> Result<T, PortError> {
    serde_json::from_str(&stored.body)
        .map_err(|error| PortError::from(OperationRefusal::CommandDamaged).with_source(error))
}

fn command_not_found(id: &str) -> Refusal {
    Refusal::from(OperationRefusal::CommandNotFound {
        id: quote_untrusted(id),
    })
}
