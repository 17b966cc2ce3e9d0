//! Labels for tasks in English and Chinese: statuses, types and fields.

use polis_core::task::TaskField;
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
