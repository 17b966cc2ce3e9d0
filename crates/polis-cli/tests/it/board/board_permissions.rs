//! Tests of board permissions: every cell of the agent-by-board permission matrix, and the operations that
//! depend on it.

use serde_json::json;

use crate::board::board_helpers::{register_agent, register_team, write_config};
use crate::harness::english_text::english_sentences;
use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores};
use crate::task::task_concurrency::run_concurrently;

const MATRIX_BOARDS: [&str; 7] = [
    "global",
    "top",
    "mid/architect",
    "mid/test-leader",
    "bottom/dev-1",
    "bottom/dev-2",
    "bottom/loner",
];
/// Permissions of each agent on each of the boards above: read, write, append.
const PERMISSION_MATRIX: [(&str, &str); 10] = [
    ("ana", "rwa rwa r-- r-- r-- r-- r--"),
    ("ada", "r-a r-- rwa r-- r-- r-- ---"),
    ("quinn", "r-a r-- r-- rwa --- --- ---"),
    ("dev-1", "r-- r-- r-- --- rwa --- ---"),
    ("dev-2", "r-- r-- r-- --- --- rwa ---"),
    ("loner", "r-- r-- --- --- --- --- rwa"),
    ("gone-top", "--- --- --- --- --- --- ---"),
    ("gone-mid", "--- --- --- --- --- --- ---"),
    ("stranger", "r-- r-- --- --- --- --- ---"),
    ("user", "rwa rwa rwa rwa rwa rwa rwa"),
];
/// Rows that `whiteboards.mid_reads_all_bottom` changes.
const RELAXED_ROWS: [(&str, &str); 2] = [
    ("ada", "r-a r-- rwa r-- r-- r-- r--"),
    ("quinn", "r-a r-- r-- rwa r-- r-- r--"),
];
const RETIRED_AGENTS: [&str; 2] = ["gone-top", "gone-mid"];

/// One cell of the matrix.
#[derive(Debug, Clone, Copy)]
struct PermissionCell {
    agent: &'static str,
    board: &'static str,
    action: &'static str,
    allowed: bool,
}

impl PermissionCell {
    fn from_matrix(matrix: &[(&'static str, &'static str)]) -> Vec<Self> {
        let mut cells = Vec::new();
        for (agent, row) in matrix {
            for (board, rights) in MATRIX_BOARDS.iter().zip(row.split(' ')) {
                for (act, right) in ["read", "write", "append"].iter().zip(rights.chars()) {
                    cells.push(Self {
                        agent,
                        board,
                        action: act,
                        allowed: right != '-',
                    });
                }
            }
        }
        cells
    }

    fn attempt_access(&self, board: &TestProject) -> CommandOutput {
        let text = format!("{} was here", self.agent);
        let mut args = vec!["board", self.action, self.board];
        if self.action != "read" {
            args.extend(["--content", &text]);
        }
        if self.action == "write" {
            args.push("--force");
        }
        board.run_json(self.agent, &args)
    }

    /// Returns what `board can` predicts.
    fn is_predicted_allowed(&self, board: &TestProject) -> bool {
        let can = ["board", "can", self.board];
        if RETIRED_AGENTS.contains(&self.agent) {
            board.run_refused(self.agent, &can, 3, "permission_denied");
            return false;
        }
        let rights = board.run_ok(self.agent, &can);
        let verdict = &rights[self.action];
        assert!(!verdict["why"].as_str().unwrap().is_empty(), "{rights}");
        verdict["allowed"].as_bool().unwrap()
    }
}

/// Processes all cells on four threads, since starting a process takes longer than its work.
fn for_each_cell(cells: &[PermissionCell], work: impl Fn(&PermissionCell) + Sync) {
    run_concurrently(4, |n| cells.iter().skip(n).step_by(4).for_each(&work));
}

fn assert_permission_denied(answer: &CommandOutput, who: &str) {
    let refused = answer.expect_refusal(3, "permission_denied");
    assert!(
        refused.message.starts_with("Permission denied"),
        "{refused:?}"
    );
    assert!(refused.message.contains(who), "{refused:?}");
}

fn assert_permissions(project: &TestProject, matrix: &[(&'static str, &'static str)]) {
    let (allowed, refused): (Vec<_>, Vec<_>) = PermissionCell::from_matrix(matrix)
        .into_iter()
        .partition(|c| c.allowed);
    let before = project.read_log();
    for_each_cell(&refused, |cell| {
        assert_permission_denied(&cell.attempt_access(project), cell.agent);
        assert!(!cell.is_predicted_allowed(project), "{cell:?}");
    });
    assert_eq!(project.read_log(), before, "a refusal changed something");
    for_each_cell(&allowed, |cell| {
        assert!(cell.is_predicted_allowed(project), "{cell:?}");
        let answer = cell.attempt_access(project).expect_document();
        assert_eq!(answer["board"], cell.board);
    });
    let changes = allowed.iter().filter(|cell| cell.action != "read").count();
    assert_eq!(project.read_log().len(), before.len() + changes);
}

fn permission_matrix_holds_for_every_agent_and_board(project: &TestProject) {
    register_team(project);
    for name in MATRIX_BOARDS {
        project.write_board(name, "begun\n");
    }
    assert_permissions(project, &PERMISSION_MATRIX);
    write_config(project, "[whiteboards]\nmid_reads_all_bottom = true\n");
    assert_permissions(project, &RELAXED_ROWS);
}

fn unwritten_board_is_subject_to_permissions(project: &TestProject) {
    register_team(project);
    assert_permissions(project, &[("dev-1", "r-- r-- r-- --- rwa --- ---")]);
    project.run_refused(
        "loner",
        &["board", "read", "bottom/stranger"],
        3,
        "permission_denied",
    );
    project.run_refused(
        "stranger",
        &["board", "append", "bottom/stranger", "--content", "x"],
        3,
        "permission_denied",
    );
}

fn board_list_shows_only_readable_boards(project: &TestProject) {
    register_team(project);
    for name in MATRIX_BOARDS {
        project.write_board(name, "begun\n");
    }
    let listed = |agent: &str| {
        let list = project.run_ok(agent, &["board", "list"]);
        let names = list["boards"].as_array().unwrap().iter();
        names
            .map(|b| b["board"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for (agent, row) in PERMISSION_MATRIX {
        if RETIRED_AGENTS.contains(&agent) {
            project.run_refused(agent, &["board", "list"], 3, "permission_denied");
            continue;
        }
        let mut readable: Vec<_> = MATRIX_BOARDS
            .iter()
            .zip(row.split(' '))
            .filter(|(_, r)| r.starts_with('r'))
            .map(|(b, _)| *b)
            .collect();
        let mut found = listed(agent);
        readable.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, readable, "{agent}");
    }
    write_config(project, "[whiteboards]\nmid_reads_all_bottom = true\n");
    assert_eq!(listed("quinn").len(), MATRIX_BOARDS.len());
}

/// A test that requirement 000 (docs/requirements.md) lists.
fn bottom_agent_cannot_read_board_of_another_agent(project: &TestProject) {
    register_agent(project, "agent-1", "backend-leader", "bottom", "");
    register_agent(project, "agent-2", "backend-leader", "bottom", "");
    project.run_ok(
        "agent-2",
        &["board", "write", "bottom/agent-2", "--content", "secret"],
    );
    for verb in [
        &["board", "read", "bottom/agent-2"][..],
        &["board", "read", "bottom/agent-2", "--if-newer-than", "0"],
        &["board", "read", "bottom/agent-2", "--section", "x"],
        &["board", "history", "bottom/agent-2"],
        &["board", "show", "bottom/agent-2", "1"],
        &["board", "diff", "bottom/agent-2", "0", "1"],
        &["board", "decisions", "bottom/agent-2"],
        &["board", "milestones", "bottom/agent-2"],
        &[
            "board",
            "watch",
            "bottom/agent-2",
            "--limit",
            "1",
            "--since",
            "0",
        ],
    ] {
        let answer = project.run_json("agent-1", verb);
        assert_permission_denied(&answer, "agent-1");
        assert!(!answer.stderr.contains("secret"), "{answer:?}");
    }
}

fn board_changes_require_write_or_append_permission(project: &TestProject) {
    register_team(project);
    let mark = "# G\n\n## Milestones\n- [ ] first\n\n## S\ntext\n";
    project.write_board("global", mark);
    project.write_board("global", mark);
    let writes = [
        &["board", "section", "set", "global", "S", "--content", "x"][..],
        &[
            "board",
            "section",
            "append",
            "global",
            "S",
            "--content",
            "x",
        ],
        &["board", "section", "delete", "global", "S"],
        &["board", "restore", "global", "1"],
        &["board", "milestone", "add", "second"],
        &["board", "milestone", "done", "first"],
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            "2",
        ],
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            "1",
            "--merge",
        ],
    ];
    // A lock keeps other agents from appending, so an agent that may append may take the lock.
    let appends = [
        &["board", "lock", "global"][..],
        &["board", "decision", "propose", "--content", "x"],
        &["board", "append", "global", "--content", "x"],
    ];
    let before = project.read_log().len();
    for agent in ["ada", "dev-1", "loner", "stranger", "gone-top"] {
        for args in writes {
            assert_permission_denied(&project.run_json(agent, args), agent);
        }
        for args in appends.iter().filter(|_| agent != "ada") {
            assert_permission_denied(&project.run_json(agent, args), agent);
        }
    }
    assert_eq!(project.read_log().len(), before);
    assert_eq!(project.read_board("global")["version"], 2);
    let lock = project.run_ok("ada", &["board", "lock", "global"]);
    let token = lock["token"].as_str().unwrap();
    for agent in ["dev-1", "stranger", "gone-mid"] {
        assert_permission_denied(
            &project.run_json(agent, &["board", "unlock", "global", "--token", token]),
            agent,
        );
        assert_permission_denied(
            &project.run_json(agent, &["board", "renew", "global", "--token", token]),
            agent,
        );
    }
    project.run_ok("ada", &["board", "unlock", "global", "--token", token]);
    for args in appends.iter().skip(1) {
        project.run_ok("ada", args);
    }
    for args in writes.iter().take(6) {
        project.run_ok("ana", args);
    }
}

fn board_permissions_follow_the_agent_registry(project: &TestProject) {
    register_agent(project, "ada", "architect", "mid", "");
    register_agent(project, "dev-1", "backend-leader", "bottom", "ada");
    project.run_ok(
        "ada",
        &["board", "write", "mid/architect", "--content", "plan"],
    );
    project.run_ok("dev-1", &["board", "read", "mid/architect"]);
    project.run_ok("ada", &["board", "read", "bottom/dev-1"]);
    // Another agent with the same role shares the role's board, but has no subordinates of its own.
    register_agent(project, "alan", "architect", "mid", "");
    project.run_ok(
        "alan",
        &["board", "append", "mid/architect", "--content", "more"],
    );
    assert_permission_denied(
        &project.run_json("alan", &["board", "read", "bottom/dev-1"]),
        "alan",
    );
    project.run_ok("user", &["agent", "retire", "dev-1"]);
    assert_permission_denied(
        &project.run_json("dev-1", &["board", "read", "global"]),
        "dev-1",
    );
    project.run_ok("ada", &["board", "read", "bottom/dev-1"]);
}

on_both_stores!(
    permission_matrix_holds_for_every_agent_and_board,
    unwritten_board_is_subject_to_permissions,
    board_list_shows_only_readable_boards,
    bottom_agent_cannot_read_board_of_another_agent,
    board_changes_require_write_or_append_permission,
    board_permissions_follow_the_agent_registry,
);

const RIGHTS_OF_DEV_1: &str = "\
dev-1 (bottom, backend-leader) on mid/architect:
  read    yes  It is the board of an agent above this agent.
  write   no   Only mid-layer agents with the role \"architect\" may write this board.
  append  no   Only mid-layer agents with the role \"architect\" may write this board.
";

#[test]
fn reasons_of_permissions_are_in_the_language_of_the_person() {
    let project = TestProject::embedded();
    register_team(&project);
    let can = ["board", "can", "mid/architect"];
    let in_chinese = ["--lang", "zh", "board", "can", "mid/architect"];
    assert_eq!(project.run_text("dev-1", &can), RIGHTS_OF_DEV_1);
    let reason = "只有角色为“architect”的中层智能体可以写入此白板。";
    let rights = project.run_text("dev-1", &in_chinese);
    assert_eq!(rights.matches(reason).count(), 2, "{rights}");
    assert!(rights.contains("这是该智能体某个上级的白板。"), "{rights}");
    assert_eq!(english_sentences(&rights), Vec::<String>::new(), "{rights}");

    // Programs get English in every language.
    let rights = project.run_ok("dev-1", &in_chinese);
    assert_eq!(rights, project.run_ok("dev-1", &can));
    let why = "Only mid-layer agents with the role \"architect\" may write this board.";
    assert_eq!(rights["write"], json!({ "allowed": false, "why": why }));

    let mut command = project.command();
    command.args(["--lang", "zh", "--as", "dev-1", "board", "write"]);
    command.args(["mid/architect", "--content", "x"]);
    let refused = CommandOutput::from_output(command.output().unwrap());
    let sentence = format!("没有权限：“dev-1”不能写入 mid/architect。{reason}");
    assert!(refused.stderr.contains(&sentence), "{refused:?}");
}
