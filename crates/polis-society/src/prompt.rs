//! Prompt construction: the system message at the head of every prompt (rules, role, brief, position in the
//! team) and the status message at its tail (time, hired agents, open tasks, remaining budget).
//!
//! The facts about the member are read from the store, so neither compaction nor a restart makes it forget its
//! role, its brief or its position; the rules are in the catalogue (`polis-i18n`). Constant parts are at the
//! beginning of a prompt; the changing tail is at the end and is not stored. This allows prompt caching: providers
//! recognize a prefix they have seen before.

use polis_core::AgentId;
use polis_core::society::brief::TaskBrief;
use polis_core::society::budget::{BudgetAccount, BudgetResource};
use polis_core::society::member::Member;
use polis_core::society::run::Run;
use polis_core::society::society_role::SocietyRole;
use polis_core::task::TaskSummary;
use polis_core::timestamp::Timestamp;
use polis_i18n::{MessageLabel, UiLanguage, msg};
use polis_ops::tool::format_budget_amount;

use crate::chat_message;

/// Maximum number of open tasks read for the status message, for each task status.
pub const MAX_SHOWN_TASKS: u32 = 20;
/// Maximum number of hired agents listed in the status message.
const MAX_SHOWN_CHILDREN: usize = 50;

/// Input of the system message: a member with its role and run.
#[derive(Debug, Clone, Copy)]
pub struct SystemMessageInput<'a> {
    /// The member that gets the message.
    pub member: &'a Member,
    /// Its role, if it has one.
    pub role: Option<&'a SocietyRole>,
    /// The run it belongs to.
    pub run: &'a Run,
}

/// Input of the status message: the current state of a member.
#[derive(Debug, Clone, Copy)]
pub struct StatusMessageInput<'a> {
    /// The current time, as shown to the model.
    pub now: &'a Timestamp,
    /// The agents it has hired.
    pub children: &'a [AgentId],
    /// The tasks it owns and has not completed.
    pub tasks: &'a [TaskSummary],
    /// Its budget account: limits and usage.
    pub account: &'a BudgetAccount,
}

/// Returns the system message of a member, as JSON.
pub fn render_system_message(input: SystemMessageInput<'_>, lang: UiLanguage) -> String {
    let member = input.member;
    let mut text = String::from(msg::prompt_rules(lang));
    match input.role {
        Some(role) => {
            text.push_str(&format!(
                "\n\n# {}: {}\n{}",
                msg::prompt_role(lang),
                role.name,
                role.role_prompt.trim()
            ));
        }
        None if member.agent.is_root() => {
            text.push_str("\n\n");
            text.push_str(msg::prompt_root_rules(lang));
        }
        None => {
            let title = msg::prompt_role(lang);
            text.push_str(&format!("\n\n# {title}: {}", member.role));
        }
    }
    if !member.brief.objective.is_empty() {
        text.push_str(&format!("\n\n# {}\n", msg::prompt_brief(lang)));
        text.push_str(&render_brief(&member.brief, lang));
    }
    text.push_str(&format!("\n\n# {}\n", msg::prompt_position(lang)));
    let (agent, run) = (&member.agent, &input.run.id);
    text.push_str(&match &member.parent {
        Some(parent) => msg::prompt_hired_by(lang, agent, parent, run),
        None => msg::prompt_top_of_run(lang, agent, run),
    });
    chat_message::system_message(&text).as_str().to_owned()
}

/// Formats a brief as a list.
fn render_brief(brief: &TaskBrief, lang: UiLanguage) -> String {
    let mut lines = String::new();
    let mut line = |name: MessageLabel, value: &str| {
        if !value.trim().is_empty() {
            lines.push_str(&format!("- {}: {}\n", name(lang), value.trim()));
        }
    };
    line(msg::prompt_brief_objective, &brief.objective);
    line(msg::prompt_brief_constraints, &brief.constraints.join("; "));
    line(msg::prompt_brief_inputs, &brief.inputs);
    line(msg::prompt_brief_outputs, &brief.outputs);
    line(msg::prompt_brief_done_when, &brief.completion_criteria);
    line(msg::prompt_brief_work_with, &brief.collaborators.join("; "));
    line(msg::prompt_brief_read, &brief.references.join("; "));
    line(msg::prompt_brief_priority, &brief.priority);
    lines.truncate(lines.trim_end().len());
    lines
}

/// Returns the status message of a member, as JSON.
pub fn render_status_message(input: StatusMessageInput<'_>, lang: UiLanguage) -> String {
    let mut text = msg::prompt_status_header(lang, input.now);
    let mut line = |name: MessageLabel, value: String| {
        text.push_str(&format!("\n{}: {value}", name(lang)));
    };
    if !input.children.is_empty() {
        let visible = input.children.iter().take(MAX_SHOWN_CHILDREN);
        let mut names: Vec<&str> = visible.map(AgentId::as_str).collect();
        if input.children.len() > MAX_SHOWN_CHILDREN {
            names.push("…");
        }
        line(msg::prompt_hired, names.join(", "));
    }
    if !input.tasks.is_empty() {
        let tasks = input.tasks.iter();
        let tasks: Vec<String> = tasks
            .map(|task| format!("#{} {} ({})", task.id, task.subject, task.status.as_str()))
            .collect();
        line(msg::prompt_open_tasks, tasks.join("; "));
    }
    let left: Vec<String> = BudgetResource::ALL
        .into_iter()
        .filter_map(|resource| Some((resource, input.account.remaining(resource)?)))
        .map(|(resource, left)| format_budget_amount(resource, left, lang))
        .collect();
    if !left.is_empty() {
        line(msg::prompt_remaining_budget, left.join(", "));
    }
    chat_message::user_message(&text).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use polis_core::society::budget::BudgetLimits;

    use super::*;

    fn test_member() -> Member {
        serde_json::from_value(serde_json::json!({
            "agent": "ann", "parent": "lead", "roleId": "role-1", "role": "程序员", "depth": 2,
            "brief": {"objective": "Write \"add\"", "constraints": ["small"], "completionCriteria": "tests pass"},
            "createdAt": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    #[test]
    fn system_message_contains_role_brief_and_position() {
        let member = test_member();
        let now = Timestamp::from_millis(0);
        let run = Run::new(
            "r1".parse().unwrap(),
            "a program".to_owned(),
            &"user".parse().unwrap(),
            &now,
        );
        let role: SocietyRole = serde_json::from_value(serde_json::json!({
            "id": "role-1", "name": "程序员", "rolePrompt": "你是一名程序员", "createdBy": "lead",
            "createdAt": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap();
        for lang in [UiLanguage::En, UiLanguage::Zh] {
            let input = SystemMessageInput {
                member: &member,
                role: Some(&role),
                run: &run,
            };
            let text = chat_message::message_content(&render_system_message(input, lang));
            for part in [
                "你是一名程序员",
                "程序员",
                "Write \"add\"",
                "small",
                "tests pass",
                "`lead`",
                "`ann`",
                "`r1`",
            ] {
                assert!(text.contains(part), "{part} in {text}");
            }
        }
    }

    #[test]
    fn status_message_omits_empty_fields() {
        let now = Timestamp::from_millis(0);
        let input = StatusMessageInput {
            now: &now,
            children: &[],
            tasks: &[],
            account: &BudgetAccount::default(),
        };
        let text = chat_message::message_content(&render_status_message(input, UiLanguage::En));
        assert_eq!(text.lines().count(), 1, "{text}");
        let children = ["bob".parse().unwrap()];
        let account = BudgetAccount::with_limits(BudgetLimits {
            turns: Some(3),
            micros: Some(1_250_000),
            ..BudgetLimits::default()
        });
        let input = StatusMessageInput {
            children: &children,
            account: &account,
            ..input
        };
        let text = chat_message::message_content(&render_status_message(input, UiLanguage::En));
        assert!(
            text.contains("bob") && text.contains("3 turns") && text.contains("1.25 money"),
            "{text}"
        );
    }
}
