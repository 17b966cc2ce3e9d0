//! Tests of blackboard reads and writes: the examples of the source document, refusals, and their wording.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::Value;

use super::PM;
use crate::board::{Answer, Board, feed, on_both_stores};

fn the_documents_examples(board: &Board) {
    let status = ["write", "tasks/123/status.md", "--mode", "overwrite"];
    let status = [&status[..], &["--content", "## Status: IN_PROGRESS"]].concat();
    let said = board.blackboard(PM, &status);
    assert_eq!(said.done().stdout, "tasks/123/status.md is at version 1\n");
    let decision = "- 2026-02-24: Approved task #123";
    board.add("gm/gm-decisions.md", decision);
    board.add("gm/gm-decisions.md", "- and another");
    board.overwrite("shared/context.md", "共享上下文\n");
    for (path, content) in [
        ("tasks/123/status.md", "## Status: IN_PROGRESS"),
        ("gm/gm-decisions.md", &*format!("{decision}\n- and another")),
        ("shared/context.md", "共享上下文\n"),
    ] {
        assert_eq!(board.printed(path), content);
        let same = board.polis_blackboard("designer", &["read", path]);
        assert_eq!(same.done().stdout, content);
        if board.is_embedded() {
            assert_eq!(board.black_bytes(path), content.as_bytes());
        }
    }
    let all = board.blackboard("designer", &["list"]);
    let listed: Vec<&str> = all.done().stdout.lines().collect();
    let names = [
        "gm/gm-decisions.md",
        "shared/context.md",
        "tasks/123/status.md",
    ];
    assert_eq!(listed, names);
}

fn reading_prints_the_bytes_and_nothing_else(board: &Board) {
    let large = "0123456789abcdef\n".repeat(80_000);
    for content in [
        "",
        "no line end",
        "\n",
        "one\r\ntwo\r\n",
        "\u{feff}with a mark",
        "trailing  \t \n\n\n",
        "\u{1b}[31mred\u{7}\u{202e}",
        &large,
    ] {
        let write = [
            "write",
            "shared/context.md",
            "--mode",
            "overwrite",
            "--content",
            "-",
        ];
        feed(
            &mut board.blackboard_command(PM, &write),
            content.as_bytes(),
        )
        .done();
        assert!(
            board.printed("shared/context.md") == content,
            "{content:.40}"
        );
        if board.is_embedded() {
            assert!(board.black_bytes("shared/context.md") == content.as_bytes());
        }
    }
}

fn an_addition_stands_on_a_line_of_its_own(board: &Board) {
    let path = "shared/context.md";
    board.add(path, "one");
    assert_eq!(board.printed(path), "one");
    board.add(path, "two\n");
    assert_eq!(board.printed(path), "one\ntwo\n");
    board.add(path, "three");
    board.add(path, "- -x --content");
    assert_eq!(board.printed(path), "one\ntwo\nthree\n- -x --content");
    board.overwrite(path, "");
    board.add(path, "again");
    assert_eq!(board.printed(path), "again");
}

#[test]
fn the_version_before_stays_in_a_bak_file() {
    let board = Board::embedded();
    let path = "tasks/7/status.md";
    let bak = board.on_disk("tasks/7/status.md.bak");
    board.overwrite(path, "begin");
    assert!(!bak.exists(), "there was no version before the first");
    let mut dice = crate::kill::Dice(3);
    for n in 0..40 {
        let before = board.black_bytes(path);
        let content = "x".repeat(usize::try_from(dice.below(40)).unwrap());
        match dice.below(5) {
            0 | 1 => board.overwrite(path, &format!("{n} {content}\n")),
            2 => board.overwrite(path, &content),
            3 => board.add(path, &format!("{n} {content}")),
            _ => {
                // An external edit is a version too.
                let outside = format!("outside {n}\n");
                std::fs::write(board.on_disk(path), &outside).unwrap();
                board.add(path, "after it");
                assert_eq!(std::fs::read_to_string(&bak).unwrap(), outside);
                continue;
            }
        }
        assert_eq!(std::fs::read(&bak).unwrap(), before, "at {n}");
    }
    let refused = board.blackboard(PM, &["read", "tasks/7/status.md.bak"]);
    refused.status(2, "400 BAD_REQUEST");
    let listed = board.blackboard(PM, &["list"]);
    assert_eq!(listed.done().stdout, "tasks/7/status.md\n");
}

fn content_comes_in_several_ways(board: &Board) {
    let write = ["write", "shared/context.md", "--mode", "overwrite"];
    let with = |more: &[&'static str]| [&write[..], more].concat();
    std::fs::write(board.file("note.md"), "from a file\n").unwrap();
    board
        .blackboard(PM, &with(&["--content-file", "note.md"]))
        .done();
    assert_eq!(board.printed("shared/context.md"), "from a file\n");
    let mut command = board.blackboard_command(PM, &with(&["--content", "-"]));
    feed(&mut command, "标准输入".as_bytes()).done();
    assert_eq!(board.printed("shared/context.md"), "标准输入");
    let mut command = board.blackboard_command(PM, &with(&["--content-file", "-"]));
    feed(&mut command, b"the same").done();
    assert_eq!(board.printed("shared/context.md"), "the same");
    let missing = board.blackboard(PM, &with(&["--content-file", "nowhere.md"]));
    let said = missing.status(2, "400 BAD_REQUEST");
    assert!(
        said.starts_with("The content file cannot be read"),
        "{said}"
    );
    for wrong in [
        &with(&[])[..],
        &with(&["--content", "a", "--content-file", "note.md"]),
        &["write", "shared/context.md", "--content", "a"],
        &[
            "write",
            "shared/context.md",
            "--mode",
            "replace",
            "--content",
            "a",
        ],
        &["write", "shared/context.md", "--mode", "", "--content", "a"],
        &["write", "--mode", "append", "--content", "a"],
        &[
            "write",
            "shared/context.md",
            "--mode",
            "append",
            "--content",
        ],
        &["read"],
        &["read", "shared/context.md", "more"],
        &["delete", "shared/context.md"],
        &[],
    ] {
        for answer in [
            board.blackboard(PM, wrong),
            board.polis_blackboard(PM, wrong),
        ] {
            assert_eq!((answer.exit, &*answer.stdout), (Some(2), ""), "{answer:?}");
            assert!(
                answer.stderr.contains("--help") || answer.stderr.contains("Usage:"),
                "{answer:?}"
            );
        }
    }
    assert_eq!(board.printed("shared/context.md"), "the same");
}

fn text_that_cannot_be_kept_is_refused(board: &Board) {
    board.overwrite("shared/context.md", "kept");
    for mode in ["overwrite", "append"] {
        let write = ["write", "shared/context.md", "--mode", mode, "--content"];
        let piped = |input: &[u8]| {
            let args = [&write[..], &["-"]].concat();
            feed(&mut board.blackboard_command(PM, &args), input)
        };
        let said = piped(b"broken \xff\xfe")
            .status(2, "400 BAD_REQUEST")
            .to_owned();
        assert!(said.starts_with("The content is not UTF-8."), "{said}");
        let said = piped(b"nul \0").status(2, "400 BAD_REQUEST").to_owned();
        assert!(said.contains("NUL"), "{said}");
        let large = vec![b'x'; (10 << 20) + 1];
        let said = piped(&large).status(2, "413 TOO_LARGE").to_owned();
        assert!(said.contains("10 MB"), "{said}");
        let mut command = board.blackboard_command(PM, &write);
        command.arg(OsStr::from_bytes(b"a\xff"));
        Answer::of(command.output().unwrap()).status(2, "400 BAD_REQUEST");
        std::fs::write(board.file("broken.md"), b"\xc3\x28").unwrap();
        let from_file = [
            "write",
            "shared/context.md",
            "--mode",
            mode,
            "--content-file",
            "broken.md",
        ];
        board
            .blackboard(PM, &from_file)
            .status(2, "400 BAD_REQUEST");
    }
    // Content that fits on its own may not fit as an append.
    let write = [
        "write",
        "shared/full.md",
        "--mode",
        "overwrite",
        "--content",
        "-",
    ];
    let most = vec![b'y'; 10 << 20];
    feed(&mut board.blackboard_command(PM, &write), &most).done();
    let add = [
        "write",
        "shared/full.md",
        "--mode",
        "append",
        "--content",
        "z",
    ];
    board.blackboard(PM, &add).status(2, "413 TOO_LARGE");
    assert_eq!(board.printed("shared/full.md").len(), 10 << 20);
    assert_eq!(board.printed("shared/context.md"), "kept");
}

fn the_rule_a_path_breaks_is_named(board: &Board) {
    let long = format!("{}.md", "a".repeat(101));
    let longer = format!("{}x.md", "abcdefgh/".repeat(30));
    for (path, rule) in [
        ("", "it is empty"),
        ("/etc/passwd.md", "relative to the blackboard"),
        ("/tasks/1/status.md", "relative to the blackboard"),
        ("../x.md", "must not leave the blackboard"),
        ("shared/../../x.md", "must not leave the blackboard"),
        ("./shared/x.md", "must not leave the blackboard"),
        ("shared//x.md", "empty part"),
        ("shared/", "empty part"),
        ("shared", "extension must be .md"),
        ("shared/context.txt", "extension must be .md"),
        ("shared/context.md.bak", "extension must be .md"),
        ("shared/context.MD", "extension must be .md"),
        ("shared/.md", "no name before .md"),
        ("shared/Context.md", "lower case"),
        ("Shared/context.md", "lower case"),
        ("shared/ÄRGER.md", "lower case"),
        ("shared/a_b.md", "lower-case letters, digits and hyphens"),
        ("shared/a b.md", "lower-case letters, digits and hyphens"),
        ("shared/上下文.md", "lower-case letters, digits and hyphens"),
        (
            "shared/a\u{202e}b.md",
            "lower-case letters, digits and hyphens",
        ),
        ("shared/a\nb.md", "lower-case letters, digits and hyphens"),
        ("shared\\x.md", "lower-case letters, digits and hyphens"),
        ("~/x.md", "lower-case letters, digits and hyphens"),
        ("shared/%2e%2e.md", "lower-case letters, digits and hyphens"),
        ("shared/-x.md", "begin with a hyphen"),
        ("tasks/status.md", "tasks/{id}/NAME.md"),
        ("tasks/abc/status.md", "a task's id is a number"),
        ("tasks.md", "directory of tasks"),
        ("a/b/c/d/e/f/g/h/i.md", "deeper than 8"),
        (&long, "longer than 100 bytes"),
        (&longer, "longer than 240 bytes"),
    ] {
        let write = ["write", path, "--mode", "overwrite", "--content", "x"];
        for answer in [
            board.blackboard(PM, &["read", path]),
            board.blackboard(PM, &write),
            board.polis_blackboard(PM, &write),
        ] {
            let said = answer.status(2, "400 BAD_REQUEST");
            assert!(said.starts_with("Invalid path \""), "{path:?}: {said}");
            assert!(said.contains(rule), "{path:?}: {said}");
            assert!(said.contains("\nHint: "), "{path:?}: {said}");
            assert!(!said.contains('\u{202e}'), "{said}");
            assert!(answer.stderr.len() < 700, "the message repeats the input");
        }
    }
    assert_eq!(board.blackboard(PM, &["list"]).done().stdout, "");
    let begun = std::fs::read_dir(board.on_disk("")).map_or(0, Iterator::count);
    assert_eq!(begun, 0, "nothing was begun");
}

fn the_longest_path_has_room(board: &Board) {
    let part = "a".repeat(65);
    let path = format!("{part}/{part}/{part}.md").split_off(1);
    assert_eq!(path.len(), 199);
    let path = format!("b{path}");
    board.overwrite(&path, "one");
    board.add(&path, "two");
    assert_eq!(board.printed(&path), "one\ntwo");
}

fn failures_have_a_status_and_a_code(board: &Board) {
    let missing = board.blackboard(PM, &["read", "shared/context.md"]);
    let said = missing.status(4, "404 NOT_FOUND");
    assert!(said.starts_with("There is no shared/context.md"), "{said}");
    let write = [
        "write",
        "shared/context.md",
        "--mode",
        "append",
        "--content",
        "x",
    ];
    for answer in [
        board.blackboard("designer", &write),
        board.polis_blackboard("designer", &write),
    ] {
        let said = answer.status(3, "403 FORBIDDEN");
        assert!(said.contains("designer"), "{said}");
        assert!(said.contains("[blackboard.writers]"), "{said}");
    }
    let json = |agent: &str, args: &[&str]| board.blackboard(agent, &[&["--json"], args].concat());
    json(PM, &["read", "shared/context.md"]).refusal(4, "file_not_found");
    json("designer", &write).refusal(3, "permission_denied");
    json(PM, &["read", "X"]).refusal(2, "invalid_path");
    json(PM, &["read"]).refusal(2, "invalid_input");
    let written = json(PM, &write).document();
    assert_eq!(
        written,
        serde_json::json!({"path": "shared/context.md", "version": 1})
    );
    let file = json("designer", &["read", "shared/context.md"]).document();
    assert_eq!(file["content"], "x");
    assert_eq!(file["version"], 1);
    assert_eq!(file["lastModifiedBy"], PM);
    assert!(file["lastModifiedAt"].as_str().unwrap().ends_with('Z'));
    let listed = json("designer", &["list"]).document();
    assert_eq!(listed["files"][0]["board"], "shared/context.md");
}

/// Returns whether an agent may write a path.
fn may(board: &Board, agent: &str, path: &str) -> bool {
    let write = |mode| ["write", path, "--mode", mode, "--content", "x"];
    let [first, second] = ["overwrite", "append"].map(|mode| {
        let answer = board.blackboard(agent, &write(mode));
        match answer.exit {
            Some(0) => true,
            _ => {
                answer.status(3, "403 FORBIDDEN");
                false
            }
        }
    });
    assert_eq!(first, second);
    first
}

fn writers_are_granted_by_configuration(board: &Board) {
    board.ok(
        "user",
        &["agent", "add", "pm-7", "--role", PM, "--layer", "top"],
    );
    board.ok(
        "user",
        &["agent", "add", "hans", "--role", "frontend-leader"],
    );
    for (agent, allowed) in [
        (PM, true),
        ("pm-7", true),
        ("user", true),
        ("hans", false),
        ("nobody-special", false),
        ("backend-leader", false),
    ] {
        assert_eq!(may(board, agent, "shared/context.md"), allowed, "{agent}");
        let read = board.blackboard(agent, &["read", "shared/context.md"]);
        assert_eq!(read.exit, Some(0), "everyone reads: {read:?}");
    }
    board.configure(
        "[blackboard.writers]\n\
         frontend-leader = [\"shared/*.md\", \"tasks/**\"]\n\
         pm-7 = [\"gm/gm-*.md\"]\n\
         \"*\" = [\"tasks/*/status.md\"]\n",
    );
    for (agent, path, allowed) in [
        ("hans", "shared/context.md", true),
        ("frontend-leader", "shared/context.md", true),
        ("hans", "shared/deep/context.md", false),
        ("hans", "tasks/1/validation.md", true),
        ("hans", "gm/gm-decisions.md", false),
        ("pm-7", "gm/gm-decisions.md", true),
        ("pm-7", "gm/other.md", false),
        ("pm-7", "shared/context.md", false),
        (PM, "gm/gm-decisions.md", false),
        (PM, "shared/context.md", false),
        ("nobody-special", "tasks/1/status.md", true),
        ("nobody-special", "tasks/1/validation.md", false),
        ("user", "anything/at-all.md", true),
    ] {
        assert_eq!(may(board, agent, path), allowed, "{agent} {path}");
    }
    board.configure("[blackboard]\nwriters = {}\n");
    assert!(
        !may(board, PM, "shared/context.md"),
        "nobody is granted anything"
    );
    board.configure("[blackboard.writers]\narchitect = \"**\"\n");
    let said = board.blackboard(PM, &["read", "shared/context.md"]);
    let said = said.status(2, "400 BAD_REQUEST");
    assert!(said.starts_with("polis.toml, line "), "{said}");
    assert!(said.contains("architect"), "{said}");
}

fn files_have_versions_and_events(board: &Board) {
    board.overwrite("shared/context.md", "one");
    board.add("shared/context.md", "two");
    let kinds: Vec<(String, String, String)> = board
        .log()
        .iter()
        .map(|event| {
            let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
            (
                text(&event["kind"]),
                text(&event["actor"]),
                event["subject"].to_string(),
            )
        })
        .collect();
    let subject = "\"blackboard/shared/context.md\"";
    let by_pm = |kind: &str| (kind.to_owned(), PM.to_owned(), subject.to_owned());
    assert_eq!(kinds, [by_pm("board.written"), by_pm("board.appended")]);
    let entry = &board.ok("user", &["board", "list"])["boards"];
    let entry = entry.as_array().unwrap().iter();
    let entry: Vec<_> = entry
        .filter(|e| e["board"] == "blackboard/shared/context.md")
        .collect();
    assert_eq!(entry[0]["version"], 2);
    assert_eq!(entry[0]["lastModifiedBy"], PM);
}

on_both_stores!(
    the_documents_examples,
    reading_prints_the_bytes_and_nothing_else,
    an_addition_stands_on_a_line_of_its_own,
    content_comes_in_several_ways,
    text_that_cannot_be_kept_is_refused,
    the_rule_a_path_breaks_is_named,
    the_longest_path_has_room,
    failures_have_a_status_and_a_code,
    writers_are_granted_by_configuration,
    files_have_versions_and_events,
);
