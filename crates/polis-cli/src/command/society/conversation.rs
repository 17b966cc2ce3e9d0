//! `polis society log`: prints an agent's conversation, turn by turn.

use clap::Args;
use polis_core::AgentId;
use polis_core::society::turn::{CallOutcome, ModelUsage};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, ConversationPage, ReadConversationParams, TurnEntry};
use polis_view::display_width::pad_to_width;

use super::RunFlagArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::live::{format_money, format_tokens};
use crate::output::{CliOutput, TextStyle, sanitize_line, sanitize_lines};

/// Maximum number of lines of a result, unless `--full` is given.
const MAX_RESULT_LINES: usize = 12;
/// Width of the names in the left margin, in columns.
const NAME_COLUMNS: usize = 12;

/// Show an agent's conversation.
#[derive(Debug, Args)]
pub(crate) struct SocietyLogArgs {
    /// Agent
    // The id is explicit, because `agent` is the id of the global flag `--as`.
    #[arg(id = "member", value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    run: RunFlagArgs,
    /// First turn to show; default: the newest turns
    #[arg(long, value_name = "TURN")]
    from: Option<u64>,
    /// Maximum number of turns
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Show long results in full
    #[arg(long)]
    full: bool,
}

impl SocietyLogArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let agent: AgentId = self.agent.parse()?;
        let params = ReadConversationParams {
            run_id: self.run.resolve_run(context, &agent)?,
            agent_id: agent,
            from: self.from,
            limit: self.limit,
        };
        let request = context.request();
        let found = op::read_conversation(&request, &params);
        let found = context.block_on(found)?;
        let max_lines = if self.full {
            usize::MAX
        } else {
            MAX_RESULT_LINES
        };
        out.print_result(&found, |found| render_conversation(found, max_lines, out))
    }
}

fn render_conversation(found: &ConversationPage, max_lines: usize, out: &CliOutput) -> String {
    let lang = out.lang();
    if found.turns.is_empty() {
        return msg::cli_society_no_turns(lang, sanitize_line(found.agent_id.as_str()));
    }
    let mut page = String::new();
    let first = found.turns.first().map_or(0, |turn| turn.turn);
    if first > 0 {
        let earlier = msg::cli_society_earlier_turns(lang, first);
        page.push_str(&out.paint(TextStyle::Dim, &format!("{earlier}\n\n")));
    }
    for turn in &found.turns {
        let head = format!("{}  {}", msg::cli_society_turn(lang, turn.turn), turn.at);
        page.push_str(&out.paint(TextStyle::Dim, &head));
        page.push('\n');
        for entry in &turn.entries {
            page.push_str(&render_turn_entry(entry, max_lines, out));
        }
        page.push('\n');
    }
    if let Some(next) = found.next {
        let later = msg::cli_society_later_turns(lang, next);
        page.push_str(&out.paint(TextStyle::Dim, &later));
    }
    page
}

fn render_turn_entry(entry: &TurnEntry, max_lines: usize, out: &CliOutput) -> String {
    let lang = out.lang();
    match entry {
        TurnEntry::Received { text, .. } => {
            let name = msg::cli_society_log_input(lang);
            render_part(name, TextStyle::Cyan, text, max_lines, out)
        }
        TurnEntry::Response { text, calls, usage } => {
            let mut page = String::new();
            if !text.trim().is_empty() {
                page.push_str(&render_part(
                    msg::cli_society_log_answer(lang),
                    TextStyle::Bold,
                    text,
                    usize::MAX,
                    out,
                ));
            }
            for call in calls {
                let call_text = format!("{} {}", call.tool, call.arguments);
                page.push_str(&render_part(
                    msg::cli_society_log_call(lang),
                    TextStyle::Green,
                    &call_text,
                    max_lines,
                    out,
                ));
            }
            page.push_str(&render_part(
                msg::cli_society_log_usage(lang),
                TextStyle::Dim,
                &describe_usage(usage, lang),
                1,
                out,
            ));
            page
        }
        TurnEntry::ToolResult {
            text, outcome, ms, ..
        } => {
            let (name, style) = match outcome {
                CallOutcome::Ok => (msg::cli_society_log_result(lang), TextStyle::Green),
                CallOutcome::Failed => (msg::cli_society_log_failed(lang), TextStyle::Yellow),
                CallOutcome::Interrupted => {
                    (msg::cli_society_log_interrupted(lang), TextStyle::Yellow)
                }
                CallOutcome::Denied => (msg::cli_society_log_denied(lang), TextStyle::Red),
            };
            let duration = msg::time_milliseconds(lang, ms);
            let duration = msg::cli_society_in_parentheses(lang, duration);
            let text = format!("{text}\n{duration}");
            render_part(name, style, &text, max_lines, out)
        }
        TurnEntry::Note { text } => {
            let name = msg::cli_society_log_notice(lang);
            render_part(name, TextStyle::Yellow, text, max_lines, out)
        }
        TurnEntry::Summary { text, usage } => {
            let usage = msg::cli_society_in_parentheses(lang, describe_usage(usage, lang));
            let text = format!("{text}\n{usage}");
            let name = msg::cli_society_log_summary(lang);
            render_part(name, TextStyle::Cyan, &text, max_lines, out)
        }
    }
}

fn describe_usage(used: &ModelUsage, lang: UiLanguage) -> String {
    let (prompt, response) = (format_tokens(used.prompt), format_tokens(used.response));
    let mut text = if used.estimated {
        msg::cli_society_usage_estimated(lang, prompt, response, used.ms)
    } else {
        msg::cli_society_usage(lang, prompt, response, used.ms)
    };
    if used.micros > 0 {
        let cost = msg::cli_society_usage_cost(lang, format_money(used.micros));
        text.push_str(&cost);
    }
    if used.attempts > 1 {
        text.push_str(&msg::cli_society_usage_attempts(lang, used.attempts));
    }
    if let Some(model) = &used.model {
        text.push_str(&msg::cli_society_usage_model(lang, sanitize_line(model)));
    }
    text
}

/// Formats a text with a name in the left margin.
fn render_part(
    name: &str,
    style: TextStyle,
    text: &str,
    max_lines: usize,
    out: &CliOutput,
) -> String {
    let text = sanitize_lines(text);
    let all = text.trim_end().lines().count();
    let mut page = String::new();
    for (n, line) in text.trim_end().lines().take(max_lines).enumerate() {
        let name = if n == 0 { name } else { "" };
        let margin = format!("  {}", pad_to_width(name, NAME_COLUMNS));
        page.push_str(&out.paint(style, &margin));
        page.push_str(line);
        page.push('\n');
    }
    if all > max_lines {
        let more = msg::cli_society_lines_omitted(out.lang(), all - max_lines);
        let margin = pad_to_width("", NAME_COLUMNS);
        page.push_str(&out.paint(TextStyle::Dim, &format!("  {margin}{more}\n")));
    }
    page
}
