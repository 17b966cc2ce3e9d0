//! What lies over a page: help, a question, a form, a text that somebody else has changed too. Which keys
//! count there is said here.

use polis_core::board::unified_diff;
use polis_view::Lang;
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::terminal::clean;

use super::actions::{Act, Draft};
use super::form::Form;
use super::line_input::Line;
use super::message::Refused;

/// The longest difference that is shown, in bytes.
const MAX_DIFF: usize = 256 << 10;

/// What lies over a page.
#[derive(Debug)]
pub enum Overlay {
    /// The keys, scrolled so far.
    Help(usize),
    /// A question with yes and no.
    Confirm {
        /// The question.
        question: String,
        /// What is done on yes.
        act: Act,
    },
    /// Something to fill in.
    Form(Form),
    /// What the page is narrowed to, while it is typed.
    Filter {
        /// What is typed.
        line: Line,
        /// What it was before.
        before: String,
    },
    /// A refusal in full, and the form that was refused, which is there again after it.
    Refused(Refused, Option<Form>),
    /// A text that somebody else has changed since it was read.
    Clash(Box<Clash>),
    /// A draft that could not be saved for another reason.
    Kept(Box<Kept>),
    /// Whether something that cannot be undone is meant, over what it was asked for.
    Sure(Last, Box<Self>),
}

/// What cannot be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Writing over what somebody else wrote.
    Over,
    /// Giving the person's text up.
    Drop,
}

impl Last {
    /// The question.
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
    /// The keys that count while it is open.
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

    /// The text of a person that is not saved yet.
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
    /// The person's text.
    pub draft: Draft,
    /// Why.
    pub refused: Refused,
    /// Who would not have it.
    pub cause: Cause,
}

/// What keeps a draft from being saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The marks of a conflict that are left in it.
    Marks,
    /// An editor that failed: it was not tried to save it yet.
    Editor,
    /// The store, or a rule.
    Store,
}

/// A text that two have changed.
#[derive(Debug)]
pub struct Clash {
    /// The person's text.
    pub draft: Draft,
    /// The version now.
    pub version: u64,
    /// Its text now.
    pub text: String,
    /// Who wrote that.
    pub by: String,
    /// From that text to the person's.
    pub diff: StyledLines,
    /// How far it is scrolled.
    pub offset: usize,
}

impl Clash {
    /// Compares the two.
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

    /// The person's text as one that begins with what is there now, which the person has seen.
    pub(super) fn seen(self) -> Draft {
        Draft {
            version: self.version,
            base: self.text.into(),
            ..self.draft
        }
    }
}

/// A unified difference as lines with colours.
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
