//! Tools for whiteboards, decisions and milestones: definitions, and handlers that call the operation, shorten
//! its result for a model and render it as text.

use polis_core::board::board_record::VersionAction;
use polis_core::board::decision::{BoardDecision, DecisionStatus};
use polis_core::number::saturating_cast;
use polis_i18n::{UiLanguage, msg};

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{
    self, BoardAppendParams, BoardChangeResult, BoardDecideParams, BoardDecisionList,
    BoardDiffParams, BoardHistoryParams, BoardList, BoardLockParams, BoardLockResult,
    BoardMilestoneList, BoardNameParams, BoardReadParams, BoardRestoreParams, BoardUnlockParams,
    BoardUnlockResult, BoardVersionDiff, BoardVersionList, BoardVersionShowParams,
    BoardVersionText, BoardView, BoardWriteParams, DecisionView, ListBoardsParams,
    MilestoneChangeParams, MilestoneView, SectionEditParams,
};
use crate::text_range::truncate_text;
use crate::tool::Tool;
use crate::tool::truncation::{
    DEFAULT_PAGE_SIZE, RESULT_TEXT_BYTES, fit_entries, join_lines, limit_text_bytes,
    next_offset_note, next_page_note,
};

/// Definitions of the whiteboard tools.
pub(super) const BOARD_TOOLS: &[Tool] = &[
    tool!("whiteboard_list", Boards, ReadOnly, ListBoardsParams => BoardList, list_boards, { is_offered_to_agents }),
    tool!("whiteboard_read", Boards, ReadOnly, BoardReadParams => BoardView, read_board, { is_default, is_offered_to_agents }),
    tool!("whiteboard_write", Boards, Additive, BoardWriteParams => BoardChangeResult, write_board, { is_default, is_offered_to_agents }),
    tool!("whiteboard_append", Boards, Additive, BoardAppendParams => BoardChangeResult, append_board, { is_default, is_offered_to_agents }),
    tool!("whiteboard_section", Boards, Additive, SectionEditParams => BoardChangeResult, edit_section, { is_default, is_offered_to_agents }),
    tool!("whiteboard_lock", Boards, Additive, BoardLockParams => BoardLockResult, lock_board, { is_offered_to_agents }),
    tool!("whiteboard_unlock", Boards, Additive, BoardUnlockParams => BoardUnlockResult, unlock_board, { is_offered_to_agents, idempotent }),
    tool!("whiteboard_history", Boards, ReadOnly, BoardHistoryParams => BoardVersionList, list_board_versions, { is_offered_to_agents }),
    tool!("whiteboard_show", Boards, ReadOnly, BoardVersionShowParams => BoardVersionText, show_board_version, { is_offered_to_agents }),
    tool!("whiteboard_diff", Boards, ReadOnly, BoardDiffParams => BoardVersionDiff, diff_board, { is_offered_to_agents }),
    tool!("whiteboard_restore", Boards, Additive, BoardRestoreParams => BoardChangeResult, restore_board, { is_offered_to_agents }),
    tool!("whiteboard_decisions", Boards, ReadOnly, BoardNameParams => BoardDecisionList, list_decisions, { is_offered_to_agents }),
    tool!("whiteboard_decide", Boards, Additive, BoardDecideParams => DecisionView, change_decision, { is_offered_to_agents }),
    tool!("whiteboard_milestones", Boards, ReadOnly, BoardNameParams => BoardMilestoneList, list_milestones, { is_offered_to_agents }),
    tool!("whiteboard_milestone", Boards, Additive, MilestoneChangeParams => MilestoneView, change_milestone, { is_offered_to_agents }),
];

async fn list_boards(call: ToolContext<'_>, mut params: ListBoardsParams) -> ToolResult<BoardList> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE));
    }
    let mut page = op::list_boards(call.request, &params).await?;
    if call.for_model && fit_entries(&mut page.boards) {
        page.next = page.boards.last().map(|entry| entry.board.clone());
    }
    let lines = page.boards.iter().map(|one| {
        let mut line = msg::tool_board_entry(call.lang, &one.board, one.version, one.bytes);
        if let Some(holder) = &one.locked_by {
            line.push_str(&msg::tool_board_locked_by(call.lang, holder));
        }
        line
    });
    let text = join_lines(lines, msg::tool_board_none(call.lang));
    let note = next_page_note(call.lang, page.boards.len(), "cursor", page.next.as_ref());
    Ok(ToolReply::new(page, text).with_continuation(note))
}

async fn read_board(call: ToolContext<'_>, mut params: BoardReadParams) -> ToolResult<BoardView> {
    if call.for_model {
        params.max_bytes = limit_text_bytes(params.max_bytes);
    }
    let view = op::read_board(call.request, &params).await?;
    let Some(content) = &view.content else {
        let text = msg::tool_board_unchanged(call.lang, &view.board, view.version);
        return Ok(ToolReply::new(view, text));
    };
    let mut text = msg::tool_board_head(call.lang, &view.board, view.version);
    if let Some(section) = &view.section_version {
        text.push_str(&msg::tool_board_section_version(call.lang, section));
    }
    if let Some(holder) = &view.locked_by {
        text.push_str(&msg::tool_board_locked_by(call.lang, holder));
    }
    text.push_str(&format!("\n\n{content}"));
    let note = next_offset_note(call.lang, view.next_offset, view.size);
    Ok(ToolReply::new(view, text).with_continuation(note))
}

fn reply_with_version(view: BoardChangeResult, lang: UiLanguage) -> ToolResult<BoardChangeResult> {
    let text = if view.merged {
        msg::tool_board_merged(lang, &view.board, view.version)
    } else {
        msg::tool_board_changed(lang, &view.board, view.version)
    };
    Ok(ToolReply::new(view, text))
}

async fn write_board(
    call: ToolContext<'_>,
    params: BoardWriteParams,
) -> ToolResult<BoardChangeResult> {
    reply_with_version(op::write_board(call.request, &params).await?, call.lang)
}

async fn append_board(
    call: ToolContext<'_>,
    params: BoardAppendParams,
) -> ToolResult<BoardChangeResult> {
    reply_with_version(op::append_board(call.request, &params).await?, call.lang)
}

async fn edit_section(
    call: ToolContext<'_>,
    params: SectionEditParams,
) -> ToolResult<BoardChangeResult> {
    reply_with_version(op::edit_section(call.request, &params).await?, call.lang)
}

async fn restore_board(
    call: ToolContext<'_>,
    params: BoardRestoreParams,
) -> ToolResult<BoardChangeResult> {
    reply_with_version(op::restore_board(call.request, &params).await?, call.lang)
}

async fn lock_board(call: ToolContext<'_>, params: BoardLockParams) -> ToolResult<BoardLockResult> {
    let locked = op::lock_board(call.request, &params).await?;
    let text = msg::tool_board_locked(
        call.lang,
        &params.board,
        &locked.holder,
        &locked.expires_at,
        &locked.token,
    );
    Ok(ToolReply::new(locked, text))
}

async fn unlock_board(
    call: ToolContext<'_>,
    params: BoardUnlockParams,
) -> ToolResult<BoardUnlockResult> {
    let result = op::unlock_board(call.request, &params).await?;
    Ok(ToolReply::new(
        result,
        msg::tool_board_unlocked(call.lang, &params.board),
    ))
}

async fn list_board_versions(
    call: ToolContext<'_>,
    mut params: BoardHistoryParams,
) -> ToolResult<BoardVersionList> {
    let is_default = call.for_model && params.limit.is_none();
    if is_default {
        params.limit = Some(DEFAULT_PAGE_SIZE);
    }
    let mut all = op::list_board_versions(call.request, &params).await?;
    let truncated = call.for_model && fit_entries(&mut all.versions);
    let lines = all.versions.iter().map(|one| {
        msg::tool_board_version_line(
            call.lang,
            one.version,
            &one.at,
            &one.by,
            version_action_label(one.action, call.lang),
            one.bytes,
        )
    });
    let text = join_lines(lines, msg::tool_board_never_written(call.lang));
    let count = all.versions.len();
    let full = usize::try_from(DEFAULT_PAGE_SIZE).is_ok_and(|page| count >= page);
    let note = (truncated || (full && is_default))
        .then(|| msg::tool_board_more_versions(call.lang, count));
    Ok(ToolReply::new(all, text).with_continuation(note))
}

async fn show_board_version(
    call: ToolContext<'_>,
    mut params: BoardVersionShowParams,
) -> ToolResult<BoardVersionText> {
    if call.for_model {
        params.max_bytes = limit_text_bytes(params.max_bytes);
    }
    let version = op::show_board_version(call.request, &params).await?;
    let text = if version.content.is_empty() {
        msg::tool_board_no_text_in_range(call.lang, version.version)
    } else {
        version.content.as_ref().clone()
    };
    let note = next_offset_note(call.lang, version.next_offset, version.size);
    Ok(ToolReply::new(version, text).with_continuation(note))
}

async fn diff_board(
    call: ToolContext<'_>,
    params: BoardDiffParams,
) -> ToolResult<BoardVersionDiff> {
    let mut compared = op::diff_board(call.request, &params).await?;
    let total_bytes = compared.diff.len();
    if call.for_model {
        let shown_bytes =
            truncate_text(&compared.diff, saturating_cast::<usize>(RESULT_TEXT_BYTES)).len();
        compared.diff.truncate(shown_bytes);
    }
    let shown_bytes = compared.diff.len();
    let note = (shown_bytes < total_bytes)
        .then(|| msg::tool_board_diff_truncated(call.lang, shown_bytes, total_bytes));
    let text = if compared.diff.is_empty() {
        msg::tool_board_same_versions(call.lang).to_owned()
    } else {
        compared.diff.clone()
    };
    Ok(ToolReply::new(compared, text).with_continuation(note))
}

async fn list_decisions(
    call: ToolContext<'_>,
    params: BoardNameParams,
) -> ToolResult<BoardDecisionList> {
    let mut all = op::list_decisions(call.request, &params).await?;
    let truncated = call.for_model && fit_entries(&mut all.decisions);
    let lines = all.decisions.iter();
    let lines = lines.map(|one| render_decision(one, call.lang));
    let text = join_lines(lines, msg::tool_board_no_decisions(call.lang));
    let count = all.decisions.len();
    let note = truncated.then(|| msg::tool_board_omitted_entries(call.lang, count));
    Ok(ToolReply::new(all, text).with_continuation(note))
}

async fn change_decision(
    call: ToolContext<'_>,
    params: BoardDecideParams,
) -> ToolResult<DecisionView> {
    let view = op::change_decision(call.request, &params.try_into()?).await?;
    let text = render_decision(&view.decision, call.lang);
    Ok(ToolReply::new(view, text))
}

fn version_action_label(action: VersionAction, lang: UiLanguage) -> &'static str {
    match action {
        VersionAction::Written => msg::tool_board_version_written(lang),
        VersionAction::Appended => msg::tool_board_version_appended(lang),
        VersionAction::Edited => msg::tool_board_version_edited(lang),
        VersionAction::Restored => msg::tool_board_version_restored(lang),
        VersionAction::External => msg::tool_board_version_external(lang),
    }
}

fn decision_status_label(status: DecisionStatus, lang: UiLanguage) -> &'static str {
    match status {
        DecisionStatus::Pending => msg::tool_board_decision_pending(lang),
        DecisionStatus::Approved => msg::tool_board_decision_approved(lang),
        DecisionStatus::Rejected => msg::tool_board_decision_rejected(lang),
        DecisionStatus::Appealing => msg::tool_board_decision_appealing(lang),
    }
}

fn render_decision(one: &BoardDecision, lang: UiLanguage) -> String {
    let mut head = format!("#{} {}", one.id, decision_status_label(one.status, lang));
    if !one.signers.is_empty() {
        let signers = one.signers.join(msg::common_list_separator(lang));
        head.push_str(&msg::tool_board_signed_by(lang, signers));
    }
    msg::tool_board_decision(lang, head, &one.content)
}

async fn list_milestones(
    call: ToolContext<'_>,
    params: BoardNameParams,
) -> ToolResult<BoardMilestoneList> {
    let mut all = op::list_milestones(call.request, &params).await?;
    let truncated = call.for_model && fit_entries(&mut all.milestones);
    let lines = all.milestones.iter().map(|one| {
        let mark = if one.done { "[x]" } else { "[ ]" };
        let milestone = msg::tool_board_milestone(call.lang, &one.title, &one.description);
        format!("{mark} {milestone}")
    });
    let text = join_lines(lines, msg::tool_board_no_milestones(call.lang));
    let count = all.milestones.len();
    let note = truncated.then(|| msg::tool_board_omitted_entries(call.lang, count));
    Ok(ToolReply::new(all, text).with_continuation(note))
}

async fn change_milestone(
    call: ToolContext<'_>,
    params: MilestoneChangeParams,
) -> ToolResult<MilestoneView> {
    let view = op::change_milestone(call.request, &params).await?;
    let title = &view.milestone.title;
    let text = if view.milestone.done {
        msg::tool_board_milestone_reached(call.lang, title)
    } else {
        msg::tool_board_milestone_added(call.lang, title)
    };
    Ok(ToolReply::new(view, text))
}
