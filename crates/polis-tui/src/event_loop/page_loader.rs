//! Page loader: loads the data of a page by calling the operations, and the success figures of the overview.
//! The text of boards and files is rendered here too, because that may take long.

use polis_core::board::BoardName;
use polis_core::number::saturating_cast;
use polis_core::society::run::Run;
use polis_core::task::TaskSort;
use polis_core::workspace::file_tools::{ListFilesParams, ReadFileParams};
use polis_core::{AgentId, RefusalKind, RunId, TaskStatus};
use polis_ops::OpError;
use polis_ops::op::{
    self, LogPage, LogReadParams, OrgMember, StatsPeriod, TaskListParams, TaskStats,
};
use polis_view::markdown::{self, RenderOptions};

use super::TuiConfig;
use super::blocking_render::{highlight_file, render_blocking};
use crate::app::{DisplayError, LoadRange, LoadRequest, Route};
use crate::page_content::{
    AgentPageData, AgentRoster, BoardPageData, FilePageData, LoadedEvents, OverviewData, PageData,
    TaskGroup, TaskPageData,
};

/// Maximum number of bytes of a file that are shown.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Number of comments shown on a task.
const MAX_COMMENTS: u32 = 100;
/// Number of entries shown of a task's history.
const MAX_HISTORY_ENTRIES: usize = 100;
/// Maximum number of events per log page.
const MAX_LOG_PAGE_EVENTS: u32 = 1_000;
/// Number of turns shown of a conversation.
const MAX_TURNS: u32 = 100;
/// Maximum number of runs shown.
const MAX_RUNS: usize = 50;

/// Loads the data of a page. Fails with the error to display if an operation fails.
pub async fn load_page(
    screen: &TuiConfig,
    request: &LoadRequest,
) -> Result<PageData, DisplayError> {
    (load_route(screen, request).await)
        .map_err(|error| DisplayError::from_error(&error, screen.lang))
}

async fn load_route(screen: &TuiConfig, request: &LoadRequest) -> Result<PageData, OpError> {
    match &request.route {
        Route::Overview => {
            let now = op::load_overview(&screen.request(), &op::OverviewParams {}).await?;
            Ok(PageData::Overview(Box::new(OverviewData {
                now,
                stats: None,
            })))
        }
        Route::Tasks => load_tasks(screen, request).await,
        Route::Task(id) => {
            let view = op::get_task(&screen.request(), *id).await?;
            let newest = op::TaskCommentsParams {
                newest: true,
                limit: Some(MAX_COMMENTS),
                ..op::TaskCommentsParams::for_task(*id)
            };
            let comments = op::list_task_comments(&screen.request(), &newest).await?;
            let history =
                op::newest_task_history(&screen.request(), *id, MAX_HISTORY_ENTRIES).await?;
            Ok(PageData::Task(Box::new(TaskPageData {
                view,
                comments,
                history,
            })))
        }
        Route::Boards => {
            let list = op::list_boards(&screen.request(), &op::ListBoardsParams::default()).await?;
            Ok(PageData::Boards(list.boards))
        }
        Route::Board(name) => load_board(screen, request, name).await,
        Route::Versions(name) => {
            let params = op::BoardHistoryParams {
                board: name.clone(),
                limit: None,
            };
            let history = op::list_board_versions(&screen.request(), &params).await?;
            Ok(PageData::Versions(name.clone(), history.versions))
        }
        Route::VersionDiff(name, version) => {
            let params = op::BoardDiffParams {
                board: name.clone(),
                from: version.saturating_sub(1),
                to: Some(*version),
            };
            let diff = op::diff_board(&screen.request(), &params).await?;
            let diff_text = diff.diff_text(screen.lang);
            Ok(PageData::VersionDiff(name.clone(), *version, diff_text))
        }
        Route::Decisions(name) => {
            let board_params = op::BoardNameParams {
                board: name.clone(),
            };
            let decisions = op::list_decisions(&screen.request(), &board_params)
                .await?
                .decisions;
            let milestones = op::list_milestones(&screen.request(), &board_params)
                .await?
                .milestones;
            Ok(PageData::Decisions(decisions, milestones))
        }
        Route::Agents => {
            let agents =
                op::list_agents(&screen.request(), &op::ListAgentsParams::default()).await?;
            Ok(PageData::Agents(AgentRoster {
                agents: agents.agents,
                members: load_members(screen).await?,
                runs: load_runs(screen).await?,
            }))
        }
        Route::Agent(id, run) => load_agent(screen, id, run.as_ref()).await,
        Route::Workspaces => {
            let list = op::list_workspaces(&screen.request()).await?;
            Ok(PageData::Workspaces(list.workspaces))
        }
        Route::Files(owner, path) => {
            let params = ListFilesParams {
                path: Some(path.clone()).filter(|path| !path.is_empty()),
                ..ListFilesParams::default()
            };
            let list = op::list_files(&screen.request(), Some(owner), &params).await?;
            Ok(PageData::Files(owner.clone(), path.clone(), list))
        }
        Route::File(owner, path) => load_file(screen, owner, path).await,
        Route::Commands(owner) => {
            let mut params = op::ListCommandsParams {
                workspace: Some(owner.clone()),
                ..op::ListCommandsParams::default()
            };
            let mut commands = Vec::new();
            loop {
                let read = saturating_cast::<u32>(commands.len());
                params.limit = Some(request.rows.saturating_sub(read));
                let page = op::list_commands(&screen.request(), &params).await?;
                commands.extend(page.commands);
                let is_complete =
                    u32::try_from(commands.len()).is_ok_and(|count| count >= request.rows);
                match page.next {
                    Some(next) if !is_complete => params.before = Some(next),
                    more => return Ok(PageData::Commands(commands, more.is_some())),
                }
            }
        }
        Route::Command(_, id) => {
            let params = op::ShowCommandParams { id: id.clone() };
            let view = op::show_command(&screen.request(), &params).await?;
            Ok(PageData::Command(Box::new(view)))
        }
        Route::Events => load_events(screen, request).await,
        Route::Event(event) => Ok(PageData::Event(event.clone())),
    }
}

/// Computes the success figures, by day. Fails with the error to display if the event log cannot be read.
pub async fn compute_stats(screen: &TuiConfig) -> Result<TaskStats, DisplayError> {
    let figures = screen
        .stats_cache
        .load_stats(&screen.app, Some(StatsPeriod::Day));
    (figures.await).map_err(|error| DisplayError::from_error(&error, screen.lang))
}

/// Returns all visible members of runs; none for an agent that may not see any.
async fn load_members(screen: &TuiConfig) -> Result<Vec<OrgMember>, OpError> {
    let mut params = op::ListMembersParams::default();
    let mut members = Vec::new();
    loop {
        let page = match op::list_members(&screen.request(), &params).await {
            Ok(page) => page,
            // An agent without a run sees no members, but still sees the registry.
            Err(error) if !matches!(error.kind(), RefusalKind::Internal | RefusalKind::Busy) => {
                return Ok(members);
            }
            Err(error) => return Err(error),
        };
        members.extend(page.members);
        match page.next {
            Some(next) => params.cursor = Some(next),
            None => return Ok(members),
        }
    }
}

/// Returns the visible runs, including ended ones: open ones first, then the newest.
async fn load_runs(screen: &TuiConfig) -> Result<Vec<Run>, OpError> {
    let params = op::ListRunsParams {
        all: true,
        ..op::ListRunsParams::default()
    };
    let mut runs = match op::list_runs(&screen.request(), &params).await {
        Ok(list) => list.runs,
        Err(error) if !matches!(error.kind(), RefusalKind::Internal | RefusalKind::Busy) => {
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    runs.sort_by(|a, b| {
        (!a.is_open(), b.created_at.as_str()).cmp(&(!b.is_open(), a.created_at.as_str()))
    });
    runs.truncate(MAX_RUNS);
    Ok(runs)
}

async fn load_tasks(screen: &TuiConfig, request: &LoadRequest) -> Result<PageData, OpError> {
    let mut groups = Vec::new();
    for status in [
        TaskStatus::InProgress,
        TaskStatus::Pending,
        TaskStatus::Completed,
    ] {
        let mut params = TaskListParams {
            status: Some(status),
            search: Some(request.search.clone()).filter(|search| !search.trim().is_empty()),
            // Open tasks in the order in which they should be done.
            sort: (status != TaskStatus::Completed).then_some(TaskSort::Priority),
            newest: true,
            ..TaskListParams::default()
        };
        let total = op::count_tasks(&screen.request(), &params).await?;
        let limit = saturating_cast::<usize>(request.rows);
        let mut tasks = Vec::new();
        while tasks.len() < limit {
            let left = saturating_cast::<u32>(limit - tasks.len());
            params.limit = Some(left.min(1_000));
            let page = op::list_tasks(&screen.request(), &params).await?;
            tasks.extend(page.tasks);
            match page.next {
                Some(next) => params.cursor = Some(next),
                None => break,
            }
        }
        groups.push(TaskGroup {
            status,
            tasks,
            total,
        });
    }
    Ok(PageData::Tasks(groups))
}

async fn load_board(
    screen: &TuiConfig,
    request: &LoadRequest,
    name: &BoardName,
) -> Result<PageData, OpError> {
    let params = op::BoardReadParams::for_board(name.clone());
    let view = op::read_board(&screen.request(), &params).await?;
    let options = RenderOptions {
        width: request.width,
        colour: true,
    };
    let text = view.content.clone().unwrap_or_default();
    // Rendering a board of 10 MB takes a while, so it runs on another thread.
    let lines = render_blocking(move || markdown::render_markdown(&text, &options)).await;
    Ok(PageData::Board(Box::new(BoardPageData { view, lines })))
}

async fn load_agent(
    screen: &TuiConfig,
    id: &AgentId,
    run: Option<&RunId>,
) -> Result<PageData, OpError> {
    let agent = op::show_agent(&screen.request(), id).await.ok();
    let run = run.cloned().or_else(|| agent.as_ref()?.run.clone());
    let mut data = AgentPageData {
        id: id.clone(),
        run: run.clone(),
        agent,
        member: None,
        conversation: None,
        mail: Vec::new(),
    };
    if let Some(run) = &run {
        let conversation_params = op::ReadConversationParams {
            agent_id: id.clone(),
            run_id: Some(run.clone()),
            from: None,
            limit: Some(MAX_TURNS),
        };
        data.conversation =
            Some(op::read_conversation(&screen.request(), &conversation_params).await?);
        data.member = Some(op::show_member(&screen.request(), run, id).await?);
    }
    let mail_params = op::PersonMailParams {
        with: Some(id.clone()),
        run_id: data.run.clone(),
        ..op::PersonMailParams::default()
    };
    // Only the person has a mailbox here; other agents see the rest.
    let mail = op::list_person_mail(&screen.request(), &mail_params).await;
    data.mail = mail.map(|page| page.messages).unwrap_or_default();
    Ok(PageData::Agent(Box::new(data)))
}

async fn load_file(screen: &TuiConfig, owner: &AgentId, path: &str) -> Result<PageData, OpError> {
    let params = ReadFileParams {
        path: path.to_owned(),
        max_bytes: Some(MAX_FILE_BYTES),
        ..ReadFileParams::default()
    };
    let read = op::read_file(&screen.request(), Some(owner), &params).await?;
    let (size, truncated) = (read.size, read.truncated);
    let path = path.to_owned();
    let lines = render_blocking(move || highlight_file(&read.content, &path)).await;
    Ok(PageData::File(FilePageData {
        lines,
        size,
        truncated,
    }))
}

/// Returns the events that match the search: the newest, or those before or after the known ones. The
/// operation decides how far one search goes back.
async fn load_events(screen: &TuiConfig, request: &LoadRequest) -> Result<PageData, OpError> {
    let text = Some(request.search.clone()).filter(|text| !text.trim().is_empty());
    let loaded = |page: LogPage, from, to| LoadedEvents {
        events: page.events,
        search: request.search.clone(),
        first_seq: from,
        last_seq: to,
        has_more: page.next.is_some(),
    };
    if let LoadRange::Since(since) = request.range {
        let params = LogReadParams {
            since,
            text: text.clone(),
            ..LogReadParams::default()
        };
        let page = op::read_log(&screen.request(), &params).await?;
        // After a long interruption the newest events are loaded instead.
        if page.next.is_none() {
            let to = page.through;
            return Ok(PageData::Events(loaded(page, since.saturating_add(1), to)));
        }
    }
    let before = match request.range {
        LoadRange::Before(before) => before,
        LoadRange::Newest | LoadRange::Since(_) => {
            let last = screen.app.store.last_sequence().await?;
            last.saturating_add(1)
        }
    };
    let mut params = LogReadParams {
        before: Some(before),
        limit: Some(request.rows),
        text,
        ..LogReadParams::default()
    };
    let mut page = op::read_log(&screen.request(), &params).await?;
    // One response contains at most `MAX_LOG_PAGE_EVENTS` events. A search already goes back far enough per
    // request.
    let more_pages = request.rows.div_ceil(MAX_LOG_PAGE_EVENTS).saturating_sub(1);
    for _ in 0..more_pages {
        if page.next.is_none() || params.text.is_some() {
            break;
        }
        params.before = Some(page.through);
        let mut older = op::read_log(&screen.request(), &params).await?;
        older.events.append(&mut page.events);
        page = older;
    }
    let from = page.through;
    Ok(PageData::Events(loaded(
        page,
        from,
        before.saturating_sub(1),
    )))
}
