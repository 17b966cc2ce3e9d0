//! `polis task`: the task board. One file per group of subcommands; this one defines the subcommands and
//! parses shared arguments.

mod claim;
mod comment;
mod create;
mod graph;
mod import_export;
mod recommend;
mod task_approval;
mod task_history;
mod task_list;
mod task_render;
mod task_stats;
mod update;

use clap::Subcommand;
use polis_core::{RawObject, Refusal, TaskId, TaskPriority};
use polis_ops::tool::describe_json_error;

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;

/// Create, claim, update and list tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Create a task
    Create(create::TaskCreateArgs),
    /// List tasks
    List(task_list::TaskListArgs),
    /// List the tasks that can be claimed now
    Ready(task_list::TaskReadyArgs),
    /// Show a task
    Get(task_list::TaskGetArgs),
    /// Change a task
    Update(update::TaskUpdateArgs),
    /// Claim a task: the given one, or the best ready one for your role
    Claim(claim::TaskClaimArgs),
    /// Release a task; it stays in progress and can be claimed again
    Release(claim::TaskReleaseArgs),
    /// Renew the lease of a claim
    Heartbeat(claim::TaskHeartbeatArgs),
    /// Comment on a task; @name mentions an agent
    Comment(comment::TaskCommentArgs),
    /// List a task's comments
    Comments(comment::TaskCommentsArgs),
    /// Approve a task's completion (team lead)
    Approve(task_approval::TaskApproveArgs),
    /// Delete a task; its history is kept
    Delete(update::TaskDeleteArgs),
    /// Rank the tasks you could claim, with reasons
    Recommend(recommend::TaskRecommendArgs),
    /// Draw the dependency graph
    Graph(graph::TaskGraphArgs),
    /// Print success metrics: role match, conflicts, cross-role claims, invalid transitions
    Stats(task_stats::TaskStatsArgs),
    /// Print the history of a task
    History(task_history::TaskHistoryArgs),
    /// Import a directory of N.json task files, in one commit; invalid files are repaired or skipped
    Import(import_export::TaskImportArgs),
    /// Export every task as N.json
    Export(import_export::TaskExportArgs),
}

impl TaskCommand {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let context = CommandContext::open(globals)?;
        match self {
            Self::Create(args) => args.run(&context, out),
            Self::List(args) => args.run(&context, out),
            Self::Ready(args) => args.run(&context, out),
            Self::Get(args) => args.run(&context, out),
            Self::Update(args) => args.run(&context, out),
            Self::Claim(args) => args.run(&context, out),
            Self::Release(args) => args.run(&context, out),
            Self::Heartbeat(args) => args.run(&context, out),
            Self::Comment(args) => args.run(&context, out),
            Self::Comments(args) => args.run(&context, out),
            Self::Approve(args) => args.run(&context, out),
            Self::Delete(args) => args.run(&context, out),
            Self::Recommend(args) => args.run(&context, out),
            Self::Graph(args) => args.run(&context, out),
            Self::Stats(args) => args.run(&context, out),
            Self::History(args) => args.run(&context, out),
            Self::Import(args) => args.run(&context, out),
            Self::Export(args) => args.run(&context, out),
        }
    }
}

/// Parses the metadata argument, a JSON object.
fn parse_metadata(text: Option<String>) -> Result<Option<RawObject>, CliError> {
    let Some(text) = text else { return Ok(None) };
    let text = super::read_text_arg(text)?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        Refusal::from(CommandRefusal::MetadataNotJson {
            error: describe_json_error(&error.to_string()),
        })
        .into()
    })
}

/// Parses the argument of `--priority`.
fn parse_priority(name: Option<&str>) -> Result<Option<TaskPriority>, Refusal> {
    name.map(TaskPriority::parse).transpose()
}

/// Parses task numbers: repeated flags, or several in one, separated by commas.
fn parse_task_ids(texts: &[String]) -> Result<Vec<TaskId>, Refusal> {
    texts
        .iter()
        .flat_map(|text| text.split(','))
        .map(|text| text.trim().parse())
        .collect()
}
