//! Parser of role files: front matter with the name, tools, tools that need approval, and model of a role,
//! and the role prompt below it.
//!
//! ```text
//! ---
//! name: programmer
//! tools: files, commands, messages
//! model: code
//! temperature: 0.2
//! ---
//! You are a programmer ...
//! ```

use polis_core::society::society_role::{CreateRoleParams, ModelChoice};

use super::TeamFileProblem;

/// Delimiter of the front matter.
const FRONT_MATTER_DELIMITER: &str = "---";

/// A parsed role file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleFile {
    /// Name of the role; agents hire by it.
    pub(crate) name: String,
    /// Tool groups or single tools; `None`: all tools of its creator.
    pub(crate) tools: Option<Vec<String>>,
    /// Tools whose every call needs approval by a person.
    pub(crate) approve: Option<Vec<String>>,
    /// Model of the role.
    pub(crate) model: Option<ModelChoice>,
    /// Role prompt of the agents that hold the role.
    pub(crate) prompt: String,
}

impl RoleFile {
    /// Parses a role file.
    pub(crate) fn parse(text: &str) -> Result<Self, TeamFileProblem> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = text.replace("\r\n", "\n");
        let (head, prompt) = text
            .strip_prefix(FRONT_MATTER_DELIMITER)
            .and_then(|rest| rest.strip_prefix('\n'))
            .and_then(|rest| rest.split_once("\n---\n"))
            .ok_or(TeamFileProblem::new("no-front-matter"))?;
        let mut role = Self {
            name: String::new(),
            tools: None,
            approve: None,
            model: None,
            prompt: prompt.trim().to_owned(),
        };
        for line in head.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line.split_once(':').ok_or_else(|| {
                TeamFileProblem::with_detail("not-key-and-value", format!("{line:?}"))
            })?;
            // ` #` begins a comment.
            let value = value.split(" #").next().unwrap_or_default();
            role.set_field(key.trim(), value.trim())?;
        }
        if role.name.is_empty() {
            return Err(TeamFileProblem::new("no-name"));
        }
        if role.prompt.is_empty() {
            return Err(TeamFileProblem::new("no-prompt"));
        }
        Ok(role)
    }

    fn set_field(&mut self, key: &str, value: &str) -> Result<(), TeamFileProblem> {
        match key {
            "name" => value.clone_into(&mut self.name),
            "tools" => self.tools = Some(split_list(value)),
            "approve" => self.approve = Some(split_list(value)),
            "model" => self.model_choice().endpoint = Some(value.to_owned()),
            "temperature" => {
                let number = value.parse().ok().filter(|n| (0.0..=2.0).contains(n));
                self.model_choice().temperature =
                    Some(number.ok_or(TeamFileProblem::new("temperature"))?);
            }
            other => {
                let key = format!("{other:?}");
                return Err(TeamFileProblem::with_detail("unknown-key", key));
            }
        }
        Ok(())
    }

    fn model_choice(&mut self) -> &mut ModelChoice {
        self.model.get_or_insert_default()
    }

    /// Returns the role as parameters for starting a run.
    pub(crate) fn to_create_role(&self) -> CreateRoleParams {
        CreateRoleParams {
            name: self.name.clone(),
            role_prompt: self.prompt.clone(),
            tools: self.tools.clone(),
            approve: self.approve.clone(),
            model: self.model.clone(),
        }
    }
}

fn split_list(value: &str) -> Vec<String> {
    let names = value.split(',').map(str::trim).filter(|n| !n.is_empty());
    names.map(ToOwned::to_owned).collect()
}
