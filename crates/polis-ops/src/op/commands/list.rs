//! Operations that read recorded commands: lists finished and running commands, and shows the output of one.

use polis_core::id::quoted;
use polis_core::record::{RecordKind, Stored};
use polis_core::workspace::policy::Tier;
use polis_core::{AgentId, Code, Refusal, Standing, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::workspace_resolution::Desk;
use super::{KEPT, Output, Remembered, name};
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::PortError;

/// Maximum number of commands per page.
const MAX_PAGE: u32 = 200;
/// Default number of commands per page.
const USUAL_PAGE: u32 = 50;
/// Maximum number of pages read for one response when filtering by agent.
const MOST_PAGES: u32 = 20;
/// Maximum number of running commands read.
const MOST_RUNNING: u32 = 1_000;
/// A running command whose record was not renewed for this long counts as interrupted, in milliseconds. The record is
/// renewed every five seconds.
const UNHEARD: i64 = 15_000;

/// The parameters of listing commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListCommands {
    /// Only in this workspace, by the agent it belongs to; an agent sees only the one it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<AgentId>,
    /// Only those of this agent.
    #[serde(default, rename = "agentId", skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Only those that run, or only those that do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    /// Only those before this one: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// At most so many; 50 if left out, 200 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Commands, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandList {
    /// The commands.
    pub commands: Vec<CommandEntry>,
    /// Where the next page begins; left out if this is the last. A page may have few and a next: not all commands
    /// are looked at for one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A command that ran, or runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandEntry {
    /// Its id: `WORKSPACE/…`.
    pub id: String,
    /// Who ran it.
    pub agent: AgentId,
    /// In whose workspace.
    pub workspace: AgentId,
    /// The line of shell.
    pub command: String,
    /// Whether that is only its beginning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub command_cut: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// Whether it runs.
    pub running: bool,
    /// Whether the process that ran it was lost, and the command with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// How long it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Its exit code; 128 and the signal's number if a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether its time was up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Whether nobody wanted its result any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Whether it used more memory than it may.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub out_of_memory: bool,
    /// How strongly it was confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sandbox: Option<Tier>,
    /// How many bytes it wrote, complaints too.
    pub output_bytes: u64,
}

/// The parameters of looking at a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowCommand {
    /// Its id.
    pub id: String,
}

/// A command, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandView {
    /// The command.
    #[serde(flatten)]
    pub entry: CommandEntry,
    /// What it wrote and complained, as it came; the end of it, if there was much. Up to half a second old while
    /// it runs.
    pub output: String,
    /// How many bytes before that are left out.
    pub omitted: u64,
}

/// Returns the commands visible to the caller, newest first.
pub async fn list_commands(
    polis: &Polis,
    caller: &AgentId,
    params: &ListCommands,
) -> Result<CommandList, OpError> {
    let workspace = polis
        .workspace_seen(caller, params.workspace.as_ref())
        .await?;
    let limit = params.limit.unwrap_or(USUAL_PAGE).clamp(1, MAX_PAGE);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let before = match &params.before {
        None => "",
        Some(id) => split(id)?.1,
    };
    // Interrupted commands are included.
    let mut found = polis.running_commands().await?;
    found.retain(|entry| (workspace.as_ref()).is_none_or(|named| *named == entry.workspace));
    let mut through = None;
    if params.running != Some(true) {
        let mut ended = Vec::new();
        through = polis
            .ended_commands(
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
        let place = place(&entry.id);
        place > before
            && through.as_ref().is_none_or(|end| place <= self::place(end))
            && params.running.is_none_or(|wanted| wanted == entry.running)
            && params
                .agent
                .as_ref()
                .is_none_or(|agent| *agent == entry.agent)
    });
    found.sort_by(|a, b| place(&a.id).cmp(place(&b.id)));
    let more = found.len() > most;
    found.truncate(most);
    let last = found.last().filter(|_| more).map(|last| last.id.clone());
    Ok(CommandList {
        commands: found,
        next: last.or(through),
    })
}

/// Returns a command and the end of its output.
pub async fn show_command(
    polis: &Polis,
    caller: &AgentId,
    params: &ShowCommand,
) -> Result<CommandView, OpError> {
    let id = params.id.as_str();
    let workspace = split(id)?.0;
    let seen = polis.workspace_seen(caller, Some(&workspace)).await;
    let Ok(_) = seen else {
        return Err(not_found(id).into());
    };
    // A command that ends during the search moves from `RunningCommand` to `Command`, so `Command` is read again.
    for kind in [
        RecordKind::Command,
        RecordKind::RunningCommand,
        RecordKind::Command,
    ] {
        let Some(stored) = polis.store.record(&name(kind, id)).await? else {
            continue;
        };
        let mut entry = polis.command_entry(&stored)?;
        let output = name(RecordKind::CommandOutput, id);
        let output: Output = match polis.store.record(&output).await? {
            Some(stored) => read(&stored)?,
            None => Output::default(),
        };
        // Include output that was written between the two reads.
        let there = u64::try_from(output.text.len()).unwrap_or(u64::MAX);
        entry.output_bytes = (entry.output_bytes).max(output.omitted.saturating_add(there));
        return Ok(CommandView {
            entry,
            output: output.text,
            omitted: output.omitted,
        });
    }
    Err(not_found(id).into())
}

impl Polis {
    /// Returns the running and the interrupted commands.
    pub(in crate::op) async fn running_commands(&self) -> Result<Vec<CommandEntry>, OpError> {
        let kind = RecordKind::RunningCommand;
        let found = self.store.records(kind, None, MOST_RUNNING).await?;
        let mut entries = Vec::with_capacity(found.len());
        for stored in &found {
            entries.push(self.command_entry(stored)?);
        }
        Ok(entries)
    }

    fn command_entry(&self, stored: &Stored) -> Result<CommandEntry, OpError> {
        let what: Remembered = read(stored)?;
        let (workspace, _) = split(&stored.id)?;
        let unheard = what.renewed_at.map(|said| {
            let now = self.clock.now_millis();
            now.saturating_sub(said) > UNHEARD
        });
        let ended = what.ended.unwrap_or_default();
        let over = unheard.is_none();
        Ok(CommandEntry {
            id: stored.id.clone(),
            agent: what.agent,
            workspace,
            command: what.command,
            command_cut: what.command_cut,
            started_at: what.started_at,
            running: unheard == Some(false),
            interrupted: unheard == Some(true),
            duration_ms: over.then_some(ended.duration_ms),
            exit_code: ended.exit_code,
            signal: ended.signal,
            timed_out: ended.timed_out,
            cancelled: ended.cancelled,
            out_of_memory: ended.out_of_memory,
            sandbox: ended.sandbox,
            output_bytes: what.output_bytes,
        })
    }

    /// Collects finished commands into `found`, newest first, until there are more than `limit`; optionally only of one
    /// workspace or one agent. Returns the id of the last record read if there may be more.
    async fn ended_commands(
        &self,
        workspace: Option<&AgentId>,
        agent: Option<&AgentId>,
        before: &str,
        limit: u32,
        found: &mut Vec<CommandEntry>,
    ) -> Result<Option<String>, OpError> {
        let (most, store) = (usize::try_from(limit).unwrap_or(usize::MAX), &self.store);
        let page = match agent {
            Some(_) => KEPT,
            None => limit + 1,
        };
        let mut after = before.to_owned();
        let mut through = None;
        for _ in 0..MOST_PAGES {
            let kept = match workspace {
                None => store.commands_of_all(&after, page).await?,
                Some(of) => {
                    let after = format!("{of}/{after}");
                    let kind = RecordKind::Command;
                    (store.records_of(kind, of.as_str(), Some(&after), page)).await?
                }
            };
            let whole = kept.len() >= usize::try_from(page).unwrap_or(usize::MAX);
            for stored in kept {
                let entry = self.command_entry(&stored)?;
                place(&stored.id).clone_into(&mut after);
                through = Some(stored.id);
                if agent.is_none_or(|agent| *agent == entry.agent) {
                    found.push(entry);
                }
            }
            if !whole {
                return Ok(None);
            }
            if found.len() > most {
                break;
            }
        }
        Ok(through)
    }

    /// Returns the workspace whose commands the caller may see, or `None` for all workspaces (a human caller that names
    /// none).
    async fn workspace_seen(
        &self,
        caller: &AgentId,
        named: Option<&AgentId>,
    ) -> Result<Option<AgentId>, OpError> {
        let human = self.caller(caller).await?.standing == Standing::Human;
        if human && named.is_none() {
            return Ok(None);
        }
        let desk = Desk {
            by: caller,
            of: named,
        };
        let worker = self.at_desk(desk, "list_commands", None).await?;
        Ok(Some(worker.site.workspace))
    }
}

/// Splits a command id into its workspace and its name there.
fn split(id: &str) -> Result<(AgentId, &str), Refusal> {
    let parts = id.split_once('/').filter(|(_, rest)| !rest.is_empty());
    let (workspace, rest) = parts.ok_or_else(|| not_found(id))?;
    let workspace = workspace.parse().map_err(|_| not_found(id))?;
    Ok((workspace, rest))
}

/// Returns a command's name within its workspace, which is the sort key across workspaces.
fn place(id: &str) -> &str {
    id.split_once('/').map_or("", |(_, rest)| rest)
}

fn read<T: for<'de> Deserialize<'de>>(stored: &Stored) -> Result<T, PortError> {
    serde_json::from_str(&stored.body).map_err(|error| {
        PortError::new(
            Code::StoreCorrupt,
            "The record of a command cannot be read.",
            "run `polis doctor`; a newer polis may have written it",
        )
        .because(error)
    })
}

fn not_found(id: &str) -> Refusal {
    Refusal::new(
        Code::CommandNotFound,
        format!("No command {} is remembered, or not for you.", quoted(id)),
        "list those that are with `polis ws commands`",
    )
}
