//! Overlays above a page: help, confirmations, forms, errors and edit conflicts, with the keys that are
//! active in each.

use polis_core::board::unified_diff;
use polis_view::Lang;
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::terminal::clean;

use super::actions::{Act, Draft};
use super::form::Form;
use super::line_input::Line;
use super::message::Refused;

/// Maximum size of a displayed diff, in bytes.
const MAX_DIFF: usize = 256 << 10;

/// An overlay above a page.
#[derive(Debug)]
pub enum Overlay {
    /// The help page, with its scroll offset.
    Help(usize),
    /// A yes/no question.
    Confirm {
        /// The question.
        question: String,
        /// The action on yes.
        act: Act,
    },
    /// An input form.
    Form(Form),
    /// The filter of the page, while it is typed.
    Filter {
        /// The input.
        line: Line,
        /// The previous filter.
        before: String,
    },
    /// A complete error message, and the refused form to return to.
    Refused(Refused, Option<Form>),
    /// An edit conflict: another author has changed the text since it was loaded.
    Clash(Box<Clash>),
    /// A draft that could not be saved for another reason.
    Kept(Box<Kept>),
    /// Confirmation of something irreversible, above the overlay it belongs to.
    Sure(Last, Box<Self>),
}

/// An irreversible choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Overwriting another author's text.
    Over,
    /// Discarding the user's text.
    Drop,
}

impl Last {
    /// Returns the question.
    pub fn question(self, draft: &Draft, lang: Lang) -> String {
        let of = &draft.of;
        match self {
            Self::Over => lang.say(
                format!("Save your text of {of} over the one that is shown?"),
                format!("用您的文本覆盖所示的 {of}？"),
            ),
            Self::Drop => lang.say(
                format!("Drop your text of {of} for good?"),
                format!("彻底放弃您的 {of} 文本？"),
            ),
        }
    }
}

impl Overlay {
    /// Returns the keys that are active in the overlay.
    pub fn keys(&self, lang: Lang) -> &'static str {
        match self {
            Self::Help(_) => lang.say("j k scroll   any other key closes", "j k 滚动   其他键关闭"),
            Self::Confirm { .. } | Self::Sure(..) => lang.say("y yes   n no", "y 是   n 否"),
            Self::Form(_) => lang.say(
                "Enter sends, Tab next, Esc drops",
                "Enter 提交，Tab 下一项，Esc 放弃",
            ),
            Self::Filter { .. } => lang.say("Enter keeps, Esc drops", "Enter 保留，Esc 放弃"),
            Self::Refused(..) => lang.say("any key closes this", "按任意键关闭"),
            Self::Clash(_) => lang.say(
                "e edit both   o save yours over it   x drop yours   Esc later   j k scroll",
                "e 合并后再编辑   o 覆盖保存   x 放弃我的   Esc 稍后   j k 滚动",
            ),
            Self::Kept(kept) if kept.draft.unread => lang.say(
                "e edit again   x drop it   Esc later",
                "e 再编辑   x 放弃   Esc 稍后",
            ),
            Self::Kept(kept) if kept.cause == Cause::Marks => lang.say(
                "e edit again   S save it with the marks   x drop it   Esc later",
                "e 再编辑   S 连同标记保存   x 放弃   Esc 稍后",
            ),
            Self::Kept(kept) if kept.cause == Cause::Editor => lang.say(
                "e edit again   r save it all the same   x drop it   Esc later",
                "e 再编辑   r 仍然保存   x 放弃   Esc 稍后",
            ),
            Self::Kept(_) => lang.say(
                "e edit again   r try again   x drop it   Esc later",
                "e 再编辑   r 重试   x 放弃   Esc 稍后",
            ),
        }
    }

    /// Returns the unsaved draft that the overlay shows.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            Self::Clash(clash) => Some(&clash.draft),
            Self::Kept(kept) => Some(&kept.draft),
            Self::Sure(_, over) => over.draft(),
            Self::Help(_)
            | Self::Confirm { .. }
            | Self::Form(_)
            | Self::Filter { .. }
            | Self::Refused(..) => None,
        }
    }
}

/// A draft that could not be saved.
#[derive(Debug)]
pub struct Kept {
    /// The user's draft.
    pub draft: Draft,
    /// The error.
    pub refused: Refused,
    /// The cause.
    pub cause: Cause,
}

/// What prevents a draft from being saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Conflict markers left in it.
    Marks,
    /// The editor failed; saving was not attempted yet.
    Editor,
    /// The store, or a rule.
    Store,
}

/// An edit conflict.
#[derive(Debug)]
pub struct Clash {
    /// The user's draft.
    pub draft: Draft,
    /// The current version.
    pub version: u64,
    /// Its text.
    pub text: String,
    /// Its author.
    pub by: String,
    /// Diff from that text to the user's.
    pub diff: StyledLines,
    /// Scroll offset.
    pub offset: usize,
}

impl Clash {
    /// Creates the conflict with the diff of the two texts.
    pub fn new(draft: Draft, version: u64, text: String, by: String) -> Self {
        let theirs = format!("{} (version {version}, {by})", draft.of);
        let diff = unified_diff(&theirs, "you", &text, &draft.text, MAX_DIFF);
        Self {
            diff: coloured(&diff),
            draft,
            version,
            text,
            by,
            offset: 0,
        }
    }

    /// Rebases the user's draft on the current version, which the user has seen.
    pub(super) fn seen(self) -> Draft {
        Draft {
            version: self.version,
            base: self.text.into(),
            ..self.draft
        }
    }
}

/// Converts a unified diff to coloured lines.
pub fn coloured(diff: &str) -> StyledLines {
    let mut lines = StyledLines::default();
    for line in diff.lines() {
        let styles: Styles = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => Style::Bold.into(),
            Some(b'+') => Style::Green.into(),
            Some(b'-') => Style::Red.into(),
            Some(b'@') => Style::Cyan.into(),
            _ => Styles::NONE,
        };
        lines.push(&clean(&line.replace('\t', "    ")), styles);
        lines.end_line();
    }
    lines
}
