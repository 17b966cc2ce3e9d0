//! Roles of a run: a name and the prompt of whoever holds it. Two runs may each have a role of the same name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kept;
use super::name::RunId;
use crate::caller::Caller;
use crate::carried::maybe_object;
use crate::changeset::Changeset;
use crate::digest;
use crate::id::{AgentId, quoted};
use crate::record::{RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
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

/// A role's id. It follows from the name alone, so that a recorded run names the same roles when it is played again.
pub fn role_id(name: &str) -> String {
    let mut digits = digest::of_parts(&[name.trim()]);
    digits.truncate(8);
    format!("role-{digits}")
}

/// Where a role of a run is kept.
pub fn record_name(run: &RunId, role_id: &str) -> RecordName {
    RecordName::new(RecordKind::Role, format!("{run}/{role_id}"))
}

/// The longest name, in characters.
const MAX_NAME: usize = 100;
/// The longest prompt, in bytes.
const MAX_PROMPT: usize = 64 * 1024;
/// The most tools that can be named.
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

/// Makes a role of a request, or says why not.
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

/// Decides the making of a role. One of the same name and prompt is the same role.
pub fn decide_create(
    params: &CreateRole,
    run: &RunId,
    current: Option<&SocietyRole>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(MadeRole, Changeset), Refusal> {
    let role = make(params, &caller.id, now)?;
    let changes = Changeset::by(caller, now.clone());
    let Some(there) = current else {
        let write = kept::add(record_name(run, &role.id), &role);
        let existed = false;
        return Ok((MadeRole { role, existed }, changes.write(write)));
    };
    let same = |a: &SocietyRole, b: &SocietyRole| {
        (&a.name, &a.role_prompt, &a.tools, &a.model, &a.approve)
            == (&b.name, &b.role_prompt, &b.tools, &b.model, &b.approve)
    };
    if same(there, &role) {
        let role = there.clone();
        let existed = true;
        return Ok((MadeRole { role, existed }, changes));
    }
    Err(Refusal::new(
        Code::RoleExists,
        format!(
            "This run has a role {} with another prompt.",
            quoted(&role.name)
        ),
        format!(
            "spawn with roleId {} to use it as it is, or choose another name",
            there.id
        ),
    ))
}

/// There is no such role in the run.
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
    fn the_same_name_and_prompt_is_the_same_role() {
        let (run, now) = ("r".parse().unwrap(), Timestamp::from_millis(0));
        let decide = |params: &CreateRole, current: Option<&SocietyRole>| {
            decide_create(params, &run, current, &caller(), &now)
        };
        let (made, changes) = decide(&asked("程序员", "a"), None).unwrap();
        assert!(!made.existed && changes.writes.len() == 1);
        let (again, changes) = decide(&asked(" 程序员 ", "a"), Some(&made.role)).unwrap();
        assert!(again.existed && changes.is_empty());
        assert_eq!(again.role, made.role);
        let other = decide(&asked("程序员", "b"), Some(&made.role)).unwrap_err();
        assert_eq!(other.code, Code::RoleExists);
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
