//! Operations on societies, one file for each group of related operations: starting and stopping runs, hiring
//! and dismissing agents, roles, budgets, approvals, pausing, questions and conversations.
//!
//! This file contains the helpers that they share: reading a run's records, resolving which run a caller
//! means, and checking whether a caller may see a run (`check_run_visible`) or steer its members
//! (`check_may_steer`).

mod approvals;
mod budget;
mod conversation;
mod finish_run;
pub(crate) mod org;
mod pause;
mod questions;
mod roles;
mod runs;
mod spawn_agent;
mod start_run;
mod tell_run;
mod terminate_agent;

use crate::refusal_tables::OperationRefusal;
pub use approvals::{
    ApprovalList, DecideApprovalParams, ListApprovalsParams, decide_approval, list_approvals,
};
pub use budget::{MemberBudget, SetBudgetParams, draw_budget, set_budget};
pub use conversation::{
    ConversationPage, ReadConversationParams, TurnEntry, TurnToolCall, TurnView, read_conversation,
};
pub use finish_run::{finish_run, reopen_run};
pub(super) use org::UnreadMailboxes;
pub use org::{
    GetOrgParams, ListMembersParams, MemberList, OrgChart, OrgMember, get_org, list_members,
    show_member,
};
pub use pause::{PauseSocietyParams, PauseSocietyResult, pause_society, resume_society};
use polis_core::number::saturating_cast;
pub(crate) use questions::list_open_mail;
pub use questions::{is_open_question, open_questions};
pub use roles::{
    FindRoleParams, FindRoleResult, ListRolesParams, RoleList, create_role, find_role_by_name,
    list_roles,
};
pub use runs::{ListRunsParams, RunIdParams, RunList, list_runs, show_run};
pub use spawn_agent::spawn_agent;
pub use start_run::start_run;
pub use tell_run::{TellRunParams, tell_run};
pub use terminate_agent::{stop_run, terminate_agent};

use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_core::society::dismiss::{self, MemberWithState};
use polis_core::society::member::{self, Member, MemberState};
use polis_core::society::run::{self, Run};
use polis_core::society::{MemberKey, RunId, VersionedRecord};
use polis_core::{AgentId, Caller, CallerKind, Refusal, RefusalCode};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::OpError;
use crate::port::PortError;
use crate::request::Request;

/// Number of records read per store query.
const PAGE_SIZE: u32 = 500;

/// Deserializes a record of the society. Fails with `StoreCorrupt` if it cannot be read.
fn parse_record<T: DeserializeOwned>(
    stored: &StoredRecord,
) -> Result<VersionedRecord<T>, PortError> {
    VersionedRecord::from_stored(stored).map_err(|e| {
        PortError::from(OperationRefusal::SocietyRecordDamaged).with_source(e.to_string())
    })
}

/// Returns a record of the society with its revision, if it exists. Fails with `store_corrupt` if it cannot
/// be parsed.
pub(crate) async fn load_record<T: DeserializeOwned>(
    app: &App,
    name: &RecordName,
) -> Result<Option<VersionedRecord<T>>, OpError> {
    match app.store.record(name).await? {
        Some(stored) => Ok(Some(parse_record(&stored)?)),
        None => Ok(None),
    }
}

/// Returns all records of a kind that belong to a run, ordered by id.
async fn load_run_records<T: DeserializeOwned>(
    app: &App,
    kind: RecordKind,
    run: &RunId,
) -> Result<Vec<(String, VersionedRecord<T>)>, OpError> {
    let mut found: Vec<(String, VersionedRecord<T>)> = Vec::new();
    loop {
        let after = found.last().map(|(id, _)| id.as_str());
        let page = app
            .store
            .records_of_owner(kind, run.as_str(), after, PAGE_SIZE);
        let page = page.await?;
        let more = page.len() >= saturating_cast::<usize>(PAGE_SIZE);
        for stored in page {
            found.push((stored.id.clone(), parse_record(&stored)?));
        }
        if !more {
            return Ok(found);
        }
    }
}

/// Returns a run. Fails with `RunNotFound` if it does not exist.
pub(crate) async fn load_run(app: &App, id: &RunId) -> Result<VersionedRecord<Run>, OpError> {
    let found = load_record(app, &run::run_record_name(id)).await?;
    found.ok_or_else(|| run::run_not_found(id).into())
}

/// Returns a run whose `root` can receive messages. Fails with `RecipientNotFound` if the run is stopped.
pub(crate) async fn load_open_run(app: &App, id: &RunId) -> Result<VersionedRecord<Run>, OpError> {
    let found = load_run(app, id).await?;
    if found.value.check_open().is_err() {
        return Err(
            Refusal::from(OperationRefusal::RootOfStoppedRun { id: id.to_string() }).into(),
        );
    }
    Ok(found)
}

/// Returns all members of a run, including dismissed ones, ordered by id.
async fn load_members(app: &App, run: &RunId) -> Result<Vec<MemberWithState>, OpError> {
    let members = load_run_records::<Member>(app, RecordKind::Member, run).await?;
    let states = load_run_records::<MemberState>(app, RecordKind::MemberState, run);
    let mut states = states.await?.into_iter().peekable();
    let mut found = Vec::with_capacity(members.len());
    for (id, member) in members {
        // Both lists are ordered by id. A member hired between the two reads is left out.
        while states.peek().is_some_and(|(other, _)| *other < id) {
            states.next();
        }
        if let Some((_, state)) = states.next_if(|(other, _)| *other == id) {
            found.push(MemberWithState {
                member: member.value,
                state,
            });
        }
    }
    Ok(found)
}

/// Returns a member of a run with its state, if it exists.
async fn load_member(app: &App, key: &MemberKey) -> Result<Option<MemberWithState>, OpError> {
    let Some(member) = load_record::<Member>(app, &member::member_record_name(key)).await? else {
        return Ok(None);
    };
    let state = load_record::<MemberState>(app, &member::member_state_record_name(key)).await?;
    Ok(state.map(|state| MemberWithState {
        member: member.value,
        state,
    }))
}

/// Resolves the run a caller means: the named one, the one it is a member of, the one set with
/// `Request::in_run`, or the one named after the caller. Fails with `RunNotFound` if there is none or the
/// caller may not see it.
async fn resolve_run(
    request: &Request,
    caller: &Caller,
    run_id: Option<&RunId>,
) -> Result<VersionedRecord<Run>, OpError> {
    let id = match run_id.or(caller.run.as_ref()).or(request.root_run()) {
        Some(id) => id.clone(),
        None => own_run_id(caller)?,
    };
    let run = match load_run(&request.app, &id).await {
        Err(error) if error.code() == RefusalCode::RUN_NOT_FOUND && run_id.is_none() => {
            return Err(Refusal::from(OperationRefusal::NoRunNamed).into());
        }
        run => run?,
    };
    check_run_visible(caller, &run.value)?;
    Ok(run)
}

/// Returns the run of an agent that the caller wants to inspect or steer. If the agent is `root`, which
/// every run has, or `run_id` is given, the run is resolved like in [`resolve_run`]. Fails with
/// `AgentNotFound` if the agent is in no run.
async fn resolve_member_run(
    request: &Request,
    caller: &Caller,
    agent: &AgentId,
    run_id: Option<&RunId>,
) -> Result<VersionedRecord<Run>, OpError> {
    if agent.is_root() || run_id.is_some() {
        return resolve_run(request, caller, run_id).await;
    }
    let entry = request.registry_entry(agent).await?;
    let Some(run) = entry.and_then(|found| found.agent.run) else {
        return match run_id_of_agent(agent) {
            Some(run) if load_run(&request.app, &run).await.is_ok() => {
                resolve_run(request, caller, Some(&run)).await
            }
            _ => Err(member_not_found(agent).into()),
        };
    };
    let run = load_run(&request.app, &run).await?;
    if check_run_visible(caller, &run.value).is_err() {
        return Err(dismiss::not_an_ancestor(&caller.id, agent).into());
    }
    Ok(run)
}

/// Returns the id of the run of an agent that is not a member of one: the run is named after the agent.
fn own_run_id(caller: &Caller) -> Result<RunId, Refusal> {
    caller.id.as_str().parse()
}

fn run_id_of_agent(agent: &AgentId) -> Option<RunId> {
    agent.as_str().parse().ok()
}

/// Returns the refusal for an agent that is not a member of any run.
pub fn member_not_found(agent: &AgentId) -> Refusal {
    Refusal::from(OperationRefusal::NotAMember {
        agent: agent.to_string(),
    })
}

/// Fails with `RunNotFound` if the caller may not see the run: it is neither the person, nor a member of the
/// run, nor the agent that started or heads it. To such a caller the run does not exist.
fn check_run_visible(caller: &Caller, run: &Run) -> Result<(), Refusal> {
    let is_member = caller.run.as_ref() == Some(&run.id);
    let is_starter = caller.run.is_none() && (run.created_by == caller.id || run.head == caller.id);
    if caller.kind == CallerKind::Person || is_member || is_starter {
        return Ok(());
    }
    Err(run::run_not_found(&run.id))
}

/// Fails with `NotDescendant` if the caller may not steer the agent: it is neither the person, nor the agent
/// that started the run, nor above the agent in the tree.
fn check_may_steer(
    caller: &Caller,
    run: &Run,
    members: &[MemberWithState],
    agent: &AgentId,
) -> Result<(), Refusal> {
    check_run_visible(caller, run)?;
    let is_starter = caller.run.is_none() && run.created_by == caller.id;
    let human = caller.kind == CallerKind::Person;
    if human || is_starter || dismiss::is_ancestor(members, &caller.id, agent) {
        return Ok(());
    }
    Err(dismiss::not_an_ancestor(&caller.id, agent))
}
