//! Tests of the agent registry: `polis agent add`, `list`, `show`, `tree` and `retire`, on both stores.

use serde_json::{Value, json};

use crate::harness::test_project::{TestProject, on_both_stores};

fn add_agent(project: &TestProject, args: &[&str]) -> Value {
    project.run_ok("user", &[&["agent", "add"], args].concat())
}

fn agent_add_sets_role_layer_and_supervisor(project: &TestProject) {
    let lead = add_agent(project, &["lead", "--role", "team-lead"]);
    assert_eq!(
        lead,
        json!({
            "id": "lead", "name": "lead", "role": "team-lead", "layer": "top", "supervisor": null,
            "status": "active", "createdAt": lead["createdAt"],
        })
    );
    let below = add_agent(
        project,
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
    let bottom = add_agent(
        project,
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
    let all = project.run_ok("user", &["agent", "list"]);
    assert_eq!(all["agents"].as_array().unwrap().len(), 3);
    assert_eq!(project.run_ok("user", &["agent", "show", "后端-1"]), below);
    assert_eq!(
        project.run_text("user", &["agent", "tree"]),
        "lead (team-lead, top)\n└─ 后端-1 (backend-leader, mid)\n   └─ w (backend-leader, bottom)\n"
    );
    assert_eq!(project.run_ok("user", &["stats"])["agents"], 3);
    assert_eq!(project.read_log()[0]["kind"], "agent.added");
}

fn agent_add_with_invalid_arguments_is_refused(project: &TestProject) {
    add_agent(project, &["mid", "--role", "architect"]);
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
        project.run_refused("user", &[&["agent", "add"], args].concat(), exit, code);
    }
    let long = "x".repeat(201);
    project.run_refused(
        "user",
        &["agent", "add", &long, "--role", "architect"],
        2,
        "invalid_agent_id",
    );
    assert_eq!(
        project.run_ok("user", &["agent", "list"])["agents"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

fn supervisor_with_active_subordinates_cannot_be_retired(project: &TestProject) {
    add_agent(project, &["lead", "--role", "team-lead"]);
    add_agent(
        project,
        &["ada", "--role", "architect", "--supervisor", "lead"],
    );
    let refused = project.run_refused("user", &["agent", "retire", "lead"], 5, "agent_in_use");
    assert!(refused.message.contains("ada"), "{refused:?}");
    project.run_ok("user", &["agent", "retire", "ada"]);
    project.run_ok("user", &["agent", "retire", "lead"]);
    assert_eq!(project.run_ok("user", &["stats"])["agents"], 0);
    project.run_refused("user", &["agent", "retire", "user"], 4, "agent_not_found");
}

fn configured_roles_are_accepted(project: &TestProject) {
    std::fs::write(
        project.data_path("polis.toml"),
        "roles = [\"数据-lead\", \"writer\"]\n",
    )
    .unwrap();
    add_agent(project, &["w", "--role", "writer"]);
    project.create_task(&["--required-role", "writer"]);
    assert_eq!(project.run_ok("w", &["task", "claim"])["owner"], "w");
    project.create_task(&["--required-role", "数据-lead"]);
    project.run_ok("数据-lead-7", &["task", "claim", "2"]);
}

on_both_stores!(
    agent_add_sets_role_layer_and_supervisor,
    agent_add_with_invalid_arguments_is_refused,
    supervisor_with_active_subordinates_cannot_be_retired,
    configured_roles_are_accepted,
);
