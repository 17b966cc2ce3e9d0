//! Tests of board permissions: every cell of the matrix, and the operations that depend on it.

use crate::board::{Answer, Board, on_both_stores};
use crate::boards_team::{add, configure, register};
use crate::concurrency::together;

const BOARDS: [&str; 7] = [
    "global",
    "top",
    "mid/architect",
    "mid/test-leader",
    "bottom/dev-1",
    "bottom/dev-2",
    "bottom/loner",
];
/// Permissions of each agent on each of the boards above: read, write, append.
const MATRIX: [(&str, &str); 10] = [
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
const RELAXED: [(&str, &str); 2] = [
    ("ada", "r-a r-- rwa r-- r-- r-- r--"),
    ("quinn", "r-a r-- r-- rwa r-- r-- r--"),
];
const RETIRED: [&str; 2] = ["gone-top", "gone-mid"];

/// One cell of the matrix.
#[derive(Debug, Clone, Copy)]
struct Cell {
    agent: &'static str,
    board: &'static str,
    act: &'static str,
    allowed: bool,
}

impl Cell {
    fn all(matrix: &[(&'static str, &'static str)]) -> Vec<Self> {
        let mut cells = Vec::new();
        for (agent, row) in matrix {
            for (board, rights) in BOARDS.iter().zip(row.split(' ')) {
                for (act, right) in ["read", "write", "append"].iter().zip(rights.chars()) {
                    cells.push(Self {
                        agent,
                        board,
                        act,
                        allowed: right != '-',
                    });
                }
            }
        }
        cells
    }

    fn attempt(&self, board: &Board) -> Answer {
        let text = format!("{} was here", self.agent);
        let mut args = vec!["board", self.act, self.board];
        if self.act != "read" {
            args.extend(["--content", &text]);
        }
        if self.act == "write" {
            args.push("--force");
        }
        board.run(self.agent, &args)
    }

    /// Returns the answer of `board can`.
    fn foretold(&self, board: &Board) -> bool {
        let can = ["board", "can", self.board];
        if RETIRED.contains(&self.agent) {
            board.refused(self.agent, &can, 3, "permission_denied");
            return false;
        }
        let rights = board.ok(self.agent, &can);
        let verdict = &rights[self.act];
        assert!(!verdict["why"].as_str().unwrap().is_empty(), "{rights}");
        verdict["allowed"].as_bool().unwrap()
    }
}

/// Processes all cells on four threads, since starting a process takes longer than its work.
fn each(cells: &[Cell], work: impl Fn(&Cell) + Sync) {
    together(4, |n| cells.iter().skip(n).step_by(4).for_each(&work));
}

fn permission_denied(answer: &Answer, who: &str) {
    let refused = answer.refusal(3, "permission_denied");
    assert!(
        refused.message.starts_with("Permission denied"),
        "{refused:?}"
    );
    assert!(refused.message.contains(who), "{refused:?}");
}

fn check(board: &Board, matrix: &[(&'static str, &'static str)]) {
    let (allowed, refused): (Vec<_>, Vec<_>) =
        Cell::all(matrix).into_iter().partition(|c| c.allowed);
    let before = board.log();
    each(&refused, |cell| {
        permission_denied(&cell.attempt(board), cell.agent);
        assert!(!cell.foretold(board), "{cell:?}");
    });
    assert_eq!(board.log(), before, "a refusal changed something");
    each(&allowed, |cell| {
        assert!(cell.foretold(board), "{cell:?}");
        let answer = cell.attempt(board).document();
        assert_eq!(answer["board"], cell.board);
    });
    let changes = allowed.iter().filter(|cell| cell.act != "read").count();
    assert_eq!(board.log().len(), before.len() + changes);
}

fn every_cell_of_the_matrix_holds(board: &Board) {
    register(board);
    for name in BOARDS {
        board.put(name, "begun\n");
    }
    check(board, &MATRIX);
    configure(board, "[whiteboards]\nmid_reads_all_bottom = true\n");
    check(board, &RELAXED);
}

fn a_board_nobody_has_written_is_guarded_too(board: &Board) {
    register(board);
    check(board, &[("dev-1", "r-- r-- r-- --- rwa --- ---")]);
    board.refused(
        "loner",
        &["board", "read", "bottom/stranger"],
        3,
        "permission_denied",
    );
    board.refused(
        "stranger",
        &["board", "append", "bottom/stranger", "--content", "x"],
        3,
        "permission_denied",
    );
}

fn a_list_shows_what_its_reader_may_read(board: &Board) {
    register(board);
    for name in BOARDS {
        board.put(name, "begun\n");
    }
    let listed = |agent: &str| {
        let list = board.ok(agent, &["board", "list"]);
        let names = list["boards"].as_array().unwrap().iter();
        names
            .map(|b| b["board"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for (agent, row) in MATRIX {
        if RETIRED.contains(&agent) {
            board.refused(agent, &["board", "list"], 3, "permission_denied");
            continue;
        }
        let mut readable: Vec<_> = BOARDS
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
    configure(board, "[whiteboards]\nmid_reads_all_bottom = true\n");
    assert_eq!(listed("quinn").len(), BOARDS.len());
}

/// The test of the source document (000 §10).
fn a_bottom_agent_cannot_read_anothers_board(board: &Board) {
    add(board, "agent-1", "backend-leader", "bottom", "");
    add(board, "agent-2", "backend-leader", "bottom", "");
    board.ok(
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
        let answer = board.run("agent-1", verb);
        permission_denied(&answer, "agent-1");
        assert!(!answer.stderr.contains("secret"), "{answer:?}");
    }
}

fn what_changes_a_board_follows_its_rights(board: &Board) {
    register(board);
    let mark = "# G\n\n## Milestones\n- [ ] first\n\n## S\ntext\n";
    board.put("global", mark);
    board.put("global", mark);
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
    let before = board.log().len();
    for agent in ["ada", "dev-1", "loner", "stranger", "gone-top"] {
        for args in writes {
            permission_denied(&board.run(agent, args), agent);
        }
        for args in appends.iter().filter(|_| agent != "ada") {
            permission_denied(&board.run(agent, args), agent);
        }
    }
    assert_eq!(board.log().len(), before);
    assert_eq!(board.view("global")["version"], 2);
    let lock = board.ok("ada", &["board", "lock", "global"]);
    let token = lock["token"].as_str().unwrap();
    for agent in ["dev-1", "stranger", "gone-mid"] {
        permission_denied(
            &board.run(agent, &["board", "unlock", "global", "--token", token]),
            agent,
        );
        permission_denied(
            &board.run(agent, &["board", "renew", "global", "--token", token]),
            agent,
        );
    }
    board.ok("ada", &["board", "unlock", "global", "--token", token]);
    for args in appends.iter().skip(1) {
        board.ok("ada", args);
    }
    for args in writes.iter().take(6) {
        board.ok("ana", args);
    }
}

fn rights_follow_the_registry(board: &Board) {
    add(board, "ada", "architect", "mid", "");
    add(board, "dev-1", "backend-leader", "bottom", "ada");
    board.ok(
        "ada",
        &["board", "write", "mid/architect", "--content", "plan"],
    );
    board.ok("dev-1", &["board", "read", "mid/architect"]);
    board.ok("ada", &["board", "read", "bottom/dev-1"]);
    // Another agent with the same role shares the role's board, but has no subordinates of its own.
    add(board, "alan", "architect", "mid", "");
    board.ok(
        "alan",
        &["board", "append", "mid/architect", "--content", "more"],
    );
    permission_denied(
        &board.run("alan", &["board", "read", "bottom/dev-1"]),
        "alan",
    );
    board.ok("user", &["agent", "retire", "dev-1"]);
    permission_denied(&board.run("dev-1", &["board", "read", "global"]), "dev-1");
    board.ok("ada", &["board", "read", "bottom/dev-1"]);
}

on_both_stores!(
    every_cell_of_the_matrix_holds,
    a_board_nobody_has_written_is_guarded_too,
    a_list_shows_what_its_reader_may_read,
    a_bottom_agent_cannot_read_anothers_board,
    what_changes_a_board_follows_its_rights,
    rights_follow_the_registry,
);
