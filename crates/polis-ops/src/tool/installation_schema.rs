//! What of an installation shows in how its tools are described: its roles, and whether commands reach the network.

use polis_core::TaskType;
use polis_core::role::RoleSet;
use serde_json::Value;

use super::Tool;
use crate::polis::Settings;

/// The tool in which roles and types of tasks are listed: here a model has to choose one. Elsewhere they would take more
/// room than they are worth.
const LISTING: &str = "TaskCreate";

/// What of an installation shows in how its tools are described.
#[derive(Debug, Clone, Copy, Default)]
pub struct Installation<'a> {
    /// Whether commands reach the network.
    pub network: bool,
    /// The roles that a task may require; without them none are listed.
    pub roles: Option<&'a RoleSet>,
}

impl<'a> Installation<'a> {
    /// The installation with these settings.
    pub fn new(settings: &'a Settings) -> Self {
        Self {
            network: settings.commands.reach_network(),
            roles: Some(&settings.roles),
        }
    }

    /// Whether the parameters of a tool are described differently in different installations.
    pub fn shapes(self, tool: &Tool) -> bool {
        self.roles.is_some() && tool.name == LISTING
    }

    /// Lists the values of parameters that a tool's own schema does not list.
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
