//! MCP completion of prompt arguments and resource template variables: roles, agents, tasks by number or
//! title, boards and files.

use std::collections::BTreeSet;

use polis_core::board::BoardName;
use polis_core::token::{Access, Area};
use polis_core::workspace::file::{EntryType, ListFiles};
use polis_core::{AgentStatus, TaskStatus};
use polis_ops::op::{self, Desk, ListAgents, ListBoards, TaskList};
use polis_ops::{OpError, Polis};
use rmcp::model::{CompletionInfo, Reference};

use super::prompts;
use crate::identity::Identity;

/// What can be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Role,
    Agent,
    Task,
    Whiteboard,
    Blackboard,
    File,
}

impl What {
    fn of(reference: &Reference, argument: &str) -> Option<Self> {
        match reference {
            Reference::Prompt(prompt) if !prompts::has(&prompt.name, argument) => None,
            Reference::Prompt(_) => match argument {
                prompts::ROLE => Some(Self::Role),
                prompts::TASK => Some(Self::Task),
                prompts::TO => Some(Self::Agent),
                prompts::BOARD => Some(Self::Whiteboard),
                _ => None,
            },
            Reference::Resource(resource) => {
                let rest = resource.uri.strip_prefix("polis://")?;
                match (rest.split('/').next()?, argument) {
                    ("board", "name") => Some(Self::Whiteboard),
                    ("blackboard", "path") => Some(Self::Blackboard),
                    ("task", "id") => Some(Self::Task),
                    ("file", "path") => Some(Self::File),
                    _ => None,
                }
            }
            // Reference types of future protocol revisions.
            _ => None,
        }
    }

    fn area(self) -> Area {
        match self {
            Self::Role | Self::Agent => Area::Agents,
            Self::Task => Area::Tasks,
            Self::Whiteboard => Area::Boards,
            Self::Blackboard => Area::Blackboard,
            Self::File => Area::Files,
        }
    }
}

/// Returns completions. Unknown arguments and callers without read access get an empty list, not an error.
pub(crate) async fn complete(
    polis: &Polis,
    identity: &Identity,
    reference: &Reference,
    argument: &str,
    typed: &str,
) -> Result<CompletionInfo, OpError> {
    let found = match What::of(reference, argument) {
        Some(what) if identity.scopes.allow(what.area(), Access::Read) => {
            find(polis, identity, what, typed).await?
        }
        _ => Vec::new(),
    };
    Ok(bounded(found))
}

/// Truncates to the protocol's maximum and reports the total.
fn bounded(mut found: Vec<String>) -> CompletionInfo {
    let total = u32::try_from(found.len()).ok();
    let more = found.len() > CompletionInfo::MAX_VALUES;
    found.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(found, total, more).unwrap_or_default()
}

async fn find(
    polis: &Polis,
    identity: &Identity,
    what: What,
    typed: &str,
) -> Result<Vec<String>, OpError> {
    let agent = &identity.agent;
    let typed = typed.trim();
    let begins = |name: &String| name.to_lowercase().starts_with(&typed.to_lowercase());
    match what {
        What::Role => {
            let agents = active(polis).await?;
            let named = polis.settings.roles.iter().map(str::to_owned);
            let roles: BTreeSet<String> = named.chain(agents.into_iter().map(|a| a.role)).collect();
            Ok(roles.into_iter().filter(begins).collect())
        }
        What::Agent => {
            let agents = active(polis).await?;
            let ids = agents.into_iter().map(|agent| agent.id.to_string());
            Ok(ids.filter(begins).collect())
        }
        What::Task => tasks(polis, typed).await,
        What::Whiteboard | What::Blackboard => {
            let all = op::list_boards(polis, agent, &ListBoards::default()).await?;
            let names = all.boards.iter().filter_map(|entry| {
                match (BoardName::from_stored(&entry.board)?, what) {
                    (BoardName::Blackboard(path), What::Blackboard) => Some(path.to_string()),
                    (BoardName::Blackboard(_), _) | (_, What::Blackboard) => None,
                    (board, _) => Some(board.to_string()),
                }
            });
            Ok(names.filter(begins).collect())
        }
        What::File => files(polis, identity, typed).await,
    }
}

async fn active(polis: &Polis) -> Result<Vec<polis_core::Agent>, OpError> {
    let mut agents = op::list_agents(polis, &ListAgents::default()).await?.agents;
    agents.retain(|agent| agent.status == AgentStatus::Active);
    Ok(agents)
}

/// Returns the numbers of open tasks whose number starts with the typed text or whose title contains it.
async fn tasks(polis: &Polis, typed: &str) -> Result<Vec<String>, OpError> {
    let wanted = typed.trim_start_matches('#').to_lowercase();
    let mut found = Vec::new();
    for status in [TaskStatus::InProgress, TaskStatus::Pending] {
        let ask = TaskList {
            status: Some(status),
            ..TaskList::default()
        };
        let page = op::list_tasks(polis, &ask).await?;
        let meant = page.tasks.into_iter().filter(|task| {
            task.id.to_string().starts_with(&wanted)
                || task.subject.to_lowercase().contains(&wanted)
        });
        found.extend(meant.map(|task| task.id.to_string()));
    }
    Ok(found)
}

/// Returns paths in the directory typed so far.
async fn files(polis: &Polis, identity: &Identity, typed: &str) -> Result<Vec<String>, OpError> {
    let (directory, begun) = typed.rsplit_once('/').unwrap_or(("", typed));
    let ask = ListFiles {
        path: Some(directory.to_owned()).filter(|path| !path.is_empty()),
        ..ListFiles::default()
    };
    let listed = match op::list_files(polis, Desk::own(&identity.agent), &ask).await {
        Ok(listed) => listed,
        // A directory that does not exist or is not accessible has no completions.
        Err(OpError::Refused(_)) => return Ok(Vec::new()),
        Err(OpError::Failed(failure)) if failure.code.kind() != polis_core::Kind::Internal => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let paths = listed.files.into_iter().filter_map(|entry| {
        let name = entry
            .name
            .strip_prefix(begun)
            .map(|_| entry.name.as_str())?;
        let path = if directory.is_empty() {
            name.to_owned()
        } else {
            format!("{directory}/{name}")
        };
        match entry.kind {
            EntryType::Directory => Some(format!("{path}/")),
            EntryType::File => Some(path),
            EntryType::Symlink | EntryType::Other => None,
        }
    });
    Ok(paths.collect())
}
