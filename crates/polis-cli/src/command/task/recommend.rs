//! `polis task recommend`: ranks the tasks an agent could claim next.

use clap::Args;
use polis_ops::op::{self, TaskRecommend};

use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Style, clean};

/// Rank what you could claim, best first, with reasons.
#[derive(Debug, Args)]
pub(crate) struct Recommend {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Recommend {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskRecommend {
            limit: Some(self.limit),
        };
        let ranking = context.run(op::recommend_tasks(&context.polis, &context.agent, &params))?;
        out.answer(&ranking, |ranking| {
            if ranking.recommendations.is_empty() {
                return "Nothing is ready for you. See what waits for what with: polis task graph"
                    .to_owned();
            }
            let mut text = String::new();
            for r in &ranking.recommendations {
                let head = format!("{:>5}  #{} {}", r.score, r.task.id, clean(&r.task.subject));
                text.push_str(&format!("{}\n", out.paint(Style::Bold, &head)));
                for reason in &r.reasons {
                    text.push_str(&format!(
                        "  {:>+4}  {}\n",
                        reason.points,
                        clean(&reason.why)
                    ));
                }
            }
            text
        })
    }
}
