//! Tests of the configuration file itself: symlinks, permissions, backups, special files, and concurrent installations.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::{Desk, names, read};
use crate::board::{Answer, finish, start};

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_written() {
    let desk = Desk::new();
    let dotfiles = desk.home.path().join("dotfiles");
    std::fs::create_dir(&dotfiles).unwrap();
    let real = dotfiles.join("mcp.json");
    std::fs::write(&real, "{\"mcpServers\": {\"a\": {}}}").unwrap();
    set_mode(&real, 0o640);
    symlink("mcp.json", dotfiles.join("again")).unwrap();
    let link = desk.project().join(".mcp.json");
    symlink(dotfiles.join("again"), &link).unwrap();
    let done = desk.ok(&["install", "claude"]);
    assert_eq!(std::fs::read_link(&link).unwrap(), dotfiles.join("again"));
    assert!(
        read(&real).contains("\"a\": {}, \"polis\""),
        "{}",
        read(&real)
    );
    assert_eq!(mode(&real), 0o640);
    // The backup is next to the symlink, not in the target's directory, which may be managed by something else.
    assert_eq!(done["backup"], format!("{}.polis-backup", link.display()));
    assert_eq!(mode(Path::new(done["backup"].as_str().unwrap())), 0o640);
    assert_eq!(names(&dotfiles), ["again", "mcp.json"]);

    // A symlink whose target does not exist yet.
    let desk = Desk::new();
    let there = desk.home.path().join("not/yet/mcp.json");
    let link = desk.project().join(".mcp.json");
    symlink(&there, &link).unwrap();
    desk.ok(&["install", "claude"]);
    assert!(link.is_symlink() && read(&there).contains("polis"));

    // A symlink that leads to itself.
    let desk = Desk::new();
    let link = desk.project().join(".mcp.json");
    symlink(".mcp.json", &link).unwrap();
    let answer = desk.run(&["install", "claude"]);
    assert!(answer.exit.is_some_and(|exit| exit != 0), "{answer:?}");
    assert!(answer.stderr.contains("\"hint\""), "{answer:?}");
    assert!(link.is_symlink());
    assert_eq!(desk.agents(), [""; 0]);
}

#[test]
fn permissions_stay() {
    for bits in [0o600, 0o644, 0o660, 0o755] {
        let desk = Desk::new();
        let path = desk.put(".mcp.json", "{}");
        set_mode(&path, bits);
        let done = desk.ok(&["install", "claude"]);
        assert_eq!(mode(&path), bits);
        assert_eq!(mode(Path::new(done["backup"].as_str().unwrap())), bits);
    }
    let desk = Desk::new();
    let path = desk.put(".mcp.json", "{}");
    set_mode(&path, 0o444);
    let refused = desk.run(&["install", "claude"]).refusal(1, "write_failed");
    assert!(refused.message.contains("read-only"), "{refused:?}");
    assert_eq!((read(&path).as_str(), mode(&path)), ("{}", 0o444));
    assert_eq!(names(&desk.project()), [".agent-workspace", ".mcp.json"]);
}

#[test]
fn copies_are_kept_and_never_overwritten() {
    let desk = Desk::new();
    let path = desk.put(".mcp.json", "{}");
    desk.put(".mcp.json.polis-backup", "somebody's");
    let first = desk.ok(&["install", "claude", "--agent", "a"]);
    assert_eq!(
        first["backup"],
        format!("{}.polis-backup.1", path.display())
    );
    let with_a = read(&path);
    let second = desk.ok(&["install", "claude", "--agent", "b"]);
    assert_eq!(
        second["backup"],
        format!("{}.polis-backup.2", path.display())
    );
    assert_eq!(read(second["backup"].as_str().unwrap()), with_a);
    // An existing backup with the same text is reused.
    desk.ok(&["install", "claude", "--agent", "a"]);
    let again = desk.ok(&["install", "claude", "--agent", "b"]);
    assert_eq!(again["backup"], second["backup"]);
    assert_eq!(
        read(desk.project().join(".mcp.json.polis-backup")),
        "somebody's"
    );
    assert_eq!(read(first["backup"].as_str().unwrap()), "{}");
    // A symlink in the place of a backup is not followed.
    let desk = Desk::new();
    desk.put(".mcp.json", "{}");
    let victim = desk.home.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    symlink(&victim, desk.project().join(".mcp.json.polis-backup")).unwrap();
    desk.ok(&["install", "claude"]);
    assert_eq!(read(&victim), "mine");
}

#[test]
fn what_is_no_file_is_refused() {
    let desk = Desk::new();
    std::fs::create_dir(desk.project().join(".mcp.json")).unwrap();
    desk.run(&["install", "claude"]).refusal(5, "not_a_file");
    // Reading a pipe would block forever.
    std::fs::create_dir(desk.project().join(".cursor")).unwrap();
    let pipe = desk.project().join(".cursor/mcp.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    desk.run(&["install", "cursor"]).refusal(5, "not_a_file");
    // A file in the place of a directory.
    desk.put(".vscode", "");
    let answer = desk.run(&["install", "vscode"]);
    assert_eq!(answer.exit, Some(1), "{answer:?}");
    assert_eq!(read(desk.project().join(".vscode")), "");
}

#[test]
fn opencodes_files_are_told_apart() {
    let entry = "{\"mcp\": {\"polis\": {\"type\": \"local\", \"command\": [\"polis\", \"mcp\"]}}}";
    for (files, expected) in [
        (&[][..], "opencode.json"),
        (&[("opencode.jsonc", "{}")], "opencode.jsonc"),
        (
            &[("opencode.json", "{}"), ("opencode.jsonc", "{}")],
            "opencode.json",
        ),
        (
            &[("opencode.json", "{}"), ("opencode.jsonc", entry)],
            "opencode.jsonc",
        ),
        (
            &[("opencode.json", "{}"), (".opencode/opencode.jsonc", entry)],
            ".opencode/opencode.jsonc",
        ),
        (
            &[("opencode.json", "{"), ("opencode.jsonc", entry)],
            "opencode.jsonc",
        ),
    ] {
        let desk = Desk::new();
        for (name, content) in files {
            desk.put(name, content);
        }
        let done = desk.ok(&["install", "opencode"]);
        assert_eq!(
            done["file"],
            desk.project().join(expected).to_str().unwrap()
        );
    }
}

#[test]
fn the_environment_moves_a_persons_file() {
    for (client, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("goose", "GOOSE_PATH_ROOT", "config/config.yaml"),
    ] {
        let desk = Desk::new();
        let there = desk.home.path().join("there");
        let mut command = desk.command(&["install", client, "--scope", "user"]);
        Answer::of(command.env(variable, &there).output().unwrap()).document();
        assert!(read(there.join(file)).contains("polis"), "{client}");
        assert_eq!(names(desk.home.path()), ["there"]);
    }
}

#[test]
fn several_at_once_leave_one_entry_and_one_agent() {
    let desk = Desk::new();
    let path = desk.put("opencode.json", "{\n  \"a\": 1 // c\n}\n");
    let children: Vec<_> = (0..8)
        .map(|_| start(&mut desk.command(&["install", "opencode"])))
        .collect();
    let answers: Vec<_> = children
        .into_iter()
        .map(|child| finish(child).document())
        .collect();
    let registered = answers.iter().filter(|a| a["registered"] == true).count();
    assert_eq!(
        (registered, desk.agents()),
        (1, vec!["opencode".to_owned()])
    );
    let text = read(&path);
    assert!(
        text.starts_with("{\n  \"a\": 1, // c\n  \"mcp\": {\n"),
        "{text}"
    );
    assert_eq!(text.matches("\"polis\"").count(), 1);
    assert_eq!(desk.ok(&["install", "opencode"])["changed"], false);
    let beside = names(&desk.project());
    assert_eq!(
        beside,
        [
            ".agent-workspace",
            "opencode.json",
            "opencode.json.polis-backup"
        ]
    );
}

#[test]
fn what_is_left_of_a_project_can_be_taken_out() {
    let desk = Desk::new();
    desk.ok(&["install", "claude"]);
    desk.ok(&["install", "goose"]);
    std::fs::remove_dir_all(desk.board.workspace("")).unwrap();
    desk.run(&["install", "claude"])
        .refusal(4, "not_initialized");
    assert_eq!(desk.ok(&["uninstall", "claude"])["changed"], true);
    assert_eq!(desk.ok(&["uninstall", "goose"])["changed"], true);
    assert_eq!(desk.ok(&["uninstall", "goose"])["changed"], false);
    // A different server under our name is not removed.
    let other = "{\"mcpServers\": {\"polis\": {\"command\": \"npx\", \"args\": [\"polis\"]}}}";
    let path = desk.put(".mcp.json", other);
    desk.run(&["uninstall", "claude"])
        .refusal(2, "invalid_config");
    assert_eq!(read(&path), other);
}
