//! MCP resources: lists boards and tasks, and reads boards, tasks and workspace files.
//!
//! The scopes of the token are checked for each area. Boards and files are read through the operations as the
//! caller, so permissions apply. Tasks are read as the person, because every agent may read all tasks. Text of
//! boards and files that is too long for a model's context is truncated, with a note on how to read the rest; a
//! binary file that is too large is refused.

use polis_core::board::BoardName;
use polis_core::id::quote_untrusted;
use polis_core::task::TaskCursor;
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::workspace::file_tools::{FileEncoding, ReadFileParams};
use polis_core::{Refusal, RefusalCode, TaskId, TaskStatus};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{
    self, BlackboardReadParams, BoardEntry, BoardReadParams, ListBoardsParams, TaskListParams,
};
use polis_ops::{App, OpError};
use rmcp::model::{MetaObject, Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;
use serde_json::Value;

use super::media_types::{JSON_MEDIA_TYPE, MARKDOWN_MEDIA_TYPE, media_type_for_path};
use super::resource_uri::ResourceUri;
use crate::caller_identity::CallerIdentity;
use crate::refusal_tables::McpRefusal;

/// Maximum number of resources per page.
const RESOURCES_PER_PAGE: u32 = 100;
/// Approximate maximum size of returned text in bytes.
const MAX_TEXT_BYTES: u64 = 64 << 10;
/// Maximum size of a binary file in bytes.
const MAX_BINARY_BYTES: u64 = 1 << 20;

/// A page of the list and the cursor of the next one.
#[derive(Debug)]
pub(crate) struct ResourcePage {
    pub(crate) resources: Vec<Resource>,
    pub(crate) next: Option<String>,
}

/// Position in the list: boards come first, then tasks in progress, then pending tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ResourceCursor {
    Boards(Option<String>),
    Tasks(TaskStatus, Option<TaskId>),
}

impl ResourceCursor {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let invalid = || {
            Refusal::from(McpRefusal::InvalidCursor {
                cursor: quote_untrusted(text),
            })
        };
        let (kind, after) = text.split_once(':').ok_or_else(invalid)?;
        let task = || match after {
            "" => Ok(None),
            id => id.parse().map(Some).map_err(|_| invalid()),
        };
        match kind {
            "board" => Ok(Self::Boards(Some(after.to_owned()))),
            "in_progress" => Ok(Self::Tasks(TaskStatus::InProgress, task()?)),
            "pending" => Ok(Self::Tasks(TaskStatus::Pending, task()?)),
            _ => Err(invalid()),
        }
    }

    fn encode(&self) -> String {
        match self {
            Self::Boards(after) => format!("board:{}", after.as_deref().unwrap_or_default()),
            Self::Tasks(status, after) => {
                let after = after.map(|id| id.to_string()).unwrap_or_default();
                format!("{}:{after}", status.as_str())
            }
        }
    }
}

/// Returns a page of the resources the caller may read. Workspace files are not listed: there may be very
/// many.
pub(crate) async fn list_resources(
    app: &App,
    identity: &CallerIdentity,
    cursor: Option<&str>,
    lang: UiLanguage,
) -> Result<ResourcePage, OpError> {
    let mut resources = Vec::new();
    let may_read = |area| identity.scopes.allows(area, AccessLevel::Read);
    let mut position = match cursor {
        Some(text) => ResourceCursor::parse(text)?,
        None => {
            if may_read(OperationArea::Tasks) {
                resources.push(task_list_resource(lang));
            }
            ResourceCursor::Boards(None)
        }
    };
    loop {
        let listed = u32::try_from(resources.len()).unwrap_or(RESOURCES_PER_PAGE);
        let Some(remaining) = RESOURCES_PER_PAGE
            .checked_sub(listed)
            .filter(|remaining| *remaining > 0)
        else {
            let next = Some(position.encode());
            return Ok(ResourcePage { resources, next });
        };
        position = match position {
            ResourceCursor::Boards(after) => {
                let params = ListBoardsParams {
                    cursor: after,
                    limit: Some(remaining),
                };
                let found = op::list_boards(&identity.request(app), &params).await?;
                let boards = found.boards.iter();
                let boards = boards.filter_map(|entry| board_resource(entry, lang));
                resources.extend(
                    boards
                        .filter(|(uri, _)| may_read(uri.area()))
                        .map(|(_, r)| r),
                );
                match found.next {
                    Some(next) => ResourceCursor::Boards(Some(next)),
                    None if may_read(OperationArea::Tasks) => {
                        ResourceCursor::Tasks(TaskStatus::InProgress, None)
                    }
                    None => break,
                }
            }
            ResourceCursor::Tasks(status, after) => {
                let params = TaskListParams {
                    status: Some(status),
                    limit: Some(remaining),
                    cursor: after.map(TaskCursor::from),
                    ..TaskListParams::default()
                };
                identity.check_scope(OperationArea::Tasks, AccessLevel::Read)?;
                let found = op::list_tasks(&app.person_request(), &params).await?;
                resources.extend(found.tasks.iter().map(|task| {
                    Resource::new(
                        ResourceUri::Task(task.id).to_string(),
                        msg::mcp_task_name(lang, task.id),
                    )
                    .with_title(task.subject.clone())
                    .with_description(msg::mcp_task_description(lang))
                    .with_mime_type(JSON_MEDIA_TYPE)
                }));
                match (found.next, status) {
                    (Some(next), _) => ResourceCursor::Tasks(status, Some(next.id)),
                    (None, TaskStatus::InProgress) => {
                        ResourceCursor::Tasks(TaskStatus::Pending, None)
                    }
                    (None, _) => break,
                }
            }
        };
    }
    Ok(ResourcePage {
        resources,
        next: None,
    })
}

fn task_list_resource(lang: UiLanguage) -> Resource {
    Resource::new(ResourceUri::Tasks.to_string(), msg::mcp_tasks_name(lang))
        .with_description(msg::mcp_tasks_description(lang))
        .with_mime_type(JSON_MEDIA_TYPE)
}

/// Returns a board's list entry. It contains neither version nor size: clients cache the list, and a model
/// would take the old values for current ones.
fn board_resource(entry: &BoardEntry, lang: UiLanguage) -> Option<(ResourceUri, Resource)> {
    let name = BoardName::from_stored(&entry.board)?;
    let description = match &name {
        BoardName::Global => msg::mcp_global_board_description(lang).to_owned(),
        BoardName::Top => msg::mcp_top_board_description(lang).to_owned(),
        BoardName::Mid(role) => msg::mcp_role_board_description(lang, role),
        BoardName::Bottom(agent) => msg::mcp_agent_board_description(lang, agent),
        BoardName::Blackboard(_) => msg::mcp_blackboard_description(lang).to_owned(),
    };
    let uri = ResourceUri::Board(name);
    let resource = Resource::new(uri.to_string(), entry.board.clone())
        .with_description(description)
        .with_mime_type(MARKDOWN_MEDIA_TYPE);
    Some((uri, resource))
}

/// Returns the resource templates.
pub(crate) fn resource_templates(lang: UiLanguage) -> Vec<ResourceTemplate> {
    let all = [
        (
            "board",
            "polis://board/{+name}",
            msg::mcp_board_template(lang),
            MARKDOWN_MEDIA_TYPE,
        ),
        (
            "blackboard",
            "polis://blackboard/{+path}",
            msg::mcp_blackboard_description(lang),
            MARKDOWN_MEDIA_TYPE,
        ),
        (
            "task",
            "polis://task/{id}",
            msg::mcp_task_template(lang),
            JSON_MEDIA_TYPE,
        ),
    ];
    let mut templates: Vec<_> = all
        .into_iter()
        .map(|(name, uri, description, media)| {
            ResourceTemplate::new(uri, name)
                .with_description(description)
                .with_mime_type(media)
        })
        .collect();
    templates.push(
        ResourceTemplate::new("polis://file/{+path}", "file")
            .with_description(msg::mcp_file_template(lang)),
    );
    templates
}

/// Reads the resource at a URI.
pub(crate) async fn read_resource(
    app: &App,
    identity: &CallerIdentity,
    uri: &str,
    lang: UiLanguage,
) -> Result<ResourceContents, OpError> {
    let resource: ResourceUri = uri.parse()?;
    identity.check_scope(resource.area(), AccessLevel::Read)?;
    match resource {
        ResourceUri::Tasks => {
            let params = TaskListParams {
                ready: true,
                limit: Some(RESOURCES_PER_PAGE),
                ..TaskListParams::default()
            };
            json_contents(uri, &op::list_tasks(&app.person_request(), &params).await?)
        }
        ResourceUri::Task(id) => {
            json_contents(uri, &op::get_task(&app.person_request(), id).await?)
        }
        ResourceUri::Board(BoardName::Blackboard(path)) => {
            let params = BlackboardReadParams {
                path: path.to_string(),
                max_bytes: Some(MAX_TEXT_BYTES),
                ..BlackboardReadParams::default()
            };
            let file = op::read_blackboard(&identity.request(app), &params).await?;
            let rest = msg::mcp_call_with(lang, "blackboard_read", format!("path={path}"));
            Ok(markdown_resource(uri, &file.content, file.version)
                .with_truncation_note(lang, file.next_offset, file.size, &rest)
                .into_contents())
        }
        ResourceUri::Board(board) => {
            let params = BoardReadParams {
                max_bytes: Some(MAX_TEXT_BYTES),
                ..BoardReadParams::for_board(board)
            };
            let view = op::read_board(&identity.request(app), &params).await?;
            let board = format!("board={}", view.board);
            let rest = msg::mcp_call_with(lang, "whiteboard_read", board);
            let text = view.content.unwrap_or_default();
            Ok(markdown_resource(uri, &text, view.version)
                .with_truncation_note(lang, view.next_offset, view.size, &rest)
                .into_contents())
        }
        ResourceUri::File(path) => read_file_resource(app, identity, uri, path, lang).await,
    }
}

fn json_contents(uri: &str, document: &impl Serialize) -> Result<ResourceContents, OpError> {
    let text = serde_json::to_string(document)
        .map_err(|error| polis_ops::PortError::internal("Writing the response", error))?;
    Ok(ResourceContents::text(text, uri).with_mime_type(JSON_MEDIA_TYPE))
}

/// A text resource being built.
struct TextResource {
    uri: String,
    text: String,
    media: &'static str,
    metadata: Vec<(&'static str, u64)>,
}

fn markdown_resource(uri: &str, text: &str, version: u64) -> TextResource {
    TextResource {
        uri: uri.to_owned(),
        text: text.to_owned(),
        media: MARKDOWN_MEDIA_TYPE,
        metadata: vec![("polis/version", version)],
    }
}

impl TextResource {
    /// Appends a note that the text is truncated and how to read the rest.
    fn with_truncation_note(
        mut self,
        lang: UiLanguage,
        next: Option<u64>,
        size: Option<u64>,
        rest: &str,
    ) -> Self {
        if let (Some(next), Some(size)) = (next, size) {
            let note = msg::mcp_text_truncated(lang, next, size, rest, next);
            self.text.push_str(&format!("\n[{note}]"));
            self.metadata.push(("polis/size", size));
            self.metadata.push(("polis/nextOffset", next));
        }
        self
    }

    fn into_contents(self) -> ResourceContents {
        let mut meta = MetaObject::new();
        for (name, fact) in self.metadata {
            meta.insert(name.to_owned(), Value::from(fact));
        }
        let contents = ResourceContents::text(self.text, self.uri).with_mime_type(self.media);
        if meta.is_empty() {
            return contents;
        }
        contents.with_meta(meta)
    }
}

async fn read_file_resource(
    app: &App,
    identity: &CallerIdentity,
    uri: &str,
    path: String,
    lang: UiLanguage,
) -> Result<ResourceContents, OpError> {
    let mut params = ReadFileParams {
        path,
        max_bytes: Some(MAX_TEXT_BYTES),
        ..ReadFileParams::default()
    };
    match op::read_file(&identity.request(app), None, &params).await {
        Ok(found) => {
            let mut text = TextResource {
                uri: uri.to_owned(),
                text: found.content,
                media: media_type_for_path(&params.path, true),
                metadata: Vec::new(),
            };
            if found.truncated {
                let (size, read) = (found.size, text.text.len());
                let line = text.text.lines().count();
                let note = msg::mcp_file_truncated(lang, read, size, line);
                text.text.push_str(&format!("\n[{note}]"));
                text.metadata.push(("polis/size", size));
            }
            Ok(text.into_contents())
        }
        Err(error) if error.code() == RefusalCode::NOT_TEXT => {
            params.encoding = FileEncoding::Base64;
            params.max_bytes = Some(MAX_BINARY_BYTES);
            let found = op::read_file(&identity.request(app), None, &params).await?;
            if found.truncated {
                return Err(Refusal::from(McpRefusal::BinaryTooLarge {
                    size: found.size,
                    max_binary_bytes: MAX_BINARY_BYTES,
                })
                .into());
            }
            Ok(ResourceContents::blob(found.content, uri)
                .with_mime_type(media_type_for_path(&params.path, false)))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_cursor_round_trips() {
        let five = TaskId::new(5);
        for cursor in [
            ResourceCursor::Boards(Some("mid/dev".to_owned())),
            ResourceCursor::Boards(Some("blackboard/a:b.md".to_owned())),
            ResourceCursor::Tasks(TaskStatus::InProgress, None),
            ResourceCursor::Tasks(TaskStatus::Pending, five),
        ] {
            assert_eq!(ResourceCursor::parse(&cursor.encode()).unwrap(), cursor);
        }
        for bad in ["", "5", "task:5", "pending:x", "completed:1"] {
            assert_eq!(
                ResourceCursor::parse(bad).unwrap_err().code,
                RefusalCode::INVALID_INPUT
            );
        }
    }
}
