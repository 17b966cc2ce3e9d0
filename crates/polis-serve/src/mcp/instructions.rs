//! What a model is told before anything else: who it is here, and how to work.

use polis_core::AgentId;
use polis_core::board::words::Language;

/// The instructions for an agent.
pub(crate) fn of(agent: &AgentId, language: Language) -> String {
    match language {
        Language::En => format!(
            "You are {agent}, on the ground your team shares. Look at your tasks with TaskList (owner={agent}), or take the next \
             one with TaskClaim; finish it with TaskUpdate (status=completed). What the team knows stands on boards: \
             read `global` with whiteboard_read, add with whiteboard_append. Files and commands are in your workspace. \
             A refusal names its code and the next step."
        ),
        Language::Zh => format!(
            "你是 {agent}，与团队共用这片场地。用 TaskList（owner={agent}）查看你的任务，或用 TaskClaim 领取下一个；\
             完成后用 TaskUpdate（status=completed）。团队的共识写在白板上：用 whiteboard_read 阅读 `global`，\
             用 whiteboard_append 追加。文件和命令都在你的工作区里。被拒绝时会说明代码和下一步。"
        ),
    }
}
