//! `polis task graph`: prints the dependency graph.

use clap::{Args, ValueEnum};
use polis_ops::op;

use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, clean_lines};

/// Draw the dependencies: of all tasks that have some, or of those connected with one.
#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// Only what is connected with this task
    id: Option<String>,
    /// How to draw
    #[arg(long, default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Dot,
    Mermaid,
}

impl Graph {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let around = self.id.as_deref().map(str::parse).transpose()?;
        let graph = context.run(op::graph_tasks(&context.polis, around))?;
        let text = match self.format {
            Format::Text => graph.to_text(),
            Format::Dot => graph.to_dot(),
            Format::Mermaid => graph.to_mermaid(),
        };
        out.answer(&serde_json::json!({ "graph": text }), |_| {
            if text.is_empty() {
                "No dependencies yet. Add one: polis task update 2 --add-blocked-by 1".to_owned()
            } else {
                clean_lines(&text)
            }
        })
    }
}
