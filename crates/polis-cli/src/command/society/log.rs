//! `polis society log`: prints an agent's conversation, turn by turn.

use clap::Args;
use polis_core::AgentId;
use polis_core::society::turn::{CallEnd, Used};
use polis_ops::op::{self, Conversation, ReadConversation, Spoken};

use super::OfRunFlag;
use crate::context::Context;
use crate::error::Failure;
use crate::live::{money, tokens};
use crate::output::{Output, Style, clean, clean_lines};

/// Maximum number of lines of a result, unless all are asked for.
const LINES: usize = 12;

/// Show an agent's conversation.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The agent
    // Not the caller's `agent` of the global flags, whose id it would be.
    #[arg(id = "member", value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    run: OfRunFlag,
    /// From this turn on; default: the newest turns
    #[arg(long, value_name = "TURN")]
    from: Option<u64>,
    /// At most so many turns
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Everything to the last line, not only the beginning of long results
    #[arg(long)]
    full: bool,
}

impl Log {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let agent: AgentId = self.agent.parse()?;
        let params = ReadConversation {
            task_id: self.run.of(context, &agent)?,
            agent_id: agent,
            from: self.from,
            limit: self.limit,
        };
        let found = op::read_conversation(&context.polis, &context.agent, &params);
        let found = context.run(found)?;
        let most = if self.full { usize::MAX } else { LINES };
        out.answer(&found, |found| text(found, most, out))
    }
}

fn text(found: &Conversation, most: usize, out: &Output) -> String {
    if found.turns.is_empty() {
        return format!(
            "{} has not thought yet: it waits for its first message.",
            clean(found.agent_id.as_str())
        );
    }
    let mut page = String::new();
    let first = found.turns.first().map_or(0, |turn| turn.turn);
    if first > 0 {
        let earlier = format!("({first} earlier turns: --from 0)\n\n");
        page.push_str(&out.paint(Style::Dim, &earlier));
    }
    for turn in &found.turns {
        let head = format!("turn {}  {}", turn.turn, turn.at);
        page.push_str(&out.paint(Style::Dim, &head));
        page.push('\n');
        for said in &turn.said {
            page.push_str(&spoken(said, most, out));
        }
        page.push('\n');
    }
    if let Some(next) = found.next {
        page.push_str(&out.paint(Style::Dim, &format!("(more: --from {next})")));
    }
    page
}

fn spoken(said: &Spoken, most: usize, out: &Output) -> String {
    match said {
        Spoken::Heard { text, .. } => part("heard", Style::Cyan, text, most, out),
        Spoken::Said { text, calls, used } => {
            let mut page = String::new();
            if !text.trim().is_empty() {
                page.push_str(&part("said", Style::Bold, text, usize::MAX, out));
            }
            for call in calls {
                let called = format!("{} {}", call.tool, call.arguments);
                page.push_str(&part("calls", Style::Green, &called, most, out));
            }
            page.push_str(&part("took", Style::Dim, &taken(used), 1, out));
            page
        }
        Spoken::Did { text, end, ms, .. } => {
            let (name, style) = match end {
                CallEnd::Ok => ("result", Style::Green),
                CallEnd::Failed => ("failed", Style::Yellow),
                CallEnd::Interrupted => ("cut off", Style::Yellow),
                CallEnd::Denied => ("denied", Style::Red),
            };
            let text = format!("{text}\n({ms} ms)");
            part(name, style, &text, most, out)
        }
        Spoken::Told { text } => part("told", Style::Yellow, text, most, out),
        Spoken::Summed { text, used } => {
            let text = format!("{text}\n({})", taken(used));
            part("summed", Style::Cyan, &text, most, out)
        }
    }
}

fn taken(used: &Used) -> String {
    let about = if used.estimated { "about " } else { "" };
    let mut text = format!(
        "{about}{} tokens in, {} out, {} ms",
        tokens(used.prompt),
        tokens(used.answer),
        used.ms
    );
    if used.micros > 0 {
        text.push_str(&format!(", cost {}", money(used.micros)));
    }
    if used.tries > 1 {
        text.push_str(&format!(", tried {} times", used.tries));
    }
    if let Some(model) = &used.model {
        text.push_str(&format!(", {}", clean(model)));
    }
    text
}

/// Formats a text with a name in the left margin.
fn part(name: &str, style: Style, text: &str, most: usize, out: &Output) -> String {
    let text = clean_lines(text);
    let all = text.trim_end().lines().count();
    let mut page = String::new();
    for (n, line) in text.trim_end().lines().take(most).enumerate() {
        let margin = format!("  {:<8}", if n == 0 { name } else { "" });
        page.push_str(&out.paint(style, &margin));
        page.push_str(line);
        page.push('\n');
    }
    if all > most {
        let more = format!("  {:<8}… {} more lines (--full)\n", "", all - most);
        page.push_str(&out.paint(Style::Dim, &more));
    }
    page
}
