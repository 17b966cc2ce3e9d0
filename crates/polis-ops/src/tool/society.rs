//! Tools for the society: hiring and dismissing for its members, and monitoring and control for programs of people.

use polis_core::society::approval::Approval;
use polis_core::society::budget::{Amount, Limits, Resource};
use polis_core::society::dismiss::{Dismissed, TerminateAgent};
use polis_core::society::hire::{Hired, SpawnAgent};
use polis_core::society::role::{CreateRole, MadeRole};
use polis_core::society::run::Run;
use polis_core::society::start::StartRun;

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{fit, join, more};
use crate::op::{
    self, ApprovalList, Conversation, DecideApproval, FindRole, FoundRole, GetOrg, Held,
    HoldSociety, ListApprovals, ListMembers, ListRoles, ListRuns, MemberBudget, MemberList, OfRun,
    Org, OrgMember, ReadConversation, RoleList, RunList, Sent, SetBudget, Spoken, TellRun,
    TurnView,
};

/// The society tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("create_role", Society, Add, CreateRole => MadeRole, create_role, { listed, idempotent },
        "Make a role: a name and the prompt of whoever holds it."),
    tool!("find_role_by_name", Society, Look, FindRole => FoundRole, find_role, { listed },
        "Find a role of your run by its name."),
    tool!("spawn_agent", Society, Add, SpawnAgent => Hired, spawn, { listed },
        "Hire an agent below you for a role (roleId or role). taskBrief: {objective, constraints[], inputs, outputs, completionCriteria, collaborators[], references[], priority}. It waits for your first message."),
    tool!("terminate_agent", Society, Change, TerminateAgent => Dismissed, terminate, { listed },
        "Dismiss an agent below you, with everybody it hired; the workspace stays."),
    tool!("get_org", Society, Look, GetOrg => Org, org, { listed },
        "Show who works for your run, and how they stand."),
    tool!("start_run", Society, Add, StartRun => Run, start, {},
        "Start a run: a requirement for root."),
    tool!("list_runs", Society, Look, ListRuns => RunList, runs, {},
        "List the runs there are."),
    tool!("show_run", Society, Look, OfRun => Run, show, {},
        "Show one run."),
    tool!("stop_run", Society, Change, OfRun => Dismissed, stop, { idempotent },
        "End a run: everybody is dismissed."),
    tool!("tell_run", Society, Add, TellRun => Sent, tell, {},
        "Send a message into a run, to root or another of it."),
    tool!("pause_society", Society, Add, HoldSociety => Held, pause, { idempotent },
        "Hold up a run, or a member of one."),
    tool!("resume_society", Society, Add, HoldSociety => Held, resume, { idempotent },
        "Let a run, or a member of one, go on."),
    tool!("set_budget", Society, Change, SetBudget => MemberBudget, budget, { idempotent },
        "Set what a run, or a member of one, may spend."),
    tool!("list_members", Society, Look, ListMembers => MemberList, members, {},
        "List who works for runs, and how they stand."),
    tool!("list_roles", Society, Look, ListRoles => RoleList, roles, {},
        "List the roles of a run."),
    tool!("read_conversation", Society, Look, ReadConversation => Conversation, conversation, {},
        "Read what a member heard, said and did."),
    tool!("list_approvals", Society, Look, ListApprovals => ApprovalList, approvals, {},
        "List the calls that wait to be allowed."),
    tool!("decide_approval", Society, Add, DecideApproval => Approval, decide, { idempotent },
        "Allow a call that waits, or deny it."),
];

async fn create_role(call: Call<'_>, given: CreateRole) -> Told<MadeRole> {
    let made = op::create_role(call.polis, call.by, &given).await?;
    let there = if made.existed { " (it was there)" } else { "" };
    let text = format!("Role {} is {}{there}.", made.role.name, made.role.id);
    Ok(Reply::new(made, text))
}

async fn find_role(call: Call<'_>, given: FindRole) -> Told<FoundRole> {
    let found = op::find_role_by_name(call.polis, call.by, &given).await?;
    let text = match &found.role {
        Some(role) => format!("Role {} is {}: {}", role.name, role.id, role.role_prompt),
        None => "There is no role of this name; make it with create_role.".to_owned(),
    };
    Ok(Reply::new(found, text))
}

async fn spawn(call: Call<'_>, given: SpawnAgent) -> Told<Hired> {
    let hired = op::spawn_agent(call.polis, call.by, &given).await?;
    let text = format!("Hired {} as {}. {}", hired.id, hired.role, hired.next);
    Ok(Reply::new(hired, text))
}

async fn terminate(call: Call<'_>, given: TerminateAgent) -> Told<Dismissed> {
    let gone = op::terminate_agent(call.polis, call.by, &given).await?;
    let text = dismissed(&gone);
    Ok(Reply::new(gone, text))
}

fn dismissed(gone: &Dismissed) -> String {
    let names: Vec<&str> = gone.dismissed.iter().map(|id| id.as_str()).collect();
    match names.as_slice() {
        [] => "Nobody was there to be dismissed.".to_owned(),
        names => format!(
            "Dismissed {}; {} unread messages dropped, {} tasks free again.",
            names.join(", "),
            gone.messages,
            gone.tasks
        ),
    }
}

async fn org(call: Call<'_>, given: GetOrg) -> Told<Org> {
    let mut org = op::get_org(call.polis, call.by, &given).await?;
    let all = org.members.len();
    let cut = call.brief && fit(&mut org.members);
    let text = join(org.members.iter().map(branch), "Nobody works for this run.");
    let text = format!("Run {}, {}:\n{text}", org.run, org.status.as_str());
    let cut = cut.then(|| format!("{} of {all} shown", org.members.len()));
    Ok(Reply::new(org, text).cut(cut))
}

fn branch(member: &OrgMember) -> String {
    let indent = "  ".repeat(usize::try_from(member.depth).unwrap_or(0));
    let why = member.why.as_deref();
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    format!(
        "{indent}{} [{}] {}{why}{}",
        member.agent_id,
        member.role_name,
        member.status.as_str(),
        spent(&member.spent)
    )
}

fn spent(amount: &Amount) -> String {
    let counted = Resource::ALL
        .into_iter()
        .filter(|what| amount.of(*what) > 0);
    let counted: Vec<String> = counted
        .map(|what| format!("{} {}", amount.of(what), what.as_str()))
        .collect();
    match counted.is_empty() {
        true => String::new(),
        false => format!(", {}", counted.join(", ")),
    }
}

async fn start(call: Call<'_>, given: StartRun) -> Told<Run> {
    let run = op::start_run(call.polis, call.by, &given).await?;
    let text = format!("Started run {}.", run.id);
    Ok(Reply::new(run, text))
}

async fn runs(call: Call<'_>, given: ListRuns) -> Told<RunList> {
    let mut list = op::list_runs(call.polis, call.by, &given).await?;
    if call.brief && fit(&mut list.runs) {
        list.next = list.runs.last().map(|run| run.id.clone());
    }
    let text = join(list.runs.iter().map(line), "No runs.");
    let cut = more(list.runs.len(), "cursor", list.next.as_ref());
    Ok(Reply::new(list, text).cut(cut))
}

fn line(run: &Run) -> String {
    let first = run.requirement.lines().next().unwrap_or_default();
    let first: String = first.chars().take(80).collect();
    format!(
        "{}: {}, {} agents: {first}",
        run.id,
        run.status.as_str(),
        run.agents
    )
}

async fn show(call: Call<'_>, given: OfRun) -> Told<Run> {
    let run = op::show_run(call.polis, call.by, &given).await?;
    let text = line(&run);
    Ok(Reply::new(run, text))
}

async fn stop(call: Call<'_>, given: OfRun) -> Told<Dismissed> {
    let gone = op::stop_run(call.polis, call.by, &given).await?;
    let text = dismissed(&gone);
    Ok(Reply::new(gone, text))
}

async fn tell(call: Call<'_>, given: TellRun) -> Told<Sent> {
    let sent = op::tell_run(call.polis, call.by, &given).await?;
    let to: Vec<String> = (sent.messages.iter())
        .map(|one| format!("{} (message {})", one.to, one.id))
        .collect();
    let text = format!("Sent to {}.", to.join(", "));
    Ok(Reply::new(sent, text))
}

async fn pause(call: Call<'_>, given: HoldSociety) -> Told<Held> {
    let held = op::pause_society(call.polis, call.by, &given).await?;
    let text = stands(&held);
    Ok(Reply::new(held, text))
}

async fn resume(call: Call<'_>, given: HoldSociety) -> Told<Held> {
    let held = op::resume_society(call.polis, call.by, &given).await?;
    let text = stands(&held);
    Ok(Reply::new(held, text))
}

fn stands(held: &Held) -> String {
    let names: Vec<&str> = held.agents.iter().map(|id| id.as_str()).collect();
    let names = match names.is_empty() {
        true => String::new(),
        false => format!("; changed: {}", names.join(", ")),
    };
    format!("Run {} is {}{names}.", held.run, held.status.as_str())
}

async fn budget(call: Call<'_>, given: SetBudget) -> Told<MemberBudget> {
    let set = op::set_budget(call.polis, call.by, &given).await?;
    let text = format!("{} may spend {}.", set.agent_id, allowed(&set.limits));
    Ok(Reply::new(set, text))
}

fn allowed(limits: &Limits) -> String {
    let named = Resource::ALL.into_iter();
    let named = named.filter_map(|what| Some(format!("{} {}", limits.of(what)?, what.as_str())));
    let wall = limits.wall_ms.map(|ms| format!("{ms} ms"));
    let named: Vec<String> = named.chain(wall).collect();
    match named.is_empty() {
        true => "without limit".to_owned(),
        false => named.join(", "),
    }
}

async fn members(call: Call<'_>, given: ListMembers) -> Told<MemberList> {
    let mut list = op::list_members(call.polis, call.by, &given).await?;
    if call.brief && fit(&mut list.members) {
        let last = list.members.last();
        list.next = last.and_then(|one| Some(format!("{}/{}", one.run.as_ref()?, one.agent_id)));
    }
    let text = join(list.members.iter().map(standing), "Nobody works for a run.");
    let cut = more(list.members.len(), "cursor", list.next.as_ref());
    Ok(Reply::new(list, text).cut(cut))
}

fn standing(member: &OrgMember) -> String {
    let run = member.run.as_ref().map_or("", |run| run.as_str());
    format!(
        "{run}/{} [{}] {}{}",
        member.agent_id,
        member.role_name,
        member.status.as_str(),
        spent(&member.spent)
    )
}

async fn roles(call: Call<'_>, given: ListRoles) -> Told<RoleList> {
    let mut list = op::list_roles(call.polis, call.by, &given).await?;
    let cut = call.brief && fit(&mut list.roles);
    let lines = list.roles.iter().map(|r| format!("{}: {}", r.id, r.name));
    let text = join(lines, "No roles.");
    let cut = cut.then(|| "there are more".to_owned());
    Ok(Reply::new(list, text).cut(cut))
}

async fn conversation(call: Call<'_>, given: ReadConversation) -> Told<Conversation> {
    let mut read = op::read_conversation(call.polis, call.by, &given).await?;
    if call.brief && fit(&mut read.turns) {
        read.next = read.turns.last().map(|turn| turn.turn + 1);
    }
    let text = join(read.turns.iter().map(turn), "Nothing was said yet.");
    let cut = more(read.turns.len(), "from", read.next.as_ref());
    Ok(Reply::new(read, text).cut(cut))
}

fn turn(turn: &TurnView) -> String {
    let said = turn.said.iter().map(|spoken| match spoken {
        Spoken::Heard { text, .. } => format!("heard: {text}"),
        Spoken::Said { text, calls, used } => {
            let calls: Vec<String> = (calls.iter())
                .map(|call| format!("\n  calls {}({})", call.tool, call.arguments))
                .collect();
            let took = format!("{}+{} tokens, {} ms", used.prompt, used.answer, used.ms);
            format!("said [{took}]: {text}{}", calls.concat())
        }
        Spoken::Did { text, ms, .. } => format!("did [{ms} ms]: {text}"),
        Spoken::Told { text } => format!("told: {text}"),
        Spoken::Summed { text, .. } => format!("summed up: {text}"),
    });
    let said: Vec<String> = said.collect();
    format!("#{} {}\n{}", turn.turn, turn.at.as_str(), said.join("\n"))
}

async fn approvals(call: Call<'_>, given: ListApprovals) -> Told<ApprovalList> {
    let mut list = op::list_approvals(call.polis, call.by, &given).await?;
    if call.brief && fit(&mut list.approvals) {
        list.next = list.approvals.last().map(|last| last.id.clone());
    }
    let text = join(list.approvals.iter().map(asked), "Nothing waits.");
    let cut = more(list.approvals.len(), "cursor", list.next.as_ref());
    Ok(Reply::new(list, text).cut(cut))
}

fn asked(approval: &Approval) -> String {
    let how = match &approval.decision {
        None => "waits",
        Some(decision) if decision.allowed => "allowed",
        Some(_) => "denied",
    };
    format!(
        "{} {how}: {} wants {}({})",
        approval.id,
        approval.agent,
        approval.tool,
        approval.arguments.text()
    )
}

async fn decide(call: Call<'_>, given: DecideApproval) -> Told<Approval> {
    let decided = op::decide_approval(call.polis, call.by, &given).await?;
    let text = asked(&decided);
    Ok(Reply::new(decided, text))
}
