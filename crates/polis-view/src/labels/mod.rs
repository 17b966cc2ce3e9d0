//! Labels in English and Chinese (i18n): names of statuses, types, fields, roles and layers, and verbs and areas
//! of events.
//!
//! These are for people. Identifiers read by programs (`in_progress`) are never translated. Names of statuses,
//! types, fields, layers and areas are in sentence case, because most stand alone: on a pill, in a table cell,
//! before a value. Inside a sentence they are written with [`label_in_sentence`]. Event verbs, English role
//! names and durations of runs are written as they appear in a sentence.

mod board;
mod event;
mod society;
mod task;

pub use board::{decision_status_label, version_action_label};
pub(crate) use event::unknown_event_verb;
pub use event::{event_area_label, event_verb};
pub use society::{
    agent_status_label, layer_label, member_status_label, role_from_label, role_label,
    run_duration_label, run_status_label,
};
pub use task::{
    task_field_label, task_field_name_label, task_operation_label, task_priority_label,
    task_status_label, task_status_value, task_type_from_label, task_type_label,
};

use polis_i18n::describe_code_name;

use crate::UiLanguage;

/// Returns an error code as people read it: in English the code itself, in Chinese its meaning.
pub fn refusal_code_label(code: &str, lang: UiLanguage) -> &str {
    match lang {
        UiLanguage::En => code,
        UiLanguage::Zh => {
            describe_code_name(code, lang).map_or(code, |text| text.trim_end_matches('\u{3002}'))
        }
    }
}

/// Returns a label as it is written inside a sentence: with a lower-case first letter, except in an
/// abbreviation (`API design`).
pub fn label_in_sentence(label: &str) -> String {
    let mut chars = label.chars();
    let Some(first) = chars.next() else {
        return String::new();
    };
    if chars.clone().next().is_some_and(char::is_uppercase) {
        return label.to_owned();
    }
    first.to_lowercase().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use polis_core::agent::{AgentLayer, AgentStatus};
    use polis_core::society::run::RunStatus;
    use polis_core::task::TaskField;
    use polis_core::{EventArea, TaskStatus, TaskType};

    use super::*;

    #[test]
    fn display_names_are_accepted_where_names_are_entered() {
        assert_eq!(role_from_label("后端负责人"), "backend-leader");
        assert_eq!(role_from_label("backend-leader"), "backend-leader");
        assert_eq!(role_from_label("painter"), "painter");
        assert_eq!(task_type_from_label("后端实现"), "backend_implementation");
        assert_eq!(task_type_from_label("testing"), "testing");
        assert_eq!(task_type_from_label("cooking"), "cooking");
    }

    #[test]
    fn labels_are_in_sentence_case() {
        let en = UiLanguage::En;
        let mut labels = vec![
            agent_status_label(AgentStatus::Active, en),
            agent_status_label(AgentStatus::Retired, en),
            layer_label(AgentLayer::Top, en),
            layer_label(AgentLayer::Mid, en),
            layer_label(AgentLayer::Bottom, en),
            run_status_label(RunStatus::Active, en),
            run_status_label(RunStatus::Paused, en),
            run_status_label(RunStatus::Done, en),
            run_status_label(RunStatus::Stopped, en),
        ];
        labels.extend(TaskStatus::ALL.map(|one| task_status_label(one, en)));
        labels.extend(TaskType::ALL.iter().map(|one| task_type_label(*one, en)));
        labels.extend(TaskField::ALL.iter().map(|one| task_field_label(*one, en)));
        labels.extend(
            EventArea::ALL
                .iter()
                .map(|area| event_area_label(*area, en)),
        );
        for label in labels {
            assert!(label.starts_with(char::is_uppercase), "{label}");
        }
    }

    #[test]
    fn label_in_sentence_is_lower_case_except_for_abbreviations() {
        for (label, expected) in [
            ("In progress", "in progress"),
            ("API design", "API design"),
            ("进行中", "进行中"),
            ("", ""),
        ] {
            assert_eq!(label_in_sentence(label), expected);
        }
    }
}
