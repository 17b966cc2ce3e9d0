//! Display names for boards: statuses of decisions and origins of versions.

use polis_core::board::{Action, DecisionStatus};

use crate::Lang;

/// Returns the display name of a decision's status.
pub fn decision(status: DecisionStatus, lang: Lang) -> &'static str {
    match status {
        DecisionStatus::Pending => lang.say("waits for signatures", "等待签署"),
        DecisionStatus::Approved => lang.say("approved", "已通过"),
        DecisionStatus::Rejected => lang.say("rejected", "已否决"),
        DecisionStatus::Appealing => lang.say("voted on again", "复议中"),
    }
}

/// Returns the display name of the action that created a board version.
pub fn version(action: Action, lang: Lang) -> &'static str {
    match action {
        Action::Written => lang.say("written", "整体改写"),
        Action::Appended => lang.say("appended", "追加"),
        Action::Edited => lang.say("a part edited", "局部修改"),
        Action::Restored => lang.say("restored", "恢复旧版本"),
        Action::External => lang.say("file changed outside", "文件被外部修改"),
    }
}
