//! Details of an event, from its payload: the end of its sentence, and the compact text of `polis log`.
//!
//! The match in `format_event_details` has no wildcard arm, so that the details of a new kind are decided.

use polis_core::event::{
    BudgetChangedEvent, CallApprovalDecidedEvent, CallApprovalRequestedEvent, CommandRunEvent,
    DecisionChangedEvent, MemberDismissedEvent, MemberHiredEvent, MemberStatusChangedEvent,
    RunPausedEvent, TaskChangedEvent,
};
use polis_core::{AgentId, EventPayload, RawJson};
use polis_i18n::msg;

use crate::{UiLanguage, labels, number_format, relative_time};

/// Maximum number of characters shown of a text in a sentence.
const MAX_SHOWN_CHARS: usize = 120;

/// Maximum number of characters of a compact text.
const MAX_COMPACT_CHARS: usize = 80;

/// Returns the member that an event about a run names, if it names one.
pub(crate) fn named_member(payload: &EventPayload) -> Option<&AgentId> {
    match payload {
        EventPayload::SocietyHired(MemberHiredEvent { agent, .. })
        | EventPayload::SocietyDismissed(MemberDismissedEvent { agent, .. })
        | EventPayload::SocietyStatusChanged(MemberStatusChangedEvent { agent, .. })
        | EventPayload::SocietyApprovalRequested(CallApprovalRequestedEvent { agent, .. })
        | EventPayload::SocietyApprovalDecided(CallApprovalDecidedEvent { agent, .. })
        | EventPayload::SocietyBudgetChanged(BudgetChangedEvent { agent, .. }) => Some(agent),
        EventPayload::SocietyPaused(RunPausedEvent { agent, .. })
        | EventPayload::SocietyResumed(RunPausedEvent { agent, .. }) => agent.as_ref(),
        EventPayload::TaskCreated(_)
        | EventPayload::TaskImported(_)
        | EventPayload::TaskUpdated(_)
        | EventPayload::TaskLinked(_)
        | EventPayload::TaskClaimed(_)
        | EventPayload::TaskStarted(_)
        | EventPayload::TaskReleased(_)
        | EventPayload::TaskCompleted(_)
        | EventPayload::TaskDeleted(_)
        | EventPayload::TaskApproved(_)
        | EventPayload::TaskCommented(_)
        | EventPayload::TaskHeartbeat(_)
        | EventPayload::TaskRefused(_)
        | EventPayload::BoardWritten(_)
        | EventPayload::BoardAppended(_)
        | EventPayload::BoardEdited(_)
        | EventPayload::BoardRestored(_)
        | EventPayload::BoardEditedExternally(_)
        | EventPayload::BoardLocked(_)
        | EventPayload::BoardRenewed(_)
        | EventPayload::BoardUnlocked(_)
        | EventPayload::DecisionProposed(_)
        | EventPayload::DecisionSigned(_)
        | EventPayload::DecisionVetoed(_)
        | EventPayload::DecisionAppealed(_)
        | EventPayload::MilestoneAdded(_)
        | EventPayload::MilestoneDone(_)
        | EventPayload::AgentAdded(_)
        | EventPayload::AgentRetired(_)
        | EventPayload::SocietyStarted(_)
        | EventPayload::SocietyFinished(_)
        | EventPayload::SocietyStopped(_)
        | EventPayload::MessageSent(_)
        | EventPayload::MessageRead(_)
        | EventPayload::CommandStarted(_)
        | EventPayload::CommandRun(_)
        | EventPayload::CommandRefused(_)
        | EventPayload::BoardFileRestored(_)
        | EventPayload::FileDirectoryMade(_)
        | EventPayload::FileWritten(_)
        | EventPayload::FileEdited(_)
        | EventPayload::FileDeleted(_)
        | EventPayload::FileMoved(_)
        | EventPayload::FileRefused(_)
        | EventPayload::WorkspaceAssigned(_)
        | EventPayload::WorkspaceBound(_)
        | EventPayload::ArtifactPut(_)
        | EventPayload::TokenIssued(_)
        | EventPayload::TokenRevoked(_)
        | EventPayload::WebhookAdded(_)
        | EventPayload::WebhookRemoved(_) => None,
    }
}

/// Returns the details of an event by `actor`, with the punctuation before them; may be empty.
pub(crate) fn format_event_details(
    payload: &EventPayload,
    actor: &str,
    lang: UiLanguage,
) -> String {
    match payload {
        EventPayload::TaskCreated(task) | EventPayload::TaskImported(task) => {
            after_colon(&quoted(task.subject()), lang)
        }
        EventPayload::TaskUpdated(changed) | EventPayload::TaskLinked(changed) => {
            in_parentheses(&changed_field_names(changed, lang), lang)
        }
        EventPayload::TaskClaimed(changed) => match changed.new_owner() {
            Some(owner) if owner != actor => msg::event_claimed_for(lang, owner),
            _ => String::new(),
        },
        EventPayload::TaskCompleted(changed) => {
            let duration = changed.duration_ms;
            duration.map_or_else(String::new, |ms| time_taken(ms, lang))
        }
        EventPayload::SocietyFinished(finished) => time_taken(
            i64::try_from(finished.duration_ms).unwrap_or(i64::MAX),
            lang,
        ),
        EventPayload::TaskCommented(comment) => after_colon(&quoted(&comment.body), lang),
        EventPayload::TaskRefused(refused) => {
            let attempt = labels::task_operation_label(&refused.op, lang);
            refused_attempt(attempt, &refused.code, lang)
        }
        EventPayload::FileRefused(refused) => {
            let attempt = refused.path.as_ref().unwrap_or(&refused.op);
            refused_attempt(attempt, &refused.code, lang)
        }
        EventPayload::CommandRefused(refused) => {
            refused_attempt(&refused.command, &refused.code, lang)
        }
        EventPayload::BoardWritten(changed)
        | EventPayload::BoardAppended(changed)
        | EventPayload::BoardEdited(changed)
        | EventPayload::BoardRestored(changed) => size_in_parentheses(changed.bytes, lang),
        EventPayload::BoardEditedExternally(file) | EventPayload::BoardFileRestored(file) => {
            size_in_parentheses(file.bytes, lang)
        }
        EventPayload::DecisionProposed(changed)
        | EventPayload::DecisionSigned(changed)
        | EventPayload::DecisionVetoed(changed)
        | EventPayload::DecisionAppealed(changed) => decision_details(changed, lang),
        EventPayload::MessageRead(read) => msg::event_message_count(lang, read.ids.len()),
        EventPayload::AgentAdded(data) => role_details(&data.agent.role, lang),
        EventPayload::SocietyHired(hired) => role_details(&hired.role, lang),
        EventPayload::TokenIssued(token) | EventPayload::TokenRevoked(token) => {
            after_colon(&truncate_first_line(&token.token), lang)
        }
        EventPayload::ArtifactPut(artifact) => {
            in_parentheses(&truncate_first_line(&artifact.artifact_type), lang)
        }
        EventPayload::FileWritten(file) => after_colon(&truncate_first_line(&file.path), lang),
        EventPayload::FileEdited(file) => after_colon(&truncate_first_line(&file.path), lang),
        EventPayload::FileDeleted(file) => after_colon(&truncate_first_line(&file.path), lang),
        EventPayload::FileDirectoryMade(made) => {
            after_colon(&truncate_first_line(&made.path), lang)
        }
        EventPayload::FileMoved(moved) => {
            let paths = format!("{} → {}", moved.path, moved.to);
            after_colon(&truncate_first_line(&paths), lang)
        }
        EventPayload::CommandStarted(started) => {
            after_colon(&truncate_first_line(&started.command), lang)
        }
        EventPayload::CommandRun(run) => after_colon(&command_details(run, lang), lang),
        EventPayload::SocietyStatusChanged(changed) => member_status_details(changed, lang),
        EventPayload::SocietyApprovalRequested(request) => {
            msg::event_requested_tool(lang, truncate_first_line(&request.tool))
        }
        EventPayload::SocietyApprovalDecided(decided) => {
            let verdict = if decided.allowed {
                msg::event_call_approved(lang)
            } else {
                msg::event_call_denied(lang)
            };
            let tool = truncate_first_line(&decided.tool);
            after_colon(&msg::event_joined_details(lang, tool, verdict), lang)
        }
        EventPayload::SocietyDismissed(dismissed) | EventPayload::SocietyStopped(dismissed) => {
            reason_details(dismissed.reason.as_deref(), lang)
        }
        EventPayload::SocietyPaused(paused) | EventPayload::SocietyResumed(paused) => {
            reason_details(paused.reason.as_deref(), lang)
        }
        EventPayload::TaskStarted(_)
        | EventPayload::TaskReleased(_)
        | EventPayload::TaskDeleted(_)
        | EventPayload::TaskApproved(_)
        | EventPayload::TaskHeartbeat(_)
        | EventPayload::BoardLocked(_)
        | EventPayload::BoardRenewed(_)
        | EventPayload::BoardUnlocked(_)
        | EventPayload::MilestoneAdded(_)
        | EventPayload::MilestoneDone(_)
        | EventPayload::AgentRetired(_)
        | EventPayload::SocietyStarted(_)
        | EventPayload::SocietyBudgetChanged(_)
        | EventPayload::MessageSent(_)
        | EventPayload::WorkspaceAssigned(_)
        | EventPayload::WorkspaceBound(_)
        | EventPayload::WebhookAdded(_)
        | EventPayload::WebhookRemoved(_) => String::new(),
    }
}

/// Returns the most useful fields of an event's payload as stored, truncated, in the same form in every language:
/// `status=in_progress owner=ann`, or a path.
pub fn compact_event_details(payload: &EventPayload) -> String {
    let details = match payload {
        EventPayload::TaskCreated(task) | EventPayload::TaskImported(task) => {
            task.subject().to_owned()
        }
        EventPayload::TaskRefused(refused) => refused.code.clone(),
        EventPayload::TaskCommented(comment) => comment.body.clone(),
        EventPayload::TaskUpdated(changed)
        | EventPayload::TaskLinked(changed)
        | EventPayload::TaskClaimed(changed)
        | EventPayload::TaskStarted(changed)
        | EventPayload::TaskReleased(changed)
        | EventPayload::TaskCompleted(changed)
        | EventPayload::TaskDeleted(changed)
        | EventPayload::TaskApproved(changed) => changed_values(changed),
        EventPayload::FileWritten(file) => file.path.clone(),
        EventPayload::FileEdited(file) => file.path.clone(),
        EventPayload::FileDeleted(file) => file.path.clone(),
        EventPayload::FileMoved(moved) => moved.path.clone(),
        EventPayload::FileDirectoryMade(made) => made.path.clone(),
        EventPayload::FileRefused(refused) => refused.path.clone().unwrap_or_default(),
        EventPayload::CommandRun(run) => run.command.clone(),
        EventPayload::CommandRefused(refused) => refused.command.clone(),
        EventPayload::TaskHeartbeat(_)
        | EventPayload::BoardWritten(_)
        | EventPayload::BoardAppended(_)
        | EventPayload::BoardEdited(_)
        | EventPayload::BoardRestored(_)
        | EventPayload::BoardEditedExternally(_)
        | EventPayload::BoardLocked(_)
        | EventPayload::BoardRenewed(_)
        | EventPayload::BoardUnlocked(_)
        | EventPayload::DecisionProposed(_)
        | EventPayload::DecisionSigned(_)
        | EventPayload::DecisionVetoed(_)
        | EventPayload::DecisionAppealed(_)
        | EventPayload::MilestoneAdded(_)
        | EventPayload::MilestoneDone(_)
        | EventPayload::AgentAdded(_)
        | EventPayload::AgentRetired(_)
        | EventPayload::SocietyStarted(_)
        | EventPayload::SocietyPaused(_)
        | EventPayload::SocietyResumed(_)
        | EventPayload::SocietyFinished(_)
        | EventPayload::SocietyStopped(_)
        | EventPayload::SocietyHired(_)
        | EventPayload::SocietyDismissed(_)
        | EventPayload::SocietyStatusChanged(_)
        | EventPayload::SocietyApprovalRequested(_)
        | EventPayload::SocietyApprovalDecided(_)
        | EventPayload::SocietyBudgetChanged(_)
        | EventPayload::MessageSent(_)
        | EventPayload::MessageRead(_)
        | EventPayload::CommandStarted(_)
        | EventPayload::WorkspaceAssigned(_)
        | EventPayload::WorkspaceBound(_)
        | EventPayload::ArtifactPut(_)
        | EventPayload::TokenIssued(_)
        | EventPayload::TokenRevoked(_)
        | EventPayload::WebhookAdded(_)
        | EventPayload::WebhookRemoved(_)
        | EventPayload::BoardFileRestored(_) => String::new(),
    };
    match details.char_indices().nth(MAX_COMPACT_CHARS) {
        Some((at, _)) => format!("{}…", &details[..at]),
        None => details,
    }
}

/// Returns the changed fields with their new values, without times.
fn changed_values(changed: &TaskChangedEvent) -> String {
    let text = |raw: &RawJson| {
        raw.parse_as::<String>()
            .unwrap_or_else(|| raw.as_str().to_owned())
    };
    let fields = changed.changes.iter();
    fields
        .filter(|(name, _)| !name.ends_with("At") && *name != "leaseMs")
        .map(|(name, value)| format!("{name}={}", text(value)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the names of the changed fields.
fn changed_field_names(changed: &TaskChangedEvent, lang: UiLanguage) -> String {
    let names: Vec<String> = changed
        .changes
        .iter()
        .map(|(name, _)| labels::task_field_name_label(name, lang))
        .map(labels::label_in_sentence)
        .collect();
    names.join(msg::common_list_separator(lang))
}

fn time_taken(ms: i64, lang: UiLanguage) -> String {
    msg::event_after_duration(lang, relative_time::format_duration(ms, lang))
}

fn role_details(role: &str, lang: UiLanguage) -> String {
    let role = truncate_first_line(role);
    match labels::role_label(&role, lang) {
        "" => String::new(),
        role => {
            let preposition = msg::event_as_role(lang);
            format!("{preposition}{}{role}", word_gap(preposition, role))
        }
    }
}

/// Returns the number and status of a decision.
fn decision_details(changed: &DecisionChangedEvent, lang: UiLanguage) -> String {
    let status = labels::label_in_sentence(labels::decision_status_label(changed.status, lang));
    let id = format!("#{}", truncate_first_line(&changed.decision));
    after_colon(&msg::event_joined_details(lang, id, status), lang)
}

/// Returns what was attempted, and the error code.
fn refused_attempt(attempt: &str, code: &str, lang: UiLanguage) -> String {
    let attempt = truncate_first_line(attempt);
    let code = labels::refusal_code_label(code, lang);
    after_colon(&msg::event_refused_attempt(lang, attempt, code), lang)
}

fn command_details(run: &CommandRunEvent, lang: UiLanguage) -> String {
    let duration = i64::try_from(run.duration_ms).unwrap_or(i64::MAX);
    let outcome = match run.exit_code {
        _ if run.timed_out => msg::event_command_timed_out(lang).to_owned(),
        _ if run.cancelled => msg::event_command_cancelled(lang).to_owned(),
        Some(0) => msg::event_command_succeeded(lang).to_owned(),
        Some(code) => msg::event_command_exit_code(lang, code),
        None => String::new(),
    };
    let parts = [
        truncate_first_line(&run.command),
        outcome,
        relative_time::format_duration(duration, lang),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

fn member_status_details(changed: &MemberStatusChangedEvent, lang: UiLanguage) -> String {
    let status = labels::label_in_sentence(labels::member_status_label(changed.status, lang));
    let reason = truncate_first_line(changed.reason.as_deref().unwrap_or_default());
    let details = match reason.as_str() {
        "" => status,
        reason => msg::event_status_with_reason(lang, status, reason),
    };
    after_colon(&details, lang)
}

fn reason_details(reason: Option<&str>, lang: UiLanguage) -> String {
    after_colon(&truncate_first_line(reason.unwrap_or_default()), lang)
}

fn size_in_parentheses(bytes: u64, lang: UiLanguage) -> String {
    in_parentheses(&number_format::format_bytes(bytes), lang)
}

/// Returns a text in quotation marks; empty if it is blank.
fn quoted(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    format!("“{}”", truncate_first_line(text))
}

/// Returns details after a colon; empty if there are none.
pub(crate) fn after_colon(details: &str, lang: UiLanguage) -> String {
    match details {
        "" => String::new(),
        _ => msg::event_details_after_colon(lang, details),
    }
}

/// Returns details in parentheses; empty if there are none.
fn in_parentheses(details: &str, lang: UiLanguage) -> String {
    match details {
        "" => String::new(),
        _ => msg::event_details_in_parentheses(lang, details),
    }
}

/// Returns the space between two parts of a sentence: none next to punctuation, and none between Chinese
/// characters.
pub(crate) fn word_gap(before: &str, after: &str) -> &'static str {
    use unicode_width::UnicodeWidthChar as _;
    let is_wide = |c: char| c.width() == Some(2);
    match (before.chars().next_back(), after.chars().next()) {
        (None, _) | (_, None | Some(':' | '：' | '，' | '（')) => "",
        (Some(last), Some(first)) if is_wide(last) && is_wide(first) => "",
        _ => " ",
    }
}

/// Returns the first line of a text, truncated.
pub(crate) fn truncate_first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut truncated: String = line.chars().take(MAX_SHOWN_CHARS).collect();
    if truncated.len() < text.trim().len() {
        truncated.push('…');
    }
    truncated
}
