//! Texts of the runtime in English and Chinese: notes to members, notices to their parents, and prompts for summaries.
//! Refusals are not here: they are in one language everywhere.

use polis_core::AgentId;
use polis_core::board::template_text::Language;
use polis_core::message::Message;

/// The texts in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words(pub Language);

impl Words {
    fn pick<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        match self.0 {
            Language::En => english,
            Language::Zh => chinese,
        }
    }

    /// Returns the header line of a received message.
    pub fn letter(self, letter: &Message) -> String {
        let (id, from) = (letter.id, &letter.from);
        match (self.0, letter.reply_to) {
            (Language::En, None) => format!("[message {id} from {from}]\n"),
            (Language::En, Some(to)) => format!("[message {id} from {from}, answering {to}]\n"),
            (Language::Zh, None) => format!("[消息 {id}，来自 {from}]\n"),
            (Language::Zh, Some(to)) => format!("[消息 {id}，来自 {from}，回复 {to}]\n"),
        }
    }

    /// Returns the note that a message is truncated, with the call that reads the rest.
    pub fn letter_cut(self, letter: &Message, shown: usize, all: usize) -> String {
        let before = letter.id.saturating_sub(1);
        let how = format!("check_messages since={before} limit=1 offset={shown}");
        match self.0 {
            Language::En => format!("[cut: {shown} of {all} bytes; for the rest: {how}]"),
            Language::Zh => format!("[已截断：{all} 字节中的 {shown} 字节；其余部分：{how}]"),
        }
    }

    /// Returns the request for a summary.
    pub fn summarise(self) -> &'static str {
        match self.0 {
            Language::En => {
                "Your context is nearly full. Write a summary of the conversation so far, for yourself: what was asked, \
                 what is decided, what is done (files, tasks, artifacts and messages by name or number), what is open, \
                 what you were about to do next. Answer with the summary alone and call no tool. Your role, brief and \
                 open tasks are told to you anyway."
            }
            Language::Zh => {
                "你的上下文快满了。请为你自己写一份到目前为止的对话摘要：要求是什么，已决定什么，已完成什么（按名称或编号列出文件、任务、工件和消息），\
                 还有什么未完成，下一步要做什么。只回答摘要，不要调用工具。你的岗位、任务委托书和未完成任务会另外告诉你。"
            }
        }
    }

    /// Returns the introduction of a transcript that is to be summarised.
    pub fn transcript(self) -> &'static str {
        self.pick(
            "This is your conversation so far; long parts are cut.",
            "以下是你到目前为止的对话；较长的部分已截断。",
        )
    }

    /// Returns a summary with its header, as it appears in the context.
    pub fn summary(self, text: &str) -> String {
        match self.0 {
            Language::En => format!(
                "[summary of the conversation so far; what came before is no longer shown]\n{text}"
            ),
            Language::Zh => format!("[到目前为止的对话摘要；更早的内容不再显示]\n{text}"),
        }
    }

    /// Returns the header of a digest, which replaces a conversation that could not be summarised.
    pub fn digest(self) -> &'static str {
        self.pick(
            "[the conversation was too long and was cut; these are its last parts, shortened]",
            "[对话过长已被截断；以下是缩短后的最后部分]",
        )
    }

    /// Returns the note that the response was cut off by the length limit.
    pub fn cut_off(self) -> &'static str {
        self.pick(
            "[your answer was cut off because it was too long; go on with a shorter one, in several steps if need be]",
            "[你的回答因过长被截断；请用更短的回答继续，必要时分几步]",
        )
    }

    /// Returns the note that the provider's content filter blocked the response.
    pub fn held_back(self) -> &'static str {
        self.pick(
            "[your answer was held back by the model's provider; say or do it in another way]",
            "[你的回答被模型提供方拦截；请换一种方式]",
        )
    }

    /// Returns the note that the response announced tool calls but contained none.
    pub fn calls_missing(self) -> &'static str {
        self.pick(
            "[your answer announced tool calls but contained none; make the calls now, or say that you are done]",
            "[你的回答宣布了工具调用，但其中没有任何调用；请现在调用，或说明你已完成]",
        )
    }

    /// Returns the note that the response was empty.
    pub fn empty_answer(self) -> &'static str {
        self.pick(
            "[your answer was empty; go on with your work, or say in one sentence that you are done or wait]",
            "[你的回答是空的；请继续工作，或用一句话说明你已完成或在等待]",
        )
    }

    /// Returns the notice to the parent that a member ended its turn without a response.
    pub fn no_answer(self, agent: &AgentId) -> String {
        match self.0 {
            Language::En => format!(
                "{agent} has ended its turn without an answer: its model's answer was empty, also when it was asked \
                 again. Check its work, and send it a message to continue."
            ),
            Language::Zh => format!(
                "{agent} 结束了这一轮，但没有给出回答：其模型的回答为空，再次询问后仍为空。\
                 请检查它的工作，并发消息让它继续。"
            ),
        }
    }

    /// Returns the note that only the first calls of a response were executed.
    pub fn calls_dropped(self, carried_out: usize, dropped: u64) -> String {
        let all = dropped.saturating_add(u64::try_from(carried_out).unwrap_or(u64::MAX));
        match self.0 {
            Language::En => format!(
                "[your answer asked for {all} calls; only the first {carried_out} were carried out. Make the other \
                 {dropped} in your next answers]"
            ),
            Language::Zh => format!(
                "[你的回答要求 {all} 次调用；只执行了前 {carried_out} 次。请在接下来的回答中进行其余 {dropped} 次]"
            ),
        }
    }

    /// Returns the notice to the parent that a member is parked because its model fails.
    pub fn parked(self, agent: &AgentId, why: &str) -> String {
        match self.0 {
            Language::En => format!(
                "{agent} has stopped: its model keeps failing ({why}). It continues when the person resumes it."
            ),
            Language::Zh => {
                format!("{agent} 已停止：其模型持续失败（{why}）。用户恢复它之后才会继续。")
            }
        }
    }

    /// Returns the notice to the parent that a member is paused because it repeats the same call.
    pub fn repeating(self, agent: &AgentId, tool: &str) -> String {
        match self.0 {
            Language::En => format!(
                "{agent} is paused: it called {tool} with the same arguments again and again. Tell it what to do \
                 instead; it continues when the person resumes it."
            ),
            Language::Zh => format!(
                "{agent} 已暂停：它反复用相同参数调用 {tool}。请告诉它换一种做法；用户恢复它之后才会继续。"
            ),
        }
    }

    /// Returns the notice to the parent that a member is paused because a budget is exhausted.
    pub fn broke(self, agent: &AgentId, why: &str) -> String {
        match self.0 {
            Language::En => format!(
                "{agent} is paused: {why} It continues when the person raises the budget and resumes it."
            ),
            Language::Zh => format!("{agent} 已暂停：{why} 用户提高预算并恢复它之后才会继续。"),
        }
    }
}
