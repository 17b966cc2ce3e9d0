//! Tests of the agent registry.

use serde_json::{Value, json};

use crate::board::{Board, on_both_stores};

fn add(board: &Board, args: &[&str]) -> Value {
    board.ok("user", &[&["agent", "add"], args].concat())
}

fn agents_have_role_layer_and_supervisor(board: &Board) {
    let lead = add(board, &["lead", "--role", "team-lead"]);
    assert_eq!(
        lead,
        json!({
            "id": "lead", "name": "lead", "role": "team-lead", "layer": "top", "supervisor": null,
            "status": "active", "createdAt": lead["createdAt"],
        })
    );
    let below = add(
        board,
        &[
            "后端-1",
            "--role",
            "backend-leader",
            "--supervisor",
            "lead",
            "--name",
            "小王",
        ],
    );
    assert_eq!(
        (below["layer"].as_str(), below["supervisor"].as_str()),
        (Some("mid"), Some("lead"))
    );
    assert_eq!(below["name"], "小王");
    let bottom = add(
        board,
        &[
            "w",
            "--role",
            "backend-leader",
            "--layer",
            "bottom",
            "--supervisor",
            "后端-1",
        ],
    );
    assert_eq!(bottom["layer"], "bottom");
    let all = board.ok("user", &["agent", "list"]);
    assert_eq!(all["agents"].as_array().unwrap().len(), 3);
    assert_eq!(board.ok("user", &["agent", "show", "后端-1"]), below);
    assert_eq!(
        board.shown("user", &["agent", "tree"]),
        "lead (team-lead, top)\n└─ 后端-1 (backend-leader, mid)\n   └─ w (backend-leader, bottom)\n"
    );
    assert_eq!(board.ok("user", &["stats"])["agents"], 3);
    assert_eq!(board.log()[0]["kind"], "agent.added");
}

fn what_makes_no_sense_is_refused(board: &Board) {
    add(board, &["mid", "--role", "architect"]);
    for (args, exit, code) in [
        (&["mid", "--role", "architect"][..], 5, "agent_exists"),
        (&["user", "--role", "architect"], 5, "agent_exists"),
        (&["root", "--role", "architect"], 5, "agent_exists"),
        (&["x", "--role", "cook"], 2, "invalid_role"),
        (
            &["x", "--role", "architect", "--supervisor", "nobody"],
            2,
            "invalid_supervisor",
        ),
        (
            &[
                "x",
                "--role",
                "team-lead",
                "--layer",
                "top",
                "--supervisor",
                "mid",
            ],
            2,
            "invalid_supervisor",
        ),
        (
            &["x", "--role", "architect", "--layer", "basement"],
            2,
            "invalid_input",
        ),
        (&["a/b", "--role", "architect"], 2, "invalid_agent_id"),
        (&["", "--role", "architect"], 2, "invalid_agent_id"),
        (&["..", "--role", "architect"], 2, "invalid_agent_id"),
        (
            &["x", "--role", "architect", "--name", ""],
            2,
            "invalid_text",
        ),
        (
            &["x", "--role", "architect", "--name", "a\u{1b}[2J"],
            2,
            "invalid_text",
        ),
    ] {
        board.refused("user", &[&["agent", "add"], args].concat(), exit, code);
    }
    let long = "x".repeat(201);
    board.refused(
        "user",
        &["agent", "add", &long, "--role", "architect"],
        2,
        "invalid_agent_id",
    );
    assert_eq!(
        board.ok("user", &["agent", "list"])["agents"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

fn a_supervisor_of_active_agents_stays(board: &Board) {
    add(board, &["lead", "--role", "team-lead"]);
    add(
        board,
        &["ada", "--role", "architect", "--supervisor", "lead"],
    );
    let refused = board.refused("user", &["agent", "retire", "lead"], 5, "agent_in_use");
    assert!(refused.message.contains("ada"), "{refused:?}");
    board.ok("user", &["agent", "retire", "ada"]);
    board.ok("user", &["agent", "retire", "lead"]);
    assert_eq!(board.ok("user", &["stats"])["agents"], 0);
    board.refused("user", &["agent", "retire", "user"], 4, "agent_not_found");
}

fn roles_of_the_configuration_count(board: &Board) {
    std::fs::write(
        board.workspace("polis.toml"),
        "roles = [\"数据-lead\", \"writer\"]\n",
    )
    .unwrap();
    add(board, &["w", "--role", "writer"]);
    board.create(&["--required-role", "writer"]);
    assert_eq!(board.ok("w", &["task", "claim"])["owner"], "w");
    board.create(&["--required-role", "数据-lead"]);
    board.ok("数据-lead-7", &["task", "claim", "2"]);
}

on_both_stores!(
    agents_have_role_layer_and_supervisor,
    what_makes_no_sense_is_refused,
    a_supervisor_of_active_agents_stays,
    roles_of_the_configuration_count,
);
