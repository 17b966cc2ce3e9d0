//! Loads the data of pages by calling the operations.

use polis_core::board::BoardName;
use polis_core::society::run::Run;
use polis_core::workspace::file::{ListFiles, ReadFile};
use polis_core::{AgentId, Kind, RunId, TaskStatus};
use polis_ops::OpError;
use polis_ops::op::{self, Desk, LogPage, LogRead, OrgMember, StatsBy, TaskList, TaskStats};
use polis_view::markdown::{self, Look};

use super::Screen;
use super::text_rendering::{beside, highlighted};
use crate::app::{Part, Place, Refused, Wish};
use crate::show::{
    AgentSheet, BoardSheet, Data, EventSheet, FileSheet, NowSheet, Roster, TaskGroup, TaskSheet,
};

/// Maximum number of bytes of a file that are shown.
const MAX_FILE: u64 = 1 << 20;
/// Number of comments shown on a task.
const COMMENTS: u32 = 100;
/// Number of entries shown of a task's history.
const ENTRIES: usize = 100;
/// Maximum number of events per log page.
const LOG_PAGE: u32 = 1_000;
/// Number of turns shown of a conversation.
const TURNS: u32 = 100;
/// Maximum number of runs shown.
const MAX_RUNS: usize = 50;

/// Loads the data of a page.
pub async fn load(screen: &Screen, wish: &Wish) -> Result<Data, Refused> {
    (read(screen, wish).await).map_err(|error| Refused::of(&error, screen.lang))
}

async fn read(screen: &Screen, wish: &Wish) -> Result<Data, OpError> {
    let (polis, me) = (&screen.polis, &screen.agent);
    match &wish.place {
        Place::Now => {
            let now = op::look_around(polis, me, &op::LookAround {}).await?;
            Ok(Data::Now(Box::new(NowSheet { now, stats: None })))
        }
        Place::Tasks => tasks(screen, wish).await,
        Place::Task(id) => {
            let view = op::get_task(polis, *id).await?;
            let newest = op::TaskComments {
                newest: true,
                limit: Some(COMMENTS),
                ..op::TaskComments::of(*id)
            };
            let comments = op::task_comments(polis, &newest).await?;
            let history = op::newest_history(polis, *id, ENTRIES).await?;
            Ok(Data::Task(Box::new(TaskSheet {
                view,
                comments,
                history,
            })))
        }
        Place::Boards => {
            let list = op::list_boards(polis, me, &op::ListBoards::default()).await?;
            Ok(Data::Boards(list.boards))
        }
        Place::Board(name) => board(screen, wish, name).await,
        Place::Versions(name) => {
            let params = op::BoardHistory {
                board: name.clone(),
                limit: None,
            };
            let history = op::board_history(polis, me, &params).await?;
            Ok(Data::Versions(name.clone(), history.versions))
        }
        Place::Change(name, version) => {
            let params = op::BoardDiff {
                board: name.clone(),
                from: version.saturating_sub(1),
                to: Some(*version),
            };
            let diff = op::diff_board(polis, me, &params).await?;
            Ok(Data::Change(name.clone(), *version, diff.diff))
        }
        Place::Rulings(name) => {
            let of = op::OfBoard {
                board: name.clone(),
            };
            let decisions = op::board_decisions(polis, me, &of).await?.decisions;
            let milestones = op::board_milestones(polis, me, &of).await?.milestones;
            Ok(Data::Rulings(decisions, milestones))
        }
        Place::Agents => {
            let agents = op::list_agents(polis, &op::ListAgents::default()).await?;
            Ok(Data::Agents(Roster {
                agents: agents.agents,
                members: members(screen).await?,
                runs: runs(screen).await?,
            }))
        }
        Place::Agent(id, run) => agent(screen, id, run.as_ref()).await,
        Place::Workspaces => {
            let list = op::list_workspaces(polis, me).await?;
            Ok(Data::Workspaces(list.workspaces))
        }
        Place::Files(of, path) => {
            let params = ListFiles {
                path: Some(path.clone()).filter(|path| !path.is_empty()),
                ..ListFiles::default()
            };
            let desk = Desk {
                by: me,
                of: Some(of),
            };
            let list = op::list_files(polis, desk, &params).await?;
            Ok(Data::Files(of.clone(), path.clone(), list))
        }
        Place::File(of, path) => file(screen, of, path).await,
        Place::Commands(of) => {
            let mut params = op::ListCommands {
                workspace: Some(of.clone()),
                ..op::ListCommands::default()
            };
            let mut commands = Vec::new();
            loop {
                let read = u32::try_from(commands.len()).unwrap_or(u32::MAX);
                params.limit = Some(wish.rows.saturating_sub(read));
                let page = op::list_commands(polis, me, &params).await?;
                commands.extend(page.commands);
                let enough = u32::try_from(commands.len()).is_ok_and(|count| count >= wish.rows);
                match page.next {
                    Some(next) if !enough => params.before = Some(next),
                    more => return Ok(Data::Commands(commands, more.is_some())),
                }
            }
        }
        Place::Command(_, id) => {
            let params = op::ShowCommand { id: id.clone() };
            let view = op::show_command(polis, me, &params).await?;
            Ok(Data::Command(Box::new(view)))
        }
        Place::Events => events(screen, wish).await,
        Place::Event(event) => Ok(Data::Event(event.clone())),
    }
}

/// Computes the success figures.
pub async fn figures(screen: &Screen) -> Result<TaskStats, Refused> {
    let figures = screen.keeper.figures(&screen.polis, Some(StatsBy::Day));
    (figures.await).map_err(|error| Refused::of(&error, screen.lang))
}

/// Returns all visible members of runs.
async fn members(screen: &Screen) -> Result<Vec<OrgMember>, OpError> {
    let mut params = op::ListMembers::default();
    let mut members = Vec::new();
    loop {
        let page = match op::list_members(&screen.polis, &screen.agent, &params).await {
            Ok(page) => page,
            // An agent without a run sees no members, but still sees the registry.
            Err(error) if !matches!(error.kind(), Kind::Internal | Kind::Busy) => {
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
async fn runs(screen: &Screen) -> Result<Vec<Run>, OpError> {
    let params = op::ListRuns {
        all: true,
        ..op::ListRuns::default()
    };
    let mut runs = match op::list_runs(&screen.polis, &screen.agent, &params).await {
        Ok(list) => list.runs,
        Err(error) if !matches!(error.kind(), Kind::Internal | Kind::Busy) => Vec::new(),
        Err(error) => return Err(error),
    };
    runs.sort_by(|a, b| {
        (!a.is_open(), b.created_at.as_str()).cmp(&(!b.is_open(), a.created_at.as_str()))
    });
    runs.truncate(MAX_RUNS);
    Ok(runs)
}

async fn tasks(screen: &Screen, wish: &Wish) -> Result<Data, OpError> {
    let mut groups = Vec::new();
    for status in [
        TaskStatus::InProgress,
        TaskStatus::Pending,
        TaskStatus::Completed,
    ] {
        let mut params = TaskList {
            status: Some(status),
            search: Some(wish.search.clone()).filter(|search| !search.trim().is_empty()),
            newest: true,
            ..TaskList::default()
        };
        let total = op::count_tasks(&screen.polis, &params).await?;
        let wanted = usize::try_from(wish.rows).unwrap_or(usize::MAX);
        let mut tasks = Vec::new();
        while tasks.len() < wanted {
            let left = u32::try_from(wanted - tasks.len()).unwrap_or(u32::MAX);
            params.limit = Some(left.min(1_000));
            let page = op::list_tasks(&screen.polis, &params).await?;
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
    Ok(Data::Tasks(groups))
}

async fn board(screen: &Screen, wish: &Wish, name: &BoardName) -> Result<Data, OpError> {
    let params = op::BoardRead::of(name.clone());
    let view = op::read_board(&screen.polis, &screen.agent, &params).await?;
    let look = Look {
        width: wish.width,
        colour: true,
    };
    let text = view.content.clone().unwrap_or_default();
    // Rendering a board of 10 MB takes a while, so it runs on another thread.
    let lines = beside(move || markdown::render(&text, &look)).await;
    Ok(Data::Board(Box::new(BoardSheet { view, lines })))
}

async fn agent(screen: &Screen, id: &AgentId, run: Option<&RunId>) -> Result<Data, OpError> {
    let (polis, me) = (&screen.polis, &screen.agent);
    let agent = op::show_agent(polis, id).await.ok();
    let run = run.cloned().or_else(|| agent.as_ref()?.run.clone());
    let mut sheet = AgentSheet {
        id: id.clone(),
        run: run.clone(),
        agent,
        member: None,
        conversation: None,
        mail: Vec::new(),
    };
    if let Some(run) = &run {
        let of = op::ReadConversation {
            agent_id: id.clone(),
            task_id: Some(run.clone()),
            from: None,
            limit: Some(TURNS),
        };
        sheet.conversation = Some(op::read_conversation(polis, me, &of).await?);
        sheet.member = Some(op::show_member(polis, me, run, id).await?);
    }
    let mail = op::PersonMail {
        with: Some(id.clone()),
        task_id: sheet.run.clone(),
        ..op::PersonMail::default()
    };
    // Only the user has a mailbox here; other agents see the rest.
    let mail = op::person_mail(polis, me, &mail).await;
    sheet.mail = mail.map(|letters| letters.messages).unwrap_or_default();
    Ok(Data::Agent(Box::new(sheet)))
}

async fn file(screen: &Screen, of: &AgentId, path: &str) -> Result<Data, OpError> {
    let desk = Desk {
        by: &screen.agent,
        of: Some(of),
    };
    let params = ReadFile {
        path: path.to_owned(),
        max_bytes: Some(MAX_FILE),
        ..ReadFile::default()
    };
    let read = op::read_file(&screen.polis, desk, &params).await?;
    let (size, truncated) = (read.size, read.truncated);
    let path = path.to_owned();
    let lines = beside(move || highlighted(&read.content, &path)).await;
    Ok(Data::File(FileSheet {
        lines,
        size,
        truncated,
    }))
}

/// Returns the events that match the search: the newest, or those before or after the known ones. The
/// operation decides how far one search goes back.
async fn events(screen: &Screen, wish: &Wish) -> Result<Data, OpError> {
    let text = Some(wish.search.clone()).filter(|text| !text.trim().is_empty());
    let sheet = |page: LogPage, from, to| EventSheet {
        events: page.events,
        search: wish.search.clone(),
        from,
        to,
        more: page.next.is_some(),
    };
    if let Part::Since(since) = wish.part {
        let params = LogRead {
            since,
            text: text.clone(),
            ..LogRead::default()
        };
        let page = op::read_log(&screen.polis, &screen.agent, &params).await?;
        // After a long interruption the newest events are loaded instead.
        if page.next.is_none() {
            let to = page.through;
            return Ok(Data::Events(sheet(page, since.saturating_add(1), to)));
        }
    }
    let before = match wish.part {
        Part::Before(before) => before,
        Part::Whole | Part::Since(_) => {
            let last = screen.polis.store.last_sequence().await?;
            last.saturating_add(1)
        }
    };
    let mut params = LogRead {
        before: Some(before),
        limit: Some(wish.rows),
        text,
        ..LogRead::default()
    };
    let mut page = op::read_log(&screen.polis, &screen.agent, &params).await?;
    // One response contains at most `LOG_PAGE` events. A search already goes back far enough per request.
    let further = wish.rows.div_ceil(LOG_PAGE).saturating_sub(1);
    for _ in 0..further {
        if page.next.is_none() || params.text.is_some() {
            break;
        }
        params.before = Some(page.through);
        let mut older = op::read_log(&screen.polis, &screen.agent, &params).await?;
        older.events.append(&mut page.events);
        page = older;
    }
    let from = page.through;
    Ok(Data::Events(sheet(page, from, before.saturating_sub(1))))
}
