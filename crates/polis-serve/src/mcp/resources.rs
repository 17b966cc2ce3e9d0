//! MCP resources: lists and reads boards, tasks and workspace files.
//!
//! Everything is read through the operations as the caller, so permissions apply. Content too long for a
//! model's context is truncated, with a note how to read the rest.

use polis_core::board::BoardName;
use polis_core::id::quoted;
use polis_core::token::{Access, Area};
use polis_core::workspace::file::{Encoding, ReadFile};
use polis_core::{Code, Refusal, TaskId, TaskStatus};
use polis_ops::op::{self, BlackboardRead, BoardEntry, BoardRead, Desk, ListBoards, TaskList};
use polis_ops::{OpError, Polis};
use rmcp::model::{MetaObject, Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;
use serde_json::Value;

use super::media::{JSON, MARKDOWN, media_type};
use super::uri::Place;
use crate::identity::Identity;

/// Maximum number of resources per page.
const PAGE: u32 = 100;
/// Approximate maximum size of returned text in bytes.
const TEXT: u64 = 64 << 10;
/// Maximum size of a binary file in bytes.
const BINARY: u64 = 1 << 20;

/// A page of the list and the cursor of the next one.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) resources: Vec<Resource>,
    pub(crate) next: Option<String>,
}

/// Position in the list: boards come first, then tasks in progress, then pending tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cursor {
    Boards(Option<String>),
    Tasks(TaskStatus, Option<TaskId>),
}

impl Cursor {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let invalid = || {
            Refusal::new(
                Code::InvalidInput,
                format!("{} is no place in the list.", quoted(text)),
                "begin again without a cursor, and pass on the nextCursor you get",
            )
        };
        let (what, after) = text.split_once(':').ok_or_else(invalid)?;
        let task = || match after {
            "" => Ok(None),
            id => id.parse().map(Some).map_err(|_| invalid()),
        };
        match what {
            "board" => Ok(Self::Boards(Some(after.to_owned()))),
            "in_progress" => Ok(Self::Tasks(TaskStatus::InProgress, task()?)),
            "pending" => Ok(Self::Tasks(TaskStatus::Pending, task()?)),
            _ => Err(invalid()),
        }
    }

    fn text(&self) -> String {
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
pub(crate) async fn list(
    polis: &Polis,
    identity: &Identity,
    cursor: Option<&str>,
) -> Result<Page, OpError> {
    let mut resources = Vec::new();
    let may = |area| identity.scopes.allow(area, Access::Read);
    let mut place = match cursor {
        Some(text) => Cursor::parse(text)?,
        None => {
            if may(Area::Tasks) {
                resources.push(tasks());
            }
            Cursor::Boards(None)
        }
    };
    loop {
        let there = u32::try_from(resources.len()).unwrap_or(PAGE);
        let Some(room) = PAGE.checked_sub(there).filter(|room| *room > 0) else {
            let next = Some(place.text());
            return Ok(Page { resources, next });
        };
        place = match place {
            Cursor::Boards(after) => {
                let ask = ListBoards {
                    cursor: after,
                    limit: Some(room),
                };
                let found = op::list_boards(polis, &identity.agent, &ask).await?;
                let boards = found.boards.iter().filter_map(board);
                resources.extend(
                    boards
                        .filter(|(place, _)| may(place.area()))
                        .map(|(_, r)| r),
                );
                match found.next {
                    Some(next) => Cursor::Boards(Some(next)),
                    None if may(Area::Tasks) => Cursor::Tasks(TaskStatus::InProgress, None),
                    None => break,
                }
            }
            Cursor::Tasks(status, after) => {
                let ask = TaskList {
                    status: Some(status),
                    limit: Some(room),
                    cursor: after,
                    ..TaskList::default()
                };
                identity.check(Area::Tasks, Access::Read)?;
                let found = op::list_tasks(polis, &ask).await?;
                resources.extend(found.tasks.iter().map(|task| {
                    Resource::new(
                        Place::Task(task.id).to_string(),
                        format!("task {}", task.id),
                    )
                    .with_title(task.subject.clone())
                    .with_description("A task of the team")
                    .with_mime_type(JSON)
                }));
                match (found.next, status) {
                    (Some(next), _) => Cursor::Tasks(status, Some(next)),
                    (None, TaskStatus::InProgress) => Cursor::Tasks(TaskStatus::Pending, None),
                    (None, _) => break,
                }
            }
        };
    }
    Ok(Page {
        resources,
        next: None,
    })
}

fn tasks() -> Resource {
    Resource::new(Place::Tasks.to_string(), "tasks")
        .with_description("The tasks that could be claimed now")
        .with_mime_type(JSON)
}

/// Returns a board's list entry. It contains neither version nor size: clients cache the list, and a model
/// would take the old values for current ones.
fn board(entry: &BoardEntry) -> Option<(Place, Resource)> {
    let name = BoardName::from_stored(&entry.board)?;
    let about = match &name {
        BoardName::Global => "Whiteboard of the whole team".to_owned(),
        BoardName::Top => "Whiteboard of the top layer".to_owned(),
        BoardName::Mid(role) => format!("Whiteboard of the role {role}"),
        BoardName::Bottom(agent) => format!("Whiteboard of the agent {agent}"),
        BoardName::Blackboard(_) => "A file of the blackboard".to_owned(),
    };
    let place = Place::Board(name);
    let resource = Resource::new(place.to_string(), entry.board.clone())
        .with_description(about)
        .with_mime_type(MARKDOWN);
    Some((place, resource))
}

/// Returns the resource templates.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let all = [
        (
            "board",
            "polis://board/{+name}",
            "A whiteboard: global, top, mid/ROLE or bottom/AGENT",
            MARKDOWN,
        ),
        (
            "blackboard",
            "polis://blackboard/{+path}",
            "A file of the blackboard",
            MARKDOWN,
        ),
        ("task", "polis://task/{id}", "A task", JSON),
    ];
    let mut templates: Vec<_> = all
        .into_iter()
        .map(|(name, uri, about, media)| {
            ResourceTemplate::new(uri, name)
                .with_description(about)
                .with_mime_type(media)
        })
        .collect();
    templates.push(
        ResourceTemplate::new("polis://file/{+path}", "file")
            .with_description("A file of your workspace"),
    );
    templates
}

/// Reads the resource at a URI.
pub(crate) async fn read(
    polis: &Polis,
    identity: &Identity,
    uri: &str,
) -> Result<ResourceContents, OpError> {
    let place: Place = uri.parse()?;
    identity.check(place.area(), Access::Read)?;
    let agent = &identity.agent;
    match place {
        Place::Tasks => {
            let ask = TaskList {
                ready: true,
                limit: Some(PAGE),
                ..TaskList::default()
            };
            json(uri, &op::list_tasks(polis, &ask).await?)
        }
        Place::Task(id) => json(uri, &op::get_task(polis, id).await?),
        Place::Board(BoardName::Blackboard(path)) => {
            let ask = BlackboardRead {
                path: path.to_string(),
                max_bytes: Some(TEXT),
                ..BlackboardRead::default()
            };
            let file = op::read_blackboard(polis, agent, &ask).await?;
            let rest = format!("blackboard_read with path={path}");
            Ok(markdown(uri, &file.content, file.version)
                .cut(file.next_offset, file.size, &rest)
                .contents())
        }
        Place::Board(board) => {
            let ask = BoardRead {
                max_bytes: Some(TEXT),
                ..BoardRead::of(board)
            };
            let view = op::read_board(polis, agent, &ask).await?;
            let rest = format!("whiteboard_read with board={}", view.board);
            let text = view.content.unwrap_or_default();
            Ok(markdown(uri, &text, view.version)
                .cut(view.next_offset, view.size, &rest)
                .contents())
        }
        Place::File(path) => file(polis, identity, uri, path).await,
    }
}

fn json(uri: &str, document: &impl Serialize) -> Result<ResourceContents, OpError> {
    let text = serde_json::to_string(document)
        .map_err(|error| polis_ops::PortError::internal("Writing the answer", error))?;
    Ok(ResourceContents::text(text, uri).with_mime_type(JSON))
}

/// A text resource being built.
struct Text {
    uri: String,
    text: String,
    media: &'static str,
    facts: Vec<(&'static str, u64)>,
}

fn markdown(uri: &str, text: &str, version: u64) -> Text {
    Text {
        uri: uri.to_owned(),
        text: text.to_owned(),
        media: MARKDOWN,
        facts: vec![("polis/version", version)],
    }
}

impl Text {
    /// Appends a note that the text is truncated and how to read the rest.
    fn cut(mut self, next: Option<u64>, size: Option<u64>, rest: &str) -> Self {
        if let (Some(next), Some(size)) = (next, size) {
            self.text.push_str(&format!(
                "\n[cut: {next} of {size} bytes; for the rest call {rest} and offset={next}]"
            ));
            self.facts.push(("polis/size", size));
            self.facts.push(("polis/nextOffset", next));
        }
        self
    }

    fn contents(self) -> ResourceContents {
        let mut meta = MetaObject::new();
        for (name, fact) in self.facts {
            meta.insert(name.to_owned(), Value::from(fact));
        }
        let contents = ResourceContents::text(self.text, self.uri).with_mime_type(self.media);
        if meta.is_empty() {
            return contents;
        }
        contents.with_meta(meta)
    }
}

async fn file(
    polis: &Polis,
    identity: &Identity,
    uri: &str,
    path: String,
) -> Result<ResourceContents, OpError> {
    let mut ask = ReadFile {
        path,
        max_bytes: Some(TEXT),
        ..ReadFile::default()
    };
    let desk = Desk::own(&identity.agent);
    match op::read_file(polis, desk, &ask).await {
        Ok(found) => {
            let mut text = Text {
                uri: uri.to_owned(),
                text: found.content,
                media: media_type(&ask.path, true),
                facts: Vec::new(),
            };
            if found.truncated {
                let (size, read) = (found.size, text.text.len());
                let line = text.text.lines().count();
                text.text.push_str(&format!(
                    "\n[cut: {read} of {size} bytes; for the rest call read_file with startLine={line}]"
                ));
                text.facts.push(("polis/size", size));
            }
            Ok(text.contents())
        }
        Err(error) if error.code() == Code::NotText => {
            ask.encoding = Encoding::Base64;
            ask.max_bytes = Some(BINARY);
            let found = op::read_file(polis, desk, &ask).await?;
            if found.truncated {
                return Err(Refusal::new(
                    Code::FileTooLarge,
                    format!(
                        "The file has {} bytes and is not text; at most {BINARY} are read as a resource.",
                        found.size
                    ),
                    "look at a part of it with run_command, or read it with read_file and encoding=base64",
                )
                .into());
            }
            Ok(ResourceContents::blob(found.content, uri)
                .with_mime_type(media_type(&ask.path, false)))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back() {
        let five = TaskId::new(5);
        for cursor in [
            Cursor::Boards(Some("mid/dev".to_owned())),
            Cursor::Boards(Some("blackboard/a:b.md".to_owned())),
            Cursor::Tasks(TaskStatus::InProgress, None),
            Cursor::Tasks(TaskStatus::Pending, five),
        ] {
            assert_eq!(Cursor::parse(&cursor.text()).unwrap(), cursor);
        }
        for bad in ["", "5", "task:5", "pending:x", "completed:1"] {
            assert_eq!(Cursor::parse(bad).unwrap_err().code, Code::InvalidInput);
        }
    }
}
