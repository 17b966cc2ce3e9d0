//! Renders the agents tab of the terminal UI: the registered agents as a tree, the runs as a list below it,
//! and the page of one agent with its conversation or, if it has none, its messages.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::agent::{Agent, AgentStatus};
use polis_core::message::Message;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::turn::CallOutcome;
use polis_core::{AgentId, RunId};
use polis_i18n::msg;
use polis_ops::op::{ConversationPage, OrgMember};
use polis_view::conversation::{ItemContent, RenderedCallResult, conversation_items, payload_text};
use polis_view::style::{StyleSet, StyledLines, TextStyle};
use polis_view::{labels, number_format};

use super::{ListCell, ListRow, RenderContext, Selection, TextPageBuilder, format_age};
use crate::app::Route;

/// Maximum number of agents shown.
const MAX_SHOWN_AGENTS: usize = 5_000;
/// Maximum length of a displayed tool result, in characters.
const MAX_RESULT_CHARS: usize = 600;

/// Data of the agents tab: all agents and runs.
#[derive(Debug)]
pub struct AgentRoster {
    /// All registered agents, including members.
    pub agents: Vec<Agent>,
    /// Members of runs with their current state.
    pub members: Vec<OrgMember>,
    /// Runs, open ones first, then the newest.
    pub runs: Vec<Run>,
}

/// Data of an agent's page.
#[derive(Debug)]
pub struct AgentPageData {
    /// Id of the agent.
    pub id: AgentId,
    /// Run of which the agent is a member; `None` for a connected program.
    pub run: Option<RunId>,
    /// Entry in the registry; `None` for the `root` of a run.
    pub agent: Option<Agent>,
    /// State as a member of the run.
    pub member: Option<OrgMember>,
    /// The newest turns of its conversation in the run.
    pub conversation: Option<ConversationPage>,
    /// The messages between the person and the agent, oldest first.
    pub mail: Vec<Message>,
}

pub(super) fn roster_rows(roster: &AgentRoster, context: &RenderContext) -> Vec<ListRow> {
    let lang = context.lang;
    if roster.agents.is_empty() && roster.members.is_empty() && roster.runs.is_empty() {
        let text = msg::tui_no_agents(lang);
        return vec![ListRow::heading(text)];
    }
    let mut members: BTreeMap<&AgentId, Vec<&OrgMember>> = BTreeMap::new();
    for member in &roster.members {
        members.entry(&member.agent_id).or_default().push(member);
    }
    let registered: BTreeSet<&AgentId> = roster.agents.iter().map(|agent| &agent.id).collect();
    let mut rows = Vec::new();
    // Members that are not in the registry: the roots of runs.
    let heads = roster.members.iter();
    for member in heads.filter(|one| !registered.contains(&one.agent_id)) {
        rows.push(roster_row(None, Some(member), 0, context));
    }
    let nodes = (roster.agents.iter()).map(|agent| {
        let supervisor = agent.supervisor.as_ref().map(AgentId::as_str);
        (agent.id.as_str(), supervisor)
    });
    for row in polis_view::org_tree::org_tree_rows(nodes, None, MAX_SHOWN_AGENTS) {
        if let Some(agent) = roster.agents.get(row.index) {
            let latest = members.get(&agent.id).and_then(|found| found.last());
            rows.push(roster_row(Some(agent), latest.copied(), row.depth, context));
        }
    }
    if !roster.runs.is_empty() {
        rows.push(ListRow::heading(msg::common_runs(lang)));
        rows.extend(roster.runs.iter().map(|run| run_row(run, context)));
    }
    rows
}

/// Returns the row of a run with its state and, once it has ended, its duration. It opens the run's root
/// agent.
fn run_row(run: &Run, context: &RenderContext) -> ListRow {
    let lang = context.lang;
    let style = match run.status {
        RunStatus::Active => TextStyle::Green,
        RunStatus::Paused => TextStyle::Yellow,
        RunStatus::Done | RunStatus::Stopped => TextStyle::Dim,
    };
    let duration = labels::run_duration_label(run, lang);
    let started_at = Some(&run.created_at).filter(|_| run.is_open());
    let when = duration.unwrap_or_else(|| format_age(started_at, context));
    let name = format!("{}  {}", run.id, run.requirement);
    let (head, id) = (run.head.clone(), run.id.clone());
    ListRow::new(
        [
            ListCell::plain(&name),
            ListCell::new(labels::run_status_label(run.status, lang), style),
            ListCell::plain(""),
            ListCell::dim(""),
            ListCell::dim(&when),
        ],
        Selection::Agent {
            id: head.clone(),
            run: Some(id.clone()),
        },
        Some(Route::Agent(head, Some(id))),
    )
}

fn roster_row(
    agent: Option<&Agent>,
    member: Option<&OrgMember>,
    depth: usize,
    context: &RenderContext,
) -> ListRow {
    let lang = context.lang;
    let id = match (agent, member) {
        (Some(agent), _) => agent.id.clone(),
        (None, Some(member)) => member.agent_id.clone(),
        (None, None) => AgentId::user(),
    };
    let (status, style) = match (agent, member) {
        (_, Some(member)) => {
            let style = match member.status {
                MemberStatus::Working => TextStyle::Green,
                MemberStatus::AwaitingApproval | MemberStatus::Parked | MemberStatus::Paused => {
                    TextStyle::Yellow
                }
                MemberStatus::Idle | MemberStatus::Dismissed => TextStyle::Dim,
            };
            (labels::member_status_label(member.status, lang), style)
        }
        (Some(agent), None) => (
            labels::agent_status_label(agent.status, lang),
            TextStyle::Dim,
        ),
        (None, None) => ("", TextStyle::Dim),
    };
    let role = match (agent, member) {
        (Some(agent), _) => agent.role.as_str(),
        (None, Some(member)) => member.role_name.as_str(),
        (None, None) => "",
    };
    let run = match (agent, member) {
        (_, Some(member)) => member.run.clone(),
        (Some(agent), None) => agent.run.clone(),
        (None, None) => None,
    };
    let is_retired = agent.is_some_and(|agent| agent.status == AgentStatus::Retired);
    let indent = "  ".repeat(depth.min(12));
    let name = format!("{indent}{id}");
    let name = if is_retired {
        ListCell::dim(&name)
    } else {
        ListCell::plain(&name)
    };
    let spent = member.map_or_else(String::new, |member| {
        let tokens = number_format::format_count(member.spent.tokens);
        let tokens = format!("{tokens} {}", msg::agent_tokens_unit(lang));
        match member.spent.micros {
            0 => tokens,
            micros => format!("{tokens} {}", number_format::format_money(micros)),
        }
    });
    let layer = agent.map_or("", |agent| labels::layer_label(agent.layer, lang));
    ListRow::new(
        [
            name,
            ListCell::new(status, style),
            ListCell::plain(labels::role_label(role, lang)),
            ListCell::dim(layer),
            ListCell::dim(&spent),
        ],
        Selection::Agent {
            id: id.clone(),
            run: run.clone(),
        },
        Some(Route::Agent(id, run)),
    )
}

pub(super) fn render_agent(data: &AgentPageData, context: &RenderContext) -> StyledLines {
    let lang = context.lang;
    let mut page = TextPageBuilder::new(context.width, context.lang);
    if let Some(agent) = &data.agent {
        page.paragraph(&agent.name, TextStyle::Bold);
        let role = labels::role_label(&agent.role, lang);
        page.labelled_value(msg::common_role(lang), role, StyleSet::NONE);
        let layer = labels::layer_label(agent.layer, lang);
        page.labelled_value(msg::agent_layer(lang), layer, StyleSet::NONE);
        if let Some(supervisor) = &agent.supervisor {
            let name = msg::agent_reports_to(lang);
            page.labelled_value(name, supervisor.as_str(), StyleSet::NONE);
        }
        if data.member.is_none() {
            let status = labels::agent_status_label(agent.status, lang);
            page.labelled_value(msg::common_status(lang), status, StyleSet::NONE);
        }
    }
    if let Some(member) = &data.member {
        let status = labels::member_status_label(member.status, lang);
        let status = match member
            .running_tool
            .clone()
            .or_else(|| member.reason_text(lang))
        {
            Some(activity) => msg::tui_field_with_value(lang, status, activity),
            None => status.to_owned(),
        };
        page.labelled_value(msg::common_status(lang), &status, TextStyle::Green);
        page.labelled_value(
            msg::agent_objective(lang),
            &member.objective,
            StyleSet::NONE,
        );
        let tokens = number_format::format_count(member.spent.tokens);
        let spent = [
            format!("{tokens} {}", msg::agent_tokens_unit(lang)),
            number_format::format_money(member.spent.micros),
            format!("{} {}", member.turns, msg::agent_turns_unit(lang)),
        ];
        let spent = spent.join(msg::common_list_separator(lang));
        page.labelled_value(msg::agent_spent(lang), &spent, StyleSet::NONE);
    }
    if let Some(conversation) = &data.conversation {
        page.heading(msg::conversation_title(lang));
        for bubble in conversation_items(&conversation.turns) {
            let age = format_age(Some(bubble.at), context);
            write_bubble(&mut page, &data.id, &bubble.content, &age, context);
        }
    } else if !data.mail.is_empty() {
        page.heading(msg::message_list_title(lang));
        for message in &data.mail {
            let head = format!(
                "{}  {}",
                message.from,
                format_age(Some(&message.created_at), context)
            );
            page.paragraph(&head, TextStyle::Cyan);
            page.indented_paragraph(&message_text(message), "  ", StyleSet::NONE);
        }
    } else {
        page.blank_line();
        page.paragraph(msg::tui_no_messages(lang), TextStyle::Dim);
    }
    page.finish()
}

/// Returns the text of a message, or its payload as JSON if that is other data.
pub(super) fn message_text(message: &Message) -> String {
    payload_text(&message.payload).unwrap_or_else(|| message.payload.as_str().to_owned())
}

fn write_bubble(
    page: &mut TextPageBuilder,
    agent: &AgentId,
    content: &ItemContent<'_>,
    age: &str,
    context: &RenderContext,
) {
    let lang = context.lang;
    match content {
        ItemContent::Input { text } => {
            page.paragraph(&format!("→ {agent}  {age}"), TextStyle::Yellow);
            page.indented_paragraph(text, "  ", StyleSet::NONE);
        }
        ItemContent::Response { text, calls, .. } => {
            if !text.trim().is_empty() {
                page.paragraph(&format!("{agent}  {age}"), TextStyle::Cyan);
                page.indented_paragraph(text, "  ", StyleSet::NONE);
            }
            for call in calls {
                let arguments = call.arguments.split_whitespace();
                let arguments = arguments.collect::<Vec<_>>().join(" ");
                let line = format!("> {} {}", call.tool, truncate_result(&arguments));
                page.indented_paragraph(&line, "  ", TextStyle::Dim);
                if let Some(done) = &call.result {
                    write_call_result(page, done, context);
                }
            }
        }
        ItemContent::EarlierCallResult(done) => write_call_result(page, done, context),
        ItemContent::RuntimeNote { text } => page.indented_paragraph(text, "  ", TextStyle::Dim),
        ItemContent::Compaction { text } => {
            page.paragraph(msg::tui_turns_summary(lang), TextStyle::Dim);
            page.indented_paragraph(text, "  ", TextStyle::Dim);
        }
    }
}

fn write_call_result(
    page: &mut TextPageBuilder,
    done: &RenderedCallResult<'_>,
    context: &RenderContext,
) {
    let (mark, style) = match done.outcome {
        CallOutcome::Ok => ("✓", TextStyle::Dim),
        CallOutcome::Failed => ("✗", TextStyle::Yellow),
        CallOutcome::Interrupted => (msg::tui_call_interrupted(context.lang), TextStyle::Yellow),
        CallOutcome::Denied => (msg::tui_call_was_denied(context.lang), TextStyle::Red),
    };
    page.indented_paragraph(
        &format!("{mark} {}", truncate_result(done.text)),
        "    ",
        style,
    );
}

fn truncate_result(text: &str) -> String {
    match text.char_indices().nth(MAX_RESULT_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
