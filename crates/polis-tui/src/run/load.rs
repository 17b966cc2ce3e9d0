//! Reading what a page shows, by the operations.

use polis_core::board::BoardName;
use polis_core::workspace::file::{ListFiles, ReadFile};
use polis_core::{AgentId, RunId, TaskStatus};
use polis_ops::OpError;
use polis_ops::op::{self, Desk, LogRead, StatsBy, TaskList};
use polis_view::highlight::{self, Kind};
use polis_view::markdown::{self, Look};
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::terminal::clean_lines;

use super::Screen;
use crate::app::{Place, Refused, Wish};
use crate::show::{
    AgentSheet, BoardSheet, Data, FileSheet, NowSheet, Roster, TaskGroup, TaskSheet,
};

/// The most of a file that is shown.
const MAX_FILE: u64 = 1 << 20;
/// How many turns of a conversation are shown.
const TURNS: u32 = 100;

/// Reads it.
pub async fn load(screen: &Screen, wish: &Wish) -> Result<Data, Refused> {
    (read(screen, wish).await).map_err(|error| Refused::of(&error, screen.lang))
}

async fn read(screen: &Screen, wish: &Wish) -> Result<Data, OpError> {
    let (polis, me) = (&screen.polis, &screen.agent);
    match &wish.place {
        Place::Now => now(screen).await,
        Place::Tasks => tasks(screen, wish).await,
        Place::Task(id) => {
            let view = op::get_task(polis, *id).await?;
            let comments = op::task_comments(polis, &op::TaskComments::of(*id)).await?;
            let history = op::TaskHistory {
                task_id: *id,
                cursor: None,
                limit: None,
            };
            let history = op::task_history(polis, &history).await?.history;
            Ok(Data::Task(Box::new(TaskSheet {
                view,
                comments: comments.comments,
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
            let members = op::list_members(polis, me, &op::ListMembers::default()).await;
            Ok(Data::Agents(Roster {
                agents: agents.agents,
                members: members.map(|list| list.members).unwrap_or_default(),
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
            let params = op::ListCommands {
                workspace: Some(of.clone()),
                limit: Some(wish.rows.min(200)),
                ..op::ListCommands::default()
            };
            let list = op::list_commands(polis, me, &params).await?;
            Ok(Data::Commands(list.commands))
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

async fn now(screen: &Screen) -> Result<Data, OpError> {
    let now = op::look_around(&screen.polis, &screen.agent, &op::LookAround {}).await?;
    let stats = screen.keeper.figures(&screen.polis, Some(StatsBy::Day));
    Ok(Data::Now(Box::new(NowSheet {
        now,
        stats: stats.await?,
    })))
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
    // A board of 10 MB takes a while; the screen does not wait for it.
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
    if run.is_some() {
        let of = op::ReadConversation {
            agent_id: id.clone(),
            task_id: run.clone(),
            from: None,
            limit: Some(TURNS),
        };
        sheet.conversation = Some(op::read_conversation(polis, me, &of).await?);
        let org = op::GetOrg {
            task_id: run,
            all: true,
        };
        let org = op::get_org(polis, me, &org).await?;
        sheet.member = org.members.into_iter().find(|one| one.agent_id == *id);
    }
    let mail = op::PersonMail {
        with: Some(id.clone()),
        task_id: sheet.run.clone(),
        ..op::PersonMail::default()
    };
    // Only a person has letters here; others see the rest.
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

/// Does long work on a thread of its own. If it panics so does who waits for it: the panic has given the
/// terminal back, and a screen that went on would not be seen.
async fn beside(work: impl FnOnce() -> StyledLines + Send + 'static) -> StyledLines {
    match tokio::task::spawn_blocking(work).await {
        Ok(lines) => lines,
        Err(broken) => match broken.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and the screen with it.
            Err(_) => StyledLines::default(),
        },
    }
}

/// A file's lines in the colours of its language.
fn highlighted(text: &str, path: &str) -> StyledLines {
    let text = clean_lines(text);
    let mut lines = StyledLines::default();
    let mut put = |piece: &str, styles: Styles| {
        let mut first = true;
        for part in piece.split('\n') {
            if !first {
                lines.end_line();
            }
            first = false;
            lines.push(part, styles);
        }
    };
    match highlight::language_of_path(path) {
        Some(language) => {
            for span in highlight::highlight(&text, language) {
                put(span.text, styles_of(span.kind));
            }
        }
        None => put(&text, Styles::NONE),
    }
    if !text.is_empty() && !text.ends_with('\n') {
        lines.end_line();
    }
    lines
}

fn styles_of(kind: Kind) -> Styles {
    match kind {
        Kind::Plain | Kind::Call => Styles::NONE,
        Kind::Comment => Style::Dim.into(),
        Kind::Text | Kind::Added => Style::Green.into(),
        Kind::Value | Kind::Meta => Style::Yellow.into(),
        Kind::Keyword => Styles::from(Style::Bold),
        Kind::Type | Kind::Key => Style::Cyan.into(),
        Kind::Removed => Style::Red.into(),
        Kind::Heading => Styles::from(Style::Bold).with(Style::Cyan),
    }
}

/// The newest events that hold what is searched for. The search goes back through the log.
async fn events(screen: &Screen, wish: &Wish) -> Result<Data, OpError> {
    let last = screen.polis.store.last_sequence().await?;
    let wanted = usize::try_from(wish.rows).unwrap_or(usize::MAX);
    let mut before = last.saturating_add(1);
    // The newest page first.
    let mut pages = Vec::new();
    let mut count = 0;
    loop {
        let left = u32::try_from(wanted.saturating_sub(count)).unwrap_or(u32::MAX);
        let params = LogRead {
            before: Some(before),
            limit: Some(left.clamp(1, 1_000)),
            text: Some(wish.search.clone()).filter(|text| !text.trim().is_empty()),
            ..LogRead::default()
        };
        let page = op::read_log(&screen.polis, &screen.agent, &params).await?;
        count += page.events.len();
        pages.push(page.events);
        let more = page.next;
        match more {
            Some(next) if count < wanted && next < before => before = next,
            more => {
                let events = pages.into_iter().rev().flatten().collect();
                return Ok(Data::Events(events, more.is_some()));
            }
        }
    }
}
