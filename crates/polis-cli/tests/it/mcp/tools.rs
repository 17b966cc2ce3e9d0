//! Tests of MCP tools: which are listed, calls, and refusals.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::{ALL, Client, LATER, refusal_text};
use crate::board::{Board, on_both_stores};
use crate::boards_team::{add, configure};

fn with_ana(board: &Board) {
    add(board, "ana", "team-lead", "top", "");
}

fn names(client: &mut Client) -> Vec<String> {
    let answer = client.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap().clone();
    for tool in &tools {
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
    }
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

fn work_is_done_through_tools_in_every_era(board: &Board) {
    with_ana(board);
    for era in ALL {
        let mut client = Client::begin(board, "ana", era);
        let created = client.call(
            "TaskCreate",
            json!({"subject": "write it", "description": "all"}),
        );
        let id = created["id"].as_str().unwrap();
        let claimed = client.call("TaskClaim", json!({"taskId": id}));
        assert_eq!(
            (&claimed["owner"], &claimed["status"]),
            (&json!("ana"), &json!("in_progress"))
        );
        let done = client.call("TaskUpdate", json!({"taskId": id, "status": "completed"}));
        assert_eq!(done["status"], "completed");
        // The same document as on the command line.
        assert_eq!(board.get(id), client.call("TaskGet", json!({"taskId": id})));
        let written = client.call(
            "whiteboard_append",
            json!({"board": "global", "content": "done"}),
        );
        assert_eq!(written["version"], board.version("global"));
        assert!(client.finish().stderr.is_empty());
    }
}

fn refusals_are_answers_a_model_can_act_on(board: &Board) {
    with_ana(board);
    board.put("global", "one\n");
    for era in ALL {
        let mut client = Client::begin(board, "ana", era);
        client.refused("TaskGet", json!({"taskId": "99"}), "task_not_found");
        client.refused("TaskGet", json!({"taskId": "x"}), "invalid_task_id");
        client.refused("TaskGet", json!({}), "invalid_input");
        client.refused("TaskGet", json!("no object"), "invalid_input");
        let old = json!({"board": "global", "content": "x", "expectedVersion": 0});
        let conflict = client.refused("whiteboard_write", old, "version_conflict");
        // The text contains everything of the command line's error document.
        for part in [
            "currentVersion: 1",
            "lastModifiedBy: user",
            "lastModifiedAt: 2",
            "diff:\n",
            "\n+one",
        ] {
            assert!(conflict.contains(part), "{part}: {conflict}");
        }
        client.refused(
            "read_file",
            json!({"path": "../../etc/passwd"}),
            "path_traversal_blocked",
        );
        client.refused(
            "run_command",
            json!({"command": "sudo true"}),
            "command_blocked",
        );
        // Unknown tools are a protocol error.
        let error = client.wrong("tools/call", json!({"name": "Nope"}), -32602);
        assert_eq!(error["data"]["error"]["code"], "tool_not_found");
    }
}

/// Hints name tools and parameters, because a model has no command line.
fn next_steps_are_in_the_words_of_tools(board: &Board) {
    with_ana(board);
    add(board, "dev", "backend-leader", "bottom", "");
    board.put("global", "one\n");
    let held = board.create(&["--required-role", "team-lead"]);
    for era in ALL {
        let mut client = Client::begin(board, "dev", era);
        let stale = json!({"board": "bottom/dev", "content": "x", "expectedVersion": 7});
        for (tool, arguments, code, words) in [
            (
                "TaskGet",
                json!({"taskId": "99"}),
                "task_not_found",
                "see the tasks there are with `TaskList`",
            ),
            (
                "TaskClaim",
                json!({"taskId": held}),
                "role_mismatch",
                "with `TaskList` and roleFilter=backend-leader; the team lead may pass forceAssign=true",
            ),
            (
                "TaskClaim",
                json!({}),
                "nothing_to_claim",
                "see what there is with `TaskList`, and what each task waits for with `TaskGet`",
            ),
            (
                "whiteboard_write",
                stale,
                "version_conflict",
                "with `whiteboard_read`, apply your change to it and write with its version as \
                 expectedVersion; or pass merge=true",
            ),
            (
                "whiteboard_write",
                json!({"board": "top", "content": "x"}),
                "permission_denied",
                "ask an agent that may, or the person",
            ),
            (
                "TaskList",
                json!({"cursor": "x"}),
                "invalid_task_id",
                "correct the arguments",
            ),
        ] {
            let text = client.refused(tool, arguments, code);
            assert!(text.contains(words), "{text}");
            assert!(!text.contains("`polis ") && !text.contains(" --"), "{text}");
        }
        // A protocol error carries the same hint as data.
        let nowhere = json!({"uri": "polis://task/99"});
        let answer = client.request("resources/read", nowhere);
        let hint = &answer["error"]["data"]["error"]["hint"];
        assert_eq!(*hint, "see the tasks there are with `TaskList`", "{answer}");
    }
}

/// Some clients add arguments of their own to every call.
fn unknown_arguments_are_ignored_and_named(board: &Board) {
    with_ana(board);
    for era in ALL {
        let mut client = Client::begin(board, "ana", era);
        let arguments = json!({"ready": true, "wait_for_previous": true});
        let result = client.result("TaskList", arguments);
        assert_ne!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.ends_with("\n[ignored unknown arguments: wait_for_previous]"),
            "{text}"
        );
        let named = &result["structuredContent"]["ignored"];
        assert_eq!(*named, json!(["wait_for_previous"]), "{result}");
        // A refusal names ignored arguments too: one of them may be a mistyped parameter.
        let arguments = json!({"taskId": "99", "number": 99});
        let text = client.refused("TaskGet", arguments, "task_not_found");
        assert!(
            text.ends_with("[ignored unknown arguments: number]"),
            "{text}"
        );
        // An argument similar to a parameter is refused: ignoring it would change what the call does.
        let stale = json!({"board": "global", "content": "x", "version": 0});
        let text = client.refused("whiteboard_write", stale, "invalid_input");
        assert!(text.contains("did you mean \"expectedVersion\"?"), "{text}");
        assert_eq!(board.version("global"), 0);
    }
}

/// The acting agent is the one the server was started for, whatever a request claims.
fn a_forged_agent_is_nobody(board: &Board) {
    with_ana(board);
    add(board, "dev", "backend-leader", "bottom", "");
    let mut client = Client::begin(board, "dev", LATER);
    for forged in ["agent", "by", "as", "caller", "from", "actor", "identity"] {
        let mut arguments = json!({"board": "global", "content": "mine now"});
        arguments[forged] = json!("ana");
        client.refused("whiteboard_write", arguments, "permission_denied");
    }
    let meta = json!({"agent": "ana", "polis/agent": "user", "io.modelcontextprotocol/clientInfo": {"name": "ana", "version": "1"}});
    let params = json!({
        "name": "whiteboard_write", "agent": "user", "_meta": meta,
        "arguments": {"board": "global", "content": "mine now"},
    });
    let answer = client.request("tools/call", params);
    refusal_text(&answer["result"], "permission_denied");
    client.call("TaskCreate", json!({"subject": "mine", "description": ""}));
    let log = board.log();
    let actors: BTreeSet<&str> = log
        .iter()
        .filter(|event| event["kind"].as_str().unwrap().starts_with("task."))
        .map(|event| event["actor"].as_str().unwrap())
        .collect();
    assert_eq!(actors, BTreeSet::from(["dev"]));
    assert_eq!(board.version("global"), 0);
}

on_both_stores!(
    work_is_done_through_tools_in_every_era,
    refusals_are_answers_a_model_can_act_on,
    next_steps_are_in_the_words_of_tools,
    unknown_arguments_are_ignored_and_named,
    a_forged_agent_is_nobody,
);

#[test]
fn a_choice_of_tools_is_what_is_listed_and_what_can_be_called() {
    let board = Board::embedded();
    with_ana(&board);
    let mut usual = Client::begin(&board, "ana", LATER);
    let shown = names(&mut usual);
    assert_eq!(shown, names(&mut usual), "always in the same order");
    assert!(shown.contains(&"TaskClaim".to_owned()));
    assert!(!shown.contains(&"TaskStats".to_owned()));
    usual.call("TaskStats", json!({}));
    let mut few = Client::begin_with(&board, "ana", LATER, &["--tools", "blackboard,messages"]);
    let shown = names(&mut few);
    assert!(shown.contains(&"blackboard_read".to_owned()), "{shown:?}");
    assert!(!shown.contains(&"TaskClaim".to_owned()), "{shown:?}");
    let hidden = json!({"name": "TaskList", "arguments": {}});
    let error = few.wrong("tools/call", hidden, -32602);
    assert_eq!(error["data"]["error"]["code"], "tool_not_found");
    let mut all = Client::begin_with(&board, "ana", LATER, &["--tools", "all"]);
    let shown = names(&mut all);
    for tool in [
        "TaskApprove",
        "whiteboard_decide",
        "delete_file",
        "list_agents",
        "read_log",
        "spawn_agent",
        "create_role",
        "find_role_by_name",
        "terminate_agent",
        "get_org",
    ] {
        assert!(shown.contains(&tool.to_owned()), "{tool}: {shown:?}");
    }
    let found = all.call("find_role_by_name", json!({"name": "nobody"}));
    assert!(found["role"].is_null(), "{found}");
}

#[test]
fn long_answers_are_cut_and_say_how_to_go_on() {
    let board = Board::embedded();
    with_ana(&board);
    let text = "0123456789abcdef\n".repeat(10_000);
    board.put("global", &text);
    let mut client = Client::begin(&board, "ana", LATER);
    let mut read = String::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let page = client.call(
            "whiteboard_read",
            json!({"board": "global", "offset": offset}),
        );
        assert!(page.to_string().len() < 60_000);
        read.push_str(page["content"].as_str().unwrap());
        offset = page.get("nextOffset").cloned().unwrap_or(Value::Null);
    }
    assert_eq!(read, text);
}

#[test]
fn commands_are_of_the_open_world_where_they_have_the_network() {
    for (configuration, open) in [
        ("", false),
        ("[sandbox]\nnetwork = \"loopback\"\n", false),
        ("[sandbox]\nnetwork = \"on\"\n", true),
        ("[sandbox.roles.team-lead]\nnetwork = \"on\"\n", true),
    ] {
        let board = Board::embedded();
        with_ana(&board);
        configure(&board, configuration);
        let mut client = Client::begin(&board, "ana", LATER);
        let answer = client.request("tools/list", json!({}));
        for tool in answer["result"]["tools"].as_array().unwrap() {
            let hint = &tool["annotations"]["openWorldHint"];
            let open = open && tool["name"] == "run_command";
            assert_eq!(*hint, open, "{configuration}: {tool}");
        }
    }
}
