//! Roles of a run: creates a role, finds one by name, and lists them (`create_role`, `find_role_by_name`).

use polis_core::record::RecordKind;
use polis_core::society::role::{self, CreateRole, MadeRole, SocietyRole};
use polis_core::society::{Kept, RunId};
use polis_core::{AgentId, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check_sight, own_run};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::tool::check_names;

/// The parameters of `find_role_by_name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindRole {
    /// The role's name.
    pub name: String,
}

/// A role, if the run has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundRole {
    /// The role; left out if there is none of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<SocietyRole>,
}

/// The parameters of listing roles.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRoles {
    /// The run; the caller's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
}

/// The roles of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RoleList {
    /// The roles, by id.
    pub roles: Vec<SocietyRole>,
}

impl Polis {
    /// Returns the role of a run with this id or name, if it exists.
    pub(super) async fn role(
        &self,
        run: &RunId,
        named: &str,
    ) -> Result<Option<SocietyRole>, OpError> {
        for id in [named.trim().to_owned(), role::role_id(named)] {
            let name = role::record_name(run, &id);
            let found: Option<Kept<SocietyRole>> = self.kept(&name).await?;
            let found = found.map(|kept| kept.value);
            if let Some(role) = found.filter(|r| r.id == named.trim() || r.name == named.trim()) {
                return Ok(Some(role));
            }
        }
        Ok(None)
    }

    /// Returns the run that the caller hires for: its own, or the one named after it.
    pub(super) async fn hiring_run(&self, caller: &polis_core::Caller) -> Result<RunId, OpError> {
        match &caller.run {
            Some(run) => Ok(run.clone()),
            None => Ok(own_run(caller)?),
        }
    }
}

/// Fails if a role names a tool that does not exist.
pub(super) fn check_tools(role: &CreateRole) -> Result<(), Refusal> {
    check_names(role.tools.as_deref().unwrap_or_default(), true)?;
    check_names(role.approve.as_deref().unwrap_or_default(), false)
}

/// Creates a role in the caller's run. If a role with this name and prompt exists, returns it.
pub async fn create_role(
    polis: &Polis,
    caller: &AgentId,
    params: &CreateRole,
) -> Result<MadeRole, OpError> {
    let caller = &polis.caller(caller).await?;
    let run = &polis.hiring_run(caller).await?;
    super::spawn_agent::may_hire(polis, caller)?;
    check_tools(params)?;
    let decide = || -> Attempt<'_, MadeRole> {
        Box::pin(async move {
            let name = role::record_name(run, &role::role_id(&params.name));
            let current: Option<Kept<SocietyRole>> = polis.kept(&name).await?;
            let current = current.map(|kept| kept.value);
            let now = polis.now();
            Ok(role::decide_create(
                params,
                run,
                current.as_ref(),
                caller,
                &now,
            )?)
        })
    };
    polis.settle(decide, |made, _| made).await
}

/// Returns the role with this name in the caller's run, if it exists.
pub async fn find_role_by_name(
    polis: &Polis,
    caller: &AgentId,
    params: &FindRole,
) -> Result<FoundRole, OpError> {
    let caller = polis.caller(caller).await?;
    let run = polis.hiring_run(&caller).await?;
    let role = polis.role(&run, &params.name).await?;
    let role = role.filter(|role| role.name == params.name.trim());
    Ok(FoundRole { role })
}

/// Returns the roles of a run.
pub async fn list_roles(
    polis: &Polis,
    caller: &AgentId,
    params: &ListRoles,
) -> Result<RoleList, OpError> {
    let caller = polis.caller(caller).await?;
    let run = polis.meant(&caller, params.task_id.as_ref()).await?;
    check_sight(&caller, &run.value)?;
    let found = polis.kept_of::<SocietyRole>(RecordKind::Role, &run.value.id);
    let roles = found.await?.into_iter().map(|(_, kept)| kept.value);
    Ok(RoleList {
        roles: roles.collect(),
    })
}
