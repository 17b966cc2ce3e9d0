//! Installation-specific parts of the tool descriptions: roles and task types, and whether commands have network
//! access.

use polis_core::TaskType;
use polis_core::role::RoleSet;
use serde_json::Value;

use super::Tool;
use crate::app::InstallationSettings;

/// Tools whose schemas list roles and task types. A model learns the values here, not from refusals.
const TOOLS_WITH_LISTED_VALUES: [&str; 3] = ["TaskCreate", "TaskList", "TaskUpdate"];
/// The tool in which an empty role or type removes the task's own.
const TOOL_WITH_EMPTY_VALUE: &str = "TaskUpdate";

/// Settings of an installation that appear in its tool descriptions.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolSchemaSettings<'a> {
    /// Whether commands have network access.
    pub has_network: bool,
    /// The roles that a task may require; `None` lists neither roles nor task types.
    pub roles: Option<&'a RoleSet>,
}

impl<'a> ToolSchemaSettings<'a> {
    /// Creates it from the settings.
    pub fn new(settings: &'a InstallationSettings) -> Self {
        Self {
            has_network: settings.command_policies.any_has_network(),
            roles: Some(&settings.roles),
        }
    }

    /// Returns whether the tool's parameter schema depends on the installation.
    pub fn affects_schema_of(self, tool: &Tool) -> bool {
        self.roles.is_some() && TOOLS_WITH_LISTED_VALUES.contains(&tool.name)
    }

    /// Adds the allowed values of parameters that the tool's own schema does not list.
    pub(super) fn add_allowed_values(self, tool: &Tool, schema: &mut Value) {
        let Some(roles) = self.roles.filter(|_| self.affects_schema_of(tool)) else {
            return;
        };
        let empty = (tool.name == TOOL_WITH_EMPTY_VALUE).then_some("");
        let types = TaskType::ALL.iter().map(|kind| kind.as_str());
        let types: Value = types.chain(empty).collect();
        let roles: Value = roles.iter().chain(empty).collect();
        let parameters = [
            ("taskType", &types),
            ("requiredRole", &roles),
            ("roleFilter", &roles),
        ];
        for (name, values) in parameters {
            let properties = schema.get_mut("properties");
            let parameter = properties.and_then(|all| all.get_mut(name));
            if let Some(Value::Object(parameter)) = parameter {
                parameter.insert("enum".to_owned(), values.clone());
            }
        }
    }
}
