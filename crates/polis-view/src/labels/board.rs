//! Words about boards: how a decision stands, what a version came from.

use polis_core::board::{Action, DecisionStatus};

use crate::Lang;

/// How a decision stands.
pub fn decision(status: DecisionStatus, lang: Lang) -> &'static str {
    match status {
        DecisionStatus::Pending => lang.say("waits for signatures", "等待签署"),
        DecisionStatus::Approved => lang.say("approved", "已通过"),
        DecisionStatus::Rejected => lang.say("rejected", "已否决"),
        DecisionStatus::Appealing => lang.say("voted on again", "复议中"),
    }
}

/// What made a version of a board.
pub fn version(action: Action, lang: Lang) -> &'static str {
    match action {
        Action::Written => lang.say("written", "整体改写"),
        Action::Appended => lang.say("appended", "追加"),
        Action::Edited => lang.say("a part edited", "局部修改"),
        Action::Restored => lang.say("restored", "恢复旧版本"),
        Action::External => lang.say("file changed outside", "文件被外部修改"),
    }
}
