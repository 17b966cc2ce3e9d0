//! Tests of blackboard reads and writes: the examples of requirement 003 (docs/requirements.md), path rules,
//! permissions, and the wording of refusals.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::Value;

use super::PRODUCT_MANAGER;
use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores, run_with_stdin};

fn source_document_examples_work(project: &TestProject) {
    let status = ["write", "tasks/123/status.md", "--mode", "overwrite"];
    let status = [&status[..], &["--content", "## Status: IN_PROGRESS"]].concat();
    let said = project.run_blackboard(PRODUCT_MANAGER, &status);
    assert_eq!(
        said.expect_success().stdout,
        "tasks/123/status.md is at version 1\n"
    );
    let decision = "- 2026-02-24: Approved task #123";
    project.append_blackboard_file("gm/gm-decisions.md", decision);
    project.append_blackboard_file("gm/gm-decisions.md", "- and another");
    project.overwrite_blackboard_file("shared/context.md", "共享上下文\n");
    for (path, content) in [
        ("tasks/123/status.md", "## Status: IN_PROGRESS"),
        ("gm/gm-decisions.md", &*format!("{decision}\n- and another")),
        ("shared/context.md", "共享上下文\n"),
    ] {
        assert_eq!(project.read_blackboard_file(path), content);
        let same = project.run_polis_blackboard("designer", &["read", path]);
        assert_eq!(same.expect_success().stdout, content);
        if project.is_embedded() {
            assert_eq!(project.blackboard_file_bytes(path), content.as_bytes());
        }
    }
    let all = project.run_blackboard("designer", &["list"]);
    let listed: Vec<&str> = all.expect_success().stdout.lines().collect();
    let names = [
        "gm/gm-decisions.md",
        "shared/context.md",
        "tasks/123/status.md",
    ];
    assert_eq!(listed, names);
}

fn blackboard_read_prints_exact_bytes(project: &TestProject) {
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
        run_with_stdin(
            &mut project.blackboard_command(PRODUCT_MANAGER, &write),
            content.as_bytes(),
        )
        .expect_success();
        assert!(
            project.read_blackboard_file("shared/context.md") == content,
            "{content:.40}"
        );
        if project.is_embedded() {
            assert!(project.blackboard_file_bytes("shared/context.md") == content.as_bytes());
        }
    }
}

fn blackboard_append_starts_on_a_new_line(project: &TestProject) {
    let path = "shared/context.md";
    project.append_blackboard_file(path, "one");
    assert_eq!(project.read_blackboard_file(path), "one");
    project.append_blackboard_file(path, "two\n");
    assert_eq!(project.read_blackboard_file(path), "one\ntwo\n");
    project.append_blackboard_file(path, "three");
    project.append_blackboard_file(path, "- -x --content");
    assert_eq!(
        project.read_blackboard_file(path),
        "one\ntwo\nthree\n- -x --content"
    );
    project.overwrite_blackboard_file(path, "");
    project.append_blackboard_file(path, "again");
    assert_eq!(project.read_blackboard_file(path), "again");
}

#[test]
fn previous_version_is_kept_in_a_bak_file() {
    let project = TestProject::embedded();
    let path = "tasks/7/status.md";
    let bak = project.blackboard_file_path("tasks/7/status.md.bak");
    project.overwrite_blackboard_file(path, "begin");
    assert!(!bak.exists(), "the first version has a .bak file");
    let mut dice = crate::harness::random_kill::SeededRng(3);
    for n in 0..40 {
        let before = project.blackboard_file_bytes(path);
        let content = "x".repeat(usize::try_from(dice.next_below(40)).unwrap());
        match dice.next_below(5) {
            0 | 1 => project.overwrite_blackboard_file(path, &format!("{n} {content}\n")),
            2 => project.overwrite_blackboard_file(path, &content),
            3 => project.append_blackboard_file(path, &format!("{n} {content}")),
            _ => {
                // An external edit is a version too.
                let outside = format!("outside {n}\n");
                std::fs::write(project.blackboard_file_path(path), &outside).unwrap();
                project.append_blackboard_file(path, "after it");
                assert_eq!(std::fs::read_to_string(&bak).unwrap(), outside);
                continue;
            }
        }
        assert_eq!(std::fs::read(&bak).unwrap(), before, "at {n}");
    }
    let refused = project.run_blackboard(PRODUCT_MANAGER, &["read", "tasks/7/status.md.bak"]);
    refused.expect_status(2, "400 BAD_REQUEST");
    let listed = project.run_blackboard(PRODUCT_MANAGER, &["list"]);
    assert_eq!(listed.expect_success().stdout, "tasks/7/status.md\n");
}

fn content_is_read_from_argument_file_or_stdin(project: &TestProject) {
    let write = ["write", "shared/context.md", "--mode", "overwrite"];
    let with = |more: &[&'static str]| [&write[..], more].concat();
    std::fs::write(project.project_path("note.md"), "from a file\n").unwrap();
    project
        .run_blackboard(PRODUCT_MANAGER, &with(&["--content-file", "note.md"]))
        .expect_success();
    assert_eq!(
        project.read_blackboard_file("shared/context.md"),
        "from a file\n"
    );
    let mut command = project.blackboard_command(PRODUCT_MANAGER, &with(&["--content", "-"]));
    run_with_stdin(&mut command, "标准输入".as_bytes()).expect_success();
    assert_eq!(
        project.read_blackboard_file("shared/context.md"),
        "标准输入"
    );
    let mut command = project.blackboard_command(PRODUCT_MANAGER, &with(&["--content-file", "-"]));
    run_with_stdin(&mut command, b"the same").expect_success();
    assert_eq!(
        project.read_blackboard_file("shared/context.md"),
        "the same"
    );
    let missing = project.run_blackboard(PRODUCT_MANAGER, &with(&["--content-file", "nowhere.md"]));
    let said = missing.expect_status(2, "400 BAD_REQUEST");
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
            project.run_blackboard(PRODUCT_MANAGER, wrong),
            project.run_polis_blackboard(PRODUCT_MANAGER, wrong),
        ] {
            assert_eq!(
                (answer.exit_code, &*answer.stdout),
                (Some(2), ""),
                "{answer:?}"
            );
            assert!(
                answer.stderr.contains("--help") || answer.stderr.contains("Usage:"),
                "{answer:?}"
            );
        }
    }
    assert_eq!(
        project.read_blackboard_file("shared/context.md"),
        "the same"
    );
}

fn content_that_cannot_be_stored_is_refused(project: &TestProject) {
    project.overwrite_blackboard_file("shared/context.md", "kept");
    for mode in ["overwrite", "append"] {
        let write = ["write", "shared/context.md", "--mode", mode, "--content"];
        let piped = |input: &[u8]| {
            let args = [&write[..], &["-"]].concat();
            run_with_stdin(
                &mut project.blackboard_command(PRODUCT_MANAGER, &args),
                input,
            )
        };
        let said = piped(b"broken \xff\xfe")
            .expect_status(2, "400 BAD_REQUEST")
            .to_owned();
        assert!(said.starts_with("The content is not UTF-8."), "{said}");
        let said = piped(b"nul \0")
            .expect_status(2, "400 BAD_REQUEST")
            .to_owned();
        assert!(said.contains("NUL"), "{said}");
        let large = vec![b'x'; (10 << 20) + 1];
        let said = piped(&large).expect_status(2, "413 TOO_LARGE").to_owned();
        assert!(said.contains("10 MB"), "{said}");
        let mut command = project.blackboard_command(PRODUCT_MANAGER, &write);
        command.arg(OsStr::from_bytes(b"a\xff"));
        CommandOutput::from_output(command.output().unwrap()).expect_status(2, "400 BAD_REQUEST");
        std::fs::write(project.project_path("broken.md"), b"\xc3\x28").unwrap();
        let from_file = [
            "write",
            "shared/context.md",
            "--mode",
            mode,
            "--content-file",
            "broken.md",
        ];
        project
            .run_blackboard(PRODUCT_MANAGER, &from_file)
            .expect_status(2, "400 BAD_REQUEST");
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
    run_with_stdin(
        &mut project.blackboard_command(PRODUCT_MANAGER, &write),
        &most,
    )
    .expect_success();
    let add = [
        "write",
        "shared/full.md",
        "--mode",
        "append",
        "--content",
        "z",
    ];
    project
        .run_blackboard(PRODUCT_MANAGER, &add)
        .expect_status(2, "413 TOO_LARGE");
    assert_eq!(
        project.read_blackboard_file("shared/full.md").len(),
        10 << 20
    );
    assert_eq!(project.read_blackboard_file("shared/context.md"), "kept");
}

fn invalid_path_refusal_names_the_broken_rule(project: &TestProject) {
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
            project.run_blackboard(PRODUCT_MANAGER, &["read", path]),
            project.run_blackboard(PRODUCT_MANAGER, &write),
            project.run_polis_blackboard(PRODUCT_MANAGER, &write),
        ] {
            let said = answer.expect_status(2, "400 BAD_REQUEST");
            assert!(said.starts_with("Invalid path \""), "{path:?}: {said}");
            assert!(said.contains(rule), "{path:?}: {said}");
            assert!(said.contains("\nHint: "), "{path:?}: {said}");
            assert!(!said.contains('\u{202e}'), "{said}");
            assert!(answer.stderr.len() < 700, "the message repeats the input");
        }
    }
    assert_eq!(
        project
            .run_blackboard(PRODUCT_MANAGER, &["list"])
            .expect_success()
            .stdout,
        ""
    );
    let begun = std::fs::read_dir(project.blackboard_file_path("")).map_or(0, Iterator::count);
    assert_eq!(begun, 0, "a refused write created a file");
}

fn longest_allowed_path_is_accepted(project: &TestProject) {
    let part = "a".repeat(65);
    let path = format!("{part}/{part}/{part}.md").split_off(1);
    assert_eq!(path.len(), 199);
    let path = format!("b{path}");
    project.overwrite_blackboard_file(&path, "one");
    project.append_blackboard_file(&path, "two");
    assert_eq!(project.read_blackboard_file(&path), "one\ntwo");
}

fn blackboard_failures_have_a_status_and_a_code(project: &TestProject) {
    let missing = project.run_blackboard(PRODUCT_MANAGER, &["read", "shared/context.md"]);
    let said = missing.expect_status(4, "404 NOT_FOUND");
    assert!(
        said.starts_with("The blackboard has no file shared/context.md"),
        "{said}"
    );
    let write = [
        "write",
        "shared/context.md",
        "--mode",
        "append",
        "--content",
        "x",
    ];
    for answer in [
        project.run_blackboard("designer", &write),
        project.run_polis_blackboard("designer", &write),
    ] {
        let said = answer.expect_status(3, "403 FORBIDDEN");
        assert!(said.contains("designer"), "{said}");
        assert!(said.contains("[blackboard.writers]"), "{said}");
    }
    let json =
        |agent: &str, args: &[&str]| project.run_blackboard(agent, &[&["--json"], args].concat());
    json(PRODUCT_MANAGER, &["read", "shared/context.md"]).expect_refusal(4, "file_not_found");
    json("designer", &write).expect_refusal(3, "permission_denied");
    json(PRODUCT_MANAGER, &["read", "X"]).expect_refusal(2, "invalid_path");
    json(PRODUCT_MANAGER, &["read"]).expect_refusal(2, "invalid_input");
    let written = json(PRODUCT_MANAGER, &write).expect_document();
    assert_eq!(
        written,
        serde_json::json!({"path": "shared/context.md", "version": 1})
    );
    let file = json("designer", &["read", "shared/context.md"]).expect_document();
    assert_eq!(file["content"], "x");
    assert_eq!(file["version"], 1);
    assert_eq!(file["lastModifiedBy"], PRODUCT_MANAGER);
    assert!(file["lastModifiedAt"].as_str().unwrap().ends_with('Z'));
    let listed = json("designer", &["list"]).expect_document();
    assert_eq!(listed["files"][0]["board"], "shared/context.md");
}

/// Returns whether an agent may write a path.
fn can_write(project: &TestProject, agent: &str, path: &str) -> bool {
    let write = |mode| ["write", path, "--mode", mode, "--content", "x"];
    let [first, second] = ["overwrite", "append"].map(|mode| {
        let answer = project.run_blackboard(agent, &write(mode));
        match answer.exit_code {
            Some(0) => true,
            _ => {
                answer.expect_status(3, "403 FORBIDDEN");
                false
            }
        }
    });
    assert_eq!(first, second);
    first
}

fn blackboard_writers_follow_the_configuration(project: &TestProject) {
    project.run_ok(
        "user",
        &[
            "agent",
            "add",
            "pm-7",
            "--role",
            PRODUCT_MANAGER,
            "--layer",
            "top",
        ],
    );
    project.run_ok(
        "user",
        &["agent", "add", "hans", "--role", "frontend-leader"],
    );
    for (agent, allowed) in [
        (PRODUCT_MANAGER, true),
        ("pm-7", true),
        ("user", true),
        ("hans", false),
        ("nobody-special", false),
        ("backend-leader", false),
    ] {
        assert_eq!(
            can_write(project, agent, "shared/context.md"),
            allowed,
            "{agent}"
        );
        let read = project.run_blackboard(agent, &["read", "shared/context.md"]);
        assert_eq!(read.exit_code, Some(0), "every agent may read: {read:?}");
    }
    project.write_polis_toml(
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
        (PRODUCT_MANAGER, "gm/gm-decisions.md", false),
        (PRODUCT_MANAGER, "shared/context.md", false),
        ("nobody-special", "tasks/1/status.md", true),
        ("nobody-special", "tasks/1/validation.md", false),
        ("user", "anything/at-all.md", true),
    ] {
        assert_eq!(can_write(project, agent, path), allowed, "{agent} {path}");
    }
    project.write_polis_toml("[blackboard]\nwriters = {}\n");
    assert!(
        !can_write(project, PRODUCT_MANAGER, "shared/context.md"),
        "no agent is granted anything"
    );
    project.write_polis_toml("[blackboard.writers]\narchitect = \"**\"\n");
    let said = project.run_blackboard(PRODUCT_MANAGER, &["read", "shared/context.md"]);
    let said = said.expect_status(2, "400 BAD_REQUEST");
    assert!(said.starts_with("polis.toml, line "), "{said}");
    assert!(said.contains("architect"), "{said}");
}

fn blackboard_files_have_versions_and_events(project: &TestProject) {
    project.overwrite_blackboard_file("shared/context.md", "one");
    project.append_blackboard_file("shared/context.md", "two");
    let kinds: Vec<(String, String, String)> = project
        .read_log()
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
    let by_pm = |kind: &str| {
        (
            kind.to_owned(),
            PRODUCT_MANAGER.to_owned(),
            subject.to_owned(),
        )
    };
    assert_eq!(kinds, [by_pm("board.written"), by_pm("board.appended")]);
    let entry = &project.run_ok("user", &["board", "list"])["boards"];
    let entry = entry.as_array().unwrap().iter();
    let entry: Vec<_> = entry
        .filter(|e| e["board"] == "blackboard/shared/context.md")
        .collect();
    assert_eq!(entry[0]["version"], 2);
    assert_eq!(entry[0]["lastModifiedBy"], PRODUCT_MANAGER);
}

on_both_stores!(
    source_document_examples_work,
    blackboard_read_prints_exact_bytes,
    blackboard_append_starts_on_a_new_line,
    content_is_read_from_argument_file_or_stdin,
    content_that_cannot_be_stored_is_refused,
    invalid_path_refusal_names_the_broken_rule,
    longest_allowed_path_is_accepted,
    blackboard_failures_have_a_status_and_a_code,
    blackboard_writers_follow_the_configuration,
    blackboard_files_have_versions_and_events,
);
