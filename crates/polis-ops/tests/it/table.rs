//! Tests that pin every row of the tool table.

use std::collections::BTreeSet;

use polis_core::role::RoleSet;
use polis_core::token::{Access, Area};
use polis_core::{Code, TaskType};
use polis_ops::tool::{self, Effect, Installation, TOOLS, Tool};
use serde_json::json;

use crate::world::value;

/// Flags of a row: `!` destructive, `+` adds without loss, neither: read-only; `=` idempotent; `~` outside the store;
/// `@` open world; `*` in the default selection; `-` not offered to agents.
const ROWS: &[(&str, Area, &str)] = &[
    ("TaskCreate", Area::Tasks, "+*"),
    ("TaskList", Area::Tasks, "*"),
    ("TaskGet", Area::Tasks, "*"),
    ("TaskUpdate", Area::Tasks, "+*"),
    ("TaskClaim", Area::Tasks, "+*"),
    ("TaskRelease", Area::Tasks, "+-"),
    ("TaskHeartbeat", Area::Tasks, "+-"),
    ("TaskApprove", Area::Tasks, "+"),
    ("TaskRecommend", Area::Tasks, ""),
    ("TaskComment", Area::Tasks, "+*"),
    ("TaskComments", Area::Tasks, ""),
    ("TaskHistory", Area::Tasks, ""),
    ("TaskStats", Area::Tasks, "-"),
    ("whiteboard_list", Area::Boards, ""),
    ("whiteboard_read", Area::Boards, "*"),
    ("whiteboard_write", Area::Boards, "+*"),
    ("whiteboard_append", Area::Boards, "+*"),
    ("whiteboard_section", Area::Boards, "+*"),
    ("whiteboard_lock", Area::Boards, "+"),
    ("whiteboard_unlock", Area::Boards, "+="),
    ("whiteboard_history", Area::Boards, ""),
    ("whiteboard_show", Area::Boards, ""),
    ("whiteboard_diff", Area::Boards, ""),
    ("whiteboard_restore", Area::Boards, "+"),
    ("whiteboard_decisions", Area::Boards, ""),
    ("whiteboard_decide", Area::Boards, "+"),
    ("whiteboard_milestones", Area::Boards, ""),
    ("whiteboard_milestone", Area::Boards, "+"),
    ("blackboard_read", Area::Blackboard, "*"),
    ("blackboard_write", Area::Blackboard, "+*"),
    ("read_file", Area::Files, "~*"),
    ("write_file", Area::Files, "!=~*"),
    ("edit_file", Area::Files, "!~*"),
    ("delete_file", Area::Files, "!=~"),
    ("move_file", Area::Files, "!~"),
    ("make_dir", Area::Files, "+=~-"),
    ("list_files", Area::Files, "~*"),
    ("search_files", Area::Files, "~*"),
    ("get_workspace_info", Area::Files, "~*"),
    ("run_command", Area::Commands, "!~*"),
    ("list_commands", Area::Commands, "-"),
    ("show_command", Area::Commands, "-"),
    ("send_message", Area::Messages, "+*"),
    ("check_messages", Area::Messages, "+*"),
    ("put_artifact", Area::Artifacts, "+=*"),
    ("get_artifact", Area::Artifacts, "*"),
    ("list_agents", Area::Agents, ""),
    ("show_agent", Area::Agents, "-"),
    ("add_agent", Area::Agents, "+-"),
    ("retire_agent", Area::Agents, "!-"),
    ("create_role", Area::Society, "+="),
    ("find_role_by_name", Area::Society, ""),
    ("spawn_agent", Area::Society, "+"),
    ("terminate_agent", Area::Society, "!"),
    ("get_org", Area::Society, ""),
    ("start_run", Area::Society, "+-"),
    ("list_runs", Area::Society, "-"),
    ("show_run", Area::Society, "-"),
    ("stop_run", Area::Society, "!=-"),
    ("tell_run", Area::Society, "+-"),
    ("pause_society", Area::Society, "+=-"),
    ("resume_society", Area::Society, "+=-"),
    ("set_budget", Area::Society, "!=-"),
    ("list_members", Area::Society, "-"),
    ("list_roles", Area::Society, "-"),
    ("read_conversation", Area::Society, "-"),
    ("list_approvals", Area::Society, "-"),
    ("decide_approval", Area::Society, "+=-"),
    ("read_log", Area::Events, ""),
    ("get_overview", Area::Server, "-"),
    ("add_webhook", Area::Server, "+@-"),
    ("list_webhooks", Area::Server, "-"),
    ("remove_webhook", Area::Server, "!=-"),
];

#[test]
fn every_row_is_as_it_should_be() {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let wanted: Vec<&str> = ROWS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, wanted);
    for (tool, (name, area, marks)) in TOOLS.iter().zip(ROWS) {
        let marked = |mark| marks.contains(mark);
        let effect = match (marked('!'), marked('+')) {
            (true, _) => Effect::Change,
            (_, true) => Effect::Add,
            _ => Effect::Look,
        };
        let access = match effect {
            Effect::Look => Access::Read,
            _ => Access::Write,
        };
        assert_eq!((tool.area, tool.effect), (*area, effect), "{name}");
        assert_eq!(tool.access(), access, "{name}");
        assert_eq!(tool.idempotent, marked('='), "{name}");
        assert_eq!(tool.outside, marked('~'), "{name}");
        assert_eq!(tool.open_world, marked('@'), "{name}");
        assert_eq!(tool.usual, marked('*'), "{name}");
        assert_eq!(tool.listed, !marked('-'), "{name}");
        assert!(tool.listed || !tool.usual, "{name}");
        assert!(std::ptr::eq(Tool::find(name).unwrap(), tool), "{name}");
    }
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
}

#[test]
fn a_definition_is_what_mcp_calls_a_tool() {
    for tool in TOOLS {
        let mut told = tool.definition(Installation::default());
        let hints = json!({
            "readOnlyHint": tool.effect == Effect::Look,
            "destructiveHint": tool.effect == Effect::Change,
            "idempotentHint": tool.effect == Effect::Look || tool.idempotent,
            "openWorldHint": tool.open_world,
        });
        assert_eq!(told["annotations"], hints, "{}", tool.name);
        let open = tool.open_world || tool.name == "run_command";
        let with_network = tool.definition(Installation {
            network: true,
            roles: None,
        });
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
            tool.small_input(Installation::default()),
            value((tool.input)()),
        );
        let parameters = whole["properties"].as_object();
        for name in parameters.into_iter().flatten().map(|(name, _)| name) {
            let about = small["properties"][name]["description"].as_str();
            let about = about.unwrap_or_else(|| panic!("{} {name}", tool.name));
            assert!(
                about.len() > 3 && about.ends_with('.'),
                "{} {name}: {about}",
                tool.name
            );
            // Kept short, because they are part of every request to a model.
            assert!(about.len() <= 160, "{} {name}: {about}", tool.name);
        }
    }
}

#[test]
fn roles_and_types_of_a_new_task_are_listed() {
    let roles = RoleSet::with(["qa".to_owned()]);
    let installation = Installation {
        network: false,
        roles: Some(&roles),
    };
    let input = Tool::find("TaskCreate").unwrap().small_input(installation);
    let role = &input["properties"]["requiredRole"]["enum"];
    assert_eq!(*role, roles.iter().collect::<serde_json::Value>());
    assert!(role.as_array().unwrap().contains(&json!("qa")));
    let types = &input["properties"]["taskType"]["enum"];
    let all = TaskType::ALL.iter().map(|kind| kind.as_str());
    assert_eq!(*types, all.collect::<serde_json::Value>());
}

#[test]
fn nothing_is_told_of_the_machine_nor_taken_from_it() {
    for tool in TOOLS {
        let input = value((tool.input)());
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
fn groups_choose_tools() {
    let names = |groups: &[&str]| -> Vec<&str> {
        let tools = tool::select(groups).unwrap();
        tools.iter().map(|tool| tool.name).collect()
    };
    assert_eq!(
        tool::groups(),
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
    for group in tool::groups() {
        let chosen = names(&[group]);
        assert!(!chosen.is_empty(), "{group}");
        every.extend(chosen);
    }
    let all = names(&["all"]);
    assert_eq!(every, all.iter().copied().collect());
    let listed = TOOLS.iter().filter(|tool| tool.listed);
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
        let refusal = tool::select(&["usual", bad]).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput, "{bad}");
        assert!(refusal.hint.contains("boards"), "{bad}");
    }
}
