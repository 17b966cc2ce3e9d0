//! MCP prompts for common team workflows: claiming the next task, handing a task over, the stand-up report.
//!
//! They are written in the installation's language. A prompt names the tools and their parameters, and states
//! that they are tools of polis: some clients have tools with the same names. The prompts do not explain what
//! the tools do.

use polis_core::board::BoardName;
use polis_core::board::template_text::Language;
use polis_core::id::quoted;
use polis_core::{AgentId, Code, Layer, Refusal, TaskId};
use polis_ops::{OpError, Polis};
use rmcp::model::{JsonObject, Prompt, PromptArgument};
use serde_json::Value;

/// Name of the prompt argument for a role.
pub(crate) const ROLE: &str = "role";
/// Name of the prompt argument for a task.
pub(crate) const TASK: &str = "task";
/// Name of the prompt argument for an agent.
pub(crate) const TO: &str = "to";
/// Name of the prompt argument for a board.
pub(crate) const BOARD: &str = "board";
const NOTE: &str = "note";

/// Last sentence of every prompt.
const WHOSE_TOOLS: Both = Both {
    en: "All tools named here are tools of the polis server, also where your program has tools of the same names.",
    zh: "以上工具都是 polis 服务器的工具，即使你的程序自带同名工具。",
};

/// Maximum length of an argument in characters.
const MAX_NOTE: usize = 4_000;

/// A text in both languages.
#[derive(Debug, Clone, Copy)]
struct Both {
    en: &'static str,
    zh: &'static str,
}

impl Both {
    fn text(self, language: Language) -> &'static str {
        match language {
            Language::En => self.en,
            Language::Zh => self.zh,
        }
    }
}

/// Definition of a prompt.
#[derive(Debug)]
struct Move {
    name: &'static str,
    title: Both,
    about: Both,
    arguments: &'static [Argument],
}

#[derive(Debug)]
struct Argument {
    name: &'static str,
    about: Both,
    required: bool,
}

const CLAIM_NEXT: &str = "claim_next";
const HAND_OVER: &str = "hand_over";
const STAND_UP: &str = "stand_up";

const MOVES: &[Move] = &[
    Move {
        name: CLAIM_NEXT,
        title: Both {
            en: "Claim the next task",
            zh: "认领下一个任务",
        },
        about: Both {
            en: "Take the best ready task and begin it",
            zh: "认领最合适的就绪任务并开始工作",
        },
        arguments: &[Argument {
            name: ROLE,
            about: Both {
                en: "Only what this role sees",
                zh: "只看该角色可见的任务",
            },
            required: false,
        }],
    },
    Move {
        name: HAND_OVER,
        title: Both {
            en: "Hand a task over",
            zh: "移交任务",
        },
        about: Both {
            en: "Pass a task on so that the next one can go on at once",
            zh: "移交任务，使接手者能立即继续",
        },
        arguments: &[
            Argument {
                name: TASK,
                about: Both {
                    en: "The task's number",
                    zh: "任务编号",
                },
                required: true,
            },
            Argument {
                name: TO,
                about: Both {
                    en: "Who gets it",
                    zh: "接手的智能体",
                },
                required: true,
            },
            Argument {
                name: NOTE,
                about: Both {
                    en: "What must not be forgotten",
                    zh: "不可遗漏的事项",
                },
                required: false,
            },
        ],
    },
    Move {
        name: STAND_UP,
        title: Both {
            en: "Stand-up report",
            zh: "站会报告",
        },
        about: Both {
            en: "Say what is done, what comes next and what is in the way",
            zh: "报告已完成、下一步和阻塞",
        },
        arguments: &[Argument {
            name: BOARD,
            about: Both {
                en: "The board it is written to; your own if left out",
                zh: "写入的白板；省略时为自己的白板",
            },
            required: false,
        }],
    },
];

/// Returns whether a prompt has this argument.
pub(crate) fn has(name: &str, argument: &str) -> bool {
    MOVES
        .iter()
        .filter(|one| one.name == name)
        .any(|one| one.arguments.iter().any(|of| of.name == argument))
}

/// Returns the prompts for `prompts/list`.
pub(crate) fn list(language: Language) -> Vec<Prompt> {
    let argument = |of: &Argument| {
        PromptArgument::new(of.name)
            .with_description(of.about.text(language))
            .with_required(of.required)
    };
    MOVES
        .iter()
        .map(|one| {
            let arguments = one.arguments.iter().map(argument).collect();
            let about = Some(one.about.text(language));
            Prompt::new(one.name, about, Some(arguments)).with_title(one.title.text(language))
        })
        .collect()
}

/// A prompt with its arguments filled in.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) about: &'static str,
    pub(crate) text: String,
}

/// Fills in a prompt for an agent. Fails with `InvalidInput` for an unknown prompt or invalid arguments.
pub(crate) async fn fill(
    polis: &Polis,
    agent: &AgentId,
    name: &str,
    given: &JsonObject,
) -> Result<Filled, OpError> {
    let language = polis.settings.boards.language;
    let one = MOVES.iter().find(|one| one.name == name);
    let one = one.ok_or_else(|| {
        Refusal::new(
            Code::InvalidInput,
            format!("There is no prompt {}.", quoted(name)),
            "list the prompts and use one of their names",
        )
    })?;
    let given = Given::read(one, given)?;
    let text = match one.name {
        CLAIM_NEXT => claim_next(language, given.text(ROLE)),
        HAND_OVER => {
            // A placeholder remains in the text for the client to fill in.
            let task = match given.need(TASK)? {
                placeholder if is_placeholder(placeholder) => placeholder.to_owned(),
                number => number.parse::<TaskId>()?.to_string(),
            };
            let to = match given.need(TO)? {
                placeholder if is_placeholder(placeholder) => placeholder.to_owned(),
                agent => agent.parse::<AgentId>()?.to_string(),
            };
            hand_over(language, &task, &to, given.text(NOTE))
        }
        _ => {
            let board = match given.text(BOARD) {
                Some(name) => name.parse()?,
                None => own_board(polis, agent).await?,
            };
            stand_up(language, agent, &board)
        }
    };
    Ok(Filled {
        about: one.about.text(language),
        text: format!("{text}\n{}", WHOSE_TOOLS.text(language)),
    })
}

/// The arguments of a prompt request.
struct Given<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Given<'a> {
    fn read(of: &Move, given: &'a JsonObject) -> Result<Self, Refusal> {
        let mut found = Vec::new();
        for argument in of.arguments {
            let text = match given.get(argument.name) {
                None | Some(Value::Null) => continue,
                Some(Value::String(text)) => text.trim(),
                Some(_) => return Err(wrong(argument.name, "is a text")),
            };
            if text.chars().nth(MAX_NOTE).is_some() {
                return Err(wrong(argument.name, "has at most 4,000 characters"));
            }
            let absent = text.is_empty() || (is_placeholder(text) && !argument.required);
            if !absent {
                found.push((argument.name, text));
            }
        }
        Ok(Self(found))
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text)
    }

    fn need(&self, name: &str) -> Result<&'a str, Refusal> {
        self.text(name).ok_or_else(|| wrong(name, "is needed"))
    }
}

/// Returns whether an argument is an unfilled placeholder: `$1`, `${role}`, `$ARGUMENTS`, `{role}`, `<role>`.
///
/// opencode requests a prompt with such arguments and substitutes the user's input into the returned text.
fn is_placeholder(text: &str) -> bool {
    let inside = |open: &str, close: &str| {
        let name = text.strip_prefix(open)?.strip_suffix(close)?.trim();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!name.is_empty() && name.chars().all(word)).then_some(name)
    };
    let braced = [("${", "}"), ("{{", "}}"), ("{", "}"), ("<", ">")];
    if braced
        .iter()
        .any(|(open, close)| inside(open, close).is_some())
    {
        return true;
    }
    // `$1` and `$NAME`, but not an amount of money.
    inside("$", "").is_some_and(|name| name.len() <= 2 || name.chars().all(|c| !c.is_ascii_digit()))
}

fn wrong(argument: &str, rule: &str) -> Refusal {
    Refusal::new(
        Code::InvalidInput,
        format!("The argument {argument} {rule}."),
        "look at the prompt's arguments with prompts/list",
    )
}

/// Returns the board to which an agent writes its own reports.
async fn own_board(polis: &Polis, agent: &AgentId) -> Result<BoardName, OpError> {
    let Some(entry) = polis.entry(agent).await? else {
        return Ok(BoardName::Global);
    };
    let agent = entry.agent;
    Ok(match agent.layer {
        Layer::Top => BoardName::Top,
        // A role that is not a valid board name has no board.
        Layer::Mid => agent.role.parse().map_or(BoardName::Global, BoardName::Mid),
        Layer::Bottom => BoardName::Bottom(agent.id),
    })
}

fn claim_next(language: Language, role: Option<&str>) -> String {
    match (language, role) {
        (Language::En, None) => "Take the next task and begin it.\n\
            1. Call TaskClaim without taskId: it gives you the best ready task. If it answers nothing_to_claim, say so and stop.\n\
            2. Read its description, and the boards it names with whiteboard_read.\n\
            3. Say in one sentence with TaskComment how you will do it, then do it.\n\
            4. When it is done and checked, call TaskUpdate with status=completed; if it cannot be done, say why with TaskComment."
            .to_owned(),
        (Language::En, Some(role)) => format!("Take the next task for the role {role} and begin it.\n\
            1. Call TaskList with roleFilter={role} and ready=true. If there is none, say so and stop.\n\
            2. Choose the one that others wait for most, read it with TaskGet, and call TaskClaim with its taskId. If it answers already_claimed, choose another.\n\
            3. Say in one sentence with TaskComment how you will do it, then do it.\n\
            4. When it is done and checked, call TaskUpdate with status=completed; if it cannot be done, say why with TaskComment."),
        (Language::Zh, None) => "认领下一个任务并开始工作。\n\
            1. 调用 TaskClaim，不带 taskId：得到最合适的就绪任务。若返回 nothing_to_claim，说明情况并停止。\n\
            2. 阅读任务描述，并用 whiteboard_read 阅读其中提到的白板。\n\
            3. 用 TaskComment 写一句话说明做法，然后开始工作。\n\
            4. 完成并检查后调用 TaskUpdate，status=completed；若无法完成，用 TaskComment 说明原因。"
            .to_owned(),
        (Language::Zh, Some(role)) => format!("为角色 {role} 认领下一个任务并开始工作。\n\
            1. 调用 TaskList，roleFilter={role}，ready=true。若没有任务，说明情况并停止。\n\
            2. 选择被等待最多的任务，用 TaskGet 阅读，再用其 taskId 调用 TaskClaim。若返回 already_claimed，另选一个。\n\
            3. 用 TaskComment 写一句话说明做法，然后开始工作。\n\
            4. 完成并检查后调用 TaskUpdate，status=completed；若无法完成，用 TaskComment 说明原因。"),
    }
}

fn hand_over(language: Language, task: &str, to: &str, note: Option<&str>) -> String {
    match language {
        Language::En => {
            let note = note.map_or_else(String::new, |note| format!(" Do not forget: {note}"));
            format!(
                "Hand task {task} over to {to}.\n\
                1. Call TaskGet with taskId={task} and see where it stands.\n\
                2. Call TaskComment with taskId={task}: what is done, what is left, which files it is in, what was found out.{note}\n\
                3. Call TaskUpdate with taskId={task}, owner={to} and expectedVersion as you read it. If it is refused, do what the refusal says.\n\
                4. Tell {to} with send_message, in one sentence that has the task's number."
            )
        }
        Language::Zh => {
            let note = note.map_or_else(String::new, |note| format!("不可遗漏：{note}"));
            format!(
                "把任务 {task} 移交给 {to}。\n\
                1. 调用 TaskGet，taskId={task}，了解当前进展。\n\
                2. 调用 TaskComment，taskId={task}：已完成什么、还剩什么、涉及哪些文件、有哪些发现。{note}\n\
                3. 调用 TaskUpdate，taskId={task}，owner={to}，expectedVersion 用刚读到的版本。若被拒绝，按提示处理。\n\
                4. 用 send_message 通知 {to}，一句话，写明任务编号。"
            )
        }
    }
}

fn stand_up(language: Language, agent: &AgentId, board: &BoardName) -> String {
    match language {
        Language::En => format!(
            "Give the stand-up report of {agent}.\n\
            1. Call TaskList with owner={agent}, and check_messages.\n\
            2. Write at most 12 lines under three headings: done, next, in the way. Name tasks by their numbers, and who could help.\n\
            3. Call whiteboard_append with board={board} and that text."
        ),
        Language::Zh => format!(
            "给出 {agent} 的站会报告。\n\
            1. 调用 TaskList，owner={agent}；再调用 check_messages。\n\
            2. 用三个标题写不超过 12 行：已完成、下一步、阻塞。写明任务编号以及谁能帮忙。\n\
            3. 调用 whiteboard_append，board={board}，内容为上述文本。"
        ),
    }
}

#[cfg(test)]
mod tests {
    use polis_ops::tool::Tool;

    use super::*;

    #[test]
    fn every_tool_a_prompt_names_is_there() {
        let agent = "a".parse().unwrap();
        for language in [Language::En, Language::Zh] {
            let texts = [
                claim_next(language, None),
                claim_next(language, Some("dev")),
                hand_over(language, "7", "a", Some("the key")),
                stand_up(language, &agent, &BoardName::Global),
            ];
            for text in texts {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let tools = words.filter(|word| {
                    word.starts_with("Task") && word.len() > 4
                        || word.starts_with("whiteboard_")
                        || ["send_message", "check_messages"].contains(word)
                });
                let tools: Vec<_> = tools.collect();
                assert!(!tools.is_empty());
                for name in tools {
                    assert!(Tool::find(name).is_ok(), "{name}");
                }
            }
        }
    }
}
