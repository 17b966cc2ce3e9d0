//! Key bindings of pages: a single table of keys, commands and the scopes in which they are active. The help
//! page and the status line show the same table. Not in it are `gg`, `Home`, the digits of the tabs and the
//! keys of overlays such as forms; `input_handling` reads those.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_i18n::{MessageLabel, msg};
use polis_view::UiLanguage;

use super::page_route::Route;
use super::page_state::PageState;
use crate::page_content::Selection;

/// A command that a key triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyCommand {
    Down,
    Up,
    HalfDown,
    HalfUp,
    Bottom,
    Open,
    Back,
    NextTab,
    PreviousTab,
    Filter,
    Next,
    Previous,
    Follow,
    Help,
    Redraw,
    Suspend,
    Quit,
    Claim,
    Release,
    Complete,
    MoveRight,
    MoveLeft,
    Comment,
    Create,
    Delete,
    Approve,
    Edit,
    Append,
    Versions,
    Decisions,
    Restore,
    Propose,
    Sign,
    Veto,
    Appeal,
    AddMilestone,
    ReachMilestone,
    Allow,
    Deny,
    SendMessage,
    DismissMessage,
    Pause,
    Resume,
    Terminate,
    Files,
    Commands,
}

/// Scope in which a key is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyScope {
    Everywhere,
    /// A task is selected or shown.
    Task,
    /// A list of tasks is shown.
    Tasks,
    /// A board is selected or shown.
    Board,
    /// A version of a board is selected or shown.
    Version,
    /// The decisions and milestones of a board are shown.
    Decisions,
    /// A tool call that needs approval is selected.
    Approval,
    /// A message to the person is selected.
    Message,
    /// An agent, or a message from it, is selected or shown.
    Agent,
    /// The list of workspaces or a directory of one is shown.
    Workspace,
}

/// A key and its command.
#[derive(Debug)]
pub struct KeyBinding {
    /// The keys as displayed.
    pub keys: &'static str,
    codes: &'static [(KeyCode, bool)],
    pub(super) command: KeyCommand,
    scope: KeyScope,
    label: MessageLabel,
}

impl KeyBinding {
    /// Returns the description of the command.
    pub fn description(&self, lang: UiLanguage) -> &'static str {
        (self.label)(lang)
    }

    /// Whether it is active on every page.
    pub fn is_global(&self) -> bool {
        self.scope == KeyScope::Everywhere
    }
}

const fn plain_key(c: char) -> (KeyCode, bool) {
    (KeyCode::Char(c), false)
}

const fn control_key(c: char) -> (KeyCode, bool) {
    (KeyCode::Char(c), true)
}

const fn key_code(code: KeyCode) -> (KeyCode, bool) {
    (code, false)
}

macro_rules! table {
    ($($keys:literal $codes:expr, $command:ident $scope:ident $label:path;)*) => {
        &[$(KeyBinding {
            keys: $keys,
            codes: &$codes,
            command: KeyCommand::$command,
            scope: KeyScope::$scope,
            label: $label,
        }),*]
    };
}

/// All key bindings. The first match wins.
const KEY_BINDINGS: &[KeyBinding] = table! {
    "c" [plain_key('c')], Claim Task msg::tui_key_claim;
    "u" [plain_key('u')], Release Task msg::tui_key_release;
    "x" [plain_key('x')], Complete Task msg::tui_key_complete;
    "]" [plain_key(']')], MoveRight Task msg::tui_key_move_right;
    "[" [plain_key('[')], MoveLeft Task msg::tui_key_move_left;
    "m" [plain_key('m')], Comment Task msg::tui_key_comment;
    "A" [plain_key('A')], Approve Task msg::tui_key_approve;
    "D" [plain_key('D')], Delete Task msg::tui_key_delete;
    "e" [plain_key('e')], Edit Task msg::tui_key_edit_task;
    "a" [plain_key('a')], Create Tasks msg::tui_key_create;
    "e" [plain_key('e')], Edit Board msg::tui_key_edit_board;
    "a" [plain_key('a')], Append Board msg::tui_key_append;
    "v" [plain_key('v')], Versions Board msg::tui_key_versions;
    "o" [plain_key('o')], Decisions Board msg::tui_decisions_and_milestones;
    "R" [plain_key('R')], Restore Version msg::tui_key_restore;
    "s" [plain_key('s')], Sign Decisions msg::tui_key_sign;
    "x" [plain_key('x')], Veto Decisions msg::tui_key_veto;
    "p" [plain_key('p')], Propose Decisions msg::tui_key_propose;
    "b" [plain_key('b')], Appeal Decisions msg::tui_key_appeal;
    "a" [plain_key('a')], AddMilestone Decisions msg::tui_key_add_milestone;
    "t" [plain_key('t')], ReachMilestone Decisions msg::tui_key_reach_milestone;
    "y" [plain_key('y')], Allow Approval msg::tui_key_allow;
    "d" [plain_key('d')], Deny Approval msg::tui_key_deny;
    "m" [plain_key('m')], SendMessage Agent msg::tui_key_send_message;
    "x" [plain_key('x')], DismissMessage Message msg::tui_key_dismiss_message;
    "p" [plain_key('p')], Pause Agent msg::tui_key_pause;
    "r" [plain_key('r')], Resume Agent msg::tui_key_resume;
    "T" [plain_key('T')], Terminate Agent msg::tui_key_terminate;
    "w" [plain_key('w')], Files Agent msg::tui_key_files;
    "c" [plain_key('c')], Commands Workspace msg::tui_key_commands;
    "j ↓" [plain_key('j'), key_code(KeyCode::Down)], Down Everywhere msg::tui_key_down;
    "k ↑" [plain_key('k'), key_code(KeyCode::Up)], Up Everywhere msg::tui_key_up;
    "ctrl-d PgDn" [control_key('d'), key_code(KeyCode::PageDown), plain_key(' ')], HalfDown Everywhere msg::tui_key_half_down;
    "ctrl-u PgUp" [control_key('u'), key_code(KeyCode::PageUp)], HalfUp Everywhere msg::tui_key_half_up;
    "G End" [plain_key('G'), key_code(KeyCode::End)], Bottom Everywhere msg::tui_key_bottom;
    "l Enter" [plain_key('l'), key_code(KeyCode::Enter), key_code(KeyCode::Right)], Open Everywhere msg::tui_key_open;
    "h Esc" [plain_key('h'), key_code(KeyCode::Esc), key_code(KeyCode::Left), key_code(KeyCode::Backspace)], Back Everywhere msg::tui_key_back;
    "1-6 Tab" [key_code(KeyCode::Tab)], NextTab Everywhere msg::tui_key_next_tab;
    "shift-Tab" [key_code(KeyCode::BackTab)], PreviousTab Everywhere msg::tui_key_previous_tab;
    "/" [plain_key('/')], Filter Everywhere msg::tui_key_filter;
    "n" [plain_key('n')], Next Everywhere msg::tui_key_next;
    "N" [plain_key('N')], Previous Everywhere msg::tui_key_previous;
    "f" [plain_key('f')], Follow Everywhere msg::tui_key_follow;
    "?" [plain_key('?'), key_code(KeyCode::F(1))], Help Everywhere msg::tui_key_help;
    "ctrl-l" [control_key('l')], Redraw Everywhere msg::tui_key_redraw;
    "ctrl-z" [control_key('z')], Suspend Everywhere msg::tui_key_suspend;
    "q ctrl-c" [plain_key('q'), control_key('c')], Quit Everywhere msg::tui_key_quit;
};

/// Returns the key if it was pressed without a modifier other than Shift; dialogs react only to plain keys.
pub(super) fn unmodified_key(key: KeyEvent) -> KeyCode {
    if key.modifiers.difference(KeyModifiers::SHIFT).is_empty() {
        key.code
    } else {
        KeyCode::Null
    }
}

/// Returns the bindings that are active on a page.
pub fn active_bindings(page: &PageState) -> impl Iterator<Item = &'static KeyBinding> {
    let selection = page.selection();
    KEY_BINDINGS
        .iter()
        .filter(move |binding| is_in_scope(binding.scope, &page.route, &selection))
}

/// Returns the command that a key triggers on a page.
pub(super) fn command_for_key(page: &PageState, key: KeyEvent) -> Option<KeyCommand> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    active_bindings(page)
        .find(|binding| {
            binding
                .codes
                .iter()
                .any(|(code, needs_control)| *code == key.code && *needs_control == control)
        })
        .map(|binding| binding.command)
}

fn is_in_scope(scope: KeyScope, route: &Route, selection: &Selection) -> bool {
    match scope {
        KeyScope::Everywhere => true,
        KeyScope::Task => matches!(selection, Selection::Task { .. }),
        KeyScope::Tasks => matches!(route, Route::Tasks | Route::Overview),
        KeyScope::Board => matches!(selection, Selection::Board(_)),
        KeyScope::Version => matches!(selection, Selection::Version { .. }),
        KeyScope::Decisions => matches!(route, Route::Decisions(_)),
        KeyScope::Approval => matches!(selection, Selection::Approval(_)),
        KeyScope::Message => matches!(selection, Selection::Message { .. }),
        KeyScope::Workspace => matches!(route, Route::Workspaces | Route::Files(..)),
        KeyScope::Agent => matches!(
            selection,
            Selection::Agent { .. } | Selection::Message { .. }
        ),
    }
}
