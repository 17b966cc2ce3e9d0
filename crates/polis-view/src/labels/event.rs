//! Verbs of event kinds and names of the areas of the event log. A kind or area without a text fails to compile.

use polis_core::{EventArea, EventKind};
use polis_i18n::msg;

use crate::UiLanguage;

/// Stands for the object in the text of an event: the object replacement character, which no text contains.
const OBJECT_PLACE: char = '\u{fffc}';

/// Returns the verb of an event kind as its parts before and after the object. Only Chinese verbs have a part
/// after the object.
pub fn event_verb(kind: EventKind, lang: UiLanguage) -> (String, String) {
    let text = match kind {
        EventKind::TaskCreated => msg::event_task_created(lang, OBJECT_PLACE),
        EventKind::TaskImported => msg::event_task_imported(lang, OBJECT_PLACE),
        EventKind::TaskUpdated => msg::event_changed(lang, OBJECT_PLACE),
        EventKind::TaskLinked => msg::event_task_linked(lang, OBJECT_PLACE),
        EventKind::TaskClaimed => msg::event_task_claimed(lang, OBJECT_PLACE),
        EventKind::TaskStarted => msg::event_task_started(lang, OBJECT_PLACE),
        EventKind::TaskReleased => msg::event_task_released(lang, OBJECT_PLACE),
        EventKind::TaskCompleted => msg::event_task_completed(lang, OBJECT_PLACE),
        EventKind::TaskDeleted => msg::event_task_deleted(lang, OBJECT_PLACE),
        EventKind::TaskApproved => msg::event_task_approved(lang, OBJECT_PLACE),
        EventKind::TaskCommented => msg::event_task_commented(lang, OBJECT_PLACE),
        EventKind::TaskHeartbeat => msg::event_task_heartbeat(lang, OBJECT_PLACE),
        EventKind::TaskRefused => msg::event_task_refused(lang, OBJECT_PLACE),
        EventKind::BoardWritten => msg::event_board_written(lang, OBJECT_PLACE),
        EventKind::BoardAppended => msg::event_board_appended(lang, OBJECT_PLACE),
        EventKind::BoardEdited => msg::event_board_edited(lang, OBJECT_PLACE),
        EventKind::BoardRestored => msg::event_board_restored(lang, OBJECT_PLACE),
        EventKind::BoardEditedExternally => msg::event_board_edited_externally(lang, OBJECT_PLACE),
        EventKind::BoardFileRestored => msg::event_board_file_restored(lang, OBJECT_PLACE),
        EventKind::BoardLocked => msg::event_board_locked(lang, OBJECT_PLACE),
        EventKind::BoardRenewed => msg::event_board_renewed(lang, OBJECT_PLACE),
        EventKind::BoardUnlocked => msg::event_board_unlocked(lang, OBJECT_PLACE),
        EventKind::DecisionProposed => msg::event_decision_proposed(lang, OBJECT_PLACE),
        EventKind::DecisionSigned => msg::event_decision_signed(lang, OBJECT_PLACE),
        EventKind::DecisionVetoed => msg::event_decision_vetoed(lang, OBJECT_PLACE),
        EventKind::DecisionAppealed => msg::event_decision_appealed(lang, OBJECT_PLACE),
        EventKind::MilestoneAdded => msg::event_milestone_added(lang, OBJECT_PLACE),
        EventKind::MilestoneDone => msg::event_milestone_done(lang, OBJECT_PLACE),
        EventKind::AgentAdded => msg::event_agent_added(lang, OBJECT_PLACE),
        EventKind::AgentRetired => msg::event_agent_retired(lang, OBJECT_PLACE),
        EventKind::TokenIssued => msg::event_token_issued(lang, OBJECT_PLACE),
        EventKind::TokenRevoked => msg::event_token_revoked(lang, OBJECT_PLACE),
        EventKind::MessageSent => msg::event_message_sent(lang, OBJECT_PLACE),
        EventKind::MessageRead => return (msg::event_message_read(lang).to_owned(), String::new()),
        EventKind::ArtifactPut => msg::event_artifact_put(lang, OBJECT_PLACE),
        EventKind::WebhookAdded => msg::event_webhook_added(lang, OBJECT_PLACE),
        EventKind::WebhookRemoved => msg::event_webhook_removed(lang, OBJECT_PLACE),
        EventKind::WorkspaceAssigned => msg::event_workspace_assigned(lang, OBJECT_PLACE),
        EventKind::WorkspaceBound => msg::event_workspace_bound(lang, OBJECT_PLACE),
        EventKind::FileWritten => msg::event_file_written(lang, OBJECT_PLACE),
        EventKind::FileEdited => msg::event_file_edited(lang, OBJECT_PLACE),
        EventKind::FileDeleted => msg::event_file_deleted(lang, OBJECT_PLACE),
        EventKind::FileMoved => msg::event_file_moved(lang, OBJECT_PLACE),
        EventKind::FileDirectoryMade => msg::event_file_directory_made(lang, OBJECT_PLACE),
        EventKind::FileRefused => msg::event_file_refused(lang, OBJECT_PLACE),
        EventKind::SocietyStarted => msg::event_society_started(lang, OBJECT_PLACE),
        EventKind::SocietyPaused => msg::event_society_paused(lang, OBJECT_PLACE),
        EventKind::SocietyResumed => msg::event_society_resumed(lang, OBJECT_PLACE),
        EventKind::SocietyFinished => msg::event_society_finished(lang, OBJECT_PLACE),
        EventKind::SocietyStopped => msg::event_society_stopped(lang, OBJECT_PLACE),
        EventKind::SocietyHired => msg::event_society_hired(lang, OBJECT_PLACE),
        EventKind::SocietyDismissed => msg::event_society_dismissed(lang, OBJECT_PLACE),
        EventKind::SocietyStatusChanged => msg::event_society_status_changed(lang, OBJECT_PLACE),
        EventKind::SocietyApprovalRequested => {
            msg::event_society_approval_requested(lang, OBJECT_PLACE)
        }
        EventKind::SocietyApprovalDecided => {
            msg::event_society_approval_decided(lang, OBJECT_PLACE)
        }
        EventKind::SocietyBudgetChanged => msg::event_society_budget_changed(lang, OBJECT_PLACE),
        EventKind::CommandStarted => msg::event_command_started(lang, OBJECT_PLACE),
        EventKind::CommandRun => msg::event_command_run(lang, OBJECT_PLACE),
        EventKind::CommandRefused => msg::event_command_refused(lang, OBJECT_PLACE),
    };
    split_at_object(&text)
}

/// Returns the verb of an event of unknown kind, as its parts before and after the object.
pub(crate) fn unknown_event_verb(lang: UiLanguage) -> (String, String) {
    split_at_object(&msg::event_unknown(lang, OBJECT_PLACE))
}

/// Splits the text of an event into the parts before and after its object, without the spaces around it.
fn split_at_object(text: &str) -> (String, String) {
    let (before, after) = text.split_once(OBJECT_PLACE).unwrap_or((text, ""));
    (before.trim_end().to_owned(), after.trim_start().to_owned())
}

/// Returns the display name of an area of the event log.
pub fn event_area_label(area: EventArea, lang: UiLanguage) -> &'static str {
    match area {
        EventArea::Task => msg::common_tab_tasks(lang),
        EventArea::Board => msg::common_tab_boards(lang),
        EventArea::Decision => msg::board_decisions_title(lang),
        EventArea::Milestone => msg::board_milestones_title(lang),
        EventArea::Agent => msg::common_tab_agents(lang),
        EventArea::Society => msg::event_area_society(lang),
        EventArea::Message => msg::message_list_title(lang),
        EventArea::Command => msg::command_list_title(lang),
        EventArea::File => msg::workspace_files_title(lang),
        EventArea::Workspace => msg::common_tab_workspaces(lang),
        EventArea::Artifact => msg::event_area_artifact(lang),
        EventArea::Token => msg::event_area_token(lang),
        EventArea::Webhook => msg::event_area_webhook(lang),
    }
}
