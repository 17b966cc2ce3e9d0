//! Input forms: one or more text fields, and the action that results from them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::board::BoardName;
use polis_core::{AgentId, RunId, TaskId};

use super::actions::UserAction;
use super::line_input::LineInput;

/// An input form with one or more text fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputForm {
    /// Title of the box in which it is drawn.
    pub title: String,
    /// Fields, in the order in which they are drawn.
    pub fields: Vec<FormField>,
    /// Index of the focused field.
    pub focus: usize,
    /// Determines the action that the form results in.
    pub purpose: FormPurpose,
}

/// A labelled text field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormField {
    /// Label in the display language.
    pub label: &'static str,
    /// Text typed so far.
    pub line: LineInput,
    /// Whether it may be left empty.
    pub optional: bool,
}

/// Purpose of a form, with the parts of the action that are not typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormPurpose {
    /// A comment on a task.
    Comment(TaskId),
    /// A new task: subject, description, role, type, priority.
    Create,
    /// Approval of a task at the version that was shown, with a note.
    Approve(TaskId, u64),
    /// An addition to a board.
    Append(BoardName),
    /// A decision to propose.
    Propose(BoardName),
    /// The reason for vetoing a decision.
    Veto(BoardName, String),
    /// The title of a new milestone.
    AddMilestone(BoardName),
    /// The note to an agent when its call is approved or denied.
    DecideCall(String, bool),
    /// A message to an agent, in its run, as a reply to the message with this number.
    SendMessage(AgentId, Option<RunId>, Option<u64>),
}

/// Result of a key press in a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormOutcome {
    /// The form stays open.
    Open,
    /// The form was cancelled.
    Cancelled,
    /// The form was submitted.
    Submitted(UserAction),
}

impl InputForm {
    /// Creates a form with one field.
    pub fn with_field(
        title: String,
        label: &'static str,
        optional: bool,
        purpose: FormPurpose,
    ) -> Self {
        Self::with_fields(title, &[(label, optional)], purpose)
    }

    /// Creates a form with several fields.
    pub fn with_fields(
        title: String,
        fields: &[(&'static str, bool)],
        purpose: FormPurpose,
    ) -> Self {
        let fields = fields.iter().map(|(label, optional)| FormField {
            label,
            line: LineInput::default(),
            optional: *optional,
        });
        Self {
            title,
            fields: fields.collect(),
            focus: 0,
            purpose,
        }
    }

    pub(super) fn handle_key(&mut self, key: KeyEvent) -> FormOutcome {
        match key.code {
            KeyCode::Esc => return FormOutcome::Cancelled,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return FormOutcome::Cancelled;
            }
            KeyCode::Enter => return self.submit(),
            KeyCode::Tab | KeyCode::Down => self.move_focus(1),
            KeyCode::BackTab | KeyCode::Up => self.move_focus(self.fields.len().saturating_sub(1)),
            _ => {
                if let Some(field) = self.fields.get_mut(self.focus) {
                    apply_edit_key(&mut field.line, key);
                }
            }
        }
        FormOutcome::Open
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(field) = self.fields.get_mut(self.focus) {
            field.line.insert(text);
        }
    }

    fn move_focus(&mut self, step: usize) {
        self.focus = (self.focus + step) % self.fields.len().max(1);
    }

    /// Focuses the first required field that is empty, or submits the form.
    fn submit(&mut self) -> FormOutcome {
        let is_missing = |field: &FormField| !field.optional && field.line.text().trim().is_empty();
        if let Some(at) = self.fields.iter().position(is_missing) {
            self.focus = at;
            return FormOutcome::Open;
        }
        FormOutcome::Submitted(self.action())
    }

    fn action(&self) -> UserAction {
        let text = |n: usize| {
            let field = self.fields.get(n);
            field.map_or_else(String::new, |field| field.line.text().trim().to_owned())
        };
        match self.purpose.clone() {
            FormPurpose::Comment(task) => UserAction::Comment {
                task,
                body: text(0),
            },
            FormPurpose::Create => UserAction::Create {
                subject: text(0),
                description: text(1),
                role: text(2),
                sort: text(3),
                priority: text(4),
            },
            FormPurpose::Approve(task, version) => UserAction::Approve {
                task,
                version,
                note: text(0),
            },
            FormPurpose::Append(board) => UserAction::Append {
                board,
                content: text(0),
            },
            FormPurpose::Propose(board) => UserAction::Propose(board, text(0)),
            FormPurpose::Veto(board, id) => UserAction::Veto {
                board,
                id,
                reason: text(0),
            },
            FormPurpose::AddMilestone(board) => UserAction::AddMilestone(board, text(0)),
            FormPurpose::DecideCall(id, allowed) => UserAction::DecideCall {
                id,
                allowed,
                note: text(0),
            },
            FormPurpose::SendMessage(to, run, reply_to) => UserAction::SendMessage {
                to,
                run,
                text: text(0),
                reply_to,
            },
        }
    }
}

/// Applies an editing key to a text field; other keys have no effect.
pub(super) fn apply_edit_key(line: &mut LineInput, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('u') if control => line.clear(),
        KeyCode::Char('w') if control => line.delete_word(),
        KeyCode::Char('a') if control => line.move_to_start(),
        KeyCode::Char('e') if control => line.move_to_end(),
        KeyCode::Char('h') if control => line.backspace(),
        KeyCode::Char(c) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
            line.insert(c.encode_utf8(&mut [0; 4]));
        }
        KeyCode::Backspace => line.backspace(),
        KeyCode::Delete => line.delete_forward(),
        KeyCode::Left => line.move_left(),
        KeyCode::Right => line.move_right(),
        KeyCode::Home => line.move_to_start(),
        KeyCode::End => line.move_to_end(),
        _ => {}
    }
}
