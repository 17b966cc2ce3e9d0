//! Renders agents: the organisation tree with runs, and one agent with its conversation.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::agent::{Agent, AgentStatus};
use polis_core::message::Message;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::turn::CallEnd;
use polis_core::{AgentId, RunId};
use polis_ops::op::{Conversation, OrgMember};
use polis_view::conversation::{Done, What, bubbles, letter};
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::{labels, number_format};

use super::{Cell, Row, Thing, Ways, Writer, age};
use crate::app::Place;

/// Maximum number of agents shown.
const MOST: usize = 5_000;
/// Maximum length of a displayed tool result, in characters.
const ANSWER: usize = 600;

/// All agents and runs.
#[derive(Debug)]
pub struct Roster {
    /// The registered agents.
    pub agents: Vec<Agent>,
    /// Members of societies with their current state.
    pub members: Vec<OrgMember>,
    /// Runs of societies, open ones first, then the newest.
    pub runs: Vec<Run>,
}

/// One agent.
#[derive(Debug)]
pub struct AgentSheet {
    /// Its id.
    pub id: AgentId,
    /// Its run.
    pub run: Option<RunId>,
    /// Its registry entry.
    pub agent: Option<Agent>,
    /// Its state in its society.
    pub member: Option<OrgMember>,
    /// Its conversation.
    pub conversation: Option<Conversation>,
    /// The messages between the user and the agent, oldest first.
    pub mail: Vec<Message>,
}

pub(super) fn rows(roster: &Roster, ways: &Ways) -> Vec<Row> {
    let lang = ways.lang;
    if roster.agents.is_empty() && roster.members.is_empty() && roster.runs.is_empty() {
        let text = lang.say(
            "Nobody yet. Register an agent: polis agent add ID --role ROLE",
            "还没有智能体。注册：polis agent add ID --role ROLE",
        );
        return vec![Row::heading(text)];
    }
    let mut members: BTreeMap<&AgentId, Vec<&OrgMember>> = BTreeMap::new();
    for member in &roster.members {
        members.entry(&member.agent_id).or_default().push(member);
    }
    let registered: BTreeSet<&AgentId> = roster.agents.iter().map(|agent| &agent.id).collect();
    let mut rows = Vec::new();
    // Unregistered heads of a society, such as `root`.
    let heads = roster.members.iter();
    for member in heads.filter(|one| !registered.contains(&one.agent_id)) {
        rows.push(row(None, Some(member), 0, ways));
    }
    let people = (roster.agents.iter()).map(|agent| {
        let above = agent.supervisor.as_ref().map(AgentId::as_str);
        (agent.id.as_str(), above)
    });
    for place in polis_view::org_tree::rows(people, None, MOST) {
        if let Some(agent) = roster.agents.get(place.at) {
            let stands = members.get(&agent.id).and_then(|found| found.last());
            rows.push(row(Some(agent), stands.copied(), place.depth, ways));
        }
    }
    if !roster.runs.is_empty() {
        rows.push(Row::heading(lang.say("Runs", "运行")));
        rows.extend(roster.runs.iter().map(|run| run_row(run, ways)));
    }
    rows
}

/// Returns the row of a run with its state and, once it has ended, its duration. It opens the run's root
/// agent.
fn run_row(run: &Run, ways: &Ways) -> Row {
    let lang = ways.lang;
    let style = match run.status {
        RunStatus::Active => Style::Green,
        RunStatus::Paused => Style::Yellow,
        RunStatus::Done | RunStatus::Stopped => Style::Dim,
    };
    let duration = labels::run_duration(run, lang);
    let begun = Some(&run.created_at).filter(|_| run.is_open());
    let when = duration.unwrap_or_else(|| age(begun, ways));
    let name = format!("{}  {}", run.id, run.requirement);
    let (head, id) = (run.head.clone(), run.id.clone());
    Row::new(
        [
            Cell::plain(&name),
            Cell::new(labels::run(run.status, lang), style),
            Cell::plain(""),
            Cell::dim(""),
            Cell::dim(&when),
        ],
        Thing::Agent {
            id: head.clone(),
            run: Some(id.clone()),
        },
        Some(Place::Agent(head, Some(id))),
    )
}

fn row(agent: Option<&Agent>, member: Option<&OrgMember>, depth: usize, ways: &Ways) -> Row {
    let lang = ways.lang;
    let id = match (agent, member) {
        (Some(agent), _) => agent.id.clone(),
        (None, Some(member)) => member.agent_id.clone(),
        (None, None) => AgentId::user(),
    };
    let (status, style) = match (agent, member) {
        (_, Some(member)) => {
            let style = match member.status {
                MemberStatus::Working => Style::Green,
                MemberStatus::Asking | MemberStatus::Parked | MemberStatus::Paused => Style::Yellow,
                MemberStatus::Idle | MemberStatus::Gone => Style::Dim,
            };
            (labels::member(member.status, lang), style)
        }
        (Some(agent), None) => (labels::agent_status(agent.status, lang), Style::Dim),
        (None, None) => ("", Style::Dim),
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
    let gone = agent.is_some_and(|agent| agent.status == AgentStatus::Retired);
    let indent = "  ".repeat(depth.min(12));
    let name = format!("{indent}{id}");
    let name = if gone {
        Cell::dim(&name)
    } else {
        Cell::plain(&name)
    };
    let spent = member.map_or_else(String::new, |member| {
        let tokens = number_format::count(member.spent.tokens);
        let tokens = format!("{tokens} {}", lang.say("tokens", "令牌"));
        match member.spent.micros {
            0 => tokens,
            micros => format!("{tokens} {}", number_format::money(micros)),
        }
    });
    let layer = agent.map_or("", |agent| labels::layer(agent.layer, lang));
    Row::new(
        [
            name,
            Cell::new(status, style),
            Cell::plain(labels::role(role, lang)),
            Cell::dim(layer),
            Cell::dim(&spent),
        ],
        Thing::Agent {
            id: id.clone(),
            run: run.clone(),
        },
        Some(Place::Agent(id, run)),
    )
}

pub(super) fn text(sheet: &AgentSheet, ways: &Ways) -> StyledLines {
    let lang = ways.lang;
    let mut page = Writer::new(ways.width);
    if let Some(agent) = &sheet.agent {
        page.words(&agent.name, Style::Bold);
        let role = labels::role(&agent.role, lang);
        page.fact(lang.say("Role", "角色"), role, Styles::NONE);
        let layer = labels::layer(agent.layer, lang);
        page.fact(lang.say("Layer", "层级"), layer, Styles::NONE);
        if let Some(above) = &agent.supervisor {
            let name = lang.say("Reports to", "上级");
            page.fact(name, above.as_str(), Styles::NONE);
        }
        if sheet.member.is_none() {
            let status = labels::agent_status(agent.status, lang);
            page.fact(lang.say("Status", "状态"), status, Styles::NONE);
        }
    }
    if let Some(member) = &sheet.member {
        let status = labels::member(member.status, lang);
        let status = match member.doing.as_ref().or(member.why.as_ref()) {
            Some(what) => format!("{status}: {what}"),
            None => status.to_owned(),
        };
        page.fact(lang.say("Status", "状态"), &status, Style::Green);
        page.fact(
            lang.say("Objective", "目标"),
            &member.objective,
            Styles::NONE,
        );
        let spent = format!(
            "{} {}, {}, {} {}",
            number_format::count(member.spent.tokens),
            lang.say("tokens", "令牌"),
            number_format::money(member.spent.micros),
            member.turns,
            lang.say("turns", "轮"),
        );
        page.fact(lang.say("Spent", "消耗"), &spent, Styles::NONE);
    }
    if let Some(conversation) = &sheet.conversation {
        page.heading(lang.say("Conversation", "对话"));
        for bubble in bubbles(&conversation.turns) {
            let when = age(Some(bubble.at), ways);
            spoken(&mut page, &sheet.id, &bubble.what, &when, ways);
        }
    } else if !sheet.mail.is_empty() {
        page.heading(lang.say("Messages", "消息"));
        for message in &sheet.mail {
            let head = format!("{}  {}", message.from, age(Some(&message.created_at), ways));
            page.words(&head, Style::Cyan);
            page.indented(&payload(message), "  ", Styles::NONE);
        }
    } else {
        page.gap();
        page.words(
            lang.say(
                "Nothing was said yet. Press m to send a message.",
                "还没有对话。按 m 发送消息。",
            ),
            Style::Dim,
        );
    }
    page.finish()
}

/// Returns a message's text, or its JSON.
pub(super) fn payload(message: &Message) -> String {
    letter(&message.payload).unwrap_or_else(|| message.payload.text().to_owned())
}

fn spoken(page: &mut Writer, who: &AgentId, what: &What<'_>, when: &str, ways: &Ways) {
    let lang = ways.lang;
    match what {
        What::Heard { text } => {
            page.words(&format!("→ {who}  {when}"), Style::Yellow);
            page.indented(text, "  ", Styles::NONE);
        }
        What::Said { text, calls, .. } => {
            if !text.trim().is_empty() {
                page.words(&format!("{who}  {when}"), Style::Cyan);
                page.indented(text, "  ", Styles::NONE);
            }
            for call in calls {
                let arguments = call.arguments.split_whitespace();
                let arguments = arguments.collect::<Vec<_>>().join(" ");
                let line = format!("> {} {}", call.tool, short(&arguments));
                page.indented(&line, "  ", Style::Dim);
                if let Some(done) = &call.done {
                    came_of(page, done, ways);
                }
            }
        }
        What::Did(done) => came_of(page, done, ways),
        What::Told { text } => page.indented(text, "  ", Style::Dim),
        What::Summed { text } => {
            page.words(
                lang.say("What was before, in short:", "此前摘要："),
                Style::Dim,
            );
            page.indented(text, "  ", Style::Dim);
        }
    }
}

fn came_of(page: &mut Writer, done: &Done<'_>, ways: &Ways) {
    let (mark, style) = match done.end {
        CallEnd::Ok => ("✓", Style::Dim),
        CallEnd::Failed => ("✗", Style::Yellow),
        CallEnd::Interrupted => (ways.lang.say("interrupted:", "中断："), Style::Yellow),
        CallEnd::Denied => (ways.lang.say("denied:", "被拒绝："), Style::Red),
    };
    page.indented(&format!("{mark} {}", short(done.text)), "    ", style);
}

fn short(text: &str) -> String {
    match text.char_indices().nth(ANSWER) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
