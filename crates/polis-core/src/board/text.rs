//! Board texts: validation, and decisions about writes, edits and appends.
//!
//! The `decide_*` functions check locks, size and content, and return the changeset. The conflict functions
//! build refusals with a diff.

use serde::Serialize;

use super::MAX_BYTES;
use super::board_write::{BoardWrite, Change};
use super::diff::unified_diff;
use super::lease;
use super::name::BoardName;
use super::record::{Action, BoardHead};
use super::section::outline;
use super::splice::Splice;
use super::template_text::{Language, heading, label};
use crate::caller::Caller;
use crate::changeset::{Changeset, Write};
use crate::event::{NewEvent, Subject, kind};
use crate::id::quoted;
use crate::refusal::{Code, Details, Refusal};
use crate::time::Timestamp;

/// A board larger than this (in bytes) is changed by splices instead of rewriting its whole text.
const LARGE: u64 = 64 << 10;
/// Maximum number of splices after a whole text: a reader of the log has to apply them all.
const MOST_SPLICES: u32 = 16;
/// Heading level of an appended entry.
const ENTRY_LEVEL: u8 = 3;
/// Maximum size of a diff in a refusal, in bytes.
const MAX_DIFF: usize = 64 << 10;

/// Fails with `invalid_text` or `board_too_large` if no board can hold the text.
pub fn check(text: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        return Err(Refusal::new(
            Code::InvalidText,
            "A board cannot hold NUL characters.",
            "remove them; boards are Markdown text",
        ));
    }
    check_size(text.len() as u64)
}

/// Fails with `board_too_large` if a text is too large.
pub fn check_size(bytes: u64) -> Result<(), Refusal> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(Refusal::new(
        Code::BoardTooLarge,
        format!(
            "The board would have {bytes} bytes; at most {MAX_BYTES} (10 MB) are accepted. Nothing was changed."
        ),
        "move older parts to another board or to files, and refer to them",
    ))
}

/// A board as loaded by an operation.
#[derive(Debug, Clone, Copy)]
pub struct Current<'a> {
    /// Its head.
    pub head: &'a BoardHead,
    /// Its text; that of the template if it has no version yet.
    pub text: &'a str,
}

/// The actor of a change, and the settings that apply.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    /// The caller.
    pub caller: &'a Caller,
    /// The current time (milliseconds).
    pub now: i64,
    /// Number of versions that are kept.
    pub keep: u32,
}

/// Data of board events.
#[derive(Debug, Serialize)]
struct Told {
    bytes: u64,
}

/// Decides a replacement of the whole text. `expect` binds it to the version it was decided on.
pub fn decide_whole(
    current: Current<'_>,
    text: String,
    action: Action,
    expect: Option<u64>,
    by: By<'_>,
) -> Result<Changeset, Refusal> {
    lease::check(current.head, by.caller, by.now)?;
    check(&text)?;
    Ok(write(current.head, Change::Whole(text), action, expect, by))
}

/// Decides a replacement of the whole text by a caller that names no version. Unless `force` is set, it only
/// replaces a board without text.
///
/// Fails with `version_required` if the board has text.
pub fn decide_unversioned(
    head: &BoardHead,
    text: String,
    force: bool,
    by: By<'_>,
) -> Result<Changeset, Refusal> {
    lease::check(head, by.caller, by.now)?;
    let has_text = head.version > 0 && head.bytes > 0;
    if has_text && !force {
        return Err(Refusal::new(
            Code::VersionRequired,
            format!(
                "The board {} has text, last changed by \"{}\" at {}; replacing it needs the version you read.",
                head.name, head.by, head.at
            ),
            "read the board and give its version with --expect V, or replace it whatever it says with --force",
        ));
    }
    // Bound to the version without text, so that a concurrent write is not lost.
    let expect = (!force).then_some(head.version);
    let current = Current { head, text: "" };
    decide_whole(current, text, Action::Written, expect, by)
}

/// Decides a change of one part, based on the current version. A part that already has the requested text is
/// not changed.
pub fn decide_splice(
    current: Current<'_>,
    splice: Splice,
    by: By<'_>,
) -> Result<Changeset, Refusal> {
    let head = current.head;
    lease::check(head, by.caller, by.now)?;
    if splice.is_empty() && head.version > 0 {
        return Ok(Changeset::by(by.caller, Timestamp::from_millis(by.now)));
    }
    if splice.text.contains('\0') {
        check(&splice.text)?;
    }
    check_size((current.text.len() + splice.text.len()) as u64 - splice.removed as u64)?;
    let splice = ending_known(splice, current.text);
    let whole = head.version == 0 || head.bytes < LARGE || head.splices >= MOST_SPLICES;
    let change = if whole {
        Change::Whole(splice.apply(current.text))
    } else {
        Change::Splice(splice)
    };
    Ok(write(head, change, Action::Edited, Some(head.version), by))
}

/// Extends a splice that only truncates the text by the last remaining character, so that the splice itself
/// shows how the text ends.
fn ending_known(mut splice: Splice, text: &str) -> Splice {
    if splice.text.is_empty() && splice.start + splice.removed == text.len() {
        let kept = text.get(..splice.start).unwrap_or_default();
        if let Some(last) = kept.chars().next_back() {
            splice.start -= last.len_utf8();
            splice.removed += last.len_utf8();
            splice.text.push(last);
        }
    }
    splice
}

/// Decides an append to an existing board. It applies to any version.
pub fn decide_add(
    name: &BoardName,
    text: String,
    on_new_line: bool,
    by: By<'_>,
) -> Result<Changeset, Refusal> {
    check(&text)?;
    let change = Change::Add { text, on_new_line };
    Ok(write(
        &BoardHead::new(name.clone()),
        change,
        Action::Appended,
        None,
        by,
    ))
}

/// Fails with the reason why an append was not admitted: another agent holds the lock, or the board would
/// become too large.
pub fn refuse_add(
    head: &BoardHead,
    added: &str,
    on_new_line: bool,
    by: By<'_>,
) -> Result<(), Refusal> {
    lease::check(head, by.caller, by.now)?;
    let line_end = u64::from(on_new_line && !head.ends_line);
    check_size(head.bytes + line_end + added.len() as u64)
}

fn write(
    head: &BoardHead,
    change: Change,
    action: Action,
    expect: Option<u64>,
    by: By<'_>,
) -> Changeset {
    let event = match action {
        Action::Written => kind::BOARD_WRITTEN,
        Action::Appended => kind::BOARD_APPENDED,
        Action::Edited => kind::BOARD_EDITED,
        Action::Restored => kind::BOARD_RESTORED,
        Action::External => kind::BOARD_EXTERNAL,
    };
    let told = Told {
        bytes: change.text().len() as u64,
    };
    Changeset::by(by.caller, Timestamp::from_millis(by.now))
        .event(NewEvent::of(
            event,
            Subject::Board(head.name.clone()),
            &told,
        ))
        .write(Write::ChangeBoard(Box::new(BoardWrite {
            board: head.name.clone(),
            expect,
            change,
            action,
            now: by.now,
            limit: MAX_BYTES,
            keep: by.keep,
        })))
}

/// Formats an entry that `append` writes: with timestamp and author.
pub fn entry(content: &str, by: &Caller, at: &Timestamp, language: Language) -> String {
    format!(
        "\n\n### {} - {at}\n**{}**: {}\n\n{content}",
        heading::UPDATE.text(language),
        label::BY.text(language),
        by.id
    )
}

/// Fails with `invalid_section` if an entry has headings that would begin separate sections. This applies to
/// callers that may append to the board but not write it: they could otherwise add records that only others may
/// create.
pub fn check_entry(content: &str) -> Result<(), Refusal> {
    match outline(content)
        .sections
        .iter()
        .find(|s| s.level <= ENTRY_LEVEL)
    {
        None => Ok(()),
        Some(section) => Err(Refusal::new(
            Code::InvalidSection,
            format!(
                "The entry has the heading {}, which would begin a section of its own; you may append to this board, \
                 not write it.",
                quoted(&section.title)
            ),
            "use headings of level 4 (####) or deeper in entries",
        )),
    }
}

/// Returns the refusal for a caller that had read another version. `had` is the text of that version, if it can
/// still be reconstructed.
pub fn conflict(current: Current<'_>, expected: u64, had: Option<&str>) -> Refusal {
    let diff = had.map(|had| difference(expected, had, current));
    refuse(current, expected, diff, None)
}

/// Returns the refusal for a merge with conflicts.
pub fn merge_conflict(current: Current<'_>, expected: u64, had: &str, merged: String) -> Refusal {
    let diff = difference(expected, had, current);
    refuse(current, expected, Some(diff), Some(merged))
}

fn difference(expected: u64, had: &str, current: Current<'_>) -> String {
    let name = &current.head.name;
    unified_diff(
        &format!("{name} (version {expected})"),
        &format!("{name} (version {})", current.head.version),
        had,
        current.text,
        MAX_DIFF,
    )
}

fn refuse(
    current: Current<'_>,
    expected: u64,
    diff: Option<String>,
    merged: Option<String>,
) -> Refusal {
    let head = current.head;
    let last = if head.version == 0 {
        "nobody has written to it yet".to_owned()
    } else {
        format!("by \"{}\" at {}", head.by, head.at)
    };
    let (what, hint) = match merged {
        None => (
            "Version conflict",
            "read the board again, apply your change to it and write with its version; or add --merge",
        ),
        Some(_) => (
            "Merge conflict",
            "resolve the marked places and write the result with the current version; nothing was written",
        ),
    };
    Refusal::new(
        Code::VersionConflict,
        format!(
            "{what} on board {}: expected {expected}, got {} ({last}).",
            head.name, head.version
        ),
        hint,
    )
    .with(Details::Version {
        current_version: head.version,
        last_modified_by: head.by.clone(),
        last_modified_at: (head.version > 0).then(|| head.at.clone()),
        diff,
        merge: merged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AgentId;

    #[test]
    fn what_a_board_does_not_admit_is_refused() {
        let caller = Caller::resolve(AgentId::user(), None).unwrap();
        let (now, keep) = (0, 10);
        let caller = &caller;
        let by = By { caller, now, keep };
        let mut head = BoardHead::new(BoardName::Global);
        let at = Timestamp::from_millis(0);
        head.change(Change::Whole("no line end".to_owned()), "user", &at);
        head.bytes = MAX_BYTES - 5;
        for (added, on_new_line) in [("1234", true), ("12345", true), ("12345", false)] {
            let changes = decide_add(&head.name, added.to_owned(), on_new_line, by).unwrap();
            let Some(Write::ChangeBoard(write)) = changes.writes.first() else {
                panic!("{changes:?}");
            };
            let refused = refuse_add(&head, added, on_new_line, by).is_err();
            assert_eq!(!head.admits(write, &caller.id), refused, "{added}");
        }
    }

    #[test]
    fn text_is_replaced_without_a_version_by_force_only() {
        let caller = Caller::resolve(AgentId::user(), None).unwrap();
        let by = By {
            caller: &caller,
            now: 1,
            keep: 10,
        };
        let head = |version: u64, bytes: u64| BoardHead {
            version,
            bytes,
            ..BoardHead::new(BoardName::Global)
        };
        for (version, bytes, force, expect) in [
            (0, 0, false, Some(Some(0))),
            (3, 0, false, Some(Some(3))),
            (3, 5, false, None),
            (3, 5, true, Some(None)),
            (0, 0, true, Some(None)),
        ] {
            let decided = decide_unversioned(&head(version, bytes), "x".to_owned(), force, by);
            let decided = decided.map(|changes| match &changes.writes[..] {
                [Write::ChangeBoard(write)] => write.expect,
                other => panic!("{other:?}"),
            });
            match expect {
                Some(expect) => assert_eq!(decided, Ok(expect), "{version} {bytes} {force}"),
                None => assert_eq!(decided.unwrap_err().code, Code::VersionRequired),
            }
        }
    }
}
