//! `polis society ps`, `tree` and `roles`: lists runs, members and roles.

use clap::Args;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, GetOrgParams, ListRolesParams, OrgChart, OrgMember};
use serde_json::json;

use super::RunArg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::live::run_state::{LiveRun, MemberSnapshot};
use crate::live::{format_elapsed, format_money, format_tokens, status_block};
use crate::output::{CliOutput, TextStyle, TextTable, sanitize_line, truncate_to_width};

/// Maximum length of a requirement in a title.
const MAX_TITLE_CHARS: usize = 60;

/// List the runs.
#[derive(Debug, Args)]
pub(crate) struct SocietyPsArgs {
    /// Include stopped runs
    #[arg(long)]
    all: bool,
}

/// Show the members of a run and their activity.
#[derive(Debug, Args)]
pub(crate) struct SocietyTreeArgs {
    #[command(flatten)]
    one: RunArg,
    /// Include dismissed members
    #[arg(long)]
    all: bool,
}

impl SocietyPsArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let runs = super::list_all_runs(context, self.all)?;
        out.print_result(&json!({ "runs": runs }), |_| {
            let lang = out.lang();
            if runs.is_empty() {
                return no_runs_message(self.all, lang).to_owned();
            }
            let mut table = TextTable::new(&[
                msg::cli_society_run_column(lang),
                msg::cli_column_status(lang),
                msg::cli_society_agents_column(lang),
                msg::cli_society_hired_column(lang),
                msg::cli_society_team_column(lang),
                msg::cli_society_duration_column(lang),
                msg::cli_society_requirement_column(lang),
            ]);
            for run in &runs {
                table.push_row(run_row(run, context.app.clock.now_millis(), lang));
            }
            table.render(out)
        })
    }
}

fn no_runs_message(all: bool, lang: UiLanguage) -> &'static str {
    if all {
        msg::cli_society_no_run(lang)
    } else {
        msg::cli_society_no_active_run(lang)
    }
}

fn run_row(run: &Run, now: i64, lang: UiLanguage) -> [String; 7] {
    [
        run.id.to_string(),
        run_status_label(run.status, lang).to_owned(),
        run.agents.to_string(),
        run.hired.to_string(),
        run.team.clone().unwrap_or_else(|| "-".to_owned()),
        run_duration(run, now, lang),
        requirement_title(&run.requirement),
    ]
}

/// Returns the duration of a run: until its end, or until now.
fn run_duration(run: &Run, now: i64, lang: UiLanguage) -> String {
    let millis = run.duration_at(now).map(i64::try_from);
    millis.map_or_else(
        || "-".to_owned(),
        |millis| format_elapsed(millis.unwrap_or(i64::MAX), lang),
    )
}

fn run_status_label(status: RunStatus, lang: UiLanguage) -> &'static str {
    match status {
        RunStatus::Active => msg::cli_society_status_active(lang),
        RunStatus::Paused => msg::cli_society_status_paused(lang),
        RunStatus::Done => msg::cli_society_status_done(lang),
        RunStatus::Stopped => msg::cli_society_status_stopped(lang),
    }
}

/// Returns the first line of a requirement, truncated.
pub(crate) fn requirement_title(requirement: &str) -> String {
    let line = requirement.lines().find(|line| !line.trim().is_empty());
    truncate_to_width(
        &sanitize_line(line.unwrap_or_default().trim()),
        MAX_TITLE_CHARS,
    )
}

impl SocietyTreeArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let run = self.one.find_selected(context)?;
        let params = GetOrgParams {
            run_id: Some(run.id.clone()),
            all: self.all,
        };
        let org = context.block_on(op::get_org(&context.request(), &params))?;
        let now = context.app.clock.now_millis();
        out.print_result(&org, |org| render_run_tree(&run, org, now, out))
    }
}

fn render_run_tree(run: &Run, org: &OrgChart, now: i64, out: &CliOutput) -> String {
    let lang = out.lang();
    let total = total_spent(org);
    let is_active = |member: &&OrgMember| member.status != MemberStatus::Dismissed;
    let at_work = org.members.iter().filter(is_active).count();
    let mut head = format!(
        "{}  {}  {}  {}  {}  {}",
        run.id,
        run_status_label(org.status, lang),
        run_duration(run, now, lang),
        msg::run_agent_count(lang, at_work),
        msg::cli_run_turn_count(lang, total.turns),
        msg::cli_run_token_count(lang, format_tokens(total.tokens)),
    );
    if total.micros > 0 {
        head.push_str("  ");
        head.push_str(&msg::cli_run_cost(lang, format_money(total.micros)));
    }
    let mut screen = LiveRun::new("", now);
    // Dismissed members keep their position in the tree.
    let snapshot = |member: &OrgMember| MemberSnapshot {
        status: MemberStatus::Idle,
        ..member_snapshot(member, lang)
    };
    screen.set_members(now, org.members.iter().map(snapshot).collect());
    let mut table = TextTable::new(&[
        msg::cli_column_agent(lang),
        msg::cli_column_status(lang),
        msg::cli_society_turns_column(lang),
        msg::cli_society_tokens_column(lang),
        msg::cli_society_task_column(lang),
    ]);
    for (branch, live_member) in screen.member_tree() {
        let Some(member) = org
            .members
            .iter()
            .find(|m| m.agent_id.as_str() == live_member.agent)
        else {
            continue;
        };
        let mut status_text = member_status_label(member.status, lang).to_owned();
        if let Some(activity) = member
            .running_tool
            .as_ref()
            .filter(|_| member.status == MemberStatus::Working)
        {
            status_text = msg::cli_run_status_with_reason(lang, status_text, activity);
        }
        if let Some(reason) = member.reason_text(lang) {
            let reason = truncate_to_width(&reason, MAX_TITLE_CHARS);
            status_text = msg::cli_run_status_with_reason(lang, status_text, reason);
        }
        table.push_row([
            format!("{branch}{}", status_block::display_name(live_member)),
            status_text,
            member.spent.turns.to_string(),
            format_tokens(member.spent.tokens),
            requirement_title(&member.objective),
        ]);
    }
    format!(
        "{}\n{}\n\n{}",
        out.paint(TextStyle::Bold, &requirement_title(&run.requirement)),
        head,
        table.render(out)
    )
}

/// Returns a status as one word, for a table.
fn member_status_label(status: MemberStatus, lang: UiLanguage) -> &'static str {
    match status {
        MemberStatus::Idle => msg::cli_run_idle(lang),
        MemberStatus::Working => msg::cli_society_status_working(lang),
        MemberStatus::AwaitingApproval => msg::cli_society_status_asking(lang),
        MemberStatus::Paused => msg::cli_society_status_paused(lang),
        MemberStatus::Parked => msg::cli_society_status_parked(lang),
        MemberStatus::Dismissed => msg::cli_society_status_dismissed(lang),
    }
}

/// Returns what all members have spent together, including dismissed ones.
pub(crate) fn total_spent(org: &OrgChart) -> polis_core::society::budget::BudgetAmount {
    let head = org.members.first();
    head.and_then(|head| head.spent_below.or(Some(head.spent)))
        .unwrap_or_default()
}

/// Converts a member to the input of the live view.
pub(crate) fn member_snapshot(member: &OrgMember, lang: UiLanguage) -> MemberSnapshot {
    MemberSnapshot {
        agent: member.agent_id.to_string(),
        parent: member.parent_agent_id.as_ref().map(ToString::to_string),
        role: member.role_name.clone(),
        status: member.status,
        reason: member.reason_text(lang),
        tokens: member.spent.tokens,
    }
}

/// Prints the roles of a run.
pub(super) fn print_roles(
    one: &RunArg,
    context: &CommandContext,
    out: &CliOutput,
) -> Result<(), CliError> {
    let run = one.find_selected(context)?;
    let params = ListRolesParams {
        run_id: Some(run.id.clone()),
    };
    let list = context.block_on(op::list_roles(&context.request(), &params))?;
    out.print_result(&list, |list| {
        let lang = out.lang();
        if list.roles.is_empty() {
            return msg::cli_society_no_roles(lang, &run.id);
        }
        let mut table = TextTable::new(&[
            msg::cli_column_role(lang),
            msg::cli_column_id(lang),
            msg::cli_society_created_by_column(lang),
            msg::cli_society_tools_column(lang),
            msg::cli_society_prompt_column(lang),
        ]);
        for role in &list.roles {
            let tools = role.tools.as_ref();
            table.push_row([
                role.name.clone(),
                role.id.clone(),
                role.created_by.to_string(),
                tools.map_or_else(
                    || msg::cli_society_all_tools(lang).to_owned(),
                    |tools| tools.join(","),
                ),
                requirement_title(&role.role_prompt),
            ]);
        }
        table.render(out)
    })
}
