//! Parts of the tool definitions that the operations' own schemas lack: the values that a model should use (roles,
//! task types), and what the installation configures (timeouts, network access of commands).

use polis_core::TaskType;
use polis_core::role::RoleSet;
use polis_core::workspace::command_policy::CommandPolicy;
use polis_i18n::{UiLanguage, msg};
use serde_json::{Map, Value};

use super::Tool;
use crate::app::InstallationSettings;

/// Tools whose schemas list roles and task types. A model learns the values here, not from refusals.
const TOOLS_WITH_LISTED_VALUES: [&str; 3] = ["TaskCreate", "TaskList", "TaskUpdate"];
/// The tool in which an empty role or type removes the task's own.
const TOOL_WITH_EMPTY_VALUE: &str = "TaskUpdate";
/// The tool whose default and maximum timeout are configured.
const TOOL_WITH_TIMEOUT: &str = "run_command";

/// Settings of an installation that appear in its tool descriptions.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolSchemaSettings<'a> {
    /// Whether commands have network access.
    pub has_network: bool,
    /// The roles that a task may require; `None` lists neither roles nor task types.
    pub roles: Option<&'a RoleSet>,
    /// The policy of the caller's commands; `None` states the built-in timeouts.
    pub command_policy: Option<&'a CommandPolicy>,
}

impl<'a> ToolSchemaSettings<'a> {
    /// Creates it from the settings, for a caller whose role has no command policy of its own.
    pub fn new(settings: &'a InstallationSettings) -> Self {
        let policies = &settings.command_policies;
        Self {
            has_network: policies.any_has_network(),
            roles: Some(&settings.roles),
            command_policy: Some(&policies.default),
        }
    }

    /// Creates it from the settings, for a caller with this role.
    pub fn for_role(settings: &'a InstallationSettings, role: &str) -> Self {
        Self {
            command_policy: Some(settings.command_policies.for_role(role)),
            ..Self::new(settings)
        }
    }

    /// Returns whether the tool's parameter schema depends on the installation.
    pub fn affects_schema_of(self, tool: &Tool) -> bool {
        let lists_values = TOOLS_WITH_LISTED_VALUES.contains(&tool.name);
        (self.roles.is_some() && lists_values)
            || (self.command_policy.is_some() && tool.name == TOOL_WITH_TIMEOUT)
    }

    /// Completes the parameters of a tool: the values and limits that the tool's own schema lacks.
    pub(super) fn complete_parameters(
        self,
        tool: &Tool,
        lang: UiLanguage,
        parameters: &mut Map<String, Value>,
    ) {
        if tool.name == TOOL_WITH_TIMEOUT {
            self.add_timeouts(lang, parameters);
        }
        let lists_values = TOOLS_WITH_LISTED_VALUES.contains(&tool.name);
        if let Some(roles) = self.roles.filter(|_| lists_values) {
            add_roles_and_types(tool, roles, parameters);
        }
    }

    /// Appends the default and the maximum timeout to the description of `timeoutMs`.
    fn add_timeouts(self, lang: UiLanguage, parameters: &mut Map<String, Value>) {
        let built_in = CommandPolicy::default();
        let policy = self.command_policy.unwrap_or(&built_in);
        let description = parameters
            .get_mut("timeoutMs")
            .and_then(|parameter| parameter.get_mut("description"));
        if let Some(Value::String(description)) = description {
            let (default, maximum) = (policy.default_timeout_ms(), policy.timeout_ceiling_ms);
            *description =
                msg::tool_workspace_timeout_limits(lang, &*description, default, maximum);
        }
    }
}

/// Lists the installation's roles and the task types.
fn add_roles_and_types(tool: &Tool, roles: &RoleSet, parameters: &mut Map<String, Value>) {
    let empty = (tool.name == TOOL_WITH_EMPTY_VALUE).then_some("");
    let types = TaskType::ALL.iter().map(|kind| kind.as_str());
    let types: Value = types.chain(empty).collect();
    let roles: Value = roles.iter().chain(empty).collect();
    for (name, values) in [
        ("taskType", &types),
        ("requiredRole", &roles),
        ("roleFilter", &roles),
    ] {
        if let Some(Value::Object(parameter)) = parameters.get_mut(name) {
            parameter.insert("enum".to_owned(), values.clone());
        }
    }
}
