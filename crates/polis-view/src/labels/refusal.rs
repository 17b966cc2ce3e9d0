//! Texts of refusals in the reader's language, and adapted to screens and the command line.
//!
//! The message of a refusal is in English and names what exactly is wrong. In Chinese, the refusal's code
//! selects a translated sentence and its class the next step.

use polis_core::{Code, Kind, TaskStatus};
use polis_ops::tool::TOOLS;

use crate::Lang;

/// Returns a sentence that explains a code.
pub fn refusal(code: Code, lang: Lang) -> &'static str {
    lang.say(code.about(), chinese(code))
}

/// Returns a refusal's message with the names of task statuses, which it quotes, in the reader's language.
pub fn with_states(sentence: &str, lang: Lang) -> String {
    if lang == Lang::En {
        return sentence.to_owned();
    }
    let states = [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Completed,
        TaskStatus::Deleted,
    ];
    states.iter().fold(sentence.to_owned(), |told, state| {
        let own = format!("\"{}\"", state.as_str());
        told.replace(&own, &format!("“{}”", super::status(*state, lang)))
    })
}

/// Returns a refusal's message for the command line: without the lines that show a tool call, which some
/// messages contain for models.
pub fn command_line_message(sentence: &str) -> String {
    without_lines(sentence, |line| line.contains("({") && names_tool(line))
}

/// Returns a refusal's message for a screen: without the lines that name tools and their parameters.
pub fn screen_message(sentence: &str) -> String {
    without_lines(sentence, names_program)
}

/// Removes lines, but never all of them.
fn without_lines(sentence: &str, is_left_out: impl Fn(&str) -> bool) -> String {
    let lines: Vec<&str> = (sentence.lines())
        .filter(|line| !is_left_out(line))
        .collect();
    match lines.is_empty() {
        true => sentence.to_owned(),
        false => lines.join("\n"),
    }
}

/// Returns the next step of a refusal for a screen. A screen has buttons and forms, so a hint that names a
/// command, an option, a tool or a parameter is replaced by a text for the code or for its class.
///
/// Signing in is the exception: only `polis open` creates a link.
pub fn screen_hint(code: Code, hint: &str, lang: Lang) -> String {
    if code == Code::Unauthorized {
        return match lang {
            Lang::En => hint.to_owned(),
            Lang::Zh => "请用 `polis open` 获取新的登录链接".to_owned(),
        };
    }
    let is_own = lang == Lang::En && !names_program(hint);
    match (is_own, on_screen(code, lang)) {
        (true, _) => hint.to_owned(),
        (false, Some(own)) => own.to_owned(),
        (false, None) => next(code.kind(), lang).to_owned(),
    }
}

/// Returns a refusal's original text, for a screen in another language: the message and, if it can be
/// followed on a screen, the hint.
pub fn screen_detail(sentence: &str, hint: &str, lang: Lang) -> String {
    let mut detail = with_states(&screen_message(sentence), lang);
    if !hint.is_empty() && !names_program(hint) {
        detail.push(' ');
        detail.push_str(hint);
    }
    detail
}

/// Returns whether a text names a command, an option, a tool or a parameter.
pub fn names_program(text: &str) -> bool {
    let is_command = text.contains("`polis ") || text.contains("--");
    is_command || identifiers(text).any(is_parameter) || names_tool(text)
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// Returns whether a word is written like a parameter: `taskId`.
fn is_parameter(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.contains(|c: char| c.is_ascii_uppercase())
}

fn names_tool(text: &str) -> bool {
    identifiers(text).any(|word| TOOLS.iter().any(|tool| tool.name == word))
}

/// Returns the next step on a screen for codes whose hints name commands.
fn on_screen(code: Code, lang: Lang) -> Option<&'static str> {
    let (en, zh) = match code {
        Code::RoleMismatch => (
            "assign it to an agent with that role",
            "请指派给具有该角色的智能体",
        ),
        Code::AlreadyClaimed => (
            "choose another task, or ask its owner to release it",
            "请选择其他任务，或请负责人释放它",
        ),
        Code::HeldByOtherSession => (
            "choose another task, or wait until that session ends",
            "请选择其他任务，或等那个会话结束",
        ),
        Code::NothingToClaim => (
            "see the list of tasks for what is open and what blocks it",
            "请在任务列表中查看未完成的任务及其依赖",
        ),
        Code::TaskBlocked => (
            "complete the tasks it waits for first",
            "请先完成它依赖的任务",
        ),
        Code::NotOwner => (
            "claim it first, or ask the team lead",
            "请先认领，或请团队负责人处理",
        ),
        Code::ApprovalRequired => (
            "have it approved first, then complete it",
            "请先获得批准，再完成",
        ),
        Code::DependencyCycle => (
            "remove one of the dependencies of the cycle",
            "请去掉循环中的一条依赖",
        ),
        Code::VersionMismatch | Code::VersionConflict | Code::VersionRequired => (
            "read it again, apply your change to it and save",
            "请重新读取，再修改并保存",
        ),
        Code::AgentNotFound => (
            "choose an agent from the list of agents",
            "请从智能体列表中选择",
        ),
        Code::AgentInUse => (
            "dismiss or retire the agents below it first",
            "请先解聘或停用它的下级",
        ),
        Code::BudgetExhausted => ("raise the budget, then resume", "请提高预算，然后继续"),
        Code::InsufficientScope => (
            "sign in with a link that allows it",
            "请用有此权限的链接登录",
        ),
        Code::WorkspaceNotAssigned => (
            "have a workspace bound for the head of its team",
            "请为其团队负责人绑定工作空间",
        ),
        Code::SandboxUnavailable => (
            "ask the person who runs polis what the sandbox lacks",
            "请询问运行 polis 的人沙箱缺少什么",
        ),
        _ => return None,
    };
    Some(lang.say(en, zh))
}

/// Returns the next step for a class of refusals, where the refusal's own hint is in another language.
pub fn next(kind: Kind, lang: Lang) -> &'static str {
    match kind {
        Kind::Internal => lang.say(
            "try again, and look at the server's log",
            "请重试，并查看服务器日志",
        ),
        Kind::Invalid => lang.say("correct what was entered", "请更正输入的内容"),
        Kind::Forbidden => lang.say("ask somebody who may", "请找有权限的人处理"),
        Kind::NotFound => lang.say(
            "load the page again: it may be gone",
            "请刷新页面：它可能已不存在",
        ),
        Kind::Conflict => lang.say(
            "look at the present state, then decide again",
            "请查看最新状态后再决定",
        ),
        Kind::Busy => lang.say("wait a moment and try again", "请稍候再试"),
    }
}

#[expect(clippy::too_many_lines, reason = "a table with one line for each code")]
fn chinese(code: Code) -> &'static str {
    match code {
        Code::InvalidInput => "请求的内容不成立。",
        Code::InvalidTaskId => "这不是任务编号。",
        Code::InvalidAgentId => "这不能作为智能体的名字。",
        Code::InvalidRole => "没有这个角色。",
        Code::InvalidRequiredRole => "任务不能要求这个角色。",
        Code::InvalidTaskType => "没有这种任务类型。",
        Code::InvalidStatus => "没有这种任务状态。",
        Code::InvalidSubject => "标题为空、过长或含有控制字符。",
        Code::InvalidText => "文本过长，或含有无法保存的字符。",
        Code::InvalidMetadata => "元数据不是 JSON 对象，或过大、过深。",
        Code::InvalidSection => "章节的名称或内容写入后无法原样读回。",
        Code::AmbiguousSection => "有多个同名章节。",
        Code::InvalidSupervisor => "这个上级关系不成立。",
        Code::InvalidConfig => "配置文件有错误。",
        Code::InvalidRbac => "权限文件有错误。",
        Code::InvalidBoard => "这不是白板的名字。",
        Code::InvalidPath => "这不是黑板的路径。",
        Code::BoardTooLarge => "白板会超过允许的大小。",
        Code::NotUtf8 => "文本不是 UTF-8。",
        Code::InvalidCommand => "这不是可以运行的命令。",
        Code::InvalidTimeout => "超时时间不在允许的范围内。",
        Code::InvalidPattern => "这不是可以搜索的模式。",
        Code::InvalidWorkspace => "这个目录不能作为工作区。",
        Code::NotADirectory => "这里应该是目录，但不是。",
        Code::IsADirectory => "这里应该是文件，但却是目录。",
        Code::FileTooLarge => "文件超过允许的大小。",
        Code::NotText => "文件不是 UTF-8 文本。",
        Code::InvalidScope => "这不是令牌的权限范围。",
        Code::InvalidWebhook => "事件不能发送到这个地址。",
        Code::InvalidMessage => "这条消息无法发送。",
        Code::InvalidArtifact => "这个产物无法保存。",
        Code::IdempotencyKeyReused => "这个键已用于另一个请求。",
        Code::RequestTooLarge => "请求超过允许的大小。",
        Code::UnsupportedMediaType => "这里不接受这种内容类型。",
        Code::MethodNotAllowed => "这个地址不接受这种方法。",
        Code::ImportFaults => "严格导入时发现错误。",
        Code::Unauthorized => "需要有效的令牌或登录链接。",
        Code::InsufficientScope => "这次登录没有这项权限。",
        Code::OriginForbidden => "请求不是来自本站的页面。",
        Code::PermissionDenied => "没有权限这样做。",
        Code::PathTraversalBlocked => "路径超出了工作区。",
        Code::CommandBlocked => "这是被禁止的危险命令。",
        Code::SandboxUnavailable => "本系统无法提供所要求的隔离强度。",
        Code::RoleMismatch => "新负责人的角色与要求不符。",
        Code::ForceAssignForbidden => "只有团队负责人可以强制指派。",
        Code::ApprovalRequired => "这类任务需要批准后才能完成。",
        Code::NotASigner => "您不在签署人之列。",
        Code::TaskNotFound => "没有这个任务。",
        Code::CommentNotFound => "没有这条评论。",
        Code::SectionNotFound => "没有这个章节。",
        Code::AgentNotFound => "没有这个智能体。",
        Code::RunNotFound => "没有这次运行。",
        Code::RoleNotFound => "这次运行里没有这个角色。",
        Code::TeamNotFound => "没有这个团队。",
        Code::ModelNotConfigured => "没有配置模型，或没有这个名字的模型。",
        Code::ApprovalNotFound => "没有这样一个等待批准的调用。",
        Code::RoleExists => "这次运行已有同名但内容不同的角色。",
        Code::HireLimit => "再雇用就会超过这次运行的上限。",
        Code::NotDescendant => "只有上级可以这样做。",
        Code::BudgetExhausted => "预算已用完。",
        Code::InvalidBrief => "任务说明或角色缺少必要内容。",
        Code::RepeatedCall => "同样的调用反复得到同样的结果。",
        Code::CallInterrupted => "执行调用时进程中断，结果不明。",
        Code::CallDenied => "这个调用没有得到允许。",
        Code::ToolNotFound => "没有这个工具。",
        Code::RouteNotFound => "这个地址什么也没有。",
        Code::RecipientNotFound => "没有这个收件人。",
        Code::MessageNotFound => "信箱里没有这条消息。",
        Code::ArtifactNotFound => "没有这个产物。",
        Code::CommandNotFound => "没有记录这条命令。",
        Code::TokenNotFound => "没有这个令牌。",
        Code::WebhookNotFound => "没有这个网络钩子。",
        Code::DecisionNotFound => "白板上没有这个决策。",
        Code::MilestoneNotFound => "白板上没有这个里程碑。",
        Code::NotInitialized => "这里还没有建立 polis。",
        Code::NothingToClaim => "没有可以认领的任务。",
        Code::WorkspaceNotAssigned => "这个智能体没有工作区。",
        Code::TextNotFound => "文件里没有要替换的文本。",
        Code::FileNotFound => "没有这个文件。",
        Code::VersionNotFound => "历史中没有这个版本，或已不再保留。",
        Code::VersionConflict => "您读取之后，白板已被改动。",
        Code::VersionRequired => "白板已有内容，整体替换前须给出您读取的版本。",
        Code::LockLost => "锁已失效，或已被他人取得。",
        Code::HashMismatch => "您读取之后，文件已被改动。",
        Code::TextNotUnique => "要替换的文本在文件里不止一处。",
        Code::FileExists => "已有同名文件。",
        Code::DirectoryNotEmpty => "目录不为空。",
        Code::NotTrusted => {
            "这个项目不是由当前用户在这台机器上创建的，或者位于智能体的工作空间内。"
        }
        Code::WorkspaceOverlaps => "这个目录与另一个工作区或 polis 自己的数据重叠。",
        Code::WorkspaceExists => "工作区已在别处，移动会丢下其中的文件。",
        Code::QuotaExceeded => "工作区已达容量上限。",
        Code::NotAFile => "这里应该是文件，但不是普通文件。",
        Code::VersionMismatch => "您读取之后，任务已被改动。",
        Code::InvalidTransition => "任务不能这样改变状态。",
        Code::WrongState => "当前状态下不能这样做。",
        Code::TaskBlocked => "它依赖的任务还没有完成。",
        Code::DependencyCycle => "这条依赖会形成循环。",
        Code::AlreadyClaimed => "任务已被他人认领。",
        Code::HeldByOtherSession => "任务由同一智能体的另一个会话持有。",
        Code::NotOwner => "您不是这个任务的负责人。",
        Code::AgentExists => "这个名字已被占用。",
        Code::AgentInUse => "这个智能体还在被使用。",
        Code::OutcomeUnknown => "先前同键的请求未完成或被中断，结果不明。",
        Code::RateLimited => "请求过于频繁。",
        Code::RequestTimeout => "请求超时。",
        Code::BoardLocked => "白板被他人锁定。",
        Code::FileBusy => "文件被他人占用。",
        Code::CommandTimeout => "命令超时，已被终止。",
        Code::DecisionClosed => "这个决策的状态不允许这样做。",
        Code::MilestoneExists => "已有同名里程碑。",
        Code::StoreBusy => "存储一直被占用。",
        Code::ReadFailed => "文件读取失败。",
        Code::WriteFailed => "文件写入失败。",
        Code::CommandFailed => "命令无法运行。",
        Code::StoreUnavailable => "无法连接存储。",
        Code::CommitUnknown => "提交时连接中断，结果不明。",
        Code::StoreReadOnly => "存储不可写。",
        Code::StoreFull => "磁盘已满。",
        Code::StoreCorrupt => "存储文件已损坏。",
        Code::StoreTooNew => "存储由更新版本的 polis 写成。",
        Code::Internal => "内部错误。",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_hint_names_no_command_option_tool_or_parameter() {
        for (code, hint) in [
            (
                Code::RoleMismatch,
                "run `polis task list --role-filter qa`; the team lead and the user may add --force-assign",
            ),
            (
                Code::AlreadyClaimed,
                "claim another one (`polis task claim` takes the best ready task), or ask its owner to release it",
            ),
            (Code::ForceAssignForbidden, "leave forceAssign out"),
            (
                Code::InvalidInput,
                "give agentId, or taskId for a whole run",
            ),
            (Code::AgentNotFound, "see who does with get_org"),
            (
                Code::Internal,
                "run `polis doctor`; with --verbose the cause is shown",
            ),
        ] {
            for lang in [Lang::En, Lang::Zh] {
                let shown = screen_hint(code, hint, lang);
                assert!(!shown.is_empty() && !names_program(&shown), "{shown}");
                let detail = screen_detail("It was refused.", hint, lang);
                assert_eq!(detail, "It was refused.");
            }
        }
    }

    #[test]
    fn own_words_of_screens_name_no_command() {
        for code in Code::ALL {
            for lang in [Lang::En, Lang::Zh] {
                for text in [on_screen(*code, lang), Some(next(code.kind(), lang))] {
                    assert!(!text.is_some_and(names_program), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn hint_that_a_screen_can_follow_stays() {
        let hint = "choose another name, with letters and digits";
        assert_eq!(screen_hint(Code::InvalidAgentId, hint, Lang::En), hint);
        assert_eq!(screen_detail("A.", hint, Lang::Zh), format!("A. {hint}"));
    }

    #[test]
    fn screen_message_leaves_tool_syntax_out() {
        let refused = "Role mismatch. Task requires \"qa\", but you are \"dev\".\n\
                       Use TaskList({ roleFilter: \"dev\" }) to find tasks for your role.";
        assert_eq!(
            screen_message(refused),
            "Role mismatch. Task requires \"qa\", but you are \"dev\"."
        );
        assert_eq!(command_line_message(refused), screen_message(refused));
        for whole in ["Only forceAssign.", "Only team-lead can use forceAssign"] {
            assert_eq!(screen_message(whole), whole);
            assert_eq!(command_line_message(whole), whole);
        }
    }
}
