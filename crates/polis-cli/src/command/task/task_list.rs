//! `polis task list`, `ready` and `get`: prints tasks, page by page (cursor pagination), or one at length.

use clap::Args;
use polis_core::number::saturating_cast;
use polis_core::task::TaskSort;
use polis_core::{TaskStatus, TaskType};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, TaskListParams};

use super::{parse_priority, task_render};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// List tasks, without deleted ones.
#[derive(Debug, Args)]
pub(crate) struct TaskListArgs {
    /// Only tasks visible to this role: those that require it, those without a role, and those it owns
    #[arg(long, value_name = "ROLE")]
    role_filter: Option<String>,
    /// Only tasks with this status: pending, in_progress or completed
    #[arg(long)]
    status: Option<String>,
    /// Only tasks owned by this agent
    #[arg(long, value_name = "AGENT")]
    owner: Option<String>,
    /// Only tasks of this type
    #[arg(long = "type", alias = "task-type", value_name = "TYPE")]
    task_type: Option<String>,
    /// Only tasks of this priority: critical, high, normal or low; a task without one is normal
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// Only tasks that can be claimed now
    #[arg(long)]
    ready: bool,
    /// Only tasks that require exactly this role; "" for tasks that require none
    #[arg(long, value_name = "ROLE")]
    required_role: Option<String>,
    /// Only tasks with all of these words in subject or description; 12 or #12 also matches a task number
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Order: number (default) or priority, highest first
    #[arg(long, value_name = "ORDER")]
    sort: Option<String>,
    /// Newest first; if sorted by priority, among tasks of equal priority
    #[arg(long)]
    newest: bool,
    /// Maximum number of tasks; default: all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Continue after this cursor: the `next` of the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// List the tasks that can be claimed now.
#[derive(Debug, Args)]
pub(crate) struct TaskReadyArgs {
    /// Only tasks that this role may claim; default: your own role if you are an agent
    #[arg(long, value_name = "ROLE")]
    role_filter: Option<String>,
    /// Maximum number of tasks; default: all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Continue after this cursor: the `next` of the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Show a task.
#[derive(Debug, Args)]
pub(crate) struct TaskGetArgs {
    /// Task number
    id: String,
}

impl TaskGetArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let view = context.block_on(op::get_task(&context.request(), self.id.parse()?))?;
        out.print_result(&view, |v| task_render::render_task(v, out))
    }
}

impl TaskListArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskListParams {
            role_filter: self.role_filter,
            status: self.status.as_deref().map(TaskStatus::parse).transpose()?,
            owner: self.owner,
            task_type: self.task_type.as_deref().map(TaskType::parse).transpose()?,
            priority: parse_priority(self.priority.as_deref())?,
            ready: self.ready,
            required_role: self.required_role,
            search: self.search,
            sort: self.sort.as_deref().map(TaskSort::parse).transpose()?,
            newest: self.newest,
            limit: self.limit,
            cursor: self.cursor.as_deref().map(str::parse).transpose()?,
        };
        print_tasks(context, out, params)
    }
}

impl TaskReadyArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let role = match self.role_filter {
            Some(role) => Some(role),
            None => {
                let caller = context.block_on(context.request().resolve_caller())?;
                (caller.kind != polis_core::CallerKind::Person).then_some(caller.role)
            }
        };
        let params = TaskListParams {
            role_filter: role,
            ready: true,
            limit: self.limit,
            cursor: self.cursor.as_deref().map(str::parse).transpose()?,
            ..TaskListParams::default()
        };
        print_tasks(context, out, params)
    }
}

/// Prints pages as they are read, so that a long list is never held in memory.
fn print_tasks(
    context: &CommandContext,
    out: &CliOutput,
    mut params: TaskListParams,
) -> Result<(), CliError> {
    let limit = params.limit;
    let mut left = limit.unwrap_or(u32::MAX);
    let mut first = true;
    let mut has_priorities = false;
    loop {
        params.limit = Some(left);
        let page = context.block_on(op::list_tasks(&context.request(), &params))?;
        left = left.saturating_sub(saturating_cast::<u32>(page.tasks.len()));
        if out.is_json() {
            out.print_raw(if first { "{\"tasks\":[" } else { "" })?;
            for (n, task) in page.tasks.iter().enumerate() {
                let text = serde_json::to_string(task).map_err(std::io::Error::other)?;
                out.print_raw(if first && n == 0 { "" } else { "," })?;
                out.print_raw(&text)?;
            }
        } else if page.tasks.is_empty() {
            out.print_line(no_tasks_message(&params, out.lang()))?;
        } else {
            // The first page with priorities has a column more, so it repeats the headers.
            let gains_column = !has_priorities && page.tasks.iter().any(|t| t.priority.is_some());
            has_priorities |= gains_column;
            let columns = task_render::TaskTableColumns {
                has_headers: first || gains_column,
                has_priorities,
            };
            out.print_text(&task_render::render_task_table(&page.tasks, columns, out))?;
        }
        first = false;
        params.cursor = page.next;
        if page.next.is_none() || left == 0 {
            break;
        }
    }
    match (out.is_json(), params.cursor) {
        (true, Some(next)) => out.print_line(&format!("],\"next\":\"{next}\"}}")),
        (true, None) => out.print_line("],\"next\":null}"),
        (false, Some(next)) => out.print_line(&msg::cli_task_more(out.lang(), next)),
        (false, None) => Ok(()),
    }
}

/// Returns the same query without filters.
fn without_filters(params: &TaskListParams) -> TaskListParams {
    TaskListParams {
        sort: params.sort,
        newest: params.newest,
        limit: params.limit,
        cursor: params.cursor,
        ..TaskListParams::default()
    }
}

fn no_tasks_message(params: &TaskListParams, lang: UiLanguage) -> &'static str {
    if params.ready {
        msg::cli_task_none_ready(lang)
    } else if *params != without_filters(params) {
        msg::cli_task_no_match(lang)
    } else {
        msg::cli_task_none(lang)
    }
}
