//! Labels for tasks in English and Chinese: statuses, types and fields.

use polis_core::task::{TaskField, TaskPriority};
use polis_core::{TaskStatus, TaskType};
use polis_i18n::msg;

use crate::UiLanguage;

/// Returns the display name of a task's status.
pub fn task_status_label(status: TaskStatus, lang: UiLanguage) -> &'static str {
    match status {
        TaskStatus::Pending => msg::task_status_pending(lang),
        TaskStatus::InProgress => msg::task_status_in_progress(lang),
        TaskStatus::Completed => msg::task_status_completed(lang),
        TaskStatus::Deleted => msg::task_status_deleted(lang),
    }
}

/// Returns the status of a task for output with stored values. English has the name that commands accept; other
/// languages have the display name.
pub fn task_status_value(status: TaskStatus, lang: UiLanguage) -> &'static str {
    match lang {
        UiLanguage::En => status.as_str(),
        UiLanguage::Zh => task_status_label(status, lang),
    }
}

/// Returns the display name of a task's type.
pub fn task_type_label(kind: TaskType, lang: UiLanguage) -> &'static str {
    match kind {
        TaskType::RequirementAnalysis => msg::task_type_requirement_analysis(lang),
        TaskType::TechResearch => msg::task_type_tech_research(lang),
        TaskType::ArchitectureDesign => msg::task_type_architecture_design(lang),
        TaskType::ApiDesign => msg::task_type_api_design(lang),
        TaskType::UiDesign => msg::task_type_ui_design(lang),
        TaskType::BackendImplementation => msg::task_type_backend_implementation(lang),
        TaskType::FrontendImplementation => msg::task_type_frontend_implementation(lang),
        TaskType::ClientImplementation => msg::task_type_client_implementation(lang),
        TaskType::Testing => msg::task_type_testing(lang),
        TaskType::Deployment => msg::task_type_deployment(lang),
        TaskType::Documentation => msg::task_type_documentation(lang),
        TaskType::CodeReview => msg::task_type_code_review(lang),
        TaskType::BugFix => msg::task_type_bug_fix(lang),
        TaskType::Optimization => msg::task_type_optimization(lang),
        TaskType::Other => msg::task_type_other(lang),
    }
}

/// Returns the name of the task type that a text names: a type's name, or its display name in any language.
pub fn task_type_from_label(text: &str) -> &str {
    let has_label = |kind: TaskType| {
        [UiLanguage::En, UiLanguage::Zh]
            .into_iter()
            .any(|lang| task_type_label(kind, lang).to_lowercase() == text.to_lowercase())
    };
    let kind = TaskType::ALL.iter().copied().find(|kind| has_label(*kind));
    kind.map_or(text, |kind| kind.as_str())
}

/// Returns the display name of an operation on a task, by the name that the log has. A name that this version
/// does not know is returned as it is.
pub fn task_operation_label(op: &str, lang: UiLanguage) -> &str {
    match op {
        "approve" => msg::task_operation_approve(lang),
        "claim" => msg::task_operation_claim(lang),
        "comment" => msg::task_operation_comment(lang),
        "heartbeat" => msg::task_operation_heartbeat(lang),
        "release" => msg::task_operation_release(lang),
        "update" => msg::task_operation_update(lang),
        other => other,
    }
}

/// Returns the display name of a task's priority.
pub fn task_priority_label(priority: TaskPriority, lang: UiLanguage) -> &'static str {
    match priority {
        TaskPriority::Critical => msg::task_priority_critical(lang),
        TaskPriority::High => msg::task_priority_high(lang),
        TaskPriority::Normal => msg::task_priority_normal(lang),
        TaskPriority::Low => msg::task_priority_low(lang),
    }
}

/// Returns the display name of a task field.
pub fn task_field_label(field: TaskField, lang: UiLanguage) -> &'static str {
    match field {
        TaskField::Id => msg::task_field_id(lang),
        TaskField::Subject => msg::task_field_subject(lang),
        TaskField::Description => msg::task_field_description(lang),
        TaskField::ActiveForm => msg::task_field_active_form(lang),
        TaskField::Status => msg::common_status(lang),
        TaskField::Owner => msg::task_field_owner(lang),
        TaskField::Metadata => msg::task_field_metadata(lang),
        TaskField::Blocks => msg::task_field_blocks(lang),
        TaskField::BlockedBy => msg::task_field_blocked_by(lang),
        TaskField::CreatedAt => msg::task_field_created_at(lang),
        TaskField::UpdatedAt => msg::task_field_updated_at(lang),
        TaskField::RequiredRole => msg::task_field_required_role(lang),
        TaskField::Priority => msg::task_priority(lang),
        TaskField::Version => msg::common_version(lang),
        TaskField::TaskType => msg::common_type(lang),
        TaskField::ClaimedAt => msg::task_field_claimed_at(lang),
        TaskField::StartedAt => msg::task_field_started_at(lang),
        TaskField::CompletedAt => msg::task_field_completed_at(lang),
        TaskField::LeaseMs => msg::task_field_lease_duration(lang),
        TaskField::LeaseExpiresAt => msg::task_field_lease_expires_at(lang),
        TaskField::Approval => msg::task_field_approval(lang),
    }
}

/// Returns the display name of a task field, given its JSON name; an unknown name is returned unchanged.
pub fn task_field_name_label(name: &str, lang: UiLanguage) -> &str {
    TaskField::from_json_name(name).map_or(name, |field| task_field_label(field, lang))
}
