//! Tools for the society, with which members hire and dismiss agents, and programs monitor and control runs:
//! definitions, and handlers that call the operation and render its result as text.

use polis_core::number::format_money;
use polis_core::society::budget::{BudgetAmount, BudgetLimits, BudgetResource};
use polis_core::society::call_approval::CallApproval;
use polis_core::society::dismiss::{TerminateAgentParams, TerminateAgentResult};
use polis_core::society::hire::{SpawnAgentParams, SpawnAgentResult};
use polis_core::society::run::Run;
use polis_core::society::society_role::{CreateRoleParams, CreateRoleResult};
use polis_core::society::start_run::StartRunParams;
use polis_i18n::{UiLanguage, msg};

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{
    self, ApprovalList, ConversationPage, DecideApprovalParams, FindRoleParams, FindRoleResult,
    GetOrgParams, ListApprovalsParams, ListMembersParams, ListRolesParams, ListRunsParams,
    MemberBudget, MemberList, OrgChart, OrgMember, PauseSocietyParams, PauseSocietyResult,
    ReadConversationParams, RoleList, RunIdParams, RunList, SendMessageResult, SetBudgetParams,
    TellRunParams, TurnEntry, TurnView,
};
use crate::tool::Tool;
use crate::tool::truncation::{fit_entries, join_lines, next_page_note};

/// Definitions of the society tools.
pub(super) const SOCIETY_TOOLS: &[Tool] = &[
    tool!("create_role", Society, Additive, CreateRoleParams => CreateRoleResult, create_role, { is_offered_to_agents, idempotent }),
    tool!("find_role_by_name", Society, ReadOnly, FindRoleParams => FindRoleResult, find_role, { is_offered_to_agents }),
    tool!("spawn_agent", Society, Additive, SpawnAgentParams => SpawnAgentResult, spawn_agent, { is_offered_to_agents }),
    tool!("terminate_agent", Society, Destructive, TerminateAgentParams => TerminateAgentResult, terminate_agent, { is_offered_to_agents }),
    tool!("get_org", Society, ReadOnly, GetOrgParams => OrgChart, get_org, { is_offered_to_agents }),
    tool!("start_run", Society, Additive, StartRunParams => Run, start_run, {}),
    tool!("list_runs", Society, ReadOnly, ListRunsParams => RunList, list_runs, {}),
    tool!("show_run", Society, ReadOnly, RunIdParams => Run, show_run, {}),
    tool!("stop_run", Society, Destructive, RunIdParams => TerminateAgentResult, stop_run, { idempotent }),
    tool!("tell_run", Society, Additive, TellRunParams => SendMessageResult, tell_run, {}),
    tool!("pause_society", Society, Additive, PauseSocietyParams => PauseSocietyResult, pause_society, { idempotent }),
    tool!("resume_society", Society, Additive, PauseSocietyParams => PauseSocietyResult, resume_society, { idempotent }),
    tool!("set_budget", Society, Destructive, SetBudgetParams => MemberBudget, set_budget, { idempotent }),
    tool!("list_members", Society, ReadOnly, ListMembersParams => MemberList, list_members, {}),
    tool!("list_roles", Society, ReadOnly, ListRolesParams => RoleList, list_roles, {}),
    tool!("read_conversation", Society, ReadOnly, ReadConversationParams => ConversationPage, read_conversation, {}),
    tool!("list_approvals", Society, ReadOnly, ListApprovalsParams => ApprovalList, list_approvals, {}),
    tool!("decide_approval", Society, Additive, DecideApprovalParams => CallApproval, decide_approval, { idempotent }),
];

async fn create_role(
    call: ToolContext<'_>,
    params: CreateRoleParams,
) -> ToolResult<CreateRoleResult> {
    let result = op::create_role(call.request, &params).await?;
    let role = &result.role;
    let text = if result.existed {
        msg::tool_society_role_existed(call.lang, &role.name, &role.id)
    } else {
        msg::tool_society_role_created(call.lang, &role.name, &role.id)
    };
    Ok(ToolReply::new(result, text))
}

async fn find_role(call: ToolContext<'_>, params: FindRoleParams) -> ToolResult<FindRoleResult> {
    let found = op::find_role_by_name(call.request, &params).await?;
    let text = match &found.role {
        Some(role) => {
            msg::tool_society_role_found(call.lang, &role.name, &role.id, &role.role_prompt)
        }
        None => msg::tool_society_role_missing(call.lang).to_owned(),
    };
    Ok(ToolReply::new(found, text))
}

async fn spawn_agent(
    call: ToolContext<'_>,
    params: SpawnAgentParams,
) -> ToolResult<SpawnAgentResult> {
    let result = op::spawn_agent(call.request, &params).await?;
    let next = msg::tool_society_first_message(call.lang, &result.id);
    let text = msg::tool_society_hired(call.lang, &result.id, &result.role, next);
    Ok(ToolReply::new(result, text))
}

async fn terminate_agent(
    call: ToolContext<'_>,
    params: TerminateAgentParams,
) -> ToolResult<TerminateAgentResult> {
    let result = op::terminate_agent(call.request, &params).await?;
    let text = render_dismissal(&result, call.lang);
    Ok(ToolReply::new(result, text))
}

fn render_dismissal(result: &TerminateAgentResult, lang: UiLanguage) -> String {
    let names: Vec<&str> = result.dismissed.iter().map(|id| id.as_str()).collect();
    match names.as_slice() {
        [] => msg::tool_society_none_dismissed(lang).to_owned(),
        names => msg::tool_society_dismissed(
            lang,
            names.join(msg::common_list_separator(lang)),
            msg::tool_society_unread_messages(lang, result.messages),
            msg::tool_society_tasks(lang, result.tasks),
        ),
    }
}

async fn get_org(call: ToolContext<'_>, params: GetOrgParams) -> ToolResult<OrgChart> {
    let mut org = op::get_org(call.request, &params).await?;
    let all = org.members.len();
    let truncated = call.for_model && fit_entries(&mut org.members);
    let lines = org.members.iter();
    let lines = lines.map(|member| render_tree_line(member, call.lang));
    let members = join_lines(lines, msg::tool_society_no_run_members(call.lang));
    let text = msg::tool_society_org(call.lang, &org.run, org.status.as_str(), members);
    let shown = org.members.len();
    let note = truncated.then(|| msg::tool_result_part_shown(call.lang, shown, all));
    Ok(ToolReply::new(org, text).with_continuation(note))
}

fn render_tree_line(member: &OrgMember, lang: UiLanguage) -> String {
    let indent = "  ".repeat(usize::try_from(member.depth).unwrap_or(0));
    let reason = member.reason_text(lang);
    let reason = reason.map_or_else(String::new, |reason| msg::tool_society_reason(lang, reason));
    format!(
        "{indent}{} [{}] {}{reason}{}",
        member.agent_id,
        member.role_name,
        member.status.as_str(),
        render_spending(&member.spent, lang)
    )
}

fn render_spending(amount: &BudgetAmount, lang: UiLanguage) -> String {
    let amounts = BudgetResource::ALL
        .into_iter()
        .filter(|resource| amount.get(*resource) > 0);
    let amounts: Vec<String> = amounts
        .map(|resource| format_budget_amount(resource, amount.get(resource), lang))
        .collect();
    if amounts.is_empty() {
        String::new()
    } else {
        msg::tool_society_spent(lang, amounts.join(msg::common_list_separator(lang)))
    }
}

/// Formats an amount of a resource: `1 turn`, `2.50 money`.
pub fn format_budget_amount(resource: BudgetResource, amount: u64, lang: UiLanguage) -> String {
    match resource {
        BudgetResource::Micros => msg::tool_society_money(lang, format_money(amount)),
        BudgetResource::Tokens => msg::tool_society_tokens(lang, amount),
        BudgetResource::Turns => msg::tool_society_turns(lang, amount),
        BudgetResource::Commands => msg::tool_society_commands(lang, amount),
    }
}

async fn start_run(call: ToolContext<'_>, params: StartRunParams) -> ToolResult<Run> {
    let run = op::start_run(call.request, &params).await?;
    let text = msg::tool_society_run_started(call.lang, &run.id);
    Ok(ToolReply::new(run, text))
}

async fn list_runs(call: ToolContext<'_>, params: ListRunsParams) -> ToolResult<RunList> {
    let mut list = op::list_runs(call.request, &params).await?;
    if call.for_model && fit_entries(&mut list.runs) {
        list.next = list.runs.last().map(|run| run.id.clone());
    }
    let lines = list.runs.iter().map(|run| render_run(run, call.lang));
    let text = join_lines(lines, msg::tool_society_no_runs(call.lang));
    let note = next_page_note(call.lang, list.runs.len(), "cursor", list.next.as_ref());
    Ok(ToolReply::new(list, text).with_continuation(note))
}

fn render_run(run: &Run, lang: UiLanguage) -> String {
    let first = run.requirement.lines().next().unwrap_or_default();
    let first: String = first.chars().take(80).collect();
    let agents = msg::run_agent_count(lang, run.agents);
    msg::tool_society_run_line(lang, &run.id, run.status.as_str(), agents, first)
}

async fn show_run(call: ToolContext<'_>, params: RunIdParams) -> ToolResult<Run> {
    let run = op::show_run(call.request, &params).await?;
    let text = render_run(&run, call.lang);
    Ok(ToolReply::new(run, text))
}

async fn stop_run(call: ToolContext<'_>, params: RunIdParams) -> ToolResult<TerminateAgentResult> {
    let result = op::stop_run(call.request, &params).await?;
    let text = render_dismissal(&result, call.lang);
    Ok(ToolReply::new(result, text))
}

async fn tell_run(call: ToolContext<'_>, params: TellRunParams) -> ToolResult<SendMessageResult> {
    let result = op::tell_run(call.request, &params).await?;
    let to: Vec<String> = (result.messages.iter())
        .map(|one| msg::tool_message_recipient(call.lang, &one.to, one.id))
        .collect();
    let to = to.join(msg::common_list_separator(call.lang));
    let text = msg::tool_message_sent(call.lang, to);
    Ok(ToolReply::new(result, text))
}

async fn pause_society(
    call: ToolContext<'_>,
    params: PauseSocietyParams,
) -> ToolResult<PauseSocietyResult> {
    let result = op::pause_society(call.request, &params).await?;
    let text = render_pause_result(&result, call.lang);
    Ok(ToolReply::new(result, text))
}

async fn resume_society(
    call: ToolContext<'_>,
    params: PauseSocietyParams,
) -> ToolResult<PauseSocietyResult> {
    let result = op::resume_society(call.request, &params).await?;
    let text = render_pause_result(&result, call.lang);
    Ok(ToolReply::new(result, text))
}

fn render_pause_result(result: &PauseSocietyResult, lang: UiLanguage) -> String {
    let names: Vec<&str> = result.agents.iter().map(|id| id.as_str()).collect();
    let status = result.status.as_str();
    if names.is_empty() {
        return msg::tool_society_run_status(lang, &result.run, status);
    }
    let names = names.join(msg::common_list_separator(lang));
    msg::tool_society_run_status_changed(lang, &result.run, status, names)
}

async fn set_budget(call: ToolContext<'_>, params: SetBudgetParams) -> ToolResult<MemberBudget> {
    let set = op::set_budget(call.request, &params).await?;
    let limits = render_limits(&set.limits, call.lang);
    let text = msg::tool_society_budget(call.lang, &set.agent_id, limits);
    Ok(ToolReply::new(set, text))
}

fn render_limits(limits: &BudgetLimits, lang: UiLanguage) -> String {
    let amounts = BudgetResource::ALL.into_iter();
    let amounts = amounts
        .filter_map(|resource| Some(format_budget_amount(resource, limits.get(resource)?, lang)));
    let wall = limits.wall_ms;
    let wall = wall.map(|ms| msg::tool_society_milliseconds(lang, ms));
    let amounts: Vec<String> = amounts.chain(wall).collect();
    if amounts.is_empty() {
        msg::tool_society_unlimited(lang).to_owned()
    } else {
        amounts.join(msg::common_list_separator(lang))
    }
}

async fn list_members(call: ToolContext<'_>, params: ListMembersParams) -> ToolResult<MemberList> {
    let mut list = op::list_members(call.request, &params).await?;
    if call.for_model && fit_entries(&mut list.members) {
        let last = list.members.last();
        list.next = last.and_then(|one| Some(format!("{}/{}", one.run.as_ref()?, one.agent_id)));
    }
    let lines = list.members.iter();
    let lines = lines.map(|member| render_member(member, call.lang));
    let text = join_lines(lines, msg::tool_society_no_members(call.lang));
    let note = next_page_note(call.lang, list.members.len(), "cursor", list.next.as_ref());
    Ok(ToolReply::new(list, text).with_continuation(note))
}

fn render_member(member: &OrgMember, lang: UiLanguage) -> String {
    let run = member.run.as_ref().map_or("", |run| run.as_str());
    format!(
        "{run}/{} [{}] {}{}",
        member.agent_id,
        member.role_name,
        member.status.as_str(),
        render_spending(&member.spent, lang)
    )
}

async fn list_roles(call: ToolContext<'_>, params: ListRolesParams) -> ToolResult<RoleList> {
    let mut list = op::list_roles(call.request, &params).await?;
    let truncated = call.for_model && fit_entries(&mut list.roles);
    let lines = list.roles.iter();
    let lines = lines.map(|role| msg::tool_society_role_line(call.lang, &role.id, &role.name));
    let text = join_lines(lines, msg::tool_society_no_roles(call.lang));
    let note = truncated.then(|| msg::tool_result_list_truncated(call.lang).to_owned());
    Ok(ToolReply::new(list, text).with_continuation(note))
}

async fn read_conversation(
    call: ToolContext<'_>,
    params: ReadConversationParams,
) -> ToolResult<ConversationPage> {
    let mut page = op::read_conversation(call.request, &params).await?;
    if call.for_model && fit_entries(&mut page.turns) {
        page.next = page.turns.last().map(|turn| turn.turn + 1);
    }
    let lines = page.turns.iter().map(|turn| render_turn(turn, call.lang));
    let text = join_lines(lines, msg::tool_society_empty_conversation(call.lang));
    let note = next_page_note(call.lang, page.turns.len(), "from", page.next.as_ref());
    Ok(ToolReply::new(page, text).with_continuation(note))
}

fn render_turn(turn: &TurnView, lang: UiLanguage) -> String {
    let lines = turn.entries.iter().map(|entry| match entry {
        TurnEntry::Received { text, .. } => msg::tool_society_received(lang, text),
        TurnEntry::Response { text, calls, usage } => {
            let calls: Vec<String> = (calls.iter())
                .map(|call| msg::tool_society_called(lang, &call.tool, &call.arguments))
                .map(|call| format!("\n{call}"))
                .collect();
            let text = format!("{text}{}", calls.concat());
            msg::tool_society_answered(lang, usage.prompt, usage.response, usage.ms, text)
        }
        TurnEntry::ToolResult { text, ms, .. } => msg::tool_society_tool_result(lang, ms, text),
        TurnEntry::Note { text } => msg::tool_society_note(lang, text),
        TurnEntry::Summary { text, .. } => msg::tool_society_summary(lang, text),
    });
    let lines: Vec<String> = lines.collect();
    format!("#{} {}\n{}", turn.turn, turn.at.as_str(), lines.join("\n"))
}

async fn list_approvals(
    call: ToolContext<'_>,
    params: ListApprovalsParams,
) -> ToolResult<ApprovalList> {
    let mut list = op::list_approvals(call.request, &params).await?;
    if call.for_model && fit_entries(&mut list.approvals) {
        list.next = list.approvals.last().map(|last| last.id.clone());
    }
    let lines = list.approvals.iter();
    let lines = lines.map(|approval| render_approval(approval, call.lang));
    let text = join_lines(lines, msg::tool_society_no_approvals(call.lang));
    let note = next_page_note(
        call.lang,
        list.approvals.len(),
        "cursor",
        list.next.as_ref(),
    );
    Ok(ToolReply::new(list, text).with_continuation(note))
}

fn render_approval(approval: &CallApproval, lang: UiLanguage) -> String {
    let call = format!("{}({})", approval.tool, approval.arguments.as_str());
    let (id, agent) = (&approval.id, &approval.agent);
    match &approval.decision {
        None => msg::tool_society_approval_pending(lang, id, agent, call),
        Some(decision) if decision.allowed => {
            msg::tool_society_approval_allowed(lang, id, agent, call)
        }
        Some(_) => msg::tool_society_approval_denied(lang, id, agent, call),
    }
}

async fn decide_approval(
    call: ToolContext<'_>,
    params: DecideApprovalParams,
) -> ToolResult<CallApproval> {
    let approval = op::decide_approval(call.request, &params).await?;
    let text = render_approval(&approval, call.lang);
    Ok(ToolReply::new(approval, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_name_their_resource() {
        for (resource, amount, en, zh) in [
            (BudgetResource::Tokens, 2_000, "2000 tokens", "2000 token"),
            (
                BudgetResource::Micros,
                2_500_000,
                "2.50 money",
                "2.50 货币单位",
            ),
            (BudgetResource::Turns, 1, "1 turn", "1 回合"),
            (BudgetResource::Commands, 0, "0 commands", "0 条命令"),
        ] {
            let texts = [UiLanguage::En, UiLanguage::Zh]
                .map(|lang| format_budget_amount(resource, amount, lang));
            assert_eq!(texts, [en, zh]);
        }
    }
}
