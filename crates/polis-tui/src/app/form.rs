//! Something to fill in: one line or several, and what becomes of them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::board::BoardName;
use polis_core::{AgentId, RunId, TaskId};

use super::actions::Act;
use super::line_input::Line;

/// Lines to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// What it is about.
    pub title: String,
    /// The lines.
    pub fields: Vec<Field>,
    /// Which of them is being typed in.
    pub focus: usize,
    /// What becomes of them.
    pub purpose: Purpose,
}

/// A line with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub label: &'static str,
    /// What is typed.
    pub line: Line,
    /// Whether it may be left empty.
    pub optional: bool,
}

/// What becomes of what was filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// A comment on a task.
    Comment(TaskId),
    /// A new task: subject, description, role, type.
    Create,
    /// Approving a task as it was seen, with a note.
    Approve(TaskId, u64),
    /// An addition to a board.
    Append(BoardName),
    /// A decision to propose.
    Propose(BoardName),
    /// Why a decision is vetoed.
    Veto(BoardName, String),
    /// A new milestone.
    AddMilestone(BoardName),
    /// What an agent is told when its call is allowed or denied.
    Decide(String, bool),
    /// A message.
    Say(AgentId, Option<RunId>, Option<u64>),
}

/// What a key did to a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// It is still being filled in.
    Open,
    /// It was given up.
    Dropped,
    /// It is filled in.
    Act(Act),
}

impl Form {
    /// A form of one line.
    pub fn one(title: String, label: &'static str, optional: bool, purpose: Purpose) -> Self {
        Self::of(title, &[(label, optional)], purpose)
    }

    /// A form of several lines.
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

    /// Goes to the first line that lacks something, or makes an act of it.
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

/// What a key does to a line.
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
