//! Roles of a run: a name, the role prompt, and optionally tools, a model and required approvals.
//!
//! Role names are scoped to a run: two runs may each have a role of the same name. [`decide_create_role`]
//! creates a role or returns the existing one.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_id::RunId;
use super::versioned;
use crate::caller::Caller;
use crate::changeset::Changeset;
use crate::digest;
use crate::id::{AgentId, quote_untrusted};
use crate::record::{RecordKind, RecordName};
use crate::refusal::{ListArg, ListStyle, Refusal, RoleDifference, SocietyRefusal};
use crate::refusal_serde::deserialize_optional_object;
use crate::timestamp::Timestamp;

/// The parameters of `create_role`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateRoleParams {
    /// Name of the role, such as programmer.
    pub name: String,
    /// Prompt for agents with this role.
    pub role_prompt: String,
    /// Tools or tool groups that its agents may use; default: all tools of the creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Model for its agents; default: the configured one.
    #[serde(
        default,
        deserialize_with = "deserialize_optional_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub model: Option<ModelChoice>,
    /// Tools whose calls a person must approve, in addition to the configured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Vec<String>>,
}

/// Model that a role uses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelChoice {
    /// Name of a configured endpoint, or a capability tag such as `code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Name of the model; default: the endpoint's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature; default: the endpoint's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

impl Eq for ModelChoice {}

/// A role of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SocietyRole {
    /// Id of the role, for `spawn_agent`.
    pub id: String,
    /// Name of the role.
    pub name: String,
    /// Prompt for agents with this role.
    pub role_prompt: String,
    /// Tools that its agents may use; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Model for its agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    /// Tools whose calls a person must approve, in addition to the configured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Vec<String>>,
    /// The agent that created it.
    pub created_by: AgentId,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Returns a role's id. It is derived only from the name, so that a replayed recording of a run refers to the
/// same roles.
pub fn role_id(name: &str) -> String {
    let mut digits = digest::sha256_hex_of_parts(&[name.trim()]);
    digits.truncate(8);
    format!("role-{digits}")
}

/// Returns the record name of a run's role.
pub fn role_record_name(run: &RunId, role_id: &str) -> RecordName {
    RecordName::new(RecordKind::SocietyRole, format!("{run}/{role_id}"))
}

/// Maximum length of a name, in characters.
const MAX_ROLE_NAME_CHARS: usize = 100;
/// Maximum length of a prompt, in bytes.
const MAX_PROMPT_BYTES: usize = 64 * 1024;
/// Maximum number of tools that can be listed.
const MAX_TOOLS: usize = 100;

/// Result of `create_role`: a new role, or an existing one that matches the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateRoleResult {
    /// The role.
    #[serde(flatten)]
    pub role: SocietyRole,
    /// Whether the role already existed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub existed: bool,
}

/// Creates a role from a request. Fails with `invalid_brief` if the request is invalid.
pub fn create_role(
    params: &CreateRoleParams,
    creator: &AgentId,
    now: &Timestamp,
) -> Result<SocietyRole, Refusal> {
    let name = params.name.trim();
    if name.is_empty()
        || name.chars().count() > MAX_ROLE_NAME_CHARS
        || name.chars().any(char::is_control)
    {
        return Err(SocietyRefusal::InvalidRoleName.into());
    }
    if params.role_prompt.trim().is_empty() || params.role_prompt.len() > MAX_PROMPT_BYTES {
        return Err(SocietyRefusal::InvalidRolePrompt.into());
    }
    let tools = params.tools.iter().chain(&params.approve).flatten();
    if tools.clone().count() > MAX_TOOLS || tools.clone().any(|t| t.trim().is_empty()) {
        return Err(SocietyRefusal::TooManyRoleTools.into());
    }
    let temperature = params.model.as_ref().and_then(|model| model.temperature);
    if temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        return Err(SocietyRefusal::InvalidTemperature.into());
    }
    Ok(SocietyRole {
        id: role_id(name),
        name: name.to_owned(),
        role_prompt: params.role_prompt.clone(),
        tools: params.tools.clone(),
        model: params.model.clone(),
        approve: params.approve.clone(),
        created_by: creator.clone(),
        created_at: now.clone(),
    })
}

/// Checks a `create_role` request and returns the role with the changeset. An existing role of the same name
/// is returned unchanged if the request agrees with it: the same prompt but for surrounding white space, and
/// the same tools, model and approvals where the request names any. Otherwise fails with `role_exists`,
/// naming the differences. Fails with `invalid_brief` if the request is invalid.
pub fn decide_create_role(
    params: &CreateRoleParams,
    run: &RunId,
    current: Option<&SocietyRole>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(CreateRoleResult, Changeset), Refusal> {
    let role = create_role(params, &caller.id, now)?;
    let changes = Changeset::new(caller, now.clone());
    let Some(existing) = current else {
        let write = versioned::new_record_write(role_record_name(run, &role.id), &role);
        let existed = false;
        return Ok((
            CreateRoleResult { role, existed },
            changes.with_write(write),
        ));
    };
    let different = describe_differences(existing, &role);
    if different.is_empty() {
        let role = existing.clone();
        let existed = true;
        return Ok((CreateRoleResult { role, existed }, changes));
    }
    Err(Refusal::from(SocietyRefusal::RoleDiffers {
        role: quote_untrusted(&role.name),
        differences: ListArg::new(ListStyle::Conjunction, different),
        role_id: existing.id.to_string(),
    }))
}

/// Returns how the requested role differs from the existing one. A field that the request omits agrees with
/// any value: a model that repeats a shipped role's prompt does not know its tools and model.
fn describe_differences(existing: &SocietyRole, requested: &SocietyRole) -> Vec<RoleDifference> {
    let difference =
        |is_named: bool, is_same: bool, description| (is_named && !is_same).then_some(description);
    let prompt = requested.role_prompt.trim() == existing.role_prompt.trim();
    [
        difference(true, prompt, RoleDifference::Prompt),
        difference(
            requested.tools.is_some(),
            is_same_set(requested.tools.as_deref(), existing.tools.as_deref()),
            RoleDifference::Tools,
        ),
        difference(
            requested.model.is_some(),
            requested.model == existing.model,
            RoleDifference::Model,
        ),
        difference(
            requested.approve.is_some(),
            is_same_set(requested.approve.as_deref(), existing.approve.as_deref()),
            RoleDifference::Approve,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns whether two lists name the same tools, regardless of order and repetition.
fn is_same_set(one: Option<&[String]>, other: Option<&[String]>) -> bool {
    let set = |names: &[String]| -> BTreeSet<String> {
        names.iter().map(|name| name.trim().to_owned()).collect()
    };
    one.map(set) == other.map(set)
}

/// Returns the refusal for a role that the run does not have.
pub fn role_not_found(name: &str) -> Refusal {
    Refusal::from(SocietyRefusal::RoleNotFound {
        name: quote_untrusted(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    fn root_caller() -> Caller {
        Caller::resolve("root".parse().unwrap(), None).unwrap()
    }

    fn role_params(name: &str, prompt: &str) -> CreateRoleParams {
        CreateRoleParams {
            name: name.to_owned(),
            role_prompt: prompt.to_owned(),
            tools: None,
            model: None,
            approve: None,
        }
    }

    #[test]
    fn create_role_that_agrees_with_an_existing_role_returns_it() {
        let (run, now) = ("r".parse().unwrap(), Timestamp::from_millis(0));
        let decide = |params: &CreateRoleParams, current: Option<&SocietyRole>| {
            decide_create_role(params, &run, current, &root_caller(), &now)
        };
        let shipped = CreateRoleParams {
            tools: Some(vec!["files".to_owned(), "tasks".to_owned()]),
            model: Some(ModelChoice {
                endpoint: Some("code".to_owned()),
                ..ModelChoice::default()
            }),
            approve: Some(vec!["run_command".to_owned(), "delete_file".to_owned()]),
            ..role_params("程序员", "a")
        };
        let mut reordered = shipped.clone();
        for names in [&mut reordered.tools, &mut reordered.approve] {
            names.as_mut().unwrap().reverse();
        }
        let (created, changes) = decide(&shipped, None).unwrap();
        assert!(!created.existed && changes.writes.len() == 1);
        let trimmed = [
            role_params(" 程序员 ", "a"),
            role_params("程序员", "\na\n\n"),
        ];
        for same in trimmed.into_iter().chain([shipped, reordered]) {
            let (repeated, changes) = decide(&same, Some(&created.role)).unwrap();
            assert!(repeated.existed && changes.is_empty(), "{same:?}");
            assert_eq!(repeated.role, created.role);
        }
    }

    #[test]
    fn create_role_names_what_differs_from_an_existing_role() {
        let (run, now) = ("r".parse().unwrap(), Timestamp::from_millis(0));
        let existing = create_role(&role_params("dev", "a"), &AgentId::root(), &now).unwrap();
        let tools = Some(vec!["files".to_owned()]);
        for (params, what) in [
            (role_params("dev", "b"), "role-difference-prompt"),
            (
                CreateRoleParams {
                    tools: tools.clone(),
                    ..role_params("dev", "a")
                },
                "role-difference-tools",
            ),
            (
                CreateRoleParams {
                    tools: tools.clone(),
                    model: Some(ModelChoice::default()),
                    approve: tools,
                    ..role_params("dev", "b")
                },
                "role-difference-prompt, role-difference-tools, role-difference-model, role-difference-approve",
            ),
        ] {
            let refused = decide_create_role(&params, &run, Some(&existing), &root_caller(), &now)
                .unwrap_err();
            assert_eq!(refused.code, RefusalCode::ROLE_EXISTS);
            assert_eq!(refused.reason.arg("differences").unwrap().to_string(), what);
        }
    }

    #[test]
    fn role_name_and_prompt_are_validated() {
        let long = "x".repeat(101);
        let huge = "x".repeat(MAX_PROMPT_BYTES + 1);
        let good = "长".repeat(100);
        for (name, prompt, fine) in [
            ("a", "p", true),
            (good.as_str(), "p", true),
            ("", "p", false),
            ("  ", "p", false),
            ("a\nb", "p", false),
            (long.as_str(), "p", false),
            ("a", " \n", false),
            ("a", huge.as_str(), false),
        ] {
            let made = create_role(
                &role_params(name, prompt),
                &AgentId::user(),
                &Timestamp::from_millis(0),
            );
            assert_eq!(made.is_ok(), fine, "{name:?}");
        }
    }
}
