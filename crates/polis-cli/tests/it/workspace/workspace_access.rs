//! Tests of workspaces: assignment, sharing within a team, and access control.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores};

/// Registers an agent; an empty supervisor means none.
pub(crate) fn register_bottom_agent(project: &TestProject, id: &str, supervisor: &str) {
    let mut args = vec![
        "agent",
        "add",
        id,
        "--role",
        "architect",
        "--layer",
        "bottom",
    ];
    if !supervisor.is_empty() {
        args.extend(["--supervisor", supervisor]);
    }
    project.run_ok("user", &args);
}

/// Registers two teams: ada with bob and cy below her, and eve alone.
pub(crate) fn register_two_teams(project: &TestProject) {
    for (id, supervisor) in [("ada", ""), ("bob", "ada"), ("cy", "bob"), ("eve", "root")] {
        register_bottom_agent(project, id, supervisor);
    }
}

pub(crate) fn write_workspace_file(project: &TestProject, by: &str, path: &str) {
    project.run_ok(by, &["ws", "write", path, "--content", by]);
}

fn event_kinds(project: &TestProject) -> Vec<String> {
    let log = project.read_log();
    let kinds = log.iter().map(|event| event["kind"].as_str().unwrap());
    kinds.map(str::to_owned).collect()
}

pub(crate) fn path_str(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn team_heads_are_assigned_a_workspace_on_registration(project: &TestProject) {
    register_two_teams(project);
    assert_eq!(
        event_kinds(project),
        [
            "agent.added",
            "workspace.assigned",
            "agent.added",
            "agent.added",
            "agent.added",
            "workspace.assigned",
        ]
    );
    let log = project.read_log();
    assert_eq!(log[1]["subject"], "workspace/ada");
    assert_eq!(log[1]["data"], json!({"workspaceId": "ada"}));
    let list = project.run_ok("user", &["ws", "list"]);
    let place = project.data_path("workspaces").canonicalize().unwrap();
    let entry = |n: usize, id: &str| {
        json!({
            "workspaceId": id, "workspacePath": place.join(id), "bound": false, "created": false,
            "createdAt": list["workspaces"][n]["createdAt"],
        })
    };
    assert_eq!(
        list,
        json!({"workspaces": [entry(0, "ada"), entry(1, "eve")]})
    );
    // No directory is created before the first write; reading creates nothing.
    assert_eq!(project.run_ok("cy", &["ws", "ls"]), json!({"files": []}));
    let info = json!({
        "fileCount": 0, "dirCount": 0, "totalSize": 0, "lastModified": null, "workspaceId": "ada",
    });
    assert_eq!(project.run_ok("cy", &["ws", "info"]), info);
    project.run_refused("cy", &["ws", "cat", "x"], 4, "file_not_found");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    write_workspace_file(project, "cy", "a/b.txt");
    assert_eq!(
        std::fs::read_to_string(place.join("ada/a/b.txt")).unwrap(),
        "cy"
    );
    let list = project.run_ok("user", &["ws", "list"]);
    assert_eq!(list["workspaces"][0]["created"], true);
    assert_eq!(list["workspaces"][1]["created"], false);
}

fn root_is_a_supervisor_but_not_an_agent(project: &TestProject) {
    let args = [
        "agent",
        "add",
        "lead",
        "--role",
        "team-lead",
        "--supervisor",
        "root",
    ];
    let lead = project.run_ok("user", &args);
    assert_eq!(
        (&lead["layer"], &lead["supervisor"]),
        (&json!("top"), &json!("root"))
    );
    project.run_ok(
        "user",
        &[
            "agent",
            "add",
            "dev",
            "--role",
            "architect",
            "--supervisor",
            "lead",
        ],
    );
    register_bottom_agent(project, "other", "");
    assert_eq!(
        project.run_text("user", &["agent", "tree"]),
        "lead (team-lead, top)\n└─ dev (architect, mid)\nother (architect, bottom)\n"
    );
    for id in ["root", "user"] {
        project.run_refused("user", &["agent", "show", id], 4, "agent_not_found");
        project.run_refused("user", &["agent", "retire", id], 4, "agent_not_found");
    }
    // Board permissions depend on the registry, which does not contain root.
    assert_eq!(
        project.run_ok("lead", &["board", "can", "top"])["write"]["allowed"],
        true
    );
    assert_eq!(
        project.run_ok("dev", &["board", "can", "top"])["write"]["allowed"],
        false
    );
    project.run_ok("dev", &["board", "read", "mid/architect"]);
    project.run_refused("user", &["agent", "retire", "lead"], 5, "agent_in_use");
    project.run_ok("user", &["agent", "retire", "dev"]);
    project.run_ok("user", &["agent", "retire", "lead"]);
}

fn workspace_is_shared_within_a_team_only(project: &TestProject) {
    register_two_teams(project);
    for by in ["ada", "bob", "cy"] {
        write_workspace_file(project, by, &format!("from-{by}"));
    }
    write_workspace_file(project, "eve", "from-eve");
    for by in ["ada", "bob", "cy"] {
        for of in ["ada", "bob", "cy"] {
            let read = project.run_ok(by, &["ws", "cat", &format!("from-{of}")]);
            assert_eq!(read["content"], of);
            project.run_ok(by, &["ws", "cat", "from-ada", "--of", of]);
        }
        project.run_refused(by, &["ws", "cat", "from-eve"], 4, "file_not_found");
        let refused = project.run_refused(
            by,
            &["ws", "cat", "x", "--of", "eve"],
            3,
            "permission_denied",
        );
        assert!(refused.hint.contains("--of"), "{refused:?}");
    }
    project.run_refused(
        "eve",
        &["exec", "--of", "bob", "--", "true"],
        3,
        "permission_denied",
    );
    let last = project.read_log().pop().unwrap();
    assert_eq!(
        (&last["kind"], &last["actor"]),
        (&json!("file.refused"), &json!("eve"))
    );
    assert_eq!(last["subject"], "workspace/ada");
    // The person may act in any workspace.
    for (of, path) in [("cy", "from-bob"), ("eve", "from-eve")] {
        project.run_ok("user", &["ws", "cat", path, "--of", of]);
        project.run_ok(
            "user",
            &["ws", "write", "by-user", "--content", "x", "--of", of],
        );
    }
    assert_eq!(project.run_ok("ada", &["ws", "info"])["fileCount"], 4);
}

fn workspace_of_retired_agents_stays_accessible_to_the_user(project: &TestProject) {
    register_two_teams(project);
    write_workspace_file(project, "cy", "kept");
    project.run_ok("user", &["agent", "retire", "cy"]);
    project.run_refused("cy", &["ws", "ls"], 3, "permission_denied");
    project.run_ok("user", &["agent", "retire", "bob"]);
    project.run_ok("user", &["agent", "retire", "ada"]);
    // The workspace stays, and the person can still access it through any agent that worked there.
    for of in ["ada", "bob", "cy"] {
        let read = project.run_ok("user", &["ws", "cat", "kept", "--of", of]);
        assert_eq!(read["content"], "cy");
    }
    assert_eq!(
        project.run_ok("user", &["ws", "list"])["workspaces"][0]["workspaceId"],
        "ada"
    );
}

fn caller_without_workspace_is_refused_with_a_hint(project: &TestProject) {
    register_two_teams(project);
    for (who, hint) in [
        ("user", "--of AGENT"),
        ("root", "polis ws list"),
        ("stranger", "polis agent add stranger"),
    ] {
        for args in [
            &["ws", "ls"][..],
            &["ws", "info"],
            &["ws", "cat", "x"],
            &["ws", "write", "x", "--content", "x"],
            &["ws", "edit", "x", "--old", "a", "--new", "b"],
            &["ws", "rm", "x"],
            &["ws", "mv", "x", "y"],
            &["ws", "mkdir", "x"],
            &["ws", "search", "x"],
            &["ws", "bind", "somewhere"],
            &["exec", "--", "true"],
        ] {
            let refused = project.run_refused(who, args, 4, "workspace_not_assigned");
            assert!(refused.hint.contains(hint), "{who}: {refused:?}");
        }
    }
    project.run_refused(
        "user",
        &["ws", "ls", "--of", "nobody"],
        4,
        "workspace_not_assigned",
    );
    project.run_refused("user", &["ws", "ls", "--of", "a/b"], 2, "invalid_agent_id");
    assert!(!project.project_path("somewhere").exists());
}

/// No output that an agent sees contains a host path.
fn agents_see_no_host_paths(project: &TestProject) {
    register_two_teams(project);
    project.run_ok("eve", &["ws", "bind", "bound"]);
    write_workspace_file(project, "cy", "x");
    let here = path_str(project.path());
    for agent in ["cy", "eve", "stranger"] {
        for args in [
            &["ws", "list"][..],
            &["ws", "info"],
            &["ws", "ls", "--recursive"],
            &["ws", "cat", "x"],
            &["ws", "cat", "../../polis.db"],
            &["ws", "cat", "/etc/passwd"],
            &["ws", "write", "x/y", "--content", "x"],
            &["ws", "write", "new", "--content", "x"],
            &["ws", "edit", "x", "--old", "a", "--new", "b"],
            &["ws", "search", "c"],
            &["ws", "search", "("],
            &["ws", "rm", "."],
            &["ws", "mv", "x", "../x"],
            &["ws", "mkdir", "x/y"],
            &["ws", "bind", ".agent-workspace"],
            &["ws", "bind", "other"],
            &["exec", "--", "pwd; ls; cat /etc/shadow; echo $HOME"],
            &["exec", "--timeout-ms", "50", "--", "sleep 5"],
            &["log"],
            &["agent", "list"],
        ] {
            for json in [true, false] {
                let mut command = project.command();
                command
                    .args(["--as", agent])
                    .args(json.then_some("--json"))
                    .args(args);
                let answer = CommandOutput::from_output(command.output().unwrap());
                let said = format!("{}{}", answer.stdout, answer.stderr);
                assert!(!said.contains(here), "{agent} {args:?}: {said}");
                assert!(!said.contains("panicked"), "{agent} {args:?}: {said}");
            }
        }
    }
}

fn workspace_commands_in_text_mode_print_tables_and_hints(project: &TestProject) {
    let none = project.run_text("user", &["ws", "list"]);
    assert!(none.contains("polis agent add"), "{none}");
    register_two_teams(project);
    register_bottom_agent(project, "程序员", "");
    assert!(
        project
            .run_text("ada", &["ws", "ls"])
            .contains("polis --as AGENT ws write")
    );
    write_workspace_file(project, "ada", "笔记.md");
    write_workspace_file(project, "ada", "src/main.rs");
    assert_eq!(
        project.run_text("bob", &["ws", "ls"]),
        "TYPE       SIZE  NAME\ndirectory  -     src/\nfile       3 B   笔记.md\n"
    );
    let shown = project.run_text("ada", &["ws", "list"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("AGENT   BINDING  STATUS"), "{shown}");
    assert!(lines[1].starts_with("ada     default  in use"), "{shown}");
    assert!(
        lines[3].starts_with("程序员  default  not written yet"),
        "{shown}"
    );
    assert!(!shown.contains("DIRECTORY"));
    assert!(
        project
            .run_text("user", &["ws", "list"])
            .contains("DIRECTORY")
    );
    let info = project.run_text("user", &["ws", "info", "--of", "ada"]);
    assert!(
        info.starts_with("Workspace of ada: 2 files, 1 directory, 6 B; last changed 2"),
        "{info}"
    );
    assert!(info.contains("\nDirectory: /"), "{info}");
    assert_eq!(project.run_text("ada", &["ws", "info"]).lines().count(), 1);
    let bound = project.run_text("user", &["ws", "bind", "p", "--of", "eve"]);
    assert!(
        bound.starts_with("The workspace of eve is bound to /"),
        "{bound}"
    );
}

#[test]
fn init_creates_private_workspaces_directory() {
    let project = TestProject::embedded();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&project.data_path("workspaces")), 0o700);
    register_bottom_agent(&project, "ada", "");
    write_workspace_file(&project, "ada", "x");
    assert_eq!(mode(&project.data_path("workspaces/ada")), 0o700);
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn workspace_commands_without_data_directory_are_refused() {
    let project = TestProject::postgres();
    register_bottom_agent(&project, "ada", "");
    std::fs::remove_dir_all(project.data_path("")).unwrap();
    for args in [
        &["ws", "ls"][..],
        &["ws", "write", "x", "--content", "x"],
        &["ws", "bind", "x"],
        &["exec", "--", "true"],
    ] {
        project.run_refused("ada", args, 4, "not_initialized");
    }
    let list = project.run_ok("user", &["ws", "list"]);
    assert_eq!(list["workspaces"][0]["created"], Value::Bool(false));
    project.run_ok("user", &["agent", "add", "bob", "--role", "architect"]);
    project.run_ok("user", &["doctor"]);
}

on_both_stores!(
    team_heads_are_assigned_a_workspace_on_registration,
    root_is_a_supervisor_but_not_an_agent,
    workspace_is_shared_within_a_team_only,
    workspace_of_retired_agents_stays_accessible_to_the_user,
    caller_without_workspace_is_refused_with_a_hint,
    agents_see_no_host_paths,
    workspace_commands_in_text_mode_print_tables_and_hints,
);
