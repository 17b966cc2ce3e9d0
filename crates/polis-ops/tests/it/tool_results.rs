//! Tests that each tool works, and that its result matches its output schema.

use std::collections::BTreeSet;

use polis_i18n::UiLanguage;
use polis_ops::tool::{TOOLS, Tool};
use polis_testkit::run_test;
use serde_json::{Value, json};

use crate::test_installation::{TestInstallation, schema_value};
use polis_testkit::json_schema_validator::find_violation;

/// A call: the caller, the tool, its parameters, and the expected beginning of the result's text.
pub(crate) type ToolCallCase = (&'static str, &'static str, Value, &'static str);

/// All calls, in order.
pub(crate) fn all_calls() -> Vec<ToolCallCase> {
    [
        task_calls(),
        board_calls(),
        file_calls(),
        other_calls(),
        society_calls(),
        steering_calls(),
    ]
    .concat()
}

/// Calls of the task tools.
fn task_calls() -> Vec<ToolCallCase> {
    vec![
        (
            "lead",
            "TaskCreate",
            json!({ "subject": "one", "taskType": "bug_fix" }),
            "Task 1 created, version 1: one",
        ),
        (
            "lead",
            "TaskCreate",
            json!({ "subject": "two", "description": "long", "addBlockedBy": ["1"], "metadata": { "priority": "high", "n": 1e300 } }),
            "Task 2 created, version 1: two",
        ),
        (
            "dev",
            "TaskList",
            json!({ "ready": true }),
            "1 pending, version 2, type bug_fix: one",
        ),
        (
            "dev",
            "TaskList",
            json!({}),
            "1 pending, version 2, type bug_fix: one\n2 pending, version 1, priority high: two (waits for 1)",
        ),
        (
            "dev",
            "TaskRecommend",
            json!({}),
            "1 pending, version 2, type bug_fix: one (",
        ),
        (
            "dev",
            "TaskClaim",
            json!({ "leaseMs": 60_000 }),
            "Task 1 claimed by dev, version 3: one",
        ),
        (
            "dev",
            "TaskHeartbeat",
            json!({ "taskId": "1" }),
            "Task 1 is yours until 2",
        ),
        (
            "dev",
            "TaskComment",
            json!({ "taskId": "1", "body": "hm @lead" }),
            "Comment 1 added to task 1.",
        ),
        ("dev", "TaskComments", json!({ "taskId": "1" }), "[1] dev 2"),
        (
            "dev",
            "TaskRelease",
            json!({ "taskId": "1" }),
            "Task 1 released, version 4: one",
        ),
        (
            "dev",
            "TaskClaim",
            json!({ "taskId": "1" }),
            "Task 1 claimed by dev, version 5: one",
        ),
        (
            "lead",
            "TaskApprove",
            json!({ "taskId": "1", "note": "fine" }),
            "Task 1 approved, version 6: one",
        ),
        (
            "dev",
            "TaskUpdate",
            json!({ "taskId": "1", "status": "completed", "expectedVersion": 6 }),
            "Task 1 completed, version 7: one\nReady now: 2",
        ),
        (
            "dev",
            "TaskGet",
            json!({ "taskId": "2" }),
            "Task 2 pending, version ",
        ),
        ("dev", "TaskHistory", json!({ "taskId": "1" }), "2"),
        (
            "dev",
            "TaskStats",
            json!({ "by": "day" }),
            "2 created, 1 completed",
        ),
    ]
}

/// Calls of the board tools.
fn board_calls() -> Vec<ToolCallCase> {
    let global = || json!({ "board": "global" });
    vec![
        ("lead", "whiteboard_list", json!({}), "global version 0"),
        ("dev", "whiteboard_read", global(), "global version 0\n\n# "),
        (
            "lead",
            "whiteboard_write",
            json!({ "board": "global", "content": "# A\n\none\n" }),
            "global is at version 1.",
        ),
        (
            "lead",
            "whiteboard_append",
            json!({ "board": "global", "content": "done" }),
            "global is at version 2.",
        ),
        (
            "lead",
            "whiteboard_section",
            json!({ "board": "global", "title": "A", "act": "set", "content": "two" }),
            "global is at version 3.",
        ),
        (
            "dev",
            "whiteboard_read",
            json!({ "board": "global", "section": "A" }),
            "global version 3, section version ",
        ),
        (
            "dev",
            "whiteboard_read",
            json!({ "board": "global", "ifNewerThan": 3 }),
            "global is still at version 3.",
        ),
        ("dev", "whiteboard_history", global(), "3 2"),
        (
            "dev",
            "whiteboard_show",
            json!({ "board": "global", "version": 1 }),
            "# A\n\none\n",
        ),
        (
            "dev",
            "whiteboard_diff",
            json!({ "board": "global", "from": 1 }),
            "--- global (version 1)",
        ),
        (
            "lead",
            "whiteboard_restore",
            json!({ "board": "global", "version": 1 }),
            "global is at version 4.",
        ),
        (
            "lead",
            "whiteboard_decide",
            json!({ "board": "global", "act": "propose", "content": "Rust" }),
            "#1 pending: Rust",
        ),
        (
            "cto",
            "whiteboard_decide",
            json!({ "board": "global", "act": "sign", "id": "1" }),
            "#1 pending, signed by cto: Rust",
        ),
        (
            "dev",
            "whiteboard_decisions",
            global(),
            "#1 pending, signed by cto: Rust",
        ),
        (
            "lead",
            "whiteboard_milestone",
            json!({ "board": "global", "title": "M1", "add": "first" }),
            "Milestone added: M1",
        ),
        ("dev", "whiteboard_milestones", global(), "[ ] M1: first"),
        (
            "lead",
            "whiteboard_lock",
            json!({ "board": "global" }),
            "global is locked by lead until 2",
        ),
    ]
}

/// Calls of the file and command tools.
fn file_calls() -> Vec<ToolCallCase> {
    vec![
        (
            "user",
            "blackboard_write",
            json!({ "path": "tasks/1/status.md", "content": "ok", "mode": "overwrite" }),
            "tasks/1/status.md is at version 1.",
        ),
        (
            "lead",
            "blackboard_read",
            json!({ "path": "tasks/1/status.md" }),
            "ok",
        ),
        (
            "dev",
            "write_file",
            json!({ "path": "src/a.rs", "content": "fn a() {}\n" }),
            "src/a.rs written, 10 bytes.",
        ),
        (
            "dev",
            "edit_file",
            json!({ "path": "src/a.rs", "oldText": "a()", "newText": "b()" }),
            "src/a.rs edited in 1 place, 10 bytes.",
        ),
        (
            "dev",
            "read_file",
            json!({ "path": "src/a.rs" }),
            "fn b() {}\n",
        ),
        (
            "dev",
            "search_files",
            json!({ "pattern": "fn" }),
            "src/a.rs:1: fn b() {}",
        ),
        (
            "dev",
            "list_files",
            json!({ "recursive": true }),
            "src/\nsrc/a.rs 10",
        ),
        ("dev", "make_dir", json!({ "path": "x/y" }), "x/y created."),
        (
            "dev",
            "move_file",
            json!({ "from": "src/a.rs", "to": "x/a.rs" }),
            "src/a.rs is now x/a.rs.",
        ),
        (
            "dev",
            "delete_file",
            json!({ "path": "x/a.rs" }),
            "x/a.rs deleted.",
        ),
        (
            "dev",
            "get_workspace_info",
            json!({}),
            "Workspace of dev: 0 files, 3 directories, 0 bytes.",
        ),
        (
            "dev",
            "run_command",
            json!({ "command": "ls" }),
            "exit code 0\nran ls\n",
        ),
        ("dev", "list_commands", json!({ "running": false }), "dev/"),
    ]
}

/// Calls of the remaining tools.
fn other_calls() -> Vec<ToolCallCase> {
    vec![
        (
            "dev",
            "send_message",
            json!({ "to": ["lead", "user"], "payload": { "a": [1] } }),
            "Sent to lead (message 1), user (message 2).",
        ),
        (
            "lead",
            "check_messages",
            json!({}),
            "[1] from dev: {\"a\":[1]}",
        ),
        ("lead", "check_messages", json!({}), "No new messages."),
        (
            "dev",
            "put_artifact",
            json!({ "type": "spec", "content": "text", "meta": { "v": 1 } }),
            "Stored as artifact:",
        ),
        (
            "lead",
            "list_agents",
            json!({}),
            "cto: architect, top layer",
        ),
        (
            "lead",
            "show_agent",
            json!({ "id": "dev" }),
            "dev: backend-leader, bottom layer",
        ),
        (
            "user",
            "add_agent",
            json!({ "id": "temp", "role": "architect" }),
            "Registered temp: architect",
        ),
        (
            "user",
            "retire_agent",
            json!({ "id": "temp" }),
            "temp is retired.",
        ),
        ("dev", "read_log", json!({ "subject": "task/1" }), ""),
        (
            "dev",
            "get_overview",
            json!({}),
            "Tasks: 1 pending, 0 in progress, 1 completed. Agents: 3.",
        ),
        (
            "user",
            "add_webhook",
            json!({ "url": "https://example.com/x" }),
            "Webhook ",
        ),
        ("user", "list_webhooks", json!({}), ""),
    ]
}

/// Calls of the society tools for members.
fn society_calls() -> Vec<ToolCallCase> {
    let brief = json!({ "objective": "build it", "constraints": "none" });
    vec![
        (
            "user",
            "start_run",
            json!({ "requirement": "a shop", "taskId": "shop", "budget": { "turns": 9 } }),
            "Started run shop.",
        ),
        (
            "user",
            "list_runs",
            json!({}),
            "shop: active, 0 agents: a shop",
        ),
        (
            "user",
            "show_run",
            json!({ "taskId": "shop" }),
            "shop: active",
        ),
        (
            "lead",
            "create_role",
            json!({ "name": "程序员", "rolePrompt": "Write code." }),
            "Role 程序员 is role-",
        ),
        (
            "lead",
            "find_role_by_name",
            json!({ "name": "程序员" }),
            "Role 程序员 is role-",
        ),
        (
            "lead",
            "find_role_by_name",
            json!({ "name": "nobody" }),
            "There is no role",
        ),
        (
            "lead",
            "spawn_agent",
            json!({ "role": "程序员", "taskBrief": brief }),
            "Hired 程序员-1 as 程序员. 程序员-1 waits for its first message",
        ),
        (
            "程序员-1",
            "create_role",
            json!({ "name": "tester", "rolePrompt": "Test." }),
            "Role tester is role-",
        ),
        (
            "程序员-1",
            "spawn_agent",
            json!({ "roleId": "tester", "taskBrief": "test it", "name": "Tess" }),
            "Hired tess as tester.",
        ),
        (
            "tess",
            "get_org",
            json!({}),
            "Run lead, active:\nlead [team-lead] idle\n  程序员-1 [程序员] idle\n    tess [tester] idle",
        ),
    ]
}

/// Calls of the society tools for monitoring and control.
fn steering_calls() -> Vec<ToolCallCase> {
    vec![
        (
            "user",
            "list_members",
            json!({}),
            "lead/lead [team-lead] idle\nlead/tess",
        ),
        ("user", "list_roles", json!({ "taskId": "lead" }), "role-"),
        (
            "程序员-1",
            "read_conversation",
            json!({ "agentId": "tess" }),
            "The conversation is empty",
        ),
        (
            "user",
            "tell_run",
            json!({ "taskId": "shop", "payload": "hurry" }),
            "Sent to root",
        ),
        (
            "程序员-1",
            "pause_society",
            json!({ "agentId": "tess" }),
            "Run lead is active; changed: tess.",
        ),
        (
            "lead",
            "resume_society",
            json!({ "agentId": "程序员-1", "subtree": true }),
            "Run lead is active; changed: tess.",
        ),
        (
            "user",
            "set_budget",
            json!({ "taskId": "shop", "budget": { "tokens": 1000, "micros": 2_500_000 } }),
            "Budget of root: 1000 tokens, 2.50 money, 9 turns.",
        ),
        (
            "user",
            "list_approvals",
            json!({}),
            "shop/root/0.0 pending: root requests run_command",
        ),
        (
            "user",
            "decide_approval",
            json!({ "id": "shop/root/0.0", "allowed": false, "note": "no" }),
            "shop/root/0.0 denied",
        ),
        (
            "lead",
            "terminate_agent",
            json!({ "agentId": "程序员-1", "reason": "done" }),
            "Dismissed 程序员-1, tess; ",
        ),
        (
            "user",
            "stop_run",
            json!({ "taskId": "shop" }),
            "Dismissed root; 2 unread",
        ),
    ]
}

/// Stores a pending approval, as the runtime does.
pub(crate) async fn store_pending_approval(world: &TestInstallation) {
    use polis_core::society::call_approval::{CallApproval, approval_record_name};
    use polis_core::{AgentId, Caller, Changeset, MemberKey, RawJson};
    let key: MemberKey = "shop/root".parse().unwrap();
    let name = approval_record_name(&key, 0, 0);
    let approval = CallApproval {
        id: name.id.clone(),
        run: key.run,
        agent: key.agent,
        tool: "run_command".to_owned(),
        arguments: RawJson::parse(r#"{"command":"ls"}"#).unwrap(),
        asked_at: world.app.now(),
        decision: None,
    };
    let user = Caller::resolve(AgentId::user(), None).unwrap();
    let changes = Changeset::new(&user, world.app.now());
    let changes = changes.with_write(polis_core::society::versioned::new_record_write(
        name, &approval,
    ));
    world.app.store.commit(changes).await.unwrap();
}

#[test]
fn task_list_shows_a_model_version_role_type_and_priority() {
    run_test(async {
        let world = TestInstallation::new().await;
        for task in [
            json!({ "subject": "plain" }),
            json!({
                "subject": "full", "requiredRole": "test-leader", "taskType": "testing",
                "metadata": { "priority": "Critical" },
            }),
            json!({ "subject": "odd", "metadata": { "priority": "odd" } }),
        ] {
            world.call_tool("lead", "TaskCreate", task).await;
        }
        let list = world.call_for_model("lead", "TaskList", json!({})).await;
        assert_eq!(
            list.text,
            "1 pending, version 1: plain\n\
             2 pending, version 1, role test-leader, type testing, priority critical: full\n\
             3 pending, version 1: odd"
        );
    });
}

#[test]
fn every_tool_result_matches_its_output_schema() {
    run_test(async {
        let world = TestInstallation::new().await;
        store_pending_approval(&world).await;
        let mut called = BTreeSet::new();
        let mut check = |tool: &Tool, document: &Value| {
            for schema in [
                schema_value((tool.output_schema)()),
                tool.mcp_definition(Default::default(), UiLanguage::En)["outputSchema"].clone(),
            ] {
                let fault = find_violation(&schema, document);
                assert_eq!(fault, None, "{} {document}", tool.name);
            }
            called.insert(tool.name);
        };
        let (mut lock, mut kept, mut hook) = (Value::Null, Value::Null, Value::Null);
        let mut ran = Value::Null;
        for (by, name, params, told) in all_calls() {
            let tool = Tool::find(name).unwrap();
            world.store.take_agent_lookups();
            let answer = world.call_tool(by, name, params.clone()).await;
            let lookups = world.store.take_agent_lookups();
            let of_caller = lookups.iter().filter(|id| id.as_str() == by).count();
            assert!(
                of_caller <= 1,
                "{name} {params} looked its caller up {of_caller} times"
            );
            assert!(
                answer.text.starts_with(told),
                "{name} {params}: {}",
                answer.text
            );
            check(tool, &answer.document);
            if tool.effect == polis_ops::tool::ToolEffect::ReadOnly {
                let brief = world.call_for_model(by, name, params.clone()).await;
                let mut document = brief.document.clone();
                document.as_object_mut().unwrap().remove("cut");
                assert_eq!(document, answer.document, "{name} {params}");
            }
            match name {
                "whiteboard_lock" => lock = answer.document["token"].clone(),
                "put_artifact" => kept = answer.document["ref"].clone(),
                "list_commands" => ran = answer.document["commands"][0]["id"].clone(),
                "add_webhook" => hook = answer.document["id"].clone(),
                _ => {}
            }
        }
        for (by, name, params, told) in [
            (
                "lead",
                "whiteboard_unlock",
                json!({ "board": "global", "token": lock }),
                "The lock of global is released.",
            ),
            ("lead", "get_artifact", json!({ "ref": kept }), "text"),
            ("dev", "show_command", json!({ "id": ran }), "dev/"),
            ("user", "remove_webhook", json!({ "id": hook }), "Webhook "),
        ] {
            let answer = world.call_tool(by, name, params).await;
            assert!(answer.text.starts_with(told), "{name}: {}", answer.text);
            check(Tool::find(name).unwrap(), &answer.document);
        }
        let all: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(called, all);
    });
}

#[test]
fn result_documents_match_the_contract() {
    run_test(async {
        let world = TestInstallation::new().await;
        let unlocked = {
            let lock = world
                .call_tool("lead", "whiteboard_lock", json!({ "board": "top" }))
                .await;
            let params = json!({ "board": "top", "token": lock.document["token"] });
            world
                .call_tool("lead", "whiteboard_unlock", params)
                .await
                .document
        };
        assert_eq!(unlocked, json!({ "released": true }));
        let params = json!({ "board": "top", "content": "x" });
        let written = world
            .call_tool("lead", "whiteboard_write", params)
            .await
            .document;
        assert_eq!(written, json!({ "board": "top", "version": 1 }));
        let empty = world
            .call_tool("lead", "TaskList", json!({}))
            .await
            .document;
        assert_eq!(empty, json!({ "tasks": [], "next": null }));
        let agents = world
            .call_tool("lead", "list_agents", json!({}))
            .await
            .document;
        assert_eq!(agents["agents"][0]["id"], "cto");
        assert_eq!(agents.as_object().unwrap().len(), 1);
    });
}

#[test]
fn task_with_number_beyond_double_range_can_be_read() {
    use polis_core::task::create::TaskCreateParams;
    run_test(async {
        let world = TestInstallation::new().await;
        let deep = format!("{}{}", "[".repeat(126), "]".repeat(126));
        let fields = [("huge", "1e999"), ("deep", deep.as_str())];
        let fields =
            fields.map(|(name, text)| (name.to_owned(), polis_core::RawJson::parse(text).unwrap()));
        let request = TaskCreateParams {
            subject: "odd".to_owned(),
            metadata: Some(fields.into_iter().collect()),
            ..TaskCreateParams::default()
        };
        let user = polis_core::AgentId::user();
        polis_ops::op::create_task(&world.app.request(&user), &request)
            .await
            .unwrap();
        let read = world
            .call_tool("lead", "TaskGet", json!({ "taskId": "1" }))
            .await;
        assert_eq!(read.document["metadata"]["huge"], "1e999");
        assert!(read.document["metadata"]["deep"].is_array());
        let log = world.call_tool("lead", "read_log", json!({})).await;
        assert!(log.document["events"].as_array().unwrap().len() > 3);
    });
}

#[test]
fn version_without_text_is_reported() {
    run_test(async {
        let world = TestInstallation::new().await;
        let overwrite = json!({ "board": "global", "content": "", "expectedVersion": 0 });
        world.call_tool("lead", "whiteboard_write", overwrite).await;
        let asked = json!({ "board": "global", "version": 1 });
        let shown = world.call_tool("lead", "whiteboard_show", asked).await;
        assert_eq!(shown.text, "Version 1 has no text in this range.");
    });
}
