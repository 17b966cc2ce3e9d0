//! `polis task recommend`: ranks the tasks an agent could claim next.

use clap::Args;
use polis_core::task::recommendation::{ScoreReason, ScoreReasonKind};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, TaskRecommendParams};
use polis_view::labels;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, sanitize_line};

/// Rank the tasks you could claim, best first, with reasons: by assignment to you, priority, number of tasks
/// that wait, fit of type and role, and age.
#[derive(Debug, Args)]
pub(crate) struct TaskRecommendArgs {
    /// Maximum number of tasks
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl TaskRecommendArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskRecommendParams {
            limit: Some(self.limit),
        };
        let ranking = context.block_on(op::recommend_tasks(&context.request(), &params))?;
        out.print_result(&ranking, |ranking| {
            if ranking.recommendations.is_empty() {
                return msg::cli_task_none_ready_for_you(out.lang()).to_owned();
            }
            let mut text = String::new();
            for r in &ranking.recommendations {
                let head = format!(
                    "{:>7}  #{} {}",
                    r.score,
                    r.task.id,
                    sanitize_line(&r.task.subject)
                );
                text.push_str(&format!("{}\n", out.paint(TextStyle::Bold, &head)));
                for reason in &r.reasons {
                    text.push_str(&format!(
                        "{:>+7}  {}\n",
                        reason.points,
                        sanitize_line(&describe_reason(reason, out.lang()))
                    ));
                }
            }
            text.push_str(&out.paint(TextStyle::Dim, msg::cli_task_ranking_order(out.lang())));
            text.push('\n');
            text
        })
    }
}

/// Returns a reason for the score of a task in words.
fn describe_reason(reason: &ScoreReason, lang: UiLanguage) -> String {
    match &reason.kind {
        ScoreReasonKind::Assigned => msg::cli_task_reason_assigned(lang).to_owned(),
        ScoreReasonKind::TypeMatchesRole { task_type, role } => {
            msg::cli_task_reason_type(lang, task_type.as_str(), role)
        }
        ScoreReasonKind::CompletedOfType(count) => msg::cli_task_reason_completed(lang, count),
        ScoreReasonKind::RequiresRole(role) => msg::cli_task_reason_role(lang, role),
        ScoreReasonKind::Priority(priority) => {
            msg::cli_task_reason_priority(lang, labels::task_priority_label(*priority, lang))
        }
        ScoreReasonKind::TasksWaiting(count) => msg::cli_task_reason_waiting(lang, count),
    }
}
