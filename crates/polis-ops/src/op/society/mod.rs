//! Operations on societies, one file per operation: starting and stopping runs, hiring and dismissing agents, roles,
//! budgets, approvals, pausing, questions and conversations.
//!
//! This module has what they share: reading a run's records, resolving which run a caller means, and checking whether
//! a caller may see a run (`check_sight`) or steer its members (`check_steer`).

mod approvals;
mod budget;
mod conversation;
mod finish_run;
mod org;
mod pause;
mod questions;
mod roles;
mod runs;
mod spawn_agent;
mod start_run;
mod tell_run;
mod terminate_agent;

pub use approvals::{ApprovalList, DecideApproval, ListApprovals, decide_approval, list_approvals};
pub use budget::{MemberBudget, SetBudget, draw_budget, set_budget};
pub use conversation::{
    Conversation, ReadConversation, Spoken, ToolCall, TurnView, read_conversation,
};
pub use finish_run::{finish_run, reopen_run};
pub(super) use org::Awake;
pub use org::{
    GetOrg, ListMembers, MemberList, Org, OrgMember, get_org, list_members, show_member,
};
pub use pause::{Held, HoldSociety, pause_society, resume_society};
pub(in crate::op) use questions::open_letters;
pub use questions::{is_open_question, open_questions};
pub use roles::{
    FindRole, FoundRole, ListRoles, RoleList, create_role, find_role_by_name, list_roles,
};
pub use runs::{ListRuns, OfRun, RunList, list_runs, show_run};
pub use spawn_agent::spawn_agent;
pub use start_run::start_run;
pub use tell_run::{TellRun, tell_run};
pub use terminate_agent::{stop_run, terminate_agent};

use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::society::dismiss::{self, Someone};
use polis_core::society::member::{self, Member, MemberState};
use polis_core::society::run::{self, Run};
use polis_core::society::{Kept, MemberKey, RunId};
use polis_core::{AgentId, Caller, Code, Refusal, Standing};
use serde::de::DeserializeOwned;

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::PortError;

/// Number of records read per store query.
const PAGE: u32 = 500;

/// Deserializes a record of the society. Fails with `StoreCorrupt` if it cannot be read.
fn read<T: DeserializeOwned>(stored: &Stored) -> Result<Kept<T>, PortError> {
    Kept::read(stored).map_err(|e| {
        PortError::new(
            Code::StoreCorrupt,
            "A record of the society cannot be read.",
            "run `polis doctor`; a newer polis may have written it",
        )
        .because(e.to_string())
    })
}

impl Polis {
    /// Returns a record of the society with its revision, if it exists.
    pub(in crate::op) async fn kept<T: DeserializeOwned>(
        &self,
        name: &RecordName,
    ) -> Result<Option<Kept<T>>, OpError> {
        match self.store.record(name).await? {
            Some(stored) => Ok(Some(read(&stored)?)),
            None => Ok(None),
        }
    }

    /// Returns all records of a kind that belong to a run, ordered by id.
    async fn kept_of<T: DeserializeOwned>(
        &self,
        kind: RecordKind,
        run: &RunId,
    ) -> Result<Vec<(String, Kept<T>)>, OpError> {
        let mut found: Vec<(String, Kept<T>)> = Vec::new();
        loop {
            let after = found.last().map(|(id, _)| id.as_str());
            let page = self.store.records_of(kind, run.as_str(), after, PAGE);
            let page = page.await?;
            let more = page.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX);
            for stored in page {
                found.push((stored.id.clone(), read(&stored)?));
            }
            if !more {
                return Ok(found);
            }
        }
    }

    /// Returns a run. Fails with `RunNotFound` if it does not exist.
    pub(in crate::op) async fn run(&self, id: &RunId) -> Result<Kept<Run>, OpError> {
        let found = self.kept(&run::record_name(id)).await?;
        found.ok_or_else(|| run::not_found(id).into())
    }

    /// Returns a run whose `root` can receive messages. Fails with `RecipientNotFound` if the run is stopped.
    pub(in crate::op) async fn open_run(&self, id: &RunId) -> Result<Kept<Run>, OpError> {
        let found = self.run(id).await?;
        if found.value.check_open().is_err() {
            return Err(Refusal::new(
                Code::RecipientNotFound,
                format!("Run \"{id}\" is over; its root gets no messages."),
                "start a new run, or write to somebody else",
            )
            .into());
        }
        Ok(found)
    }

    /// Returns all members of a run, including dismissed ones, ordered by id.
    async fn everybody(&self, run: &RunId) -> Result<Vec<Someone>, OpError> {
        let members = self.kept_of::<Member>(RecordKind::Member, run).await?;
        let states = self.kept_of::<MemberState>(RecordKind::MemberState, run);
        let mut states = states.await?.into_iter().peekable();
        let mut found = Vec::with_capacity(members.len());
        for (id, member) in members {
            // Both lists are ordered by id. A member hired between the two reads is left out.
            while states.peek().is_some_and(|(other, _)| *other < id) {
                states.next();
            }
            if let Some((_, state)) = states.next_if(|(other, _)| *other == id) {
                found.push(Someone {
                    member: member.value,
                    state,
                });
            }
        }
        Ok(found)
    }

    /// Returns a member of a run with its state, if it exists.
    async fn somebody(&self, key: &MemberKey) -> Result<Option<Someone>, OpError> {
        let Some(member) = self.kept::<Member>(&member::record_name(key)).await? else {
            return Ok(None);
        };
        let state = self.kept::<MemberState>(&member::state_name(key)).await?;
        Ok(state.map(|state| Someone {
            member: member.value,
            state,
        }))
    }

    /// Resolves the run a caller means: the named one, the one it is a member of, the one set with `Polis::within`, or
    /// the one named after the caller. Fails with `RunNotFound` if there is none or the caller may not see it.
    async fn meant(&self, caller: &Caller, named: Option<&RunId>) -> Result<Kept<Run>, OpError> {
        let id = match named.or(caller.run.as_ref()).or(self.run_of_root()) {
            Some(id) => id.clone(),
            None => own_run(caller)?,
        };
        let run = match self.run(&id).await {
            Err(error) if error.code() == Code::RunNotFound && named.is_none() => {
                return Err(Refusal::new(
                    Code::RunNotFound,
                    "It was not said which run is meant.",
                    "name it with taskId; `polis society ps` shows the runs there are",
                )
                .into());
            }
            run => run?,
        };
        check_sight(caller, &run.value)?;
        Ok(run)
    }

    /// Returns the run of an agent that the caller wants to inspect or steer. The run of `root` has to be named,
    /// because every run has a `root`.
    async fn run_of(
        &self,
        caller: &Caller,
        agent: &AgentId,
        named: Option<&RunId>,
    ) -> Result<Kept<Run>, OpError> {
        if agent.is_root() || named.is_some() {
            return self.meant(caller, named).await;
        }
        let entry = self.entry(agent).await?;
        let Some(run) = entry.and_then(|found| found.agent.run) else {
            return match own_run_name(agent) {
                Some(run) if self.run(&run).await.is_ok() => self.meant(caller, Some(&run)).await,
                _ => Err(no_member(agent).into()),
            };
        };
        let run = self.run(&run).await?;
        if check_sight(caller, &run.value).is_err() {
            return Err(dismiss::not_above(&caller.id, agent).into());
        }
        Ok(run)
    }
}

/// Returns the id of the run of an agent that is not a member of one: the run is named after the agent.
fn own_run(caller: &Caller) -> Result<RunId, Refusal> {
    caller.id.as_str().parse()
}

fn own_run_name(agent: &AgentId) -> Option<RunId> {
    agent.as_str().parse().ok()
}

/// Returns the refusal for an agent that is not a member of any run.
pub fn no_member(agent: &AgentId) -> Refusal {
    Refusal::new(
        Code::AgentNotFound,
        format!("Nobody called \"{agent}\" works for a run."),
        "see who does with get_org (`polis society tree`)",
    )
}

/// Fails with `RunNotFound` if the caller may not see the run: it is neither the person, nor a member of the run, nor
/// the agent that started or heads it. To such a caller the run does not exist.
fn check_sight(caller: &Caller, run: &Run) -> Result<(), Refusal> {
    let own = caller.run.as_ref() == Some(&run.id);
    let asked = caller.run.is_none() && (run.created_by == caller.id || run.head == caller.id);
    if caller.standing == Standing::Human || own || asked {
        return Ok(());
    }
    Err(run::not_found(&run.id))
}

/// Fails if the caller may not steer the agent: it is neither the person, nor the agent that started the run, nor above
/// the agent in the tree.
fn check_steer(
    caller: &Caller,
    run: &Run,
    members: &[Someone],
    agent: &AgentId,
) -> Result<(), Refusal> {
    check_sight(caller, run)?;
    let asked = caller.run.is_none() && run.created_by == caller.id;
    let human = caller.standing == Standing::Human;
    if human || asked || dismiss::is_above(members, &caller.id, agent) {
        return Ok(());
    }
    Err(dismiss::not_above(&caller.id, agent))
}
