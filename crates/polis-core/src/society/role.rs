//! Roles of a run: a name, the role prompt, and optionally tools, a model and required approvals.
//!
//! Role names are scoped to a run: two runs may each have a role of the same name. [`decide_create`] creates a
//! role or returns the existing one.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::RunId;
use super::versioned;
use crate::caller::Caller;
use crate::changeset::Changeset;
use crate::digest;
use crate::id::{AgentId, quoted};
use crate::record::{RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
use crate::refusal_serde::maybe_object;
use crate::time::Timestamp;

/// The parameters of `create_role`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateRole {
    /// Its name, such as 程序员.
    pub name: String,
    /// What whoever holds it is told.
    pub role_prompt: String,
    /// The groups of tools or single tools it has; all that its creator has if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What model it thinks with; as the configuration says if left out.
    #[serde(
        default,
        deserialize_with = "maybe_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub model: Option<ModelChoice>,
    /// Tools of it that a person has to allow call by call, beyond those of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Vec<String>>,
}

/// What model a role thinks with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelChoice {
    /// The endpoint, by its name in the configuration, or a capability tag such as `code` that some have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The model's name; the endpoint's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The temperature; the endpoint's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

impl Eq for ModelChoice {}

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SocietyRole {
    /// What `spawn_agent` takes.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What whoever holds it is told.
    pub role_prompt: String,
    /// Its tools; all if there are none named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What model it thinks with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    /// Tools of it that a person has to allow call by call, beyond those of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Vec<String>>,
    /// Who made it.
    pub created_by: AgentId,
    /// When.
    pub created_at: Timestamp,
}

/// Returns a role's id. It is derived only from the name, so that a replayed recording of a run refers to the
/// same roles.
pub fn role_id(name: &str) -> String {
    let mut digits = digest::of_parts(&[name.trim()]);
    digits.truncate(8);
    format!("role-{digits}")
}

/// Returns the record name of a run's role.
pub fn record_name(run: &RunId, role_id: &str) -> RecordName {
    RecordName::new(RecordKind::Role, format!("{run}/{role_id}"))
}

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 100;
/// Maximum length of a prompt, in bytes.
const MAX_PROMPT: usize = 64 * 1024;
/// Maximum number of tools that can be listed.
const MAX_TOOLS: usize = 100;

/// A role that was made, or was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeRole {
    /// The role.
    #[serde(flatten)]
    pub role: SocietyRole,
    /// Whether it was there before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub existed: bool,
}

/// Creates a role from a request. Fails with `invalid_brief` if the request is invalid.
pub fn make(params: &CreateRole, by: &AgentId, now: &Timestamp) -> Result<SocietyRole, Refusal> {
    let name = params.name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(invalid(
            "A role's name is 1 to 100 characters without control characters.",
            "give a short name such as \"programmer\"",
        ));
    }
    if params.role_prompt.trim().is_empty() || params.role_prompt.len() > MAX_PROMPT {
        return Err(invalid(
            "A role's prompt is empty, or longer than 64 KiB.",
            "say in rolePrompt what whoever holds the role has to do",
        ));
    }
    let tools = params.tools.iter().chain(&params.approve).flatten();
    if tools.clone().count() > MAX_TOOLS || tools.clone().any(|t| t.trim().is_empty()) {
        return Err(invalid(
            "A role's tools are at most 100 names of tools or groups of tools.",
            "name fewer, or leave tools out",
        ));
    }
    let temperature = params.model.as_ref().and_then(|model| model.temperature);
    if temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        return Err(invalid(
            "A temperature is a number from 0 to 2.",
            "give such a number, or none",
        ));
    }
    Ok(SocietyRole {
        id: role_id(name),
        name: name.to_owned(),
        role_prompt: params.role_prompt.clone(),
        tools: params.tools.clone(),
        model: params.model.clone(),
        approve: params.approve.clone(),
        created_by: by.clone(),
        created_at: now.clone(),
    })
}

/// Decides the creation of a role. Returns an existing role of the same name unchanged if the request agrees
/// with it: the same prompt but for surrounding white space, and the same tools, model and approvals where the
/// request names any. Fails with `role_exists`, naming the differences, if it does not.
pub fn decide_create(
    params: &CreateRole,
    run: &RunId,
    current: Option<&SocietyRole>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(MadeRole, Changeset), Refusal> {
    let role = make(params, &caller.id, now)?;
    let changes = Changeset::by(caller, now.clone());
    let Some(existing) = current else {
        let write = versioned::add(record_name(run, &role.id), &role);
        let existed = false;
        return Ok((MadeRole { role, existed }, changes.write(write)));
    };
    let different = differences(existing, &role);
    if different.is_empty() {
        let role = existing.clone();
        let existed = true;
        return Ok((MadeRole { role, existed }, changes));
    }
    Err(Refusal::new(
        Code::RoleExists,
        format!(
            "This run already has a role {} with {}.",
            quoted(&role.name),
            joined_with_and(&different)
        ),
        format!(
            "spawn with roleId {} to use it as it is, or choose another name",
            existing.id
        ),
    ))
}

/// Returns how the requested role differs from the existing one. A field that the request omits agrees with any
/// value: a model that repeats a shipped role's prompt does not know its tools and model.
fn differences(existing: &SocietyRole, requested: &SocietyRole) -> Vec<&'static str> {
    let named = |is_named: bool, is_same: bool, what| (is_named && !is_same).then_some(what);
    let prompt = requested.role_prompt.trim() == existing.role_prompt.trim();
    [
        named(true, prompt, "a different prompt"),
        named(
            requested.tools.is_some(),
            is_same_set(requested.tools.as_deref(), existing.tools.as_deref()),
            "different tools",
        ),
        named(
            requested.model.is_some(),
            requested.model == existing.model,
            "a different model",
        ),
        named(
            requested.approve.is_some(),
            is_same_set(requested.approve.as_deref(), existing.approve.as_deref()),
            "different tools to approve",
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

fn joined_with_and(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Returns the refusal for a role that the run does not have.
pub fn not_found(named: &str) -> Refusal {
    Refusal::new(
        Code::RoleNotFound,
        format!("This run has no role {}.", quoted(named)),
        "make it with create_role, or look for another with find_role_by_name",
    )
}

fn invalid(message: &str, hint: &str) -> Refusal {
    Refusal::new(Code::InvalidBrief, message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller::resolve("root".parse().unwrap(), None).unwrap()
    }

    fn asked(name: &str, prompt: &str) -> CreateRole {
        CreateRole {
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
        let decide = |params: &CreateRole, current: Option<&SocietyRole>| {
            decide_create(params, &run, current, &caller(), &now)
        };
        let shipped = CreateRole {
            tools: Some(vec!["files".to_owned(), "tasks".to_owned()]),
            model: Some(ModelChoice {
                endpoint: Some("code".to_owned()),
                ..ModelChoice::default()
            }),
            approve: Some(vec!["run_command".to_owned(), "delete_file".to_owned()]),
            ..asked("程序员", "a")
        };
        let mut reordered = shipped.clone();
        for names in [&mut reordered.tools, &mut reordered.approve] {
            names.as_mut().unwrap().reverse();
        }
        let (made, changes) = decide(&shipped, None).unwrap();
        assert!(!made.existed && changes.writes.len() == 1);
        let trimmed = [asked(" 程序员 ", "a"), asked("程序员", "\na\n\n")];
        for same in trimmed.into_iter().chain([shipped, reordered]) {
            let (again, changes) = decide(&same, Some(&made.role)).unwrap();
            assert!(again.existed && changes.is_empty(), "{same:?}");
            assert_eq!(again.role, made.role);
        }
    }

    #[test]
    fn create_role_names_what_differs_from_an_existing_role() {
        let (run, now) = ("r".parse().unwrap(), Timestamp::from_millis(0));
        let existing = make(&asked("dev", "a"), &AgentId::root(), &now).unwrap();
        let tools = Some(vec!["files".to_owned()]);
        for (params, what) in [
            (asked("dev", "b"), "with a different prompt."),
            (
                CreateRole {
                    tools: tools.clone(),
                    ..asked("dev", "a")
                },
                "with different tools.",
            ),
            (
                CreateRole {
                    tools: tools.clone(),
                    model: Some(ModelChoice::default()),
                    approve: tools,
                    ..asked("dev", "b")
                },
                "with a different prompt, different tools, a different model and different tools to approve.",
            ),
        ] {
            let refused =
                decide_create(&params, &run, Some(&existing), &caller(), &now).unwrap_err();
            assert_eq!(refused.code, Code::RoleExists);
            assert!(refused.message.ends_with(what), "{}", refused.message);
        }
    }

    #[test]
    fn names_and_prompts_are_checked() {
        let long = "x".repeat(101);
        let huge = "x".repeat(MAX_PROMPT + 1);
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
            let made = make(
                &asked(name, prompt),
                &AgentId::user(),
                &Timestamp::from_millis(0),
            );
            assert_eq!(made.is_ok(), fine, "{name:?}");
        }
    }
}
