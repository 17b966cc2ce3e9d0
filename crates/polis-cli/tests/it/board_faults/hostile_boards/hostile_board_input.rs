//! Tests of hostile input to boards: invalid UTF-8, names with path traversal, numbers out of range, and
//! terminal escape sequences.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores};

fn board_content_with_invalid_utf8_is_refused(project: &TestProject) {
    project.run_ok("user", &["board", "write", "global", "--content", "kept"]);
    let broken: [&[u8]; 5] = [
        b"\xff\xfe",
        b"a\xc3\x28",
        b"\xed\xa0\x80",
        b"\xf8\x88\x80\x80\x80",
        b"cut \xe4\xb8",
    ];
    let commands = [
        &["board", "write", "global", "--content"][..],
        &["board", "append", "global", "--content"],
        &["board", "section", "set", "global", "T", "--content"],
        &["board", "section", "append", "global", "T", "--content"],
        &["board", "decision", "propose", "--content"],
    ];
    for args in commands {
        for bad in broken {
            let piped = [args, &["-"]].concat();
            project
                .run_json_with_stdin("user", &piped, bad)
                .expect_refusal(2, "not_utf8");
            let mut command = project.json_command("user", args);
            command.arg(OsStr::from_bytes(bad));
            CommandOutput::from_output(command.output().unwrap()).expect_refusal(2, "not_utf8");
            std::fs::write(project.project_path("broken"), bad).unwrap();
            let (_, rest) = args.split_last().unwrap();
            let from_file = [rest, &["--content-file", "broken"]].concat();
            project.run_refused("user", &from_file, 2, "not_utf8");
        }
        let piped = [args, &["-"]].concat();
        let nul = project.run_json_with_stdin("user", &piped, b"nul \0 here");
        assert_eq!(nul.exit_code, Some(2), "{nul:?}");
        for not_a_file in [".", "/dev/null/x", "missing", ""] {
            let (_, rest) = args.split_last().unwrap();
            let from = [rest, &["--content-file", not_a_file]].concat();
            assert_eq!(
                project.run_json("user", &from).exit_code,
                Some(2),
                "{not_a_file:?}"
            );
        }
        let (_, rest) = args.split_last().unwrap();
        let endless = [rest, &["--content-file", "/dev/zero"]].concat();
        assert_eq!(project.run_json("user", &endless).exit_code, Some(2));
    }
    assert_eq!(
        project.run_ok("user", &["board", "read", "global"])["content"],
        "kept"
    );
}

fn board_name_with_path_traversal_is_refused(project: &TestProject) {
    let long = "a".repeat(300);
    let names = [
        "",
        " ",
        ".",
        "..",
        "../x",
        "../../etc/passwd",
        "a/b",
        "/etc/passwd",
        "a\\b",
        "a b",
        "a\tb",
        "a\nb",
        ".hidden",
        "-x",
        "a\u{202e}b",
        "a\u{200b}b",
        "a\u{1b}[2Jb",
        "%2e%2e",
        "a:b",
        "a*b",
        "a'b",
        "a\"b",
        "${HOME}",
        "`id`",
        "$(id)",
        "a\u{fe0f}",
        "ａ/ｂ",
        &long,
    ];
    for bad in names {
        for kind in ["mid", "bottom"] {
            let name = format!("{kind}/{bad}");
            for args in [
                &["board", "read", &name][..],
                &["board", "write", &name, "--content", "x"],
                &["board", "append", &name, "--content", "x"],
                &["board", "section", "set", &name, "T", "--content", "x"],
                &["board", "lock", &name],
                &["board", "history", &name],
                &["board", "can", &name],
                &["board", "decisions", &name],
            ] {
                let refused = project.run_refused("user", args, 2, "invalid_board");
                assert!(refused.message.len() < 500, "the message repeats the input");
                assert!(
                    !refused.message.contains(['\u{1b}', '\u{202e}']),
                    "{refused:?}"
                );
            }
        }
        if bad != "-x" {
            let add = ["agent", "add", bad, "--role", "architect", "--layer", "mid"];
            project.run_refused("user", &add, 2, "invalid_agent_id");
        }
        let role = format!("--role={bad}");
        let add = ["agent", "add", "somebody", &role, "--layer", "mid"];
        assert_eq!(project.run_json("user", &add).exit_code, Some(2), "{bad:?}");
    }
    for bad in [
        "",
        "Global",
        "GLOBAL",
        "global/",
        "global ",
        " global",
        "top/",
        "top/x",
        "mid",
        "mid/",
        "bottom",
        "mid//x",
        "bottom/x/",
        "mid/x/../y",
        "global.md",
        "global-whiteboard.md",
        "whiteboards/top-layer.md",
        "blackboard/shared/context.md",
        "ｇlobal",
        "glоbal",
        "global\u{200b}",
        "global\n",
    ] {
        project.run_refused("user", &["board", "read", bad], 2, "invalid_board");
        project.run_refused(
            "user",
            &["board", "write", bad, "--content", "x"],
            2,
            "invalid_board",
        );
    }
    // A board name may be as long as an agent's name.
    let longest = format!("bottom/{}", "a".repeat(64));
    let answer = project.run_json("user", &["board", "write", &longest, "--content", "x"]);
    assert!(matches!(answer.exit_code, Some(0 | 2)), "{answer:?}");
}

/// `u64::MAX`, and the number after it.
const U64_MAX: &str = "18446744073709551615";
const BEYOND_U64_MAX: &str = "18446744073709551616";

/// Commands, and their exit codes.
const OUT_OF_RANGE_COMMANDS: &[(&[&str], i32)] = &[
    (
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            U64_MAX,
        ],
        5,
    ),
    (
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            "9223372036854775808",
        ],
        5,
    ),
    (
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            U64_MAX,
            "--merge",
        ],
        5,
    ),
    (
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            BEYOND_U64_MAX,
        ],
        2,
    ),
    (
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            "-1",
        ],
        2,
    ),
    (
        &["board", "write", "global", "--content", "x", "--expect", ""],
        2,
    ),
    (
        &[
            "board",
            "section",
            "set",
            "global",
            "T",
            "--content",
            "x",
            "--expect",
            U64_MAX,
        ],
        5,
    ),
    (
        &[
            "board",
            "section",
            "set",
            "global",
            "T",
            "--content",
            "x",
            "--nth",
            "0",
        ],
        4,
    ),
    (
        &[
            "board",
            "section",
            "set",
            "global",
            "T",
            "--content",
            "x",
            "--nth",
            "2",
        ],
        4,
    ),
    (
        &[
            "board",
            "section",
            "set",
            "global",
            "T",
            "--content",
            "x",
            "--nth",
            U64_MAX,
        ],
        4,
    ),
    (
        &[
            "board",
            "section",
            "set",
            "global",
            "T\nU",
            "--content",
            "x",
        ],
        2,
    ),
    (
        &[
            "board",
            "section",
            "set",
            "global",
            "T\rU",
            "--content",
            "x",
        ],
        2,
    ),
    (
        &["board", "section", "set", "global", "", "--content", "x"],
        2,
    ),
    (
        &["board", "section", "set", "global", "  ", "--content", "x"],
        2,
    ),
    (
        &["board", "read", "global", "--section", "T", "--nth", "0"],
        4,
    ),
    (
        &["board", "read", "global", "--section", "T", "--nth", "2"],
        4,
    ),
    (
        &[
            "board",
            "read",
            "global",
            "--section",
            "T",
            "--nth",
            U64_MAX,
        ],
        4,
    ),
    (&["board", "read", "global", "--section", "T\nU"], 4),
    (&["board", "read", "global", "--section", ""], 4),
    (&["board", "show", "global", U64_MAX], 4),
    (&["board", "show", "global", BEYOND_U64_MAX], 2),
    (&["board", "diff", "global", "1", U64_MAX], 4),
    (&["board", "diff", "global", U64_MAX, "1"], 4),
    (&["board", "restore", "global", U64_MAX], 4),
    (&["board", "lock", "global", "--ttl", "0s"], 2),
    (&["board", "lock", "global", "--ttl", "999999999999d"], 2),
    (
        &["board", "lock", "global", "--ttl", "99999999999999999999s"],
        2,
    ),
    (&["board", "lock", "global", "--ttl", "-5s"], 2),
    (&["board", "lock", "global", "--ttl", "5"], 2),
    (&["board", "lock", "global", "--ttl", ""], 2),
    (&["board", "unlock", "global", "--token", U64_MAX], 5),
    (&["board", "unlock", "global", "--token", ""], 5),
    (&["milestone", "add", "two\nlines"], 2),
    (&["milestone", "add", ""], 2),
    (&["milestone", "done", "nothing like it"], 4),
    (&["decision", "sign", "nothing-like-it"], 4),
    (&["decision", "propose", "--content", ""], 2),
];

fn numbers_and_durations_out_of_range_are_refused(project: &TestProject) {
    project.run_ok(
        "user",
        &["board", "write", "global", "--content", "# T\n\na\n"],
    );
    for (args, exit) in OUT_OF_RANGE_COMMANDS {
        let answer = project.run_json("user", args);
        assert_eq!(answer.exit_code, Some(*exit), "{args:?}: {answer:?}");
        assert!(answer.stdout.is_empty(), "{answer:?}");
        assert!(answer.stderr.len() < 4_000, "{answer:?}");
    }
    let newer = ["board", "read", "global", "--if-newer-than", U64_MAX];
    assert_eq!(project.run_ok("user", &newer)["unchanged"], true);
    assert_eq!(
        project.run_ok("user", &["board", "read", "global"])["version"],
        1
    );
}

/// Returns what a command prints on a terminal.
fn run_on_terminal(project: &TestProject, args: &[&str]) -> String {
    let quoted = |arg: &OsStr| format!("'{}'", arg.to_str().unwrap());
    let mut inner = project.command();
    inner.args(args);
    let mut line = quoted(inner.get_program());
    for arg in inner.get_args() {
        line.push(' ');
        line.push_str(&quoted(arg));
    }
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(project.path());
    script
        .env("NO_COLOR", "1")
        .env("TERM", "xterm")
        .env(
            "POLIS_STATE_DIR",
            crate::harness::test_project::test_state_dir(),
        )
        .stdin(Stdio::null());
    String::from_utf8_lossy(&script.output().unwrap().stdout).into_owned()
}

#[test]
fn board_content_escape_sequences_do_not_reach_the_terminal() {
    let project = TestProject::embedded();
    let evil = "# T\u{1b}]0;owned\u{7}\n\n\u{1b}[2J\u{9b}31m\u{202e}txt\u{2066}\u{8}\u{c} [l](http://x\u{1b}[31m) \
                `\u{1b}c` | \u{90}q\n\n- [ ] **M\u{1b}[5m**: d\u{202e}\n\n### Decision [D\u{1b}]\n- **Proposer**: \u{1b}[7m\n";
    project
        .run_json_with_stdin(
            "user",
            &["board", "write", "global", "--content", "-"],
            evil.as_bytes(),
        )
        .expect_document();
    project.run_json_with_stdin(
        "user",
        &["board", "write", "global", "--content", "-"],
        evil.replace("txt", "other").as_bytes(),
    );
    let path = "shared/context.md";
    let write = [
        "blackboard",
        "write",
        path,
        "--mode",
        "overwrite",
        "--content",
        "-",
    ];
    project
        .run_json_with_stdin("user", &write, evil.as_bytes())
        .expect_document();
    for args in [
        &["board", "read", "global"][..],
        &["board", "read", "global", "--render"],
        &["board", "read", "global", "--section", "nothing"],
        &["board", "diff", "global", "1", "2"],
        &["board", "show", "global", "1"],
        &["board", "decisions", "global"],
        &["board", "milestones", "global"],
        &[
            "board",
            "write",
            "global",
            "--expect",
            "1",
            "--content",
            "x",
        ],
        &[
            "board",
            "write",
            "global",
            "--expect",
            "1",
            "--merge",
            "--content",
            "x",
        ],
        &["blackboard", "read", path],
        &["log"],
    ] {
        let shown = run_on_terminal(&project, args);
        assert!(!shown.is_empty(), "{args:?}");
        let driving = |c: char| {
            (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let found = shown.chars().find(|c| driving(*c));
        assert_eq!(found, None, "{args:?}: {shown:?}");
    }
    // Not on a terminal, the output is the exact text.
    let mut command = project.command();
    let read =
        CommandOutput::from_output(command.args(["blackboard", "read", path]).output().unwrap());
    assert_eq!(read.stdout, evil);
}

on_both_stores!(
    board_content_with_invalid_utf8_is_refused,
    board_name_with_path_traversal_is_refused,
    numbers_and_durations_out_of_range_are_refused,
);
