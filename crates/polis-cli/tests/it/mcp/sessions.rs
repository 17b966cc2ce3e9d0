//! Tests of several sessions of one client: each acts as an agent of its own, and a task has one holder.

use serde_json::{Value, json};

use super::client::{ALL, Client, Era, LATER};
use crate::board::{Board, on_both_stores};
use crate::boards_team::add;

on_both_stores!(
    second_live_session_of_a_name_acts_under_the_next_one,
    simultaneous_sessions_get_distinct_names_and_tasks,
    killed_session_gives_its_name_and_tasks_back,
    unregistered_name_is_numbered_too,
    name_of_a_registered_agent_is_not_taken_for_a_second_session,
);

fn with_tasks(board: &Board) {
    add(board, "claude", "backend-leader", "mid", "");
    for _ in 0..3 {
        board.create(&[]);
    }
}

/// Returns the name a session acts under.
fn name_of(client: &mut Client) -> String {
    let claimed = client.call("TaskCreate", json!({"subject": "whose"}));
    let id = claimed["id"].as_str().unwrap().to_owned();
    let claimed = client.call("TaskClaim", json!({"taskId": id}));
    client.call("TaskUpdate", json!({"taskId": id, "status": "completed"}));
    claimed["owner"].as_str().unwrap().to_owned()
}

fn second_live_session_of_a_name_acts_under_the_next_one(board: &Board) {
    with_tasks(board);
    for era in ALL {
        let mut first = Client::begin(board, "claude", era);
        assert_eq!(name_of(&mut first), "claude");
        let mut second = Client::begin(board, "claude", era);
        assert_eq!(name_of(&mut second), "claude-2");
        let mut third = Client::begin(board, "claude", era);
        assert_eq!(name_of(&mut third), "claude-3");
        let task = json!({"taskId": board.create(&[])});
        first.call("TaskClaim", task.clone());
        // A retry in the same session is harmless.
        first.call("TaskClaim", task.clone());
        second.refused("TaskClaim", task, "already_claimed");
        for client in [first, second] {
            assert_eq!(client.finish().exit, Some(0));
        }
        let noted = third.finish().stderr;
        assert!(noted.contains("acts as claude-3"), "{noted}");
    }
    // Registered once, with the properties of the agent they are sessions of.
    let agents = board.ok("user", &["agent", "list"]);
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

fn simultaneous_sessions_get_distinct_names_and_tasks(board: &Board) {
    const SESSIONS: usize = 6;
    add(board, "claude", "backend-leader", "mid", "");
    for _ in 0..SESSIONS {
        board.create(&[]);
    }
    // The clients start concurrently: a stateless client sends nothing at the start.
    let clients: Vec<Client> = (0..SESSIONS)
        .map(|_| Client::begin(board, "claude", Era::Stateless))
        .collect();
    let claimed: Vec<Value> = std::thread::scope(|scope| {
        let claim = |mut client: Client| {
            let claimed = client.call("TaskClaim", json!({}));
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

fn killed_session_gives_its_name_and_tasks_back(board: &Board) {
    with_tasks(board);
    let mut first = Client::begin(board, "claude", LATER);
    first.call("TaskClaim", json!({"taskId": "1"}));
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    // No lease has to expire: the process is known to be dead.
    let mut again = Client::begin(board, "claude", LATER);
    let claimed = again.call("TaskClaim", json!({"taskId": "1"}));
    assert_eq!(claimed["owner"], "claude");
    // A session that ends normally frees its name too.
    again.finish();
    let mut after = Client::begin(board, "claude", LATER);
    assert_eq!(name_of(&mut after), "claude");
}

fn unregistered_name_is_numbered_too(board: &Board) {
    // A name that the team gave to another agent is not used.
    add(board, "backend-leader-2", "test-leader", "mid", "");
    let mut first = Client::begin(board, "backend-leader", LATER);
    assert_eq!(name_of(&mut first), "backend-leader");
    let mut second = Client::begin(board, "backend-leader", LATER);
    assert_eq!(name_of(&mut second), "backend-leader-3");
}

fn name_of_a_registered_agent_is_not_taken_for_a_second_session(board: &Board) {
    with_tasks(board);
    add(board, "claude-2", "backend-leader", "mid", "");
    let mut first = Client::begin(board, "claude", LATER);
    assert_eq!(name_of(&mut first), "claude");
    let mut second = Client::begin(board, "claude", LATER);
    assert_eq!(name_of(&mut second), "claude-3");
    // The agent with that name keeps it, even after it was served once.
    let mut other = Client::begin(board, "claude-2", LATER);
    assert_eq!(name_of(&mut other), "claude-2");
    assert_eq!(other.finish().exit, Some(0));
    let mut third = Client::begin(board, "claude", LATER);
    assert_eq!(name_of(&mut third), "claude-4");
}
