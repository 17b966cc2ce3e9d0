//! Executes commands that act on the selected item: a task, a board, an agent, a message or an approval.
//! Opens the form, confirmation or editor that the action needs.

use polis_core::TaskStatus;

use super::actions::{Act, Draft, Sheet, task_text};
use super::bindings::Command;
use super::form::{Form, Purpose};
use super::message::Effect;
use super::overlay::Overlay;
use super::page::Page;
use super::route::Place;
use super::{App, drafts};
use crate::show::{Data, Thing};

/// Starts an action.
pub(super) fn begin(app: &mut App, act: Act) -> Vec<Effect> {
    app.busy += 1;
    vec![Effect::Act(act)]
}

/// Executes a command on the selected item of the page.
pub(super) fn deal(app: &mut App, command: Command) -> Vec<Effect> {
    let Some(thing) = app.page().map(Page::thing) else {
        return Vec::new();
    };
    match thing {
        _ if command == Command::Create => create(app),
        thing if command == Command::Commands => {
            let of = match (app.page().map(|page| &page.place), thing) {
                (Some(Place::Files(of, _)), _) => Some(of.clone()),
                (_, Thing::File(name)) => name.parse().ok(),
                _ => None,
            };
            of.map_or_else(Vec::new, |of| app.visit(Place::Commands(of)))
        }
        Thing::Task {
            id,
            version,
            status,
            owner,
        } => task(app, command, id, version, status, &owner),
        Thing::Board(board) => board_deed(app, command, board),
        Thing::Version {
            board,
            version,
            newest,
        } => {
            let lang = app.lang;
            let question = lang.say(
                format!("Make version {version} of {board} the newest?"),
                format!("将 {board} 恢复到版本 {version}？"),
            );
            let restore = Act::Restore {
                board,
                version,
                newest,
            };
            ask(app, question, restore)
        }
        Thing::Approval(id) => {
            let allowed = command == Command::Allow;
            let lang = app.lang;
            let title = match allowed {
                true => lang.say("Allow the call", "允许调用"),
                false => lang.say("Deny the call", "拒绝调用"),
            };
            let label = lang.say("What the agent is told (optional)", "告知智能体（可不填）");
            let purpose = Purpose::Decide(id, allowed);
            fill(app, Form::one(title.to_owned(), label, true, purpose))
        }
        Thing::Agent { id, run } => agent(app, command, id, run, None),
        Thing::Message { id, .. } if command == Command::Aside => begin(app, Act::Aside(id)),
        Thing::Message { from, run, id } => agent(app, command, from, run, Some(id)),
        other => ruling(app, command, &other),
    }
}

fn ask(app: &mut App, question: String, act: Act) -> Vec<Effect> {
    app.overlay = Some(Overlay::Confirm { question, act });
    Vec::new()
}

fn fill(app: &mut App, form: Form) -> Vec<Effect> {
    app.overlay = Some(Overlay::Form(form));
    Vec::new()
}

/// Reopens a form that was refused, so that it can be sent again. It now refers to the version shown on the
/// page behind it: with the old version it would be refused every time.
pub(super) fn again(app: &App, mut form: Form) -> Overlay {
    if let (Purpose::Approve(task, seen), Some(Thing::Task { id, version, .. })) =
        (&mut form.purpose, app.page().map(Page::thing))
        && *task == id
    {
        *seen = version;
    }
    Overlay::Form(form)
}

fn create(app: &mut App) -> Vec<Effect> {
    let lang = app.lang;
    let fields = [
        (lang.say("Subject", "标题"), false),
        (lang.say("Description", "描述"), true),
        (lang.say("Role", "角色"), true),
        (lang.say("Type", "类型"), true),
    ];
    let title = lang.say("New task", "新建任务").to_owned();
    fill(app, Form::of(title, &fields, Purpose::Create))
}

fn task(
    app: &mut App,
    command: Command,
    task: polis_core::TaskId,
    version: u64,
    status: TaskStatus,
    owner: &str,
) -> Vec<Effect> {
    let lang = app.lang;
    let go = |to| Act::Move { task, version, to };
    match command {
        Command::Claim => begin(app, Act::Claim { task, version }),
        Command::Release => begin(app, Act::Release { task, version }),
        Command::Edit if drafts::take_up(app, &Sheet::Task(task)) => Vec::new(),
        Command::Edit => edit_page(app, Place::Task(task)),
        Command::Complete => complete(app, task, owner, go(TaskStatus::Completed)),
        Command::MoveRight | Command::MoveLeft => {
            let order = [
                TaskStatus::Pending,
                TaskStatus::InProgress,
                TaskStatus::Completed,
            ];
            let at = order.iter().position(|one| *one == status);
            let next = at.and_then(|at| match command {
                Command::MoveRight => at.checked_add(1),
                _ => at.checked_sub(1),
            });
            let to = next.and_then(|at| order.get(at));
            match to {
                None => Vec::new(),
                Some(TaskStatus::Completed) => {
                    complete(app, task, owner, go(TaskStatus::Completed))
                }
                Some(to) => begin(app, go(*to)),
            }
        }
        Command::Comment => {
            let title = lang.say(format!("Comment on #{task}"), format!("评论 #{task}"));
            let label = lang.say("Comment", "评论");
            fill(app, Form::one(title, label, false, Purpose::Comment(task)))
        }
        Command::Approve => {
            let title = lang.say(format!("Approve #{task}"), format!("批准 #{task}"));
            let label = lang.say("Note (optional)", "备注（可不填）");
            let purpose = Purpose::Approve(task, version);
            fill(app, Form::one(title, label, true, purpose))
        }
        Command::Delete => {
            let question = lang.say(
                format!("Delete task #{task}?"),
                format!("删除任务 #{task}？"),
            );
            ask(app, question, go(TaskStatus::Deleted))
        }
        _ => Vec::new(),
    }
}

/// Completes a task. A completed task cannot be reopened, so completing a task that another agent holds needs
/// confirmation.
fn complete(app: &mut App, task: polis_core::TaskId, owner: &str, act: Act) -> Vec<Effect> {
    if owner.is_empty() || owner == app.me {
        return begin(app, act);
    }
    let question = app.lang.say(
        format!("{owner} holds task #{task}. Complete it for {owner}?"),
        format!("任务 #{task} 由 {owner} 持有。替 {owner} 完成它？"),
    );
    ask(app, question, act)
}

fn board_deed(app: &mut App, command: Command, board: polis_core::board::BoardName) -> Vec<Effect> {
    let lang = app.lang;
    match command {
        Command::Edit if drafts::take_up(app, &Sheet::Board(board.clone())) => Vec::new(),
        Command::Edit => edit_page(app, Place::Board(board)),
        Command::Append => {
            let title = lang.say(format!("Add to {board}"), format!("追加到 {board}"));
            let label = lang.say("Text", "内容");
            fill(app, Form::one(title, label, false, Purpose::Append(board)))
        }
        Command::Versions => app.visit(Place::Versions(board)),
        Command::Rulings => app.visit(Place::Rulings(board)),
        _ => Vec::new(),
    }
}

/// Opens a page's text in an editor. From a list the text is loaded first, so that the current version is
/// edited.
fn edit_page(app: &mut App, here: Place) -> Vec<Effect> {
    let mut effects = Vec::new();
    if app.page().is_none_or(|page| page.place != here) {
        effects = app.visit(here);
    }
    if let Some(page) = app.page_mut() {
        page.edit = true;
    }
    effects.extend(edit(app));
    effects
}

/// Opens the shown text in an editor, if that was requested and the text is loaded.
pub(super) fn edit(app: &mut App) -> Option<Effect> {
    let page = app.page_mut().filter(|page| page.edit)?;
    let (of, version, base) = match &page.data {
        Some(Data::Board(sheet)) => {
            let view = &sheet.view;
            let of = Sheet::Board(view.board.clone());
            (of, view.version, view.content.clone()?)
        }
        Some(Data::Task(sheet)) => {
            let task = &sheet.view.task;
            let text = task_text(&task.subject, &task.description);
            (Sheet::Task(task.id), task.version, text.into())
        }
        _ => return None,
    };
    let draft = Draft {
        of,
        version,
        text: base.as_ref().clone(),
        base,
        marked: false,
        unread: false,
        file: None,
    };
    page.edit = false;
    Some(Effect::Edit(draft))
}

fn ruling(app: &mut App, command: Command, thing: &Thing) -> Vec<Effect> {
    let lang = app.lang;
    let Some(Place::Rulings(board)) = app.page().map(|page| page.place.clone()) else {
        return Vec::new();
    };
    match (command, thing) {
        (Command::Sign, Thing::Decision(id)) => begin(app, Act::Sign(board, id.clone())),
        (Command::Appeal, Thing::Decision(id)) => begin(app, Act::Appeal(board, id.clone())),
        (Command::Veto, Thing::Decision(id)) => {
            let title = lang.say(format!("Veto {id}"), format!("否决 {id}"));
            let label = lang.say("Why", "原因");
            let purpose = Purpose::Veto(board, id.clone());
            fill(app, Form::one(title, label, false, purpose))
        }
        (Command::Reach, Thing::Milestone(title)) => begin(app, Act::Reach(board, title.clone())),
        (Command::Propose, _) => {
            let title = lang.say("Propose a decision", "提议决策").to_owned();
            let label = lang.say("What is to be decided", "决策内容");
            fill(app, Form::one(title, label, false, Purpose::Propose(board)))
        }
        (Command::AddMilestone, _) => {
            let title = lang.say("Add a milestone", "新增里程碑").to_owned();
            let label = lang.say("Title", "标题");
            let purpose = Purpose::AddMilestone(board);
            fill(app, Form::one(title, label, false, purpose))
        }
        _ => Vec::new(),
    }
}

fn agent(
    app: &mut App,
    command: Command,
    id: polis_core::AgentId,
    run: Option<polis_core::RunId>,
    answers: Option<u64>,
) -> Vec<Effect> {
    let lang = app.lang;
    match command {
        Command::Say => {
            let title = lang.say(format!("Message to {id}"), format!("发送给 {id}"));
            let label = lang.say("Message", "消息");
            let purpose = Purpose::Say(id, run, answers);
            fill(app, Form::one(title, label, false, purpose))
        }
        Command::Pause => begin(app, Act::Pause(id, run)),
        Command::Resume => begin(app, Act::Resume(id, run)),
        Command::Terminate => {
            let question = lang.say(
                format!("Dismiss {id} with everybody below?"),
                format!("解散 {id} 及其所有下属？"),
            );
            ask(app, question, Act::Terminate(id))
        }
        Command::Files => app.visit(Place::Files(id, String::new())),
        _ => Vec::new(),
    }
}
