//! Final output of `polis run`: how the run ended, what it cost, the last message to the person, open
//! questions, unfinished members, the directory of the files, and the commands for the next steps.

use polis_core::message::{Message, payload_text};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::Run;
use polis_core::society::run_id_json::with_run_id;
use polis_core::{AgentId, RunId};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, OrgMember, WorkspaceEntry};
use serde_json::{Value, json};

use super::run_watcher::{RunWatcher, WatchOutcome};
use crate::command::society::total_spent;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::live::{format_elapsed, format_money, format_tokens, status_block};
use crate::output::{CliOutput, TextStyle, sanitize_line, sanitize_lines};

/// Prints the summary, or with `--json` the `ended` document.
pub(crate) fn print_run_summary(
    context: &CommandContext,
    run: &Run,
    ended: WatchOutcome,
    watch: &RunWatcher<'_>,
    out: &CliOutput,
) -> Result<(), CliError> {
    let workspace = find_run_workspace(context, run, watch)?;
    let directory = workspace.and_then(|workspace| workspace.workspace_path);
    let spent = watch.org.as_ref().map(total_spent).unwrap_or_default();
    let answer = json!({
        "kind": "ended",
        "how": outcome_code(ended),
        "workspacePath": directory,
        "spent": spent,
        "said": watch.last_message.as_ref().map(message_json),
        "openQuestions": watch.questions.iter().map(message_json).collect::<Vec<_>>(),
        "unfinishedMembers": unfinished_members(watch, ended).map(member_json).collect::<Vec<_>>(),
    });
    let answer = with_run_id(answer, &run.id);
    let lang = out.lang();
    out.print_result(&answer, |_| {
        let mut facts = msg::cli_run_summary(
            lang,
            outcome_headline(ended, lang),
            format_elapsed(watch.elapsed_ms(), lang),
            msg::cli_run_turn_count(lang, spent.turns),
            msg::cli_run_token_count(lang, format_tokens(spent.tokens)),
        );
        if spent.micros > 0 {
            let cost = msg::cli_run_cost(lang, format_money(spent.micros));
            facts = msg::cli_run_summary_with_cost(lang, facts, cost);
        }
        let facts = out.paint(TextStyle::Bold, &facts);
        let mut text = format!("\n{}\n", msg::cli_run_summary_sentence(lang, facts));
        for line in [
            render_messages(watch, ended, lang),
            render_unfinished(watch, ended, lang),
        ]
        .into_iter()
        .flatten()
        {
            text.push_str(&sanitize_lines(&line));
            text.push('\n');
        }
        if let Some(directory) = &directory {
            text.push_str(&msg::cli_run_files(lang, sanitize_line(directory)));
            text.push('\n');
        }
        if watch.shows_next_steps {
            text.push_str(&render_next_steps(watch, run, ended, lang));
        }
        text
    })
}

fn outcome_code(ended: WatchOutcome) -> &'static str {
    match ended {
        WatchOutcome::Done => "done",
        WatchOutcome::NeedsPerson => "held",
        WatchOutcome::Stopped => "over",
        WatchOutcome::Quit | WatchOutcome::Interrupted => "stopped",
    }
}

fn outcome_headline(ended: WatchOutcome, lang: UiLanguage) -> &'static str {
    match ended {
        WatchOutcome::Done => msg::cli_run_outcome_done(lang),
        WatchOutcome::NeedsPerson => msg::cli_run_outcome_needs_person(lang),
        WatchOutcome::Stopped => msg::cli_run_outcome_stopped(lang),
        WatchOutcome::Quit | WatchOutcome::Interrupted => msg::cli_run_outcome_interrupted(lang),
    }
}

fn message_json(message: &Message) -> Value {
    json!({
        "id": message.id, "from": message.from, "text": payload_text(&message.payload),
    })
}

/// Returns the last message to the person, and the open questions with the commands that answer them.
fn render_messages(
    watch: &RunWatcher<'_>,
    ended: WatchOutcome,
    lang: UiLanguage,
) -> Option<String> {
    let last = watch.last_message.as_ref()?;
    let mut text = msg::cli_run_agent_said(lang, &last.from, payload_text(&last.payload));
    if ended == WatchOutcome::Stopped {
        return Some(text);
    }
    for question in &watch.questions {
        if question.id != last.id {
            let question_text = payload_text(&question.payload);
            text.push('\n');
            text.push_str(&msg::cli_run_agent_asked(
                lang,
                &question.from,
                question_text,
            ));
        }
        text.push('\n');
        text.push_str(&msg::cli_run_answer_command(
            lang,
            &question.from,
            &watch.run.id,
        ));
    }
    Some(text)
}

/// Returns whether a member ended its turn without an answer.
fn is_without_answer(member: &OrgMember) -> bool {
    member.status == MemberStatus::Idle && member.reason.is_some()
}

/// Returns the members that are asking, paused or parked, or that gave no answer. A stopped run has no
/// members.
fn unfinished_members<'a>(
    watch: &'a RunWatcher<'_>,
    ended: WatchOutcome,
) -> impl Iterator<Item = &'a OrgMember> {
    let is_blocked = |status| {
        matches!(
            status,
            MemberStatus::AwaitingApproval | MemberStatus::Paused | MemberStatus::Parked
        )
    };
    let org = watch
        .org
        .iter()
        .filter(move |_| ended != WatchOutcome::Stopped);
    org.flat_map(|org| &org.members)
        .filter(move |member| is_blocked(member.status) || is_without_answer(member))
}

fn member_json(member: &OrgMember) -> Value {
    let mut document = json!({ "agentId": member.agent_id, "status": member.status });
    if let Some(reason) = &member.reason {
        document["why"] = json!(reason);
    }
    if let Some(agent) = &member.paused_by {
        document["pausedBy"] = json!(agent);
    }
    document
}

/// Returns a line with the status and its reason for each unfinished member.
fn render_unfinished(
    watch: &RunWatcher<'_>,
    ended: WatchOutcome,
    lang: UiLanguage,
) -> Option<String> {
    let lines: Vec<String> = unfinished_members(watch, ended)
        .map(|member| {
            let reason = member.reason_text(lang);
            let status =
                status_block::describe_status_and_reason(member.status, reason.as_deref(), lang);
            format!("{} {status}", member.agent_id)
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn render_next_steps(
    watch: &RunWatcher<'_>,
    run: &Run,
    ended: WatchOutcome,
    lang: UiLanguage,
) -> String {
    let id = &run.id;
    match ended {
        WatchOutcome::Done => {
            // Only runs started by `polis run` have a root that can be written to.
            let to = if run.head.is_root() {
                AgentId::ROOT
            } else {
                msg::cli_run_agent_placeholder(lang)
            };
            msg::cli_run_next_after_done(lang, id, to)
        }
        WatchOutcome::Stopped => msg::cli_run_next_after_stop(lang, id),
        WatchOutcome::NeedsPerson => {
            let members = watch.org.iter().flat_map(|org| &org.members);
            next_steps_for_person(members, id, lang)
        }
        WatchOutcome::Quit | WatchOutcome::Interrupted => {
            msg::cli_run_next_after_interruption(lang, id)
        }
    }
}

/// Returns what the person does before the run can continue, by the statuses of its members.
fn next_steps_for_person<'a>(
    members: impl Iterator<Item = &'a OrgMember>,
    run: &RunId,
    lang: UiLanguage,
) -> String {
    let (mut has_pending_call, mut has_parked) = (false, false);
    let mut steps = Vec::new();
    for member in members {
        let agent = &member.agent_id;
        match member.status {
            MemberStatus::AwaitingApproval => has_pending_call = true,
            MemberStatus::Parked => has_parked = true,
            MemberStatus::Paused if member.paused_by.is_some() => {
                steps.push(msg::cli_run_next_paused(lang, agent, run));
            }
            MemberStatus::Paused => steps.push(msg::cli_run_next_limit(lang, agent, run)),
            MemberStatus::Idle | MemberStatus::Working | MemberStatus::Dismissed => {}
        }
    }
    if has_parked {
        steps.insert(0, msg::cli_run_next_model(lang).to_owned());
    }
    if has_pending_call {
        steps.insert(0, msg::cli_run_next_approvals(lang, run));
    }
    steps.push(msg::cli_run_next_continue(lang, run));
    steps.join("\n")
}

/// Returns the workspace of the run: the one bound to its directory, or owned by the child of root.
pub(crate) fn find_run_workspace(
    context: &CommandContext,
    run: &Run,
    watch: &RunWatcher<'_>,
) -> Result<Option<WorkspaceEntry>, CliError> {
    let heads: Vec<_> = watch
        .org
        .iter()
        .flat_map(|org| &org.members)
        .filter(|member| member.depth == 1)
        .map(|member| &member.agent_id)
        .collect();
    let list = context.block_on(op::list_workspaces(&context.request()))?;
    let bound = |entry: &WorkspaceEntry| {
        run.workspace_path.is_some() && entry.workspace_path == run.workspace_path
    };
    Ok(list
        .workspaces
        .into_iter()
        .find(|entry| bound(entry) || heads.contains(&&entry.workspace_id)))
}
