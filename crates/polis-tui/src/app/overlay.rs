//! Overlays above a page: help, confirmations, forms, the filter input, errors, unsaved drafts and edit
//! conflicts, with the hint that names the keys of each. `input_handling` and `drafts` handle the keys.

use polis_core::board::unified_diff;
use polis_i18n::msg;
use polis_view::UiLanguage;
use polis_view::style::{StyleSet, StyledLines, TextStyle};
use polis_view::terminal_sanitizer::sanitize_line;

use super::actions::{EditDraft, UserAction};
use super::app_message::DisplayError;
use super::input_form::InputForm;
use super::line_input::LineInput;

/// Maximum size of a displayed diff, in bytes.
const MAX_DIFF_BYTES: usize = 256 << 10;

/// An overlay above a page.
#[derive(Debug)]
pub enum Overlay {
    /// The help page, with its scroll offset.
    Help(usize),
    /// A yes/no question.
    Confirm {
        /// Text of the question, in the display language.
        question: String,
        /// The action on yes.
        act: UserAction,
    },
    /// A form with one or more text fields.
    Form(InputForm),
    /// The filter of the page, while it is typed.
    Filter {
        /// The filter typed so far.
        line: LineInput,
        /// The previous filter, which Esc restores.
        before: String,
    },
    /// A complete error message, and the refused form to return to.
    Error(DisplayError, Option<InputForm>),
    /// An edit conflict: another author has changed the text since it was loaded.
    Conflict(Box<EditConflict>),
    /// A draft that could not be saved for another reason.
    UnsavedDraft(Box<UnsavedDraft>),
    /// Confirmation of something irreversible, above the overlay it belongs to.
    ConfirmDraftChoice(DraftChoice, Box<Self>),
}

/// An irreversible choice about a draft, which needs confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftChoice {
    /// Overwriting another author's text.
    Overwrite,
    /// Discarding the draft.
    Discard,
}

impl DraftChoice {
    /// Returns the question that asks for confirmation.
    pub fn question(self, draft: &EditDraft, lang: UiLanguage) -> String {
        let target = &draft.target;
        match self {
            Self::Overwrite => msg::tui_overwrite_question(lang, target),
            Self::Discard => msg::tui_discard_draft_question(lang, target),
        }
    }
}

impl Overlay {
    /// Returns the hint that names the active keys of the overlay.
    pub fn key_hints(&self, lang: UiLanguage) -> &'static str {
        match self {
            Self::Help(_) => msg::tui_hint_scroll_or_close(lang),
            Self::Confirm { .. } | Self::ConfirmDraftChoice(..) => msg::tui_hint_yes_no(lang),
            Self::Form(_) => msg::tui_hint_form(lang),
            Self::Filter { .. } => msg::tui_hint_filter(lang),
            Self::Error(..) => msg::tui_hint_close(lang),
            Self::Conflict(_) => msg::tui_hint_conflict(lang),
            Self::UnsavedDraft(unsaved) if unsaved.draft.unreadable => {
                msg::tui_hint_failed_draft(lang)
            }
            Self::UnsavedDraft(unsaved) if unsaved.cause == SaveFailure::ConflictMarkers => {
                msg::tui_hint_conflict_markers(lang)
            }
            Self::UnsavedDraft(unsaved) if unsaved.cause == SaveFailure::Editor => {
                msg::tui_hint_save_anyway(lang)
            }
            Self::UnsavedDraft(_) => msg::tui_hint_retry(lang),
        }
    }

    /// Returns the unsaved draft that the overlay shows.
    pub fn draft(&self) -> Option<&EditDraft> {
        match self {
            Self::Conflict(conflict) => Some(&conflict.draft),
            Self::UnsavedDraft(unsaved) => Some(&unsaved.draft),
            Self::ConfirmDraftChoice(_, overlay) => overlay.draft(),
            Self::Help(_)
            | Self::Confirm { .. }
            | Self::Form(_)
            | Self::Filter { .. }
            | Self::Error(..) => None,
        }
    }
}

/// A draft that could not be saved.
#[derive(Debug)]
pub struct UnsavedDraft {
    /// The draft with the edited text.
    pub draft: EditDraft,
    /// Error of the editor or of the operation.
    pub error: DisplayError,
    /// Kind of failure; it decides which keys are offered.
    pub cause: SaveFailure,
}

/// What prevents a draft from being saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveFailure {
    /// The text still contains conflict markers.
    ConflictMarkers,
    /// The editor failed; saving was not attempted yet.
    Editor,
    /// The operation failed: the store was unreachable, or a rule refused the change.
    Store,
}

/// An edit conflict: another author has saved a newer version since the draft was loaded.
#[derive(Debug)]
pub struct EditConflict {
    /// The draft that was not saved.
    pub draft: EditDraft,
    /// Current version of the board or task.
    pub version: u64,
    /// Text of the current version.
    pub text: String,
    /// Author of the current text; empty if unknown.
    pub author: String,
    /// Diff from the current text to the draft.
    pub diff: StyledLines,
    /// First visible line of the diff.
    pub offset: usize,
}

impl EditConflict {
    /// Creates the conflict with the diff of the two texts.
    pub fn new(draft: EditDraft, version: u64, text: String, author: String) -> Self {
        let theirs = format!("{} (version {version}, {author})", draft.target);
        let diff = unified_diff(&theirs, "you", &text, &draft.text, MAX_DIFF_BYTES);
        Self {
            diff: styled_diff(&diff),
            draft,
            version,
            text,
            author,
            offset: 0,
        }
    }

    /// Returns the draft based on the current version, whose difference to the draft was shown.
    pub(super) fn rebased_draft(self) -> EditDraft {
        EditDraft {
            version: self.version,
            base: self.text.into(),
            ..self.draft
        }
    }
}

/// Converts a unified diff to coloured lines.
pub fn styled_diff(diff: &str) -> StyledLines {
    let mut lines = StyledLines::default();
    for line in diff.lines() {
        let styles: StyleSet = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => TextStyle::Bold.into(),
            Some(b'+') => TextStyle::Green.into(),
            Some(b'-') => TextStyle::Red.into(),
            Some(b'@') => TextStyle::Cyan.into(),
            _ => StyleSet::NONE,
        };
        lines.push(&sanitize_line(&line.replace('\t', "    ")), styles);
        lines.end_line();
    }
    lines
}
