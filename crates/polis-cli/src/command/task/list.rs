//! `polis task list`, `ready` and `get`: prints tasks, page by page or one at length.

use clap::Args;
use polis_core::{TaskStatus, TaskType};
use polis_ops::op::{self, TaskList};

use super::render;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// List tasks; deleted ones never show.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only what this role sees: its own, those without a role, and those it holds
    #[arg(long, value_name = "ROLE")]
    role_filter: Option<String>,
    /// Only in this state: pending, in_progress or completed
    #[arg(long)]
    status: Option<String>,
    /// Only those held by this agent
    #[arg(long, value_name = "AGENT")]
    owner: Option<String>,
    /// Only of this type
    #[arg(long = "type", alias = "task-type", value_name = "TYPE")]
    task_type: Option<String>,
    /// Only what could be claimed now
    #[arg(long)]
    ready: bool,
    /// Only those that require exactly this role; "" for those that require none
    #[arg(long, value_name = "ROLE")]
    required_role: Option<String>,
    /// Only those with all of these words in their subject or description; 12 or #12 is also a number
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// The newest first
    #[arg(long)]
    newest: bool,
    /// At most so many; without it all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Go on after this: the `next` of the page before
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// List what could be claimed now.
#[derive(Debug, Args)]
pub(crate) struct Ready {
    /// Only what this role may claim; default: your own role's view if you are an agent
    #[arg(long, value_name = "ROLE")]
    role_filter: Option<String>,
    /// At most so many; without it all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Go on after this: the `next` of the page before
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Show a task.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Its number
    id: String,
}

impl Get {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let view = context.run(op::get_task(&context.polis, self.id.parse()?))?;
        out.answer(&view, |v| render::task(v, out))
    }
}

impl List {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskList {
            role_filter: self.role_filter,
            status: self.status.as_deref().map(TaskStatus::parse).transpose()?,
            owner: self.owner,
            task_type: self.task_type.as_deref().map(TaskType::parse).transpose()?,
            ready: self.ready,
            required_role: self.required_role,
            search: self.search,
            newest: self.newest,
            limit: self.limit,
            cursor: self.cursor.as_deref().map(str::parse).transpose()?,
        };
        print(context, out, params)
    }
}

impl Ready {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let role = match self.role_filter {
            Some(role) => Some(role),
            None => {
                let caller = context.run(context.polis.caller(&context.agent))?;
                (caller.standing != polis_core::Standing::Human).then_some(caller.role)
            }
        };
        let params = TaskList {
            role_filter: role,
            ready: true,
            limit: self.limit,
            cursor: self.cursor.as_deref().map(str::parse).transpose()?,
            ..TaskList::default()
        };
        print(context, out, params)
    }
}

/// Prints pages as they are read, so that a long list is never held in memory.
fn print(context: &Context, out: &Output, mut params: TaskList) -> Result<(), Failure> {
    let wanted = params.limit;
    let mut left = wanted.unwrap_or(u32::MAX);
    let mut first = true;
    loop {
        params.limit = Some(left);
        let page = context.run(op::list_tasks(&context.polis, &params))?;
        left = left.saturating_sub(u32::try_from(page.tasks.len()).unwrap_or(u32::MAX));
        if out.is_json() {
            out.raw(if first { "{\"tasks\":[" } else { "" })?;
            for (n, task) in page.tasks.iter().enumerate() {
                let text = serde_json::to_string(task).map_err(std::io::Error::other)?;
                out.raw(if first && n == 0 { "" } else { "," })?;
                out.raw(&text)?;
            }
        } else if page.tasks.is_empty() {
            out.line(empty(&params))?;
        } else {
            out.text(&render::list(&page.tasks, first, out))?;
        }
        first = false;
        params.cursor = page.next;
        if page.next.is_none() || left == 0 {
            break;
        }
    }
    match (out.is_json(), params.cursor) {
        (true, Some(next)) => out.line(&format!("],\"next\":\"{next}\"}}")),
        (true, None) => out.line("],\"next\":null}"),
        (false, Some(next)) => out.line(&format!("There are more: --cursor {next}")),
        (false, None) => Ok(()),
    }
}

/// Returns the same query without filters.
fn unfiltered(params: &TaskList) -> TaskList {
    TaskList {
        newest: params.newest,
        limit: params.limit,
        cursor: params.cursor,
        ..TaskList::default()
    }
}

fn empty(params: &TaskList) -> &'static str {
    if params.ready {
        "Nothing is ready. See what waits for what with: polis task graph"
    } else if *params != unfiltered(params) {
        "No task matches. See all with: polis task list"
    } else {
        "No tasks yet. Create one: polis task create --subject \"...\""
    }
}
