//! Roles of a run: creates a role, finds one by name, and lists them (`create_role`, `find_role_by_name`).

use polis_core::Refusal;
use polis_core::record::RecordKind;
use polis_core::society::society_role::{self, CreateRoleParams, CreateRoleResult, SocietyRole};
use polis_core::society::{RunId, VersionedRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check_run_visible, own_run_id};
use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_record;
use crate::op::society::load_run_records;
use crate::op::society::resolve_run;
use crate::request::{AttemptFuture, Request};
use crate::tool::check_tool_names;

/// Parameters of `find_role_by_name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindRoleParams {
    /// The role's name.
    pub name: String,
}

/// Result of looking up a role by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindRoleResult {
    /// The role; omitted if the run has none with this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<SocietyRole>,
}

/// Parameters of `list_roles`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRolesParams {
    /// The run; default: your own.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
}

/// The roles of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RoleList {
    /// The roles, ordered by id.
    pub roles: Vec<SocietyRole>,
}

/// Returns the role of a run with this id or name, if it exists. Fails only if the store does.
pub(super) async fn find_role(
    app: &App,
    run: &RunId,
    name_or_id: &str,
) -> Result<Option<SocietyRole>, OpError> {
    for id in [
        name_or_id.trim().to_owned(),
        society_role::role_id(name_or_id),
    ] {
        let name = society_role::role_record_name(run, &id);
        let found: Option<VersionedRecord<SocietyRole>> = load_record(app, &name).await?;
        let found = found.map(|record| record.value);
        if let Some(role) =
            found.filter(|r| r.id == name_or_id.trim() || r.name == name_or_id.trim())
        {
            return Ok(Some(role));
        }
    }
    Ok(None)
}

/// Returns the run that the caller hires for: its own, or the one named after it.
pub(super) fn hiring_run_id(caller: &polis_core::Caller) -> Result<RunId, Refusal> {
    match &caller.run {
        Some(run) => Ok(run.clone()),
        None => own_run_id(caller),
    }
}

/// Fails with `InvalidInput` if a role names a tool that does not exist.
pub(super) fn check_role_tools(role: &CreateRoleParams) -> Result<(), Refusal> {
    check_tool_names(role.tools.as_deref().unwrap_or_default(), true)?;
    check_tool_names(role.approve.as_deref().unwrap_or_default(), false)
}

/// Creates a role in the caller's run. An existing role of the same name is returned if the request agrees
/// with it; otherwise fails with `RoleExists`.
pub async fn create_role(
    request: &Request,
    params: &CreateRoleParams,
) -> Result<CreateRoleResult, OpError> {
    let caller = &request.resolve_caller().await?;
    let run = &hiring_run_id(caller)?;
    super::spawn_agent::check_may_hire(&request.app, caller)?;
    check_role_tools(params)?;
    let decide = || -> AttemptFuture<'_, CreateRoleResult> {
        Box::pin(async move {
            let name = society_role::role_record_name(run, &society_role::role_id(&params.name));
            let current: Option<VersionedRecord<SocietyRole>> =
                load_record(&request.app, &name).await?;
            let current = current.map(|record| record.value);
            let now = request.app.now();
            Ok(society_role::decide_create_role(
                params,
                run,
                current.as_ref(),
                caller,
                &now,
            )?)
        })
    };
    request.retry_on_conflict(decide, |result, _| result).await
}

/// Returns the role with this name in the caller's run, if it exists. Fails with `permission_denied` if
/// the caller may not act.
pub async fn find_role_by_name(
    request: &Request,
    params: &FindRoleParams,
) -> Result<FindRoleResult, OpError> {
    let caller = request.resolve_caller().await?;
    let run = hiring_run_id(&caller)?;
    let role = find_role(&request.app, &run, &params.name).await?;
    let role = role.filter(|role| role.name == params.name.trim());
    Ok(FindRoleResult { role })
}

/// Returns the roles of a run. Fails with `run_not_found` if the run does not exist or the caller may not
/// see it.
pub async fn list_roles(request: &Request, params: &ListRolesParams) -> Result<RoleList, OpError> {
    let caller = request.resolve_caller().await?;
    let run = resolve_run(request, &caller, params.run_id.as_ref()).await?;
    check_run_visible(&caller, &run.value)?;
    let found =
        load_run_records::<SocietyRole>(&request.app, RecordKind::SocietyRole, &run.value.id);
    let roles = found.await?.into_iter().map(|(_, record)| record.value);
    Ok(RoleList {
        roles: roles.collect(),
    })
}
