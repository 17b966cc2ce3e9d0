//! Installation-specific parts of the tool descriptions: the roles, and whether commands have network access.

use polis_core::TaskType;
use polis_core::role::RoleSet;
use serde_json::Value;

use super::Tool;
use crate::polis::Settings;

/// The tool whose schema lists roles and task types: there a model has to choose one. In other tools the lists would
/// not be worth their size.
const LISTING: &str = "TaskCreate";

/// Settings of an installation that appear in its tool descriptions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Installation<'a> {
    /// Whether commands have network access.
    pub network: bool,
    /// The roles that a task may require; `None` lists no roles.
    pub roles: Option<&'a RoleSet>,
}

impl<'a> Installation<'a> {
    /// Creates it from the settings.
    pub fn new(settings: &'a Settings) -> Self {
        Self {
            network: settings.commands.reach_network(),
            roles: Some(&settings.roles),
        }
    }

    /// Returns whether the tool's parameter schema depends on the installation.
    pub fn shapes(self, tool: &Tool) -> bool {
        self.roles.is_some() && tool.name == LISTING
    }

    /// Adds the allowed values of parameters that the tool's own schema does not list.
    pub(super) fn list_values(self, tool: &Tool, schema: &mut Value) {
        if tool.name != LISTING {
            return;
        }
        let types = TaskType::ALL.iter().map(|kind| kind.as_str()).collect();
        let roles = self.roles.map(|roles| roles.iter().collect());
        for (name, values) in [("taskType", Some(types)), ("requiredRole", roles)] {
            let properties = schema.get_mut("properties");
            let parameter = properties.and_then(|all| all.get_mut(name));
            if let (Some(Value::Object(parameter)), Some(values)) = (parameter, values) {
                parameter.insert("enum".to_owned(), values);
            }
        }
    }
}
