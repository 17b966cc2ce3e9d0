//! Rules for writing boards: whole-text writes, edits and appends, and validation of the text.
//!
//! The `decide_*` functions check lock, size and content, and return the changeset. An append is decided
//! without loading the board: the store checks lock and size at the commit, and [`check_append`] finds out
//! why it was not admitted. [`version_conflict`] and [`merge_conflict`] build refusals with a diff.

use super::MAX_BOARD_BYTES;
use super::board_lease;
use super::board_name::BoardName;
use super::board_record::{BoardHead, VersionAction};
use super::board_write::{BoardChange, BoardWrite};
use super::diff::unified_diff;
use super::section::parse_outline;
use super::splice::TextSplice;
use super::template_text::{ContentLanguage, heading, label};
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite};
use crate::event::{BoardChangedEvent, BoardFileEvent, EventPayload, EventSubject, NewEvent};
use crate::id::quote_untrusted;
use crate::refusal::{BoardRefusal, Refusal, RefusalDetails};
use crate::timestamp::Timestamp;

/// A board larger than this (in bytes) is changed by splices instead of rewriting its whole text.
const LARGE_BOARD_BYTES: u64 = 64 << 10;
/// Maximum number of splices after a whole text: a reader of the log has to apply them all.
const MAX_SPLICES: u32 = 16;
/// Heading level of an appended entry.
const ENTRY_LEVEL: u8 = 3;
/// Maximum size of a diff in a refusal, in bytes.
const MAX_DIFF_BYTES: usize = 64 << 10;

/// Fails with `invalid_text` or `board_too_large` if no board can hold the text.
pub fn check_board_text(text: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        return Err(Refusal::from(BoardRefusal::HasNul));
    }
    check_board_size(text.len() as u64)
}

/// Fails with `board_too_large` if a text is too large.
pub fn check_board_size(bytes: u64) -> Result<(), Refusal> {
    if bytes <= MAX_BOARD_BYTES {
        return Ok(());
    }
    Err(Refusal::from(BoardRefusal::TooLarge {
        bytes,
        max_board_bytes: MAX_BOARD_BYTES,
    }))
}

/// A board as loaded by an operation.
#[derive(Debug, Clone, Copy)]
pub struct CurrentBoard<'a> {
    /// Head of the board.
    pub head: &'a BoardHead,
    /// Text of the board; that of the template if it has no version yet.
    pub text: &'a str,
}

/// The actor of a change, its time, and the settings that apply.
#[derive(Debug, Clone, Copy)]
pub struct BoardWriteContext<'a> {
    /// The agent or person that writes.
    pub caller: &'a Caller,
    /// The current time (milliseconds).
    pub now: i64,
    /// Number of versions that are kept.
    pub max_versions: u32,
}

/// Returns the changeset that replaces the whole text. `expect` binds it to the version it was decided on.
/// Fails with `board_locked`, `invalid_text` or `board_too_large`.
pub fn decide_replace_text(
    current: CurrentBoard<'_>,
    text: String,
    action: VersionAction,
    expect: Option<u64>,
    context: BoardWriteContext<'_>,
) -> Result<Changeset, Refusal> {
    board_lease::check_board_lock(current.head, context.caller, context.now)?;
    check_board_text(&text)?;
    Ok(board_changeset(
        current.head,
        BoardChange::Whole(text),
        action,
        expect,
        context,
    ))
}

/// Returns the changeset that replaces the whole text for a caller that names no version. Unless `force` is
/// set, only a board without text is replaced.
///
/// Fails with `version_required` if the board has text, and like [`decide_replace_text`].
pub fn decide_unversioned_replace(
    head: &BoardHead,
    text: String,
    force: bool,
    context: BoardWriteContext<'_>,
) -> Result<Changeset, Refusal> {
    board_lease::check_board_lock(head, context.caller, context.now)?;
    let has_text = head.version > 0 && head.bytes > 0;
    if has_text && !force {
        return Err(Refusal::from(BoardRefusal::VersionRequired {
            board: head.name.to_string(),
            author: head.modified_by.to_string(),
            at: head.modified_at.to_string(),
        }));
    }
    // Bound to the version without text, so that a concurrent write is not lost.
    let expect = (!force).then_some(head.version);
    let current = CurrentBoard { head, text: "" };
    decide_replace_text(current, text, VersionAction::Written, expect, context)
}

/// Returns the changeset that changes one part, bound to the current version. It is empty if the part already
/// has the requested text. Fails with `board_locked`, `invalid_text` or `board_too_large`.
pub fn decide_splice_text(
    current: CurrentBoard<'_>,
    splice: TextSplice,
    context: BoardWriteContext<'_>,
) -> Result<Changeset, Refusal> {
    let head = current.head;
    board_lease::check_board_lock(head, context.caller, context.now)?;
    if splice.is_empty() && head.version > 0 {
        return Ok(Changeset::new(
            context.caller,
            Timestamp::from_millis(context.now),
        ));
    }
    if splice.text.contains('\0') {
        check_board_text(&splice.text)?;
    }
    check_board_size((current.text.len() + splice.text.len()) as u64 - splice.removed as u64)?;
    let splice = include_last_character(splice, current.text);
    let whole = head.version == 0 || head.bytes < LARGE_BOARD_BYTES || head.splices >= MAX_SPLICES;
    let change = if whole {
        BoardChange::Whole(splice.apply(current.text))
    } else {
        BoardChange::Splice(splice)
    };
    Ok(board_changeset(
        head,
        change,
        VersionAction::Edited,
        Some(head.version),
        context,
    ))
}

/// Extends a splice that only truncates the text by the last remaining character, so that the splice itself
/// shows how the text ends.
fn include_last_character(mut splice: TextSplice, text: &str) -> TextSplice {
    if splice.text.is_empty() && splice.start + splice.removed == text.len() {
        let remaining = text.get(..splice.start).unwrap_or_default();
        if let Some(last) = remaining.chars().next_back() {
            splice.start -= last.len_utf8();
            splice.removed += last.len_utf8();
            splice.text.push(last);
        }
    }
    splice
}

/// Returns the changeset that appends to an existing board, whatever its version. Fails with `invalid_text`
/// or `board_too_large` if no board can hold the text.
pub fn decide_append_text(
    name: &BoardName,
    text: String,
    on_new_line: bool,
    context: BoardWriteContext<'_>,
) -> Result<Changeset, Refusal> {
    check_board_text(&text)?;
    let change = BoardChange::Add { text, on_new_line };
    Ok(board_changeset(
        &BoardHead::new(name.clone()),
        change,
        VersionAction::Appended,
        None,
        context,
    ))
}

/// Fails with the reason why an append was not admitted: another agent holds the lock, or the board would
/// become too large.
pub fn check_append(
    head: &BoardHead,
    added: &str,
    on_new_line: bool,
    context: BoardWriteContext<'_>,
) -> Result<(), Refusal> {
    board_lease::check_board_lock(head, context.caller, context.now)?;
    let line_end = u64::from(on_new_line && !head.ends_line);
    check_board_size(head.bytes + line_end + added.len() as u64)
}

fn board_changeset(
    head: &BoardHead,
    change: BoardChange,
    action: VersionAction,
    expect: Option<u64>,
    context: BoardWriteContext<'_>,
) -> Changeset {
    let bytes = change.inserted_text().len() as u64;
    let payload = match action {
        VersionAction::Written => EventPayload::BoardWritten(BoardChangedEvent { bytes }),
        VersionAction::Appended => EventPayload::BoardAppended(BoardChangedEvent { bytes }),
        VersionAction::Edited => EventPayload::BoardEdited(BoardChangedEvent { bytes }),
        VersionAction::Restored => EventPayload::BoardRestored(BoardChangedEvent { bytes }),
        VersionAction::External => EventPayload::BoardEditedExternally(BoardFileEvent {
            version: head.version + 1,
            bytes,
        }),
    };
    let subject = EventSubject::Board(head.name.clone());
    Changeset::new(context.caller, Timestamp::from_millis(context.now))
        .with_event(NewEvent::new(subject, payload))
        .with_write(StoreWrite::ChangeBoard(Box::new(BoardWrite {
            board: head.name.clone(),
            expect,
            change,
            action,
            now: context.now,
            max_bytes: MAX_BOARD_BYTES,
            max_versions: context.max_versions,
        })))
}

/// Formats an entry that `append` writes: with timestamp and author.
pub fn format_entry(
    content: &str,
    caller: &Caller,
    at: &Timestamp,
    language: ContentLanguage,
) -> String {
    format!(
        "\n\n### {} - {at}\n**{}**: {}\n\n{content}",
        heading::UPDATE.in_language(language),
        label::BY.in_language(language),
        caller.id
    )
}

/// Fails with `invalid_section` if an entry has headings that would begin separate sections. This applies to
/// callers that may append to the board but not write it: they could otherwise add records that only others
/// may create.
pub fn check_entry_headings(content: &str) -> Result<(), Refusal> {
    match parse_outline(content)
        .sections
        .iter()
        .find(|s| s.level <= ENTRY_LEVEL)
    {
        None => Ok(()),
        Some(section) => Err(Refusal::from(BoardRefusal::EntryHeading {
            title: quote_untrusted(&section.title),
        })),
    }
}

/// Returns the refusal for a caller that had read another version. `expected_text` is the text of that
/// version, if it can still be reconstructed.
pub fn version_conflict(
    current: CurrentBoard<'_>,
    expected: u64,
    expected_text: Option<&str>,
) -> Refusal {
    let diff = expected_text.map(|expected_text| diff_to_current(expected, expected_text, current));
    conflict_refusal(current, expected, diff, None)
}

/// Returns the refusal for a merge with conflicts; `merged` is the text with conflict markers.
pub fn merge_conflict(
    current: CurrentBoard<'_>,
    expected: u64,
    expected_text: &str,
    merged: String,
) -> Refusal {
    let diff = diff_to_current(expected, expected_text, current);
    conflict_refusal(current, expected, Some(diff), Some(merged))
}

fn diff_to_current(expected: u64, expected_text: &str, current: CurrentBoard<'_>) -> String {
    let name = &current.head.name;
    unified_diff(
        &format!("{name} (version {expected})"),
        &format!("{name} (version {})", current.head.version),
        expected_text,
        current.text,
        MAX_DIFF_BYTES,
    )
}

fn conflict_refusal(
    current: CurrentBoard<'_>,
    expected: u64,
    diff: Option<String>,
    merged: Option<String>,
) -> Refusal {
    let head = current.head;
    let board = head.name.to_string();
    let current_version = head.version;
    let author = head.modified_by.clone();
    let at = head.modified_at.to_string();
    let refusal = match merged {
        None if head.version == 0 => BoardRefusal::VersionConflictUnwritten {
            board,
            expected,
            current: current_version,
        },
        None => BoardRefusal::VersionConflict {
            board,
            expected,
            current: current_version,
            author,
            at,
        },
        Some(_) => BoardRefusal::MergeConflict {
            board,
            expected,
            current: current_version,
            author,
            at,
        },
    };
    Refusal::from(refusal).with_details(RefusalDetails::Version {
        current_version,
        last_modified_by: head.modified_by.clone(),
        last_modified_at: (head.version > 0).then(|| head.modified_at.clone()),
        diff,
        merge: merged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;
    use crate::id::AgentId;

    #[test]
    fn append_is_refused_exactly_when_head_does_not_admit_it() {
        let caller = Caller::resolve(AgentId::user(), None).unwrap();
        let (now, keep) = (0, 10);
        let caller = &caller;
        let context = BoardWriteContext {
            caller,
            now,
            max_versions: keep,
        };
        let mut head = BoardHead::new(BoardName::Global);
        let at = Timestamp::from_millis(0);
        head.apply_change(BoardChange::Whole("no line end".to_owned()), "user", &at);
        head.bytes = MAX_BOARD_BYTES - 5;
        for (added, on_new_line) in [("1234", true), ("12345", true), ("12345", false)] {
            let changes =
                decide_append_text(&head.name, added.to_owned(), on_new_line, context).unwrap();
            let Some(StoreWrite::ChangeBoard(write)) = changes.writes.first() else {
                panic!("{changes:?}");
            };
            let refused = check_append(&head, added, on_new_line, context).is_err();
            assert_eq!(!head.admits_write(write, &caller.id), refused, "{added}");
        }
    }

    #[test]
    fn unversioned_replace_of_text_needs_force() {
        let caller = Caller::resolve(AgentId::user(), None).unwrap();
        let context = BoardWriteContext {
            caller: &caller,
            now: 1,
            max_versions: 10,
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
            let result =
                decide_unversioned_replace(&head(version, bytes), "x".to_owned(), force, context);
            let result = result.map(|changes| match &changes.writes[..] {
                [StoreWrite::ChangeBoard(write)] => write.expect,
                other => panic!("{other:?}"),
            });
            match expect {
                Some(expect) => assert_eq!(result, Ok(expect), "{version} {bytes} {force}"),
                None => assert_eq!(result.unwrap_err().code, RefusalCode::VERSION_REQUIRED),
            }
        }
    }
}
