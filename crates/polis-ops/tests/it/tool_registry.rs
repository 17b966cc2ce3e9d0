//! Tests that pin every tool of the registry: its area, effect, flags and definition.

use std::collections::BTreeSet;

use polis_core::board::board_lease::{DEFAULT_BOARD_LEASE_MS, MAX_BOARD_LEASE_MS};
use polis_core::message::MAX_DELAY_MS;
use polis_core::role::RoleSet;
use polis_core::task::claim::MAX_TASK_LEASE_MS;
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::workspace::command_policy::CommandPolicy;
use polis_core::{RefusalCode, TaskType};
use polis_i18n::UiLanguage;
use polis_ops::InstallationSettings;
use polis_ops::tool::{self, TOOLS, Tool, ToolEffect, ToolSchemaSettings};
use serde_json::json;

use crate::test_installation::schema_value;

/// Flags of a row: `!` destructive, `+` adds without loss, neither: read-only; `=` idempotent; `~` outside
/// the store; `@` open world; `*` in the default selection; `-` not offered to agents.
const EXPECTED_TOOLS: &[(&str, OperationArea, &str)] = &[
    ("TaskCreate", OperationArea::Tasks, "+*"),
    ("TaskList", OperationArea::Tasks, "*"),
    ("TaskGet", OperationArea::Tasks, "*"),
    ("TaskUpdate", OperationArea::Tasks, "+*"),
    ("TaskClaim", OperationArea::Tasks, "+*"),
    ("TaskRelease", OperationArea::Tasks, "+"),
    ("TaskHeartbeat", OperationArea::Tasks, "+"),
    ("TaskApprove", OperationArea::Tasks, "+"),
    ("TaskRecommend", OperationArea::Tasks, ""),
    ("TaskComment", OperationArea::Tasks, "+*"),
    ("TaskComments", OperationArea::Tasks, ""),
    ("TaskHistory", OperationArea::Tasks, ""),
    ("TaskStats", OperationArea::Tasks, "-"),
    ("whiteboard_list", OperationArea::Boards, ""),
    ("whiteboard_read", OperationArea::Boards, "*"),
    ("whiteboard_write", OperationArea::Boards, "+*"),
    ("whiteboard_append", OperationArea::Boards, "+*"),
    ("whiteboard_section", OperationArea::Boards, "+*"),
    ("whiteboard_lock", OperationArea::Boards, "+"),
    ("whiteboard_unlock", OperationArea::Boards, "+="),
    ("whiteboard_history", OperationArea::Boards, ""),
    ("whiteboard_show", OperationArea::Boards, ""),
    ("whiteboard_diff", OperationArea::Boards, ""),
    ("whiteboard_restore", OperationArea::Boards, "+"),
    ("whiteboard_decisions", OperationArea::Boards, ""),
    ("whiteboard_decide", OperationArea::Boards, "+"),
    ("whiteboard_milestones", OperationArea::Boards, ""),
    ("whiteboard_milestone", OperationArea::Boards, "+"),
    ("blackboard_read", OperationArea::Blackboard, "*"),
    ("blackboard_write", OperationArea::Blackboard, "+*"),
    ("read_file", OperationArea::Files, "~*"),
    ("write_file", OperationArea::Files, "!=~*"),
    ("edit_file", OperationArea::Files, "!~*"),
    ("delete_file", OperationArea::Files, "!=~"),
    ("move_file", OperationArea::Files, "!~"),
    ("make_dir", OperationArea::Files, "+=~"),
    ("list_files", OperationArea::Files, "~*"),
    ("search_files", OperationArea::Files, "~*"),
    ("get_workspace_info", OperationArea::Files, "~*"),
    ("run_command", OperationArea::Commands, "!~*"),
    ("list_commands", OperationArea::Commands, "-"),
    ("show_command", OperationArea::Commands, "-"),
    ("send_message", OperationArea::Messages, "+*"),
    ("check_messages", OperationArea::Messages, "+*"),
    ("put_artifact", OperationArea::Artifacts, "+=*"),
    ("get_artifact", OperationArea::Artifacts, "*"),
    ("list_agents", OperationArea::Agents, ""),
    ("show_agent", OperationArea::Agents, ""),
    ("add_agent", OperationArea::Agents, "+-"),
    ("retire_agent", OperationArea::Agents, "!-"),
    ("create_role", OperationArea::Society, "+="),
    ("find_role_by_name", OperationArea::Society, ""),
    ("spawn_agent", OperationArea::Society, "+"),
    ("terminate_agent", OperationArea::Society, "!"),
    ("get_org", OperationArea::Society, ""),
    ("start_run", OperationArea::Society, "+-"),
    ("list_runs", OperationArea::Society, "-"),
    ("show_run", OperationArea::Society, "-"),
    ("stop_run", OperationArea::Society, "!=-"),
    ("tell_run", OperationArea::Society, "+-"),
    ("pause_society", OperationArea::Society, "+=-"),
    ("resume_society", OperationArea::Society, "+=-"),
    ("set_budget", OperationArea::Society, "!=-"),
    ("list_members", OperationArea::Society, "-"),
    ("list_roles", OperationArea::Society, "-"),
    ("read_conversation", OperationArea::Society, "-"),
    ("list_approvals", OperationArea::Society, "-"),
    ("decide_approval", OperationArea::Society, "+=-"),
    ("read_log", OperationArea::Events, ""),
    ("get_overview", OperationArea::Server, "-"),
    ("add_webhook", OperationArea::Server, "+@-"),
    ("list_webhooks", OperationArea::Server, "-"),
    ("remove_webhook", OperationArea::Server, "!=-"),
];

#[test]
fn registry_matches_the_expected_tools() {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let wanted: Vec<&str> = EXPECTED_TOOLS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, wanted);
    for (tool, (name, area, marks)) in TOOLS.iter().zip(EXPECTED_TOOLS) {
        let marked = |mark| marks.contains(mark);
        let effect = match (marked('!'), marked('+')) {
            (true, _) => ToolEffect::Destructive,
            (_, true) => ToolEffect::Additive,
            _ => ToolEffect::ReadOnly,
        };
        let access = match effect {
            ToolEffect::ReadOnly => AccessLevel::Read,
            _ => AccessLevel::Write,
        };
        assert_eq!((tool.area, tool.effect), (*area, effect), "{name}");
        assert_eq!(tool.required_access(), access, "{name}");
        assert_eq!(tool.idempotent, marked('='), "{name}");
        assert_eq!(tool.acts_outside_store, marked('~'), "{name}");
        assert_eq!(tool.open_world, marked('@'), "{name}");
        assert_eq!(tool.is_default, marked('*'), "{name}");
        assert_eq!(tool.is_offered_to_agents, !marked('-'), "{name}");
        assert!(tool.is_offered_to_agents || !tool.is_default, "{name}");
        assert!(std::ptr::eq(Tool::find(name).unwrap(), tool), "{name}");
    }
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
}

#[test]
fn definition_is_a_valid_mcp_tool() {
    for tool in TOOLS {
        let mut told = tool.mcp_definition(ToolSchemaSettings::default(), UiLanguage::En);
        let hints = json!({
            "readOnlyHint": tool.effect == ToolEffect::ReadOnly,
            "destructiveHint": tool.effect == ToolEffect::Destructive,
            "idempotentHint": tool.effect == ToolEffect::ReadOnly || tool.idempotent,
            "openWorldHint": tool.open_world,
        });
        assert_eq!(told["annotations"], hints, "{}", tool.name);
        let open = tool.open_world || tool.name == "run_command";
        let network = ToolSchemaSettings {
            has_network: true,
            ..ToolSchemaSettings::default()
        };
        let with_network = tool.mcp_definition(network, UiLanguage::En);
        assert_eq!(with_network["annotations"]["openWorldHint"], open);
        assert_eq!(told["name"], tool.name);
        let about = told["description"].as_str().unwrap();
        assert!(about.ends_with('.') && about.len() > 10, "{}", tool.name);
        let sound = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(tool.name.chars().all(sound), "{}", tool.name);
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(told[schema]["type"], "object", "{} {schema}", tool.name);
        }
        // Descriptions are free text, so they are excluded from the check below.
        let properties = told.pointer_mut("/inputSchema/properties");
        let properties = properties.and_then(serde_json::Value::as_object_mut);
        for schema in properties.into_iter().flat_map(|all| all.values_mut()) {
            schema.as_object_mut().unwrap().remove("description");
        }
        let text = told.to_string();
        for waste in [
            "$schema",
            "$defs",
            "title\":\"",
            "default",
            "null",
            "format",
        ] {
            assert!(!text.contains(waste), "{}: {waste}", tool.name);
        }
    }
}

#[test]
fn every_parameter_has_a_description() {
    for tool in TOOLS {
        let (small, whole) = (
            tool.compact_input_schema(ToolSchemaSettings::default(), UiLanguage::En),
            schema_value((tool.input_schema)()),
        );
        let parameters = whole["properties"].as_object();
        for (name, schema) in parameters.into_iter().flatten() {
            let whole = schema["description"].as_str().unwrap_or_default();
            assert!(whole.len() > 3, "{} {name}: {whole}", tool.name);
            let about = small["properties"][name]["description"].as_str();
            if about.is_none() && tool.is_parameter_unlisted(name) {
                continue;
            }
            let about = about.unwrap_or_else(|| panic!("{} {name}", tool.name));
            assert!(
                about.len() > 3 && about.ends_with('.'),
                "{} {name}: {about}",
                tool.name
            );
            let chinese =
                parameter_description(tool.name, name, Default::default(), UiLanguage::Zh);
            let has_chinese = chinese.contains(|c| matches!(c, '\u{4e00}'..='\u{9fff}'));
            assert!(
                has_chinese || chinese == "`artifact:ID`",
                "{} {name}: {chinese}",
                tool.name
            );
            // Kept short, because they are part of every request to a model.
            assert!(about.len() <= 160, "{} {name}: {about}", tool.name);
        }
    }
}

/// Returns the description of a parameter in a tool's definition.
fn parameter_description(
    tool: &str,
    parameter: &str,
    installation: ToolSchemaSettings<'_>,
    lang: UiLanguage,
) -> String {
    let schema = Tool::find(tool)
        .unwrap()
        .compact_input_schema(installation, lang);
    let text = schema["properties"][parameter]["description"].as_str();
    text.unwrap_or_else(|| panic!("{tool} {parameter}"))
        .to_owned()
}

/// Limits and defaults of the parameters, which their descriptions state.
#[test]
fn descriptions_state_defaults_and_limits() {
    let task_lease = MAX_TASK_LEASE_MS.to_string();
    let board_lease = (DEFAULT_BOARD_LEASE_MS, MAX_BOARD_LEASE_MS);
    let default_and_max = |default: u64, maximum: u64| {
        [
            format!("Default {default}, max {maximum}"),
            format!("默认 {default}，最多 {maximum}"),
        ]
    };
    let max = |maximum: &str| [format!("max {maximum}."), format!("最多 {maximum}")];
    let texts = |english: &str, chinese: &str| [english.to_owned(), chinese.to_owned()];
    for (tool, parameter, stated) in [
        (
            "TaskCreate",
            "subject",
            texts("max 1000 characters", "最多 1000 字符"),
        ),
        (
            "TaskCreate",
            "priority",
            texts("Default normal", "默认 normal"),
        ),
        ("TaskList", "limit", default_and_max(50, 1_000)),
        ("TaskClaim", "leaseMs", max(&task_lease)),
        ("TaskHeartbeat", "leaseMs", max(&task_lease)),
        ("TaskRecommend", "limit", default_and_max(5, 100)),
        ("send_message", "delayMs", max(&MAX_DELAY_MS.to_string())),
        ("check_messages", "limit", default_and_max(20, 100)),
        (
            "check_messages",
            "waitMs",
            texts("max 60000", "最多等 60000"),
        ),
        ("search_files", "limit", default_and_max(200, 10_000)),
        (
            "run_command",
            "timeoutMs",
            default_and_max(60_000, 3_600_000),
        ),
        (
            "whiteboard_lock",
            "ttlMs",
            default_and_max(board_lease.0, board_lease.1),
        ),
        ("read_log", "limit", default_and_max(50, 1_000)),
        ("list_commands", "limit", default_and_max(50, 200)),
        (
            "read_file",
            "path",
            texts("Relative to the workspace", "相对工作空间"),
        ),
    ] {
        for (lang, stated) in [UiLanguage::En, UiLanguage::Zh].into_iter().zip(stated) {
            let installation = ToolSchemaSettings::default();
            let text = parameter_description(tool, parameter, installation, lang);
            assert!(text.contains(&stated), "{tool} {parameter}: {text}");
        }
    }
}

#[test]
fn command_timeout_is_that_of_the_callers_policy() {
    let mut settings = InstallationSettings::default();
    settings.command_policies.default.timeout_ms = 5_000;
    settings.command_policies.roles.insert(
        "test-leader".to_owned(),
        CommandPolicy {
            timeout_ms: 900_000,
            timeout_ceiling_ms: 600_000,
            ..CommandPolicy::default()
        },
    );
    // A default above the maximum counts as the maximum.
    for (role, english, chinese) in [
        (
            "architect",
            "Default 5000, max 3600000.",
            "默认 5000，最多 3600000",
        ),
        (
            "test-leader",
            "Default 600000, max 600000.",
            "默认 600000，最多 600000",
        ),
    ] {
        let installation = ToolSchemaSettings::for_role(&settings, role);
        assert!(installation.affects_schema_of(Tool::find("run_command").unwrap()));
        for (lang, stated) in [(UiLanguage::En, english), (UiLanguage::Zh, chinese)] {
            let text = parameter_description("run_command", "timeoutMs", installation, lang);
            assert!(text.ends_with(stated), "{role}: {text}");
        }
    }
}

#[test]
fn priority_schema_lists_priorities() {
    for tool in ["TaskCreate", "TaskUpdate", "TaskList"] {
        let schema = Tool::find(tool)
            .unwrap()
            .compact_input_schema(ToolSchemaSettings::default(), UiLanguage::En);
        let priorities = &schema["properties"]["priority"]["enum"];
        assert_eq!(
            *priorities,
            json!(["critical", "high", "normal", "low"]),
            "{tool}"
        );
    }
}

/// Descriptions that only repeat the name of their parameter.
#[test]
fn no_description_only_repeats_the_name_of_its_parameter() {
    // What such a description looks like in Chinese, by parameter.
    let repeated = [
        ("status", "状态"),
        ("act", "操作"),
        ("mode", "模式"),
        ("owner", "负责人"),
        ("taskType", "类型"),
        ("version", "版本"),
        ("reason", "原因"),
    ];
    for tool in TOOLS {
        for lang in [UiLanguage::En, UiLanguage::Zh] {
            let schema = tool.compact_input_schema(ToolSchemaSettings::default(), lang);
            let parameters = schema["properties"].as_object();
            for (name, parameter) in parameters.into_iter().flatten() {
                let text = parameter["description"].as_str().unwrap();
                let plain = text.trim_end_matches('.').to_lowercase();
                let is_name = plain == name.to_lowercase()
                    || (name == "act" && plain == "action")
                    || repeated.contains(&(name.as_str(), text));
                assert!(!is_name, "{} {name}: {text}", tool.name);
            }
        }
    }
}

#[test]
fn task_schemas_list_roles_and_types() {
    let roles = RoleSet::with_additional(["qa".to_owned()]);
    let installation = ToolSchemaSettings {
        roles: Some(&roles),
        ..ToolSchemaSettings::default()
    };
    // In TaskUpdate, the empty text removes a role or type.
    for (tool, role_parameter, empty) in [
        ("TaskCreate", "requiredRole", None),
        ("TaskList", "roleFilter", None),
        ("TaskUpdate", "requiredRole", Some("")),
    ] {
        let tool = Tool::find(tool).unwrap();
        assert!(installation.affects_schema_of(tool));
        let input = tool.compact_input_schema(installation, UiLanguage::En);
        let listed = &input["properties"][role_parameter]["enum"];
        let all = roles.iter().chain(empty);
        assert_eq!(*listed, all.collect::<serde_json::Value>(), "{}", tool.name);
        assert!(listed.as_array().unwrap().contains(&json!("qa")));
        let types = &input["properties"]["taskType"]["enum"];
        let all = TaskType::ALL.iter().map(|kind| kind.as_str()).chain(empty);
        assert_eq!(*types, all.collect::<serde_json::Value>(), "{}", tool.name);
        if tool.name != "TaskCreate" {
            let statuses = input["properties"]["status"]["enum"].as_array();
            assert_eq!(statuses.map(Vec::len), Some(4), "{}", tool.name);
        }
    }
}

#[test]
fn no_parameter_names_the_caller_or_a_host_path() {
    for tool in TOOLS {
        let input = schema_value((tool.input_schema)());
        let names = input["properties"].as_object();
        for name in names.into_iter().flatten().map(|(name, _)| name) {
            let name = name.to_lowercase();
            for host in [
                "workspacepath",
                "directory",
                "dir",
                "agent",
                "caller",
                "as",
                "by",
            ] {
                assert!(
                    name != host || tool.name == "TaskStats",
                    "{} {name}",
                    tool.name
                );
            }
        }
    }
}

#[test]
fn tool_groups_select_tools() {
    let names = |groups: &[&str]| -> Vec<&str> {
        let tools = tool::select_tools(groups).unwrap();
        tools.iter().map(|tool| tool.name).collect()
    };
    assert_eq!(
        tool::tool_groups(),
        [
            "usual",
            "all",
            "tasks",
            "boards",
            "blackboard",
            "files",
            "commands",
            "messages",
            "artifacts",
            "agents",
            "society",
            "events"
        ]
    );
    assert_eq!(names(&[]), names(&["usual"]));
    assert_eq!(names(&["commands"]), ["run_command"]);
    assert_eq!(
        names(&["commands", "blackboard", "commands"]),
        ["blackboard_read", "blackboard_write", "run_command"]
    );
    let mut every = BTreeSet::new();
    for group in tool::tool_groups() {
        let chosen = names(&[group]);
        assert!(!chosen.is_empty(), "{group}");
        every.extend(chosen);
    }
    let all = names(&["all"]);
    assert_eq!(every, all.iter().copied().collect());
    let listed = TOOLS.iter().filter(|tool| tool.is_offered_to_agents);
    assert_eq!(all, listed.map(|tool| tool.name).collect::<Vec<_>>());
    assert_eq!(
        names(&["society"]),
        [
            "create_role",
            "find_role_by_name",
            "spawn_agent",
            "terminate_agent",
            "get_org"
        ]
    );
    for bad in ["", "server", "Tasks", "tasks ", "everything"] {
        let refusal = tool::select_tools(&["usual", bad]).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::INVALID_INPUT, "{bad}");
        assert!(refusal.reason.to_string().contains("boards"), "{bad}");
    }
}
