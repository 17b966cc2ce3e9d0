//! MCP server instructions for a model: which agent it is and how to work with the tools.
//!
//! They state that the tools are those of polis: some clients (Claude Code) have tools with the same names.

use polis_core::AgentId;
use polis_core::board::template_text::Language;

/// Returns the instructions for an agent.
pub(crate) fn of(agent: &AgentId, language: Language) -> String {
    match language {
        Language::En => format!(
            "You are {agent}, an agent of a team that shares tasks, boards and messages. The names below are tools of the \
             polis server, also where your program has tools of the same names. See your tasks with TaskList \
             (owner={agent}), or take the next one with TaskClaim; complete it with TaskUpdate (status=completed). The team's \
             knowledge is on boards: read `global` with whiteboard_read, add to it with whiteboard_append. Files and commands of \
             this server are in your polis workspace. A refusal names its code and the next step."
        ),
        Language::Zh => format!(
            "你是 {agent}，所在团队共享任务、白板和消息。下列名称都是 polis 服务器的工具，即使你的程序自带同名工具。\
             用 TaskList（owner={agent}）查看你的任务，或用 TaskClaim 认领下一个；完成后用 TaskUpdate（status=completed）。\
             团队的共识写在白板上：用 whiteboard_read 阅读 `global`，用 whiteboard_append 追加。\
             本服务器的文件和命令都在你的 polis 工作空间里。被拒绝时会给出代码和下一步。"
        ),
    }
}
