//! Labels for boards in English and Chinese: statuses of decisions, and the actions that created versions.

use polis_core::board::{DecisionStatus, VersionAction};
use polis_i18n::msg;

use crate::UiLanguage;

/// Returns the display name of a decision's status.
pub fn decision_status_label(status: DecisionStatus, lang: UiLanguage) -> &'static str {
    match status {
        DecisionStatus::Pending => msg::board_decision_pending(lang),
        DecisionStatus::Approved => msg::board_decision_approved(lang),
        DecisionStatus::Rejected => msg::board_decision_rejected(lang),
        DecisionStatus::Appealing => msg::board_decision_appealing(lang),
    }
}

/// Returns the display name of the action that created a board version.
pub fn version_action_label(action: VersionAction, lang: UiLanguage) -> &'static str {
    match action {
        VersionAction::Written => msg::board_version_written(lang),
        VersionAction::Appended => msg::board_version_appended(lang),
        VersionAction::Edited => msg::board_version_edited(lang),
        VersionAction::Restored => msg::board_version_restored(lang),
        VersionAction::External => msg::board_version_external(lang),
    }
}
