//! Key bindings: a single table of keys, commands and scopes, which the help page shows too.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_view::Lang;

use super::page::Page;
use super::route::Place;
use crate::show::Thing;

/// A command that a key triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
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
    Rulings,
    Restore,
    Propose,
    Sign,
    Veto,
    Appeal,
    AddMilestone,
    Reach,
    Allow,
    Deny,
    Say,
    Aside,
    Pause,
    Resume,
    Terminate,
    Files,
    Commands,
}

/// Scope in which a key is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everywhere,
    /// A task is selected or shown.
    Task,
    /// A list of tasks is shown.
    Tasks,
    /// A board is selected or shown.
    Board,
    /// A board's versions.
    Version,
    /// Decisions and milestones of a board.
    Rulings,
    /// A tool call that needs approval is selected.
    Approval,
    /// A message to the user is selected.
    Message,
    /// An agent is selected or shown.
    Agent,
    /// A workspace is selected or shown.
    Workspace,
}

/// A key and its command.
#[derive(Debug)]
pub struct Binding {
    /// The keys as displayed.
    pub keys: &'static str,
    codes: &'static [(KeyCode, bool)],
    pub(super) command: Command,
    scope: Scope,
    en: &'static str,
    zh: &'static str,
}

impl Binding {
    /// Returns the description of the command.
    pub fn says(&self, lang: Lang) -> &'static str {
        lang.say(self.en, self.zh)
    }

    /// Whether it is active on every page.
    pub fn is_general(&self) -> bool {
        self.scope == Scope::Everywhere
    }
}

const fn key(c: char) -> (KeyCode, bool) {
    (KeyCode::Char(c), false)
}

const fn control(c: char) -> (KeyCode, bool) {
    (KeyCode::Char(c), true)
}

const fn code(code: KeyCode) -> (KeyCode, bool) {
    (code, false)
}

macro_rules! table {
    ($($keys:literal $codes:expr, $command:ident $scope:ident $en:literal $zh:literal;)*) => {
        &[$(Binding {
            keys: $keys,
            codes: &$codes,
            command: Command::$command,
            scope: Scope::$scope,
            en: $en,
            zh: $zh,
        }),*]
    };
}

/// All key bindings. The first match wins.
const TABLE: &[Binding] = table! {
    "c" [key('c')], Claim Task "claim the task" "认领任务";
    "u" [key('u')], Release Task "give the task back" "释放任务";
    "x" [key('x')], Complete Task "complete the task" "完成任务";
    "]" [key(']')], MoveRight Task "move it on to the next state" "移到下一状态";
    "[" [key('[')], MoveLeft Task "move it back" "移回上一状态";
    "m" [key('m')], Comment Task "comment on the task" "评论任务";
    "A" [key('A')], Approve Task "approve its completion" "批准完成";
    "D" [key('D')], Delete Task "delete the task" "删除任务";
    "e" [key('e')], Edit Task "edit subject and description in $EDITOR" "用 $EDITOR 编辑标题与描述";
    "a" [key('a')], Create Tasks "create a task" "新建任务";
    "e" [key('e')], Edit Board "edit the board in $EDITOR" "用 $EDITOR 编辑白板";
    "a" [key('a')], Append Board "add a line to the board" "向白板追加";
    "v" [key('v')], Versions Board "its versions" "历史版本";
    "o" [key('o')], Rulings Board "its decisions and milestones" "决策与里程碑";
    "R" [key('R')], Restore Version "make this version the newest" "恢复此版本";
    "s" [key('s')], Sign Rulings "sign the decision" "签署决策";
    "x" [key('x')], Veto Rulings "veto the decision" "否决决策";
    "p" [key('p')], Propose Rulings "propose a decision" "提议决策";
    "b" [key('b')], Appeal Rulings "ask for a second vote" "申诉";
    "a" [key('a')], AddMilestone Rulings "add a milestone" "新增里程碑";
    "t" [key('t')], Reach Rulings "tick the milestone off" "达成里程碑";
    "y" [key('y')], Allow Approval "allow the call" "允许调用";
    "d" [key('d')], Deny Approval "deny the call" "拒绝调用";
    "m" [key('m')], Say Agent "send a message" "发送消息";
    "x" [key('x')], Aside Message "lay the message aside" "搁置消息";
    "p" [key('p')], Pause Agent "pause the agent" "暂停智能体";
    "r" [key('r')], Resume Agent "let the agent go on" "让智能体继续";
    "T" [key('T')], Terminate Agent "dismiss it with everybody below" "解散该智能体及下属";
    "w" [key('w')], Files Agent "the files it works on" "查看其文件";
    "c" [key('c')], Commands Workspace "the commands that were run" "查看运行过的命令";
    "j ↓" [key('j'), code(KeyCode::Down)], Down Everywhere "down" "向下";
    "k ↑" [key('k'), code(KeyCode::Up)], Up Everywhere "up" "向上";
    "ctrl-d PgDn" [control('d'), code(KeyCode::PageDown), key(' ')], HalfDown Everywhere "half a page down" "向下半页";
    "ctrl-u PgUp" [control('u'), code(KeyCode::PageUp)], HalfUp Everywhere "half a page up" "向上半页";
    "G End" [key('G'), code(KeyCode::End)], Bottom Everywhere "to the end (gg: to the beginning)" "到末尾（gg：到开头）";
    "l Enter" [key('l'), code(KeyCode::Enter), code(KeyCode::Right)], Open Everywhere "open" "打开";
    "h Esc" [key('h'), code(KeyCode::Esc), code(KeyCode::Left), code(KeyCode::Backspace)], Back Everywhere "back, out of a filter first" "返回（先取消过滤）";
    "1-6 Tab" [code(KeyCode::Tab)], NextTab Everywhere "another tab" "切换标签页";
    "shift-Tab" [code(KeyCode::BackTab)], PreviousTab Everywhere "the tab before" "上一标签页";
    "/" [key('/')], Filter Everywhere "filter a list, search a text" "过滤列表或搜索文本";
    "n" [key('n')], Next Everywhere "next match" "下一处";
    "N" [key('N')], Previous Everywhere "match before" "上一处";
    "f" [key('f')], Follow Everywhere "keep the newest in view" "跟随最新";
    "?" [key('?'), code(KeyCode::F(1))], Help Everywhere "this help" "帮助";
    "ctrl-l" [control('l')], Redraw Everywhere "read and draw again" "重新读取并绘制";
    "ctrl-z" [control('z')], Suspend Everywhere "suspend (fg brings it back)" "挂起（fg 恢复）";
    "q ctrl-c" [key('q'), control('c')], Quit Everywhere "quit" "退出";
};

/// Returns the key if it was pressed without a modifier other than Shift; dialogs react only to plain keys.
pub(super) fn alone(key: KeyEvent) -> KeyCode {
    match key.modifiers.difference(KeyModifiers::SHIFT).is_empty() {
        true => key.code,
        false => KeyCode::Null,
    }
}

/// Returns the bindings that are active on a page.
pub fn bindings(page: &Page) -> impl Iterator<Item = &'static Binding> {
    let thing = page.thing();
    TABLE
        .iter()
        .filter(move |binding| holds(binding.scope, &page.place, &thing))
}

/// Returns the command that a key triggers on a page.
pub(super) fn command(page: &Page, pressed: KeyEvent) -> Option<Command> {
    let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    if pressed.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    bindings(page)
        .find(|binding| {
            binding
                .codes
                .iter()
                .any(|(code, with)| *code == pressed.code && *with == control)
        })
        .map(|binding| binding.command)
}

fn holds(scope: Scope, place: &Place, thing: &Thing) -> bool {
    match scope {
        Scope::Everywhere => true,
        Scope::Task => matches!(thing, Thing::Task { .. }),
        Scope::Tasks => matches!(place, Place::Tasks | Place::Now),
        Scope::Board => matches!(thing, Thing::Board(_)),
        Scope::Version => matches!(thing, Thing::Version { .. }),
        Scope::Rulings => matches!(place, Place::Rulings(_)),
        Scope::Approval => matches!(thing, Thing::Approval(_)),
        Scope::Message => matches!(thing, Thing::Message { .. }),
        Scope::Workspace => matches!(place, Place::Workspaces | Place::Files(..)),
        Scope::Agent => matches!(thing, Thing::Agent { .. } | Thing::Message { .. }),
    }
}
