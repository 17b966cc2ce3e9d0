//! `polis society ps`, `tree` and `roles`: lists runs, members and roles.

use clap::Args;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};
use polis_ops::op::{self, GetOrg, ListRoles, Org, OrgMember};
use serde_json::json;

use super::OneRun;
use crate::context::Context;
use crate::error::Failure;
use crate::live::run_state::{Post, Screen};
use crate::live::{count, elapsed, money, status_block, tokens};
use crate::output::{Output, Style, Table, clean, cut};

/// Maximum length of a requirement in a title.
const TITLE: usize = 60;

/// List the runs.
#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Those that are over, too
    #[arg(long)]
    all: bool,
}

/// Show who works for a run.
#[derive(Debug, Args)]
pub(crate) struct Tree {
    #[command(flatten)]
    one: OneRun,
    /// Those who were dismissed, too
    #[arg(long)]
    all: bool,
}

impl Ps {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let runs = super::all(context, self.all)?;
        out.answer(&json!({ "runs": runs }), |_| {
            if runs.is_empty() {
                return empty(self.all);
            }
            let mut table = Table::new(&[
                "RUN",
                "STATUS",
                "AGENTS",
                "HIRED",
                "TEAM",
                "DURATION",
                "REQUIREMENT",
            ]);
            for run in &runs {
                table.row(row(run, context.polis.clock.now_millis()));
            }
            table.render(out)
        })
    }
}

fn empty(all: bool) -> String {
    if all {
        return "No run yet. Start one with `polis run \"REQUIREMENT\"`, or watch `polis demo`."
            .to_owned();
    }
    "No run goes on. Start one with `polis run \"REQUIREMENT\"`; `polis society ps --all` shows those that are over."
        .to_owned()
}

fn row(run: &Run, now: i64) -> [String; 7] {
    [
        run.id.to_string(),
        status(run.status).to_owned(),
        run.agents.to_string(),
        run.hired.to_string(),
        run.team.clone().unwrap_or_else(|| "-".to_owned()),
        duration(run, now),
        title(&run.requirement),
    ]
}

/// Returns the duration of a run: until its end, or until now.
fn duration(run: &Run, now: i64) -> String {
    let millis = run.duration_at(now).map(i64::try_from);
    millis.map_or_else(
        || "-".to_owned(),
        |millis| elapsed(millis.unwrap_or(i64::MAX)),
    )
}

fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Active => "active",
        RunStatus::Paused => "paused",
        RunStatus::Done => "done",
        RunStatus::Stopped => "over",
    }
}

/// Returns the first line of a requirement, truncated.
pub(crate) fn title(requirement: &str) -> String {
    let line = requirement.lines().find(|line| !line.trim().is_empty());
    cut(&clean(line.unwrap_or_default().trim()), TITLE)
}

impl Tree {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let run = self.one.find(context)?;
        let params = GetOrg {
            task_id: Some(run.id.clone()),
            all: self.all,
        };
        let org = context.run(op::get_org(&context.polis, &context.agent, &params))?;
        let now = context.polis.clock.now_millis();
        out.answer(&org, |org| drawn(&run, org, now, out))
    }
}

fn drawn(run: &Run, org: &Org, now: i64, out: &Output) -> String {
    let total = total(org);
    let here = |member: &&OrgMember| member.status != MemberStatus::Gone;
    let at_work = org.members.iter().filter(here).count();
    let mut head = format!(
        "{}  {}  {}  {}  {}  {} tokens",
        run.id,
        status(org.status),
        duration(run, now),
        count(at_work, "agent"),
        count(total.turns, "turn"),
        tokens(total.tokens),
    );
    if total.micros > 0 {
        head.push_str(&format!("  cost {}", money(total.micros)));
    }
    let mut screen = Screen::new("", now);
    // Dismissed members keep their position in the tree.
    let seated = |member: &OrgMember| Post {
        status: MemberStatus::Idle,
        ..post(member)
    };
    screen.seat(now, org.members.iter().map(seated).collect());
    let mut table = Table::new(&["AGENT", "STATUS", "TURNS", "TOKENS", "TASK"]);
    for (branch, seat) in screen.tree() {
        let Some(member) = org
            .members
            .iter()
            .find(|m| m.agent_id.as_str() == seat.agent)
        else {
            continue;
        };
        let mut stands = standing(member.status).to_owned();
        if let Some(doing) = member
            .doing
            .as_ref()
            .filter(|_| member.status == MemberStatus::Working)
        {
            stands = format!("{stands}: {doing}");
        }
        if let Some(why) = &member.why {
            stands = format!("{stands}: {}", cut(why, TITLE));
        }
        table.row([
            format!("{branch}{}", status_block::name(seat)),
            stands,
            member.spent.turns.to_string(),
            tokens(member.spent.tokens),
            title(&member.objective),
        ]);
    }
    format!(
        "{}\n{}\n\n{}",
        out.paint(Style::Bold, &title(&run.requirement)),
        head,
        table.render(out)
    )
}

/// Returns a status as one word, for a table.
fn standing(status: MemberStatus) -> &'static str {
    match status {
        MemberStatus::Idle => "idle",
        MemberStatus::Working => "working",
        MemberStatus::Asking => "asking",
        MemberStatus::Paused => "paused",
        MemberStatus::Parked => "parked",
        MemberStatus::Gone => "gone",
    }
}

/// Returns what all members have spent together, including dismissed ones.
pub(crate) fn total(org: &Org) -> polis_core::society::budget::Amount {
    let head = org.members.first();
    head.and_then(|head| head.spent_below.or(Some(head.spent)))
        .unwrap_or_default()
}

/// Converts a member to the input of the live view.
pub(crate) fn post(member: &OrgMember) -> Post {
    Post {
        agent: member.agent_id.to_string(),
        parent: member.parent_agent_id.as_ref().map(ToString::to_string),
        role: member.role_name.clone(),
        status: member.status,
        why: member.why.clone(),
        tokens: member.spent.tokens,
    }
}

/// Prints the roles of a run.
pub(super) fn roles(one: &OneRun, context: &Context, out: &Output) -> Result<(), Failure> {
    let run = one.find(context)?;
    let params = ListRoles {
        task_id: Some(run.id.clone()),
    };
    let list = context.run(op::list_roles(&context.polis, &context.agent, &params))?;
    out.answer(&list, |list| {
        if list.roles.is_empty() {
            return format!(
                "Run {} has no roles yet; its agents make them with create_role.",
                run.id
            );
        }
        let mut table = Table::new(&["ROLE", "ID", "MADE BY", "TOOLS", "PROMPT"]);
        for role in &list.roles {
            let tools = role.tools.as_ref();
            table.row([
                role.name.clone(),
                role.id.clone(),
                role.created_by.to_string(),
                tools.map_or_else(|| "all".to_owned(), |tools| tools.join(",")),
                title(&role.role_prompt),
            ]);
        }
        table.render(out)
    })
}
