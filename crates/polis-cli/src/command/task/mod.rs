//! `polis task`: the task board. One file per group of subcommands; this one defines the subcommands and parses shared
//! arguments.

mod approve;
mod claim;
mod comment;
mod create;
mod graph;
mod history;
mod list;
mod recommend;
mod render;
mod stats;
mod transfer;
mod update;

use clap::Subcommand;
use polis_core::{Code, Fields, Refusal, TaskId};

use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// The task board.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Create a task
    Create(create::Create),
    /// List tasks
    List(list::List),
    /// List what is free to be claimed now
    Ready(list::Ready),
    /// Show a task
    Get(list::Get),
    /// Change a task
    Update(update::Update),
    /// Take a task: this one, or the best ready one for your role
    Claim(claim::Claim),
    /// Give a task back; it stays in progress and may be claimed again
    Release(claim::Release),
    /// Keep a claim with a lease alive
    Heartbeat(claim::Heartbeat),
    /// Comment on a task; @name mentions an agent
    Comment(comment::Add),
    /// Read a task's comments
    Comments(comment::List),
    /// Approve a task's completion (team lead)
    Approve(approve::Approve),
    /// Delete a task; its history stays
    Delete(update::Delete),
    /// Rank what you could claim, with reasons
    Recommend(recommend::Recommend),
    /// Draw the dependencies
    Graph(graph::Graph),
    /// The success figures: role match, conflicts, cross-role claims, invalid transitions
    Stats(stats::Stats),
    /// Everything a task ever was
    History(history::History),
    /// Read a directory of N.json task files in, all or none
    Import(transfer::Import),
    /// Write every task out as N.json
    Export(transfer::Export),
}

impl Task {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let context = Context::open(globals)?;
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
fn metadata(text: Option<String>) -> Result<Option<Fields>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let text = super::text_or_stdin(text)?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        Refusal::new(
            Code::InvalidMetadata,
            format!("Invalid metadata: {error}."),
            "give a JSON object, such as '{\"priority\":\"high\"}'",
        )
        .into()
    })
}

/// Parses task numbers: repeated flags, or several in one, separated by commas.
fn ids(texts: &[String]) -> Result<Vec<TaskId>, Refusal> {
    texts
        .iter()
        .flat_map(|text| text.split(','))
        .map(|text| text.trim().parse())
        .collect()
}
