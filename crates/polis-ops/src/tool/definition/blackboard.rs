//! Tools for the blackboard's files: definitions, and handlers that call the operation and render its result as
//! text.

use polis_i18n::msg;

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{
    self, BlackboardFile, BlackboardReadParams, BlackboardWriteParams, BlackboardWriteResult,
};
use crate::tool::Tool;
use crate::tool::truncation::{limit_text_bytes, next_offset_note};

/// Definitions of the blackboard tools.
pub(super) const BLACKBOARD_TOOLS: &[Tool] = &[
    tool!("blackboard_read", Blackboard, ReadOnly, BlackboardReadParams => BlackboardFile, read_blackboard, { is_default, is_offered_to_agents }),
    tool!("blackboard_write", Blackboard, Additive, BlackboardWriteParams => BlackboardWriteResult, write_blackboard, { is_default, is_offered_to_agents }),
];

async fn read_blackboard(
    call: ToolContext<'_>,
    mut params: BlackboardReadParams,
) -> ToolResult<BlackboardFile> {
    if call.for_model {
        params.max_bytes = limit_text_bytes(params.max_bytes);
    }
    let file = op::read_blackboard(call.request, &params).await?;
    let text = file.content.as_ref().clone();
    let note = next_offset_note(call.lang, file.next_offset, file.size);
    Ok(ToolReply::new(file, text).with_continuation(note))
}

async fn write_blackboard(
    call: ToolContext<'_>,
    params: BlackboardWriteParams,
) -> ToolResult<BlackboardWriteResult> {
    let result = op::write_blackboard(call.request, &params).await?;
    let text = msg::tool_board_changed(call.lang, &result.path, result.version);
    Ok(ToolReply::new(result, text))
}
