//! Tests of the client configuration file that `polis mcp install` changes: symlinks, permissions, backups,
//! special files, and concurrent installations.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::{TestProjectWithHome, file_names, read_text};
use crate::harness::test_project::{CommandOutput, spawn_captured, wait_for_output};

fn set_file_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn file_mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn install_through_a_symlink_keeps_the_link() {
    let setup = TestProjectWithHome::new();
    let dotfiles = setup.home.path().join("dotfiles");
    std::fs::create_dir(&dotfiles).unwrap();
    let real = dotfiles.join("mcp.json");
    std::fs::write(&real, "{\"mcpServers\": {\"a\": {}}}").unwrap();
    set_file_mode(&real, 0o640);
    symlink("mcp.json", dotfiles.join("again")).unwrap();
    let link = setup.project_dir().join(".mcp.json");
    symlink(dotfiles.join("again"), &link).unwrap();
    let done = setup.run_mcp_ok(&["install", "claude"]);
    assert_eq!(std::fs::read_link(&link).unwrap(), dotfiles.join("again"));
    assert!(
        read_text(&real).contains("\"a\": {}, \"polis\""),
        "{}",
        read_text(&real)
    );
    assert_eq!(file_mode(&real), 0o640);
    // The backup is next to the symlink, not in the target's directory, which may be managed by something
    // else.
    assert_eq!(done["backup"], format!("{}.polis-backup", link.display()));
    assert_eq!(
        file_mode(Path::new(done["backup"].as_str().unwrap())),
        0o640
    );
    assert_eq!(file_names(&dotfiles), ["again", "mcp.json"]);

    // A symlink whose target does not exist yet.
    let setup = TestProjectWithHome::new();
    let there = setup.home.path().join("not/yet/mcp.json");
    let link = setup.project_dir().join(".mcp.json");
    symlink(&there, &link).unwrap();
    setup.run_mcp_ok(&["install", "claude"]);
    assert!(link.is_symlink() && read_text(&there).contains("polis"));

    // A symlink that leads to itself.
    let setup = TestProjectWithHome::new();
    let link = setup.project_dir().join(".mcp.json");
    symlink(".mcp.json", &link).unwrap();
    let answer = setup.run_mcp(&["install", "claude"]);
    assert!(answer.exit_code.is_some_and(|exit| exit != 0), "{answer:?}");
    assert!(answer.stderr.contains("\"hint\""), "{answer:?}");
    assert!(link.is_symlink());
    assert_eq!(setup.agent_ids(), [""; 0]);
}

#[test]
fn install_preserves_file_permissions() {
    for bits in [0o600, 0o644, 0o660, 0o755] {
        let setup = TestProjectWithHome::new();
        let path = setup.write_project_file(".mcp.json", "{}");
        set_file_mode(&path, bits);
        let done = setup.run_mcp_ok(&["install", "claude"]);
        assert_eq!(file_mode(&path), bits);
        assert_eq!(file_mode(Path::new(done["backup"].as_str().unwrap())), bits);
    }
    let setup = TestProjectWithHome::new();
    let path = setup.write_project_file(".mcp.json", "{}");
    set_file_mode(&path, 0o444);
    let refused = setup
        .run_mcp(&["install", "claude"])
        .expect_refusal(1, "write_failed");
    assert!(refused.message.contains("read-only"), "{refused:?}");
    assert_eq!((read_text(&path).as_str(), file_mode(&path)), ("{}", 0o444));
    assert_eq!(
        file_names(&setup.project_dir()),
        [".agent-workspace", ".mcp.json"]
    );
}

#[test]
fn install_never_overwrites_a_backup() {
    let setup = TestProjectWithHome::new();
    let path = setup.write_project_file(".mcp.json", "{}");
    setup.write_project_file(".mcp.json.polis-backup", "somebody's");
    let first = setup.run_mcp_ok(&["install", "claude", "--agent", "a"]);
    assert_eq!(
        first["backup"],
        format!("{}.polis-backup.1", path.display())
    );
    let with_a = read_text(&path);
    let second = setup.run_mcp_ok(&["install", "claude", "--agent", "b"]);
    assert_eq!(
        second["backup"],
        format!("{}.polis-backup.2", path.display())
    );
    assert_eq!(read_text(second["backup"].as_str().unwrap()), with_a);
    // An existing backup with the same text is reused.
    setup.run_mcp_ok(&["install", "claude", "--agent", "a"]);
    let again = setup.run_mcp_ok(&["install", "claude", "--agent", "b"]);
    assert_eq!(again["backup"], second["backup"]);
    assert_eq!(
        read_text(setup.project_dir().join(".mcp.json.polis-backup")),
        "somebody's"
    );
    assert_eq!(read_text(first["backup"].as_str().unwrap()), "{}");
    // A symlink in the place of a backup is not followed.
    let setup = TestProjectWithHome::new();
    setup.write_project_file(".mcp.json", "{}");
    let victim = setup.home.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    symlink(&victim, setup.project_dir().join(".mcp.json.polis-backup")).unwrap();
    setup.run_mcp_ok(&["install", "claude"]);
    assert_eq!(read_text(&victim), "mine");
}

#[test]
fn install_into_a_special_file_is_refused() {
    let setup = TestProjectWithHome::new();
    std::fs::create_dir(setup.project_dir().join(".mcp.json")).unwrap();
    setup
        .run_mcp(&["install", "claude"])
        .expect_refusal(5, "not_a_file");
    // Reading a pipe would block forever.
    std::fs::create_dir(setup.project_dir().join(".cursor")).unwrap();
    let pipe = setup.project_dir().join(".cursor/mcp.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    setup
        .run_mcp(&["install", "cursor"])
        .expect_refusal(5, "not_a_file");
    // A file in the place of a directory.
    setup.write_project_file(".vscode", "");
    let answer = setup.run_mcp(&["install", "vscode"]);
    assert_eq!(answer.exit_code, Some(1), "{answer:?}");
    assert_eq!(read_text(setup.project_dir().join(".vscode")), "");
}

#[test]
fn install_picks_the_opencode_file_with_the_entry() {
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
        let setup = TestProjectWithHome::new();
        for (name, content) in files {
            setup.write_project_file(name, content);
        }
        let done = setup.run_mcp_ok(&["install", "opencode"]);
        assert_eq!(
            done["file"],
            setup.project_dir().join(expected).to_str().unwrap()
        );
    }
}

#[test]
fn install_honours_config_directory_variables() {
    for (client, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("goose", "GOOSE_PATH_ROOT", "config/config.yaml"),
    ] {
        let setup = TestProjectWithHome::new();
        let there = setup.home.path().join("there");
        let mut command = setup.mcp_command(&["install", client, "--scope", "user"]);
        CommandOutput::from_output(command.env(variable, &there).output().unwrap())
            .expect_document();
        assert!(read_text(there.join(file)).contains("polis"), "{client}");
        assert_eq!(file_names(setup.home.path()), ["there"]);
    }
}

#[test]
fn concurrent_installs_leave_one_entry_and_one_agent() {
    let setup = TestProjectWithHome::new();
    let path = setup.write_project_file("opencode.json", "{\n  \"a\": 1 // c\n}\n");
    let children: Vec<_> = (0..8)
        .map(|_| spawn_captured(&mut setup.mcp_command(&["install", "opencode"])))
        .collect();
    let answers: Vec<_> = children
        .into_iter()
        .map(|child| wait_for_output(child).expect_document())
        .collect();
    let registered = answers.iter().filter(|a| a["registered"] == true).count();
    assert_eq!(
        (registered, setup.agent_ids()),
        (1, vec!["opencode".to_owned()])
    );
    let text = read_text(&path);
    assert!(
        text.starts_with("{\n  \"a\": 1, // c\n  \"mcp\": {\n"),
        "{text}"
    );
    assert_eq!(text.matches("\"polis\"").count(), 1);
    assert_eq!(setup.run_mcp_ok(&["install", "opencode"])["changed"], false);
    let beside = file_names(&setup.project_dir());
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
fn uninstall_works_after_the_project_is_removed() {
    let setup = TestProjectWithHome::new();
    setup.run_mcp_ok(&["install", "claude"]);
    setup.run_mcp_ok(&["install", "goose"]);
    std::fs::remove_dir_all(setup.project.data_path("")).unwrap();
    setup
        .run_mcp(&["install", "claude"])
        .expect_refusal(4, "not_initialized");
    assert_eq!(setup.run_mcp_ok(&["uninstall", "claude"])["changed"], true);
    assert_eq!(setup.run_mcp_ok(&["uninstall", "goose"])["changed"], true);
    assert_eq!(setup.run_mcp_ok(&["uninstall", "goose"])["changed"], false);
    // A different server under our name is not removed.
    let other = "{\"mcpServers\": {\"polis\": {\"command\": \"npx\", \"args\": [\"polis\"]}}}";
    let path = setup.write_project_file(".mcp.json", other);
    setup
        .run_mcp(&["uninstall", "claude"])
        .expect_refusal(2, "invalid_config");
    assert_eq!(read_text(&path), other);
}
