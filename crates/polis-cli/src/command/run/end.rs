//! Final output of `polis run`: how the run ended, what it cost, the last message to the person, open questions,
//! unfinished members, the directory of the files, and the commands for the next steps.

use polis_core::message::{Message, payload_text};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::Run;
use polis_ops::op::{self, OrgMember, WorkspaceEntry};
use serde_json::{Value, json};

use super::watch::{Ended, Watch};
use crate::command::society::total;
use crate::context::Context;
use crate::error::Failure;
use crate::live::{count, elapsed, money, status_block, tokens};
use crate::output::{Output, Style, clean, clean_lines};

/// Prints the summary, or with `--json` the `ended` document.
pub(crate) fn tell(
    context: &Context,
    run: &Run,
    ended: Ended,
    watch: &Watch<'_>,
    out: &Output,
) -> Result<(), Failure> {
    let place = workspace(context, run, watch)?;
    let directory = place.and_then(|place| place.workspace_path);
    let spent = watch.org.as_ref().map(total).unwrap_or_default();
    let answer = json!({
        "kind": "ended",
        "taskId": run.id,
        "how": how(ended),
        "workspacePath": directory,
        "spent": spent,
        "said": watch.last.as_ref().map(message_document),
        "openQuestions": watch.questions.iter().map(message_document).collect::<Vec<_>>(),
        "unfinishedMembers": unfinished(watch, ended).map(member_document).collect::<Vec<_>>(),
    });
    out.answer(&answer, |_| {
        let mut facts = format!(
            "{} after {}: {}, {} tokens",
            headline(ended),
            elapsed(watch.lasted()),
            count(spent.turns, "turn"),
            tokens(spent.tokens)
        );
        if spent.micros > 0 {
            facts.push_str(&format!(", cost {}", money(spent.micros)));
        }
        let mut text = format!("\n{}.\n", out.paint(Style::Bold, &facts));
        for line in [said(watch, ended), held(watch, ended)]
            .into_iter()
            .flatten()
        {
            text.push_str(&clean_lines(&line));
            text.push('\n');
        }
        if let Some(directory) = &directory {
            text.push_str(&format!("Files: {}\n", clean(directory)));
        }
        if watch.hints {
            text.push_str(&next(run, ended));
        }
        text
    })
}

fn how(ended: Ended) -> &'static str {
    match ended {
        Ended::Done => "done",
        Ended::Held => "held",
        Ended::Over => "over",
        Ended::Quit | Ended::Interrupted => "stopped",
    }
}

fn headline(ended: Ended) -> &'static str {
    match ended {
        Ended::Done => "Done",
        Ended::Held => "Waiting for you",
        Ended::Over => "The run was stopped",
        Ended::Quit | Ended::Interrupted => "Stopped",
    }
}

fn message_document(message: &Message) -> Value {
    json!({
        "id": message.id, "from": message.from, "text": payload_text(&message.payload),
    })
}

/// Returns the last message to the person, and the open questions with the commands that answer them.
fn said(watch: &Watch<'_>, ended: Ended) -> Option<String> {
    let last = watch.last.as_ref()?;
    let mut text = format!("{} said: {}", last.from, payload_text(&last.payload));
    if ended == Ended::Over {
        return Some(text);
    }
    for question in &watch.questions {
        if question.id != last.id {
            let asked = payload_text(&question.payload);
            text.push_str(&format!("\n{} asked: {asked}", question.from));
        }
        text.push_str(&format!(
            "\nAnswer with: polis society send {} TEXT --run {}",
            question.from, watch.run.id
        ));
    }
    Some(text)
}

/// Returns whether a member ended its turn without an answer.
fn is_without_answer(member: &OrgMember) -> bool {
    member.status == MemberStatus::Idle && member.why.is_some()
}

/// Returns the members that are asking, paused or parked, or that gave no answer. A stopped run has no members.
fn unfinished<'a>(watch: &'a Watch<'_>, ended: Ended) -> impl Iterator<Item = &'a OrgMember> {
    let is_held = |status| {
        matches!(
            status,
            MemberStatus::Asking | MemberStatus::Paused | MemberStatus::Parked
        )
    };
    let org = watch.org.iter().filter(move |_| ended != Ended::Over);
    org.flat_map(|org| &org.members)
        .filter(move |member| is_held(member.status) || is_without_answer(member))
}

fn member_document(member: &OrgMember) -> Value {
    let mut document = json!({ "agentId": member.agent_id, "status": member.status });
    if let Some(why) = &member.why {
        document["why"] = json!(why);
    }
    document
}

/// Returns a line with the status and its reason for each unfinished member.
fn held(watch: &Watch<'_>, ended: Ended) -> Option<String> {
    let lines: Vec<String> = unfinished(watch, ended)
        .map(|member| {
            let why = member.why.as_deref();
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            format!(
                "{} {}{why}",
                member.agent_id,
                status_block::held(member.status)
            )
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn next(run: &Run, ended: Ended) -> String {
    let id = &run.id;
    match ended {
        Ended::Done => {
            // Only runs started by `polis run` have a root that can be written to.
            let to = if run.head.is_root() { "root" } else { "AGENT" };
            format!(
                "See who did what: polis society tree {id} --all, polis society log AGENT. More to do: polis society send {to} TEXT --run {id}, then polis run --resume {id}"
            )
        }
        Ended::Over => format!("See who did what: polis society tree {id} --all"),
        Ended::Held => format!(
            "polis society approvals, budget and resume let it go on; then: polis run --resume {id}"
        ),
        Ended::Quit | Ended::Interrupted => {
            format!("Nothing is lost. It goes on with: polis run --resume {id}")
        }
    }
}

/// Returns the workspace of the run: the one bound to its directory, or owned by the child of root.
pub(crate) fn workspace(
    context: &Context,
    run: &Run,
    watch: &Watch<'_>,
) -> Result<Option<WorkspaceEntry>, Failure> {
    let heads: Vec<_> = watch
        .org
        .iter()
        .flat_map(|org| &org.members)
        .filter(|member| member.depth == 1)
        .map(|member| &member.agent_id)
        .collect();
    let list = context.run(op::list_workspaces(&context.polis, &context.agent))?;
    let bound = |entry: &WorkspaceEntry| {
        run.workspace_path.is_some() && entry.workspace_path == run.workspace_path
    };
    Ok(list
        .workspaces
        .into_iter()
        .find(|entry| bound(entry) || heads.contains(&&entry.workspace_id)))
}
