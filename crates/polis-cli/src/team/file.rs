//! Role files: front matter with name, tools and model, and the role prompt below it.
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

use polis_core::society::role::{CreateRole, ModelChoice};

/// Delimiter of the front matter.
const FENCE: &str = "---";

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
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = text.replace("\r\n", "\n");
        let (head, prompt) = text
            .strip_prefix(FENCE)
            .and_then(|rest| rest.strip_prefix('\n'))
            .and_then(|rest| rest.split_once("\n---\n"))
            .ok_or(
                "it has to begin with a head between two lines of ---, with the role's name in it",
            )?;
        let mut role = Self {
            name: String::new(),
            tools: None,
            approve: None,
            model: None,
            prompt: prompt.trim().to_owned(),
        };
        for line in head.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line
                .split_once(':')
                .ok_or_else(|| format!("the line {line:?} of its head is not KEY: VALUE"))?;
            // ` #` begins a comment.
            let value = value.split(" #").next().unwrap_or_default();
            role.set(key.trim(), value.trim())?;
        }
        if role.name.is_empty() {
            return Err("its head has no name".to_owned());
        }
        if role.prompt.is_empty() {
            return Err("there is no prompt below its head".to_owned());
        }
        Ok(role)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "name" => value.clone_into(&mut self.name),
            "tools" => self.tools = Some(listed(value)),
            "approve" => self.approve = Some(listed(value)),
            "model" => self.choice().endpoint = Some(value.to_owned()),
            "temperature" => {
                let number = value.parse().ok().filter(|n| (0.0..=2.0).contains(n));
                self.choice().temperature =
                    Some(number.ok_or("its temperature is not a number from 0 to 2")?);
            }
            other => {
                return Err(format!(
                    "its head has the unknown key {other:?}; there are name, tools, approve, model and temperature"
                ));
            }
        }
        Ok(())
    }

    fn choice(&mut self) -> &mut ModelChoice {
        self.model.get_or_insert_default()
    }

    /// Returns the role as parameters for starting a run.
    pub(crate) fn create(&self) -> CreateRole {
        CreateRole {
            name: self.name.clone(),
            role_prompt: self.prompt.clone(),
            tools: self.tools.clone(),
            approve: self.approve.clone(),
            model: self.model.clone(),
        }
    }
}

fn listed(value: &str) -> Vec<String> {
    let names = value.split(',').map(str::trim).filter(|n| !n.is_empty());
    names.map(ToOwned::to_owned).collect()
}
