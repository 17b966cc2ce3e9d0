//! MCP completion of prompt arguments and resource template variables: roles, agents, tasks by number or
//! title, boards and files.

use std::collections::BTreeSet;

use polis_core::board::BoardName;
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::workspace::file_tools::{FileEntryType, ListFilesParams};
use polis_core::{AgentStatus, TaskStatus};
use polis_ops::op::{self, ListAgentsParams, ListBoardsParams, TaskListParams};
use polis_ops::{App, OpError};
use rmcp::model::{CompletionInfo, Reference};

use super::prompts;
use crate::caller_identity::CallerIdentity;

/// Kind of value to complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompletionKind {
    Role,
    Agent,
    Task,
    Whiteboard,
    Blackboard,
    File,
}

impl CompletionKind {
    fn from_reference(reference: &Reference, argument: &str) -> Option<Self> {
        match reference {
            Reference::Prompt(prompt) if !prompts::has_argument(&prompt.name, argument) => None,
            Reference::Prompt(_) => match argument {
                prompts::ROLE_ARGUMENT => Some(Self::Role),
                prompts::TASK_ARGUMENT => Some(Self::Task),
                prompts::AGENT_ARGUMENT => Some(Self::Agent),
                prompts::BOARD_ARGUMENT => Some(Self::Whiteboard),
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

    fn area(self) -> OperationArea {
        match self {
            Self::Role | Self::Agent => OperationArea::Agents,
            Self::Task => OperationArea::Tasks,
            Self::Whiteboard => OperationArea::Boards,
            Self::Blackboard => OperationArea::Blackboard,
            Self::File => OperationArea::Files,
        }
    }
}

/// Returns completions. Unknown arguments and callers without read access get an empty list, not an error.
pub(crate) async fn complete_argument(
    app: &App,
    identity: &CallerIdentity,
    reference: &Reference,
    argument: &str,
    typed: &str,
) -> Result<CompletionInfo, OpError> {
    let found = match CompletionKind::from_reference(reference, argument) {
        Some(kind) if identity.scopes.allows(kind.area(), AccessLevel::Read) => {
            find_completions(app, identity, kind, typed).await?
        }
        _ => Vec::new(),
    };
    Ok(truncate_completions(found))
}

/// Truncates to the protocol's maximum and reports the total.
fn truncate_completions(mut found: Vec<String>) -> CompletionInfo {
    let total = u32::try_from(found.len()).ok();
    let more = found.len() > CompletionInfo::MAX_VALUES;
    found.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(found, total, more).unwrap_or_default()
}

async fn find_completions(
    app: &App,
    identity: &CallerIdentity,
    kind: CompletionKind,
    typed: &str,
) -> Result<Vec<String>, OpError> {
    let typed = typed.trim();
    let has_prefix = |name: &String| name.to_lowercase().starts_with(&typed.to_lowercase());
    match kind {
        CompletionKind::Role => {
            let agents = active_agents(app).await?;
            let configured = app.settings.roles.iter().map(str::to_owned);
            let roles: BTreeSet<String> = configured
                .chain(agents.into_iter().map(|a| a.role))
                .collect();
            Ok(roles.into_iter().filter(has_prefix).collect())
        }
        CompletionKind::Agent => {
            let agents = active_agents(app).await?;
            let ids = agents.into_iter().map(|agent| agent.id.to_string());
            Ok(ids.filter(has_prefix).collect())
        }
        CompletionKind::Task => complete_tasks(app, typed).await,
        CompletionKind::Whiteboard | CompletionKind::Blackboard => {
            let all = op::list_boards(&identity.request(app), &ListBoardsParams::default()).await?;
            let names = all.boards.iter().filter_map(|entry| {
                match (BoardName::from_stored(&entry.board)?, kind) {
                    (BoardName::Blackboard(path), CompletionKind::Blackboard) => {
                        Some(path.to_string())
                    }
                    (BoardName::Blackboard(_), _) | (_, CompletionKind::Blackboard) => None,
                    (board, _) => Some(board.to_string()),
                }
            });
            Ok(names.filter(has_prefix).collect())
        }
        CompletionKind::File => complete_files(app, identity, typed).await,
    }
}

async fn active_agents(app: &App) -> Result<Vec<polis_core::Agent>, OpError> {
    let mut agents = op::list_agents(&app.person_request(), &ListAgentsParams::default())
        .await?
        .agents;
    agents.retain(|agent| agent.status == AgentStatus::Active);
    Ok(agents)
}

/// Returns the numbers of open tasks whose number starts with the typed text or whose title contains it.
async fn complete_tasks(app: &App, typed: &str) -> Result<Vec<String>, OpError> {
    let search = typed.trim_start_matches('#').to_lowercase();
    let mut found = Vec::new();
    for status in [TaskStatus::InProgress, TaskStatus::Pending] {
        let params = TaskListParams {
            status: Some(status),
            ..TaskListParams::default()
        };
        let page = op::list_tasks(&app.person_request(), &params).await?;
        let matching = page.tasks.into_iter().filter(|task| {
            task.id.to_string().starts_with(&search)
                || task.subject.to_lowercase().contains(&search)
        });
        found.extend(matching.map(|task| task.id.to_string()));
    }
    Ok(found)
}

/// Returns paths in the directory typed so far.
async fn complete_files(
    app: &App,
    identity: &CallerIdentity,
    typed: &str,
) -> Result<Vec<String>, OpError> {
    let (directory, prefix) = typed.rsplit_once('/').unwrap_or(("", typed));
    let params = ListFilesParams {
        path: Some(directory.to_owned()).filter(|path| !path.is_empty()),
        ..ListFilesParams::default()
    };
    let listed = match op::list_files(&identity.request(app), None, &params).await {
        Ok(listed) => listed,
        // A directory that does not exist or is not accessible has no completions.
        Err(OpError::Refused(_)) => return Ok(Vec::new()),
        Err(OpError::Failed(failure))
            if failure.code.kind() != polis_core::RefusalKind::Internal =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let paths = listed.files.into_iter().filter_map(|entry| {
        let name = entry
            .name
            .strip_prefix(prefix)
            .map(|_| entry.name.as_str())?;
        let path = if directory.is_empty() {
            name.to_owned()
        } else {
            format!("{directory}/{name}")
        };
        match entry.kind {
            FileEntryType::Directory => Some(format!("{path}/")),
            FileEntryType::File => Some(path),
            FileEntryType::Symlink | FileEntryType::Other => None,
        }
    });
    Ok(paths.collect())
}
