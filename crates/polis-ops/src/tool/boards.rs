//! Tools for whiteboards, decisions and milestones: definitions and text rendering.

use polis_core::board::decision::Decision;

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{PAGE, TEXT, at_most, fit, join, more, rest};
use crate::op::{
    self, BoardAppend, BoardChanged, BoardDiff, BoardHistory, BoardList, BoardLock, BoardLocked,
    BoardOverwrite, BoardRead, BoardReleased, BoardUnlock, BoardVersions, BoardView,
    DecisionRequest, DecisionView, Decisions, ListBoards, MilestoneChange, MilestoneView,
    Milestones, OfBoard, SectionChange, VersionDiff, VersionRestore, VersionShow, VersionText,
    cut_text,
};

/// The whiteboard tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("whiteboard_list", Boards, Look, ListBoards => BoardList, list, { listed },
        "List the boards and blackboard files you may read."),
    tool!("whiteboard_read", Boards, Look, BoardRead => BoardView, read, { usual, listed },
        "Read a board, or the section under a heading."),
    tool!("whiteboard_write", Boards, Add, BoardOverwrite => BoardChanged, write, { usual, listed },
        "Replace a board's whole text. A board that has text needs expectedVersion, the version you read."),
    tool!("whiteboard_append", Boards, Add, BoardAppend => BoardChanged, append, { usual, listed },
        "Add an entry, signed and dated, to a board's end."),
    tool!("whiteboard_section", Boards, Add, SectionChange => BoardChanged, section, { usual, listed },
        "Change only the section under a heading of a board."),
    tool!("whiteboard_lock", Boards, Add, BoardLock => BoardLocked, lock, { listed },
        "Lock a board for a while."),
    tool!("whiteboard_unlock", Boards, Add, BoardUnlock => BoardReleased, unlock, { listed, idempotent },
        "Give a board's lock back."),
    tool!("whiteboard_history", Boards, Look, BoardHistory => BoardVersions, history, { listed },
        "List a board's versions, newest first."),
    tool!("whiteboard_show", Boards, Look, VersionShow => VersionText, show, { listed },
        "Read an older version of a board."),
    tool!("whiteboard_diff", Boards, Look, BoardDiff => VersionDiff, diff, { listed },
        "Compare two versions of a board."),
    tool!("whiteboard_restore", Boards, Add, VersionRestore => BoardChanged, restore, { listed },
        "Bring an older version of a board back."),
    tool!("whiteboard_decisions", Boards, Look, OfBoard => Decisions, decisions, { listed },
        "List the decisions on a board."),
    tool!("whiteboard_decide", Boards, Add, DecisionRequest => DecisionView, decide, { listed },
        "Propose a decision, or sign, veto or appeal one."),
    tool!("whiteboard_milestones", Boards, Look, OfBoard => Milestones, milestones, { listed },
        "List the milestones on a board."),
    tool!("whiteboard_milestone", Boards, Add, MilestoneChange => MilestoneView, milestone, { listed },
        "Add a milestone, or tick it off."),
];

async fn list(call: Call<'_>, mut given: ListBoards) -> Told<BoardList> {
    if call.brief {
        given.limit = given.limit.or(Some(PAGE));
    }
    let mut page = op::list_boards(call.polis, call.by, &given).await?;
    if call.brief && fit(&mut page.boards) {
        page.next = page.boards.last().map(|entry| entry.board.clone());
    }
    let lines = page.boards.iter().map(|one| {
        let locked = one.locked_by.as_ref();
        let locked = locked.map_or_else(String::new, |by| format!(", locked by {by}"));
        format!(
            "{} version {}, {} bytes{locked}",
            one.board, one.version, one.bytes
        )
    });
    let text = join(lines, "No boards.");
    let cut = more(page.boards.len(), "cursor", page.next.as_ref());
    Ok(Reply::new(page, text).cut(cut))
}

async fn read(call: Call<'_>, mut given: BoardRead) -> Told<BoardView> {
    if call.brief {
        given.max_bytes = at_most(given.max_bytes);
    }
    let view = op::read_board(call.polis, call.by, &given).await?;
    let Some(content) = &view.content else {
        let text = format!("{} is still at version {}.", view.board, view.version);
        return Ok(Reply::new(view, text));
    };
    let mut text = format!("{} version {}", view.board, view.version);
    if let Some(section) = &view.section_version {
        text.push_str(&format!(", section version {section}"));
    }
    if let Some(holder) = &view.locked_by {
        text.push_str(&format!(", locked by {holder}"));
    }
    text.push_str(&format!("\n\n{content}"));
    let cut = rest(view.next_offset, view.size);
    Ok(Reply::new(view, text).cut(cut))
}

fn changed(view: BoardChanged) -> Told<BoardChanged> {
    let merged = if view.merged {
        ", merged with what others changed"
    } else {
        ""
    };
    let text = format!("{} is at version {}{merged}.", view.board, view.version);
    Ok(Reply::new(view, text))
}

async fn write(call: Call<'_>, given: BoardOverwrite) -> Told<BoardChanged> {
    changed(op::write_board(call.polis, call.by, &given).await?)
}

async fn append(call: Call<'_>, given: BoardAppend) -> Told<BoardChanged> {
    changed(op::append_board(call.polis, call.by, &given).await?)
}

async fn section(call: Call<'_>, given: SectionChange) -> Told<BoardChanged> {
    changed(op::edit_section(call.polis, call.by, &given).await?)
}

async fn restore(call: Call<'_>, given: VersionRestore) -> Told<BoardChanged> {
    changed(op::restore_board(call.polis, call.by, &given).await?)
}

async fn lock(call: Call<'_>, given: BoardLock) -> Told<BoardLocked> {
    let locked = op::lock_board(call.polis, call.by, &given).await?;
    let text = format!(
        "{} is locked by {} until {}; token {}",
        given.board, locked.holder, locked.expires_at, locked.token
    );
    Ok(Reply::new(locked, text))
}

async fn unlock(call: Call<'_>, given: BoardUnlock) -> Told<BoardReleased> {
    let released = op::unlock_board(call.polis, call.by, &given).await?;
    Ok(Reply::new(released, format!("{} is free.", given.board)))
}

async fn history(call: Call<'_>, mut given: BoardHistory) -> Told<BoardVersions> {
    let by_default = call.brief && given.limit.is_none();
    if by_default {
        given.limit = Some(PAGE);
    }
    let mut all = op::board_history(call.polis, call.by, &given).await?;
    let cut = call.brief && fit(&mut all.versions);
    let lines = all.versions.iter().map(|one| {
        format!(
            "{} {} {} {}, {} bytes",
            one.version,
            one.at,
            one.by,
            one.action.as_str(),
            one.bytes
        )
    });
    let text = join(lines, "Nobody has written to it yet.");
    let shown = all.versions.len();
    let full = usize::try_from(PAGE).is_ok_and(|page| shown >= page);
    let cut = (cut || (full && by_default)).then(|| format!("{shown} shown; for more pass limit"));
    Ok(Reply::new(all, text).cut(cut))
}

async fn show(call: Call<'_>, mut given: VersionShow) -> Told<VersionText> {
    if call.brief {
        given.max_bytes = at_most(given.max_bytes);
    }
    let shown = op::show_version(call.polis, call.by, &given).await?;
    let text = match shown.content.is_empty() {
        true => format!("Version {} has no text here.", shown.version),
        false => shown.content.as_ref().clone(),
    };
    let cut = rest(shown.next_offset, shown.size);
    Ok(Reply::new(shown, text).cut(cut))
}

async fn diff(call: Call<'_>, given: BoardDiff) -> Told<VersionDiff> {
    let mut compared = op::diff_board(call.polis, call.by, &given).await?;
    let whole = compared.diff.len();
    if call.brief {
        let shown = cut_text(&compared.diff, usize::try_from(TEXT).unwrap_or(usize::MAX)).len();
        compared.diff.truncate(shown);
    }
    let shown = compared.diff.len();
    let how = "compare nearer versions, or read them with whiteboard_show";
    let cut = (shown < whole).then(|| format!("cut: {shown} of {whole} bytes; {how}"));
    let text = if compared.diff.is_empty() {
        "The two versions are the same.".to_owned()
    } else {
        compared.diff.clone()
    };
    Ok(Reply::new(compared, text).cut(cut))
}

/// Note for a truncated list: the omitted entries are on the board.
fn on_the_board(shown: usize) -> String {
    format!("{shown} shown; read the others on the board with whiteboard_read")
}

async fn decisions(call: Call<'_>, given: OfBoard) -> Told<Decisions> {
    let mut all = op::board_decisions(call.polis, call.by, &given).await?;
    let cut = call.brief && fit(&mut all.decisions);
    let text = join(all.decisions.iter().map(decision), "No decisions.");
    let shown = all.decisions.len();
    Ok(Reply::new(all, text).cut(cut.then(|| on_the_board(shown))))
}

async fn decide(call: Call<'_>, given: DecisionRequest) -> Told<DecisionView> {
    let view = op::decide(call.polis, call.by, &given.try_into()?).await?;
    let text = decision(&view.decision);
    Ok(Reply::new(view, text))
}

fn decision(one: &Decision) -> String {
    let signed = if one.signers.is_empty() {
        String::new()
    } else {
        format!(", signed by {}", one.signers.join(", "))
    };
    format!(
        "#{} {}{signed}: {}",
        one.id,
        one.status.as_str(),
        one.content
    )
}

async fn milestones(call: Call<'_>, given: OfBoard) -> Told<Milestones> {
    let mut all = op::board_milestones(call.polis, call.by, &given).await?;
    let cut = call.brief && fit(&mut all.milestones);
    let lines = all.milestones.iter().map(|one| {
        let mark = if one.done { "[x]" } else { "[ ]" };
        format!("{mark} {}: {}", one.title, one.description)
    });
    let text = join(lines, "No milestones.");
    let shown = all.milestones.len();
    Ok(Reply::new(all, text).cut(cut.then(|| on_the_board(shown))))
}

async fn milestone(call: Call<'_>, given: MilestoneChange) -> Told<MilestoneView> {
    let view = op::change_milestone(call.polis, call.by, &given).await?;
    let did = if view.milestone.done {
        "reached"
    } else {
        "added"
    };
    let text = format!("Milestone {did}: {}", view.milestone.title);
    Ok(Reply::new(view, text))
}
