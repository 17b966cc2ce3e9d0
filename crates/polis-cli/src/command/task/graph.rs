//! `polis task graph`: prints the dependency graph as text, in DOT or in Mermaid.

use clap::{Args, ValueEnum};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, sanitize_lines};

/// Draw the dependency graph of all tasks, or of the tasks connected with one.
#[derive(Debug, Args)]
pub(crate) struct TaskGraphArgs {
    /// Only tasks connected with this one
    id: Option<String>,
    /// Output format
    #[arg(long, default_value = "text")]
    format: GraphFormatArg,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum GraphFormatArg {
    Text,
    Dot,
    Mermaid,
}

impl TaskGraphArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let center = self.id.as_deref().map(str::parse).transpose()?;
        let graph = context.block_on(op::task_graph(&context.request(), center))?;
        // The graph is in English for programs.
        let lang = if out.is_json() {
            UiLanguage::En
        } else {
            out.lang()
        };
        let text = match self.format {
            GraphFormatArg::Text => graph.to_text(|id| msg::cli_task_shown_above(lang, id)),
            GraphFormatArg::Dot => graph.to_dot(),
            GraphFormatArg::Mermaid => graph.to_mermaid(),
        };
        out.print_result(&serde_json::json!({ "graph": text }), |_| {
            if text.is_empty() {
                msg::cli_task_no_dependencies(lang).to_owned()
            } else {
                sanitize_lines(&text)
            }
        })
    }
}
