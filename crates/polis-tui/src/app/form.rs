//! Input forms: one or more text fields, and the action that results from them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::board::BoardName;
use polis_core::{AgentId, RunId, TaskId};

use super::actions::Act;
use super::line_input::Line;

/// A form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The title.
    pub title: String,
    /// The fields.
    pub fields: Vec<Field>,
    /// Index of the focused field.
    pub focus: usize,
    /// What the input is for.
    pub purpose: Purpose,
}

/// A labelled text field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The label.
    pub label: &'static str,
    /// The input.
    pub line: Line,
    /// Whether it may be left empty.
    pub optional: bool,
}

/// What the input of a form is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// A comment on a task.
    Comment(TaskId),
    /// A new task: subject, description, role, type.
    Create,
    /// Approval of a task at the version the user saw, with a note.
    Approve(TaskId, u64),
    /// An addition to a board.
    Append(BoardName),
    /// A decision to propose.
    Propose(BoardName),
    /// The reason for vetoing a decision.
    Veto(BoardName, String),
    /// A new milestone.
    AddMilestone(BoardName),
    /// The note to an agent when its call is approved or denied.
    Decide(String, bool),
    /// A message.
    Say(AgentId, Option<RunId>, Option<u64>),
}

/// Result of a key press in a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// The form stays open.
    Open,
    /// The form was cancelled.
    Dropped,
    /// The form was submitted.
    Act(Act),
}

impl Form {
    /// Creates a form with one field.
    pub fn one(title: String, label: &'static str, optional: bool, purpose: Purpose) -> Self {
        Self::of(title, &[(label, optional)], purpose)
    }

    /// Creates a form with several fields.
    pub fn of(title: String, fields: &[(&'static str, bool)], purpose: Purpose) -> Self {
        let fields = fields.iter().map(|(label, optional)| Field {
            label,
            line: Line::default(),
            optional: *optional,
        });
        Self {
            title,
            fields: fields.collect(),
            focus: 0,
            purpose,
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Filled {
        match key.code {
            KeyCode::Esc => return Filled::Dropped,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Filled::Dropped;
            }
            KeyCode::Enter => return self.finish(),
            KeyCode::Tab | KeyCode::Down => self.step(1),
            KeyCode::BackTab | KeyCode::Up => self.step(self.fields.len().saturating_sub(1)),
            _ => {
                if let Some(field) = self.fields.get_mut(self.focus) {
                    edit(&mut field.line, key);
                }
            }
        }
        Filled::Open
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(field) = self.fields.get_mut(self.focus) {
            field.line.insert(text);
        }
    }

    fn step(&mut self, by: usize) {
        self.focus = (self.focus + by) % self.fields.len().max(1);
    }

    /// Focuses the first required field that is empty, or submits the form.
    fn finish(&mut self) -> Filled {
        let lacks = |field: &Field| !field.optional && field.line.text().trim().is_empty();
        if let Some(at) = self.fields.iter().position(lacks) {
            self.focus = at;
            return Filled::Open;
        }
        Filled::Act(self.act())
    }

    fn act(&self) -> Act {
        let text = |n: usize| {
            let field = self.fields.get(n);
            field.map_or_else(String::new, |field| field.line.text().trim().to_owned())
        };
        match self.purpose.clone() {
            Purpose::Comment(task) => Act::Comment {
                task,
                body: text(0),
            },
            Purpose::Create => Act::Create {
                subject: text(0),
                description: text(1),
                role: text(2),
                sort: text(3),
            },
            Purpose::Approve(task, version) => Act::Approve {
                task,
                version,
                note: text(0),
            },
            Purpose::Append(board) => Act::Append {
                board,
                content: text(0),
            },
            Purpose::Propose(board) => Act::Propose(board, text(0)),
            Purpose::Veto(board, id) => Act::Veto {
                board,
                id,
                reason: text(0),
            },
            Purpose::AddMilestone(board) => Act::AddMilestone(board, text(0)),
            Purpose::Decide(id, allowed) => Act::Decide {
                id,
                allowed,
                note: text(0),
            },
            Purpose::Say(to, run, reply_to) => Act::Say {
                to,
                run,
                text: text(0),
                reply_to,
            },
        }
    }
}

/// Applies a key to a text field.
pub(super) fn edit(line: &mut Line, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('u') if control => line.clear(),
        KeyCode::Char('w') if control => line.delete_word(),
        KeyCode::Char('a') if control => line.home(),
        KeyCode::Char('e') if control => line.end(),
        KeyCode::Char('h') if control => line.backspace(),
        KeyCode::Char(c) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
            line.insert(c.encode_utf8(&mut [0; 4]));
        }
        KeyCode::Backspace => line.backspace(),
        KeyCode::Delete => line.delete(),
        KeyCode::Left => line.left(),
        KeyCode::Right => line.right(),
        KeyCode::Home => line.home(),
        KeyCode::End => line.end(),
        _ => {}
    }
}
