//! Tests of concurrent MCP sessions of one client: each acts as its own agent, and a task has one owner.

use serde_json::{Value, json};

use super::test_mcp_client::{ALL_PROTOCOL_MODES, ProtocolMode, SESSION_2025_11, TestMcpClient};
use crate::board::board_helpers::register_agent;
use crate::harness::test_project::{TestProject, on_both_stores};

on_both_stores!(
    second_session_of_an_agent_gets_a_numbered_name,
    simultaneous_sessions_get_distinct_names_and_tasks,
    killed_session_frees_its_name_and_tasks,
    second_session_of_an_unregistered_name_is_numbered,
    registered_agent_name_is_not_given_to_a_second_session,
);

fn create_agent_with_tasks(project: &TestProject) {
    register_agent(project, "claude", "backend-leader", "mid", "");
    for _ in 0..3 {
        project.create_task(&[]);
    }
}

/// Returns the name a session acts under.
fn session_agent_name(client: &mut TestMcpClient) -> String {
    let claimed = client.call_tool("TaskCreate", json!({"subject": "whose"}));
    let id = claimed["id"].as_str().unwrap().to_owned();
    let claimed = client.call_tool("TaskClaim", json!({"taskId": id}));
    client.call_tool("TaskUpdate", json!({"taskId": id, "status": "completed"}));
    claimed["owner"].as_str().unwrap().to_owned()
}

fn second_session_of_an_agent_gets_a_numbered_name(project: &TestProject) {
    create_agent_with_tasks(project);
    for era in ALL_PROTOCOL_MODES {
        let mut first = TestMcpClient::connect(project, "claude", era);
        assert_eq!(session_agent_name(&mut first), "claude");
        let mut second = TestMcpClient::connect(project, "claude", era);
        assert_eq!(session_agent_name(&mut second), "claude-2");
        let mut third = TestMcpClient::connect(project, "claude", era);
        assert_eq!(session_agent_name(&mut third), "claude-3");
        let task = json!({"taskId": project.create_task(&[])});
        first.call_tool("TaskClaim", task.clone());
        // A retry in the same session is harmless.
        first.call_tool("TaskClaim", task.clone());
        second.call_refused_tool("TaskClaim", task, "already_claimed");
        for client in [first, second] {
            assert_eq!(client.close_and_wait().exit_code, Some(0));
        }
        let noted = third.close_and_wait().stderr;
        assert!(noted.contains("acts as claude-3"), "{noted}");
    }
    // Registered once, with the properties of the agent they are sessions of.
    let agents = project.run_ok("user", &["agent", "list"]);
    let of = |id: &str| -> Value {
        let all = agents["agents"].as_array().unwrap();
        let found: Vec<&Value> = all.iter().filter(|agent| agent["id"] == id).collect();
        assert_eq!(found.len(), 1, "{id}: {agents}");
        found[0].clone()
    };
    for id in ["claude", "claude-2", "claude-3"] {
        assert_eq!(of(id)["role"], "backend-leader");
        assert_eq!(of(id)["layer"], "mid");
    }
}

fn simultaneous_sessions_get_distinct_names_and_tasks(project: &TestProject) {
    const SESSIONS: usize = 6;
    register_agent(project, "claude", "backend-leader", "mid", "");
    for _ in 0..SESSIONS {
        project.create_task(&[]);
    }
    // The clients start concurrently: a stateless client sends nothing at the start.
    let clients: Vec<TestMcpClient> = (0..SESSIONS)
        .map(|_| TestMcpClient::connect(project, "claude", ProtocolMode::Stateless))
        .collect();
    let claimed: Vec<Value> = std::thread::scope(|scope| {
        let claim = |mut client: TestMcpClient| {
            let claimed = client.call_tool("TaskClaim", json!({}));
            (client, claimed)
        };
        let claiming: Vec<_> = (clients.into_iter())
            .map(|client| scope.spawn(move || claim(client)))
            .collect();
        let done: Vec<_> = (claiming.into_iter())
            .map(|one| one.join().unwrap())
            .collect();
        done.into_iter().map(|(_, claimed)| claimed).collect()
    });
    for field in ["owner", "id"] {
        let mut found: Vec<&str> = (claimed.iter())
            .map(|task| task[field].as_str().unwrap())
            .collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), SESSIONS, "{field}: {claimed:?}");
    }
}

fn killed_session_frees_its_name_and_tasks(project: &TestProject) {
    create_agent_with_tasks(project);
    let mut first = TestMcpClient::connect(project, "claude", SESSION_2025_11);
    first.call_tool("TaskClaim", json!({"taskId": "1"}));
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    // No lease has to expire: the process is known to be dead.
    let mut again = TestMcpClient::connect(project, "claude", SESSION_2025_11);
    let claimed = again.call_tool("TaskClaim", json!({"taskId": "1"}));
    assert_eq!(claimed["owner"], "claude");
    // A session that ends normally frees its name too.
    again.close_and_wait();
    let mut after = TestMcpClient::connect(project, "claude", SESSION_2025_11);
    assert_eq!(session_agent_name(&mut after), "claude");
}

fn second_session_of_an_unregistered_name_is_numbered(project: &TestProject) {
    // A name that the team gave to another agent is not used.
    register_agent(project, "backend-leader-2", "test-leader", "mid", "");
    let mut first = TestMcpClient::connect(project, "backend-leader", SESSION_2025_11);
    assert_eq!(session_agent_name(&mut first), "backend-leader");
    let mut second = TestMcpClient::connect(project, "backend-leader", SESSION_2025_11);
    assert_eq!(session_agent_name(&mut second), "backend-leader-3");
}

fn registered_agent_name_is_not_given_to_a_second_session(project: &TestProject) {
    create_agent_with_tasks(project);
    register_agent(project, "claude-2", "backend-leader", "mid", "");
    let mut first = TestMcpClient::connect(project, "claude", SESSION_2025_11);
    assert_eq!(session_agent_name(&mut first), "claude");
    let mut second = TestMcpClient::connect(project, "claude", SESSION_2025_11);
    assert_eq!(session_agent_name(&mut second), "claude-3");
    // The agent with that name keeps it, even after it was served once.
    let mut other = TestMcpClient::connect(project, "claude-2", SESSION_2025_11);
    assert_eq!(session_agent_name(&mut other), "claude-2");
    assert_eq!(other.close_and_wait().exit_code, Some(0));
    let mut third = TestMcpClient::connect(project, "claude", SESSION_2025_11);
    assert_eq!(session_agent_name(&mut third), "claude-4");
}
