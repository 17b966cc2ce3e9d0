//! Handles the key commands (`KeyCommand`) on the items of a page: tasks, boards and their versions,
//! decisions and milestones, agents, messages, call approvals and workspaces.
//!
//! `bindings` maps keys to commands. A command here changes the state of the app and returns the effects that
//! the event loop executes: it requests the action at once, opens another page, or first opens the form, the
//! confirmation or the external editor that the action needs.

use polis_core::TaskStatus;
use polis_i18n::msg;

use super::actions::{EditDraft, EditTarget, UserAction, task_text};
use super::app_message::AppEffect;
use super::bindings::KeyCommand;
use super::input_form::{FormPurpose, InputForm};
use super::overlay::Overlay;
use super::page_route::Route;
use super::page_state::PageState;
use super::{TuiApp, drafts};
use crate::page_content::{PageData, Selection};

/// Counts an action as running and returns the effect that executes it.
pub(super) fn start_action(app: &mut TuiApp, action: UserAction) -> Vec<AppEffect> {
    app.running_actions += 1;
    vec![AppEffect::RunAction(action)]
}

/// Executes a command on the selected item of the page, or on the item that the page shows.
pub(super) fn run_item_command(app: &mut TuiApp, command: KeyCommand) -> Vec<AppEffect> {
    let Some(selection) = app.page().map(PageState::selection) else {
        return Vec::new();
    };
    match selection {
        _ if command == KeyCommand::Create => open_create_form(app),
        selection if command == KeyCommand::Commands => {
            let workspace = match (app.page().map(|page| &page.route), selection) {
                (Some(Route::Files(workspace, _)), _) => Some(workspace.clone()),
                (_, Selection::File(name)) => name.parse().ok(),
                _ => None,
            };
            workspace.map_or_else(Vec::new, |workspace| {
                app.open_route(Route::Commands(workspace))
            })
        }
        Selection::Task {
            id,
            version,
            status,
            owner,
        } => run_task_command(app, command, id, version, status, &owner),
        Selection::Board(board) => run_board_command(app, command, board),
        Selection::Version {
            board,
            version,
            newest,
        } => {
            let lang = app.lang;
            let question = msg::tui_restore_version_question(lang, version, &board);
            let restore = UserAction::Restore {
                board,
                version,
                newest,
            };
            ask_confirmation(app, question, restore)
        }
        Selection::Approval(id) => {
            let allowed = command == KeyCommand::Allow;
            let lang = app.lang;
            let title = if allowed {
                msg::tui_allow_call_title(lang)
            } else {
                msg::tui_deny_call_title(lang)
            };
            let label = msg::approval_note_field(lang);
            let purpose = FormPurpose::DecideCall(id, allowed);
            open_form(
                app,
                InputForm::with_field(title.to_owned(), label, true, purpose),
            )
        }
        Selection::Agent { id, run } => run_agent_command(app, command, id, run, None),
        Selection::Message { id, .. } if command == KeyCommand::DismissMessage => {
            start_action(app, UserAction::DismissMessage(id))
        }
        Selection::Message { from, run, id } => {
            run_agent_command(app, command, from, run, Some(id))
        }
        other => run_decision_command(app, command, &other),
    }
}

fn ask_confirmation(app: &mut TuiApp, question: String, action: UserAction) -> Vec<AppEffect> {
    app.overlay = Some(Overlay::Confirm {
        question,
        act: action,
    });
    Vec::new()
}

fn open_form(app: &mut TuiApp, form: InputForm) -> Vec<AppEffect> {
    app.overlay = Some(Overlay::Form(form));
    Vec::new()
}

/// Reopens a form that was refused, so that it can be sent again. It now refers to the version shown on the
/// page behind it: with the old version it would be refused every time.
pub(super) fn reopen_form(app: &TuiApp, mut form: InputForm) -> Overlay {
    if let (FormPurpose::Approve(task, seen_version), Some(Selection::Task { id, version, .. })) =
        (&mut form.purpose, app.page().map(PageState::selection))
        && *task == id
    {
        *seen_version = version;
    }
    Overlay::Form(form)
}

fn open_create_form(app: &mut TuiApp) -> Vec<AppEffect> {
    let lang = app.lang;
    let fields = [
        (msg::task_field_subject(lang), false),
        (msg::task_field_description(lang), true),
        (msg::common_role(lang), true),
        (msg::common_type(lang), true),
        (msg::task_priority(lang), true),
    ];
    let title = msg::task_new_title(lang).to_owned();
    open_form(
        app,
        InputForm::with_fields(title, &fields, FormPurpose::Create),
    )
}

fn run_task_command(
    app: &mut TuiApp,
    command: KeyCommand,
    task: polis_core::TaskId,
    version: u64,
    status: TaskStatus,
    owner: &str,
) -> Vec<AppEffect> {
    let lang = app.lang;
    let go = |to| UserAction::ChangeStatus { task, version, to };
    match command {
        KeyCommand::Claim => start_action(app, UserAction::Claim { task, version }),
        KeyCommand::Release => start_action(app, UserAction::Release { task, version }),
        KeyCommand::Edit if drafts::resume_postponed_draft(app, &EditTarget::Task(task)) => {
            Vec::new()
        }
        KeyCommand::Edit => edit_route_text(app, Route::Task(task)),
        KeyCommand::Complete => complete_task(app, task, owner, go(TaskStatus::Completed)),
        KeyCommand::MoveRight | KeyCommand::MoveLeft => {
            let order = [
                TaskStatus::Pending,
                TaskStatus::InProgress,
                TaskStatus::Completed,
            ];
            let at = order.iter().position(|one| *one == status);
            let next = at.and_then(|at| match command {
                KeyCommand::MoveRight => at.checked_add(1),
                _ => at.checked_sub(1),
            });
            let to = next.and_then(|at| order.get(at));
            match to {
                None => Vec::new(),
                Some(TaskStatus::Completed) => {
                    complete_task(app, task, owner, go(TaskStatus::Completed))
                }
                Some(to) => start_action(app, go(*to)),
            }
        }
        KeyCommand::Comment => {
            let title = msg::tui_comment_on_task(lang, task);
            let label = msg::task_comment_field(lang);
            open_form(
                app,
                InputForm::with_field(title, label, false, FormPurpose::Comment(task)),
            )
        }
        KeyCommand::Approve => {
            let title = msg::tui_approve_task(lang, task);
            let label = msg::tui_note_field(lang);
            let purpose = FormPurpose::Approve(task, version);
            open_form(app, InputForm::with_field(title, label, true, purpose))
        }
        KeyCommand::Delete => {
            let question = msg::tui_delete_task_question(lang, task);
            ask_confirmation(app, question, go(TaskStatus::Deleted))
        }
        _ => Vec::new(),
    }
}

/// Completes a task. A completed task cannot be reopened, so completing a task that another agent holds needs
/// confirmation.
fn complete_task(
    app: &mut TuiApp,
    task: polis_core::TaskId,
    owner: &str,
    action: UserAction,
) -> Vec<AppEffect> {
    if owner.is_empty() || owner == app.me {
        return start_action(app, action);
    }
    let question = msg::tui_complete_for_owner_question(app.lang, owner, task);
    ask_confirmation(app, question, action)
}

fn run_board_command(
    app: &mut TuiApp,
    command: KeyCommand,
    board: polis_core::board::BoardName,
) -> Vec<AppEffect> {
    let lang = app.lang;
    match command {
        KeyCommand::Edit
            if drafts::resume_postponed_draft(app, &EditTarget::Board(board.clone())) =>
        {
            Vec::new()
        }
        KeyCommand::Edit => edit_route_text(app, Route::Board(board)),
        KeyCommand::Append => {
            let title = msg::tui_append_to_board(lang, &board);
            let label = msg::tui_text_field(lang);
            open_form(
                app,
                InputForm::with_field(title, label, false, FormPurpose::Append(board)),
            )
        }
        KeyCommand::Versions => app.open_route(Route::Versions(board)),
        KeyCommand::Decisions => app.open_route(Route::Decisions(board)),
        _ => Vec::new(),
    }
}

/// Opens the text of a board or task in the external editor. From a list its page is opened and loaded first,
/// so that the current version is edited.
fn edit_route_text(app: &mut TuiApp, route: Route) -> Vec<AppEffect> {
    let mut effects = Vec::new();
    if app.page().is_none_or(|page| page.route != route) {
        effects = app.open_route(route);
    }
    if let Some(page) = app.page_mut() {
        page.edit_when_loaded = true;
    }
    effects.extend(start_requested_edit(app));
    effects
}

/// Returns the effect that opens the shown text in the external editor, if that was requested and the text is
/// loaded.
pub(super) fn start_requested_edit(app: &mut TuiApp) -> Option<AppEffect> {
    let page = app.page_mut().filter(|page| page.edit_when_loaded)?;
    let (target, version, base) = match &page.data {
        Some(PageData::Board(data)) => {
            let view = &data.view;
            let target = EditTarget::Board(view.board.clone());
            (target, view.version, view.content.clone()?)
        }
        Some(PageData::Task(data)) => {
            let task = &data.view.task;
            let text = task_text(&task.subject, &task.description);
            (EditTarget::Task(task.id), task.version, text.into())
        }
        _ => return None,
    };
    let draft = EditDraft {
        target,
        version,
        text: base.as_ref().clone(),
        base,
        has_conflict_markers: false,
        unreadable: false,
        file: None,
    };
    page.edit_when_loaded = false;
    Some(AppEffect::Edit(draft))
}

fn run_decision_command(
    app: &mut TuiApp,
    command: KeyCommand,
    selection: &Selection,
) -> Vec<AppEffect> {
    let lang = app.lang;
    let Some(Route::Decisions(board)) = app.page().map(|page| page.route.clone()) else {
        return Vec::new();
    };
    match (command, selection) {
        (KeyCommand::Sign, Selection::Decision(id)) => {
            start_action(app, UserAction::Sign(board, id.clone()))
        }
        (KeyCommand::Appeal, Selection::Decision(id)) => {
            start_action(app, UserAction::Appeal(board, id.clone()))
        }
        (KeyCommand::Veto, Selection::Decision(id)) => {
            let title = msg::tui_veto_decision(lang, id);
            let label = msg::run_reason_field(lang);
            let purpose = FormPurpose::Veto(board, id.clone());
            open_form(app, InputForm::with_field(title, label, false, purpose))
        }
        (KeyCommand::ReachMilestone, Selection::Milestone(title)) => {
            start_action(app, UserAction::ReachMilestone(board, title.clone()))
        }
        (KeyCommand::Propose, _) => {
            let title = msg::board_propose_decision(lang).to_owned();
            let label = msg::board_decision_text_field(lang);
            open_form(
                app,
                InputForm::with_field(title, label, false, FormPurpose::Propose(board)),
            )
        }
        (KeyCommand::AddMilestone, _) => {
            let title = msg::board_add_milestone(lang).to_owned();
            let label = msg::board_milestone_title_field(lang);
            let purpose = FormPurpose::AddMilestone(board);
            open_form(app, InputForm::with_field(title, label, false, purpose))
        }
        _ => Vec::new(),
    }
}

fn run_agent_command(
    app: &mut TuiApp,
    command: KeyCommand,
    id: polis_core::AgentId,
    run: Option<polis_core::RunId>,
    answers: Option<u64>,
) -> Vec<AppEffect> {
    let lang = app.lang;
    match command {
        KeyCommand::SendMessage => {
            let title = msg::tui_message_to(lang, &id);
            let label = msg::message_text_field(lang);
            let purpose = FormPurpose::SendMessage(id, run, answers);
            open_form(app, InputForm::with_field(title, label, false, purpose))
        }
        KeyCommand::Pause => start_action(app, UserAction::Pause(id, run)),
        KeyCommand::Resume => start_action(app, UserAction::Resume(id, run)),
        KeyCommand::Terminate => {
            let question = msg::tui_dismiss_agent_question(lang, &id);
            ask_confirmation(app, question, UserAction::Terminate(id))
        }
        KeyCommand::Files => app.open_route(Route::Files(id, String::new())),
        _ => Vec::new(),
    }
}
