//! Table tests of the blocklist: refused and accepted commands. Property tests are in a separate file.

mod properties;

use std::time::{Duration, Instant};

use super::*;
use crate::RefusalCode;
use crate::workspace::command::MAX_COMMAND_BYTES;

/// Returns the reason a command is refused for, by its name in the list.
fn blocked_reason(command: &str) -> Option<String> {
    let refusal = check_blocklist(command).err()?;
    assert_eq!(refusal.code, RefusalCode::COMMAND_BLOCKED, "{command:?}");
    let Some(RefusalDetails::Blocked { reason }) = refusal.details.as_deref() else {
        panic!("no reason for {command:?}");
    };
    let description = reason.strip_prefix("危险命令被禁止: ").unwrap().to_owned();
    assert_eq!(
        refusal.reason.arg("reason").unwrap().to_string(),
        description
    );
    Some(description)
}

/// Each line is a command; `⏎` represents a line end inside a command.
fn table_commands(table: &str) -> impl Iterator<Item = String> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.replace('⏎', "\n"))
}

#[track_caller]
fn assert_refused_as(expected: &str, table: &str) {
    for command in table_commands(table) {
        assert_eq!(
            blocked_reason(&command).as_deref(),
            Some(expected),
            "{command:?}"
        );
    }
}

#[track_caller]
fn assert_accepted(table: &str) {
    for command in table_commands(table) {
        assert_eq!(blocked_reason(&command), None, "{command:?}");
    }
}

#[test]
fn documented_dangerous_commands_are_refused() {
    for (command, expected) in [
        ("rm -rf /", "rm -rf /"),
        ("sudo", "sudo"),
        ("su ", "su"),
        ("su root", "su"),
        ("chmod 777", "chmod 777"),
        ("chmod -R 777 /", "chmod 777"),
        ("mkfs", "mkfs"),
        ("mkfs.ext4 /dev/sda1", "mkfs"),
        ("dd if=", "dd if="),
        ("dd if=/dev/zero of=/dev/sda", "dd if="),
        ("echo x > /dev/", "> /dev/"),
        ("> /dev/", "> /dev/"),
        ("echo x > /dev/sda", "> /dev/"),
        ("shutdown", "shutdown"),
        ("reboot", "reboot"),
        ("init 0", "init 0"),
        ("init 6", "init 6"),
    ] {
        assert_eq!(
            blocked_reason(command).as_deref(),
            Some(expected),
            "{command}"
        );
    }
}

#[test]
fn refusal_has_the_documented_reason() {
    let refusal = check_blocklist("sudo ls").unwrap_err();
    assert_eq!(refusal.code, RefusalCode::COMMAND_BLOCKED);
    let json = serde_json::to_value(refusal.details).unwrap();
    assert_eq!(json["reason"], "危险命令被禁止: sudo");
}

#[test]
fn command_in_every_position_is_refused() {
    assert_refused_as("sudo", include_str!("tables/places.txt"));
}

#[test]
fn command_in_substitution_is_refused() {
    assert_refused_as("sudo", include_str!("tables/substitutions.txt"));
}

#[test]
fn quoted_command_is_refused() {
    assert_refused_as("sudo", include_str!("tables/quotes.txt"));
}

#[test]
fn command_behind_wrapper_is_refused() {
    assert_refused_as("sudo", include_str!("tables/runners.txt"));
}

#[test]
fn equivalent_programs_are_refused() {
    for (command, expected) in [
        ("su", "su"),
        ("su root", "su"),
        ("su - root -c ls", "su"),
        ("/bin/su -", "su"),
        ("s\"u\" -", "su"),
        ("doas ls", "doas"),
        ("pkexec ls", "pkexec"),
        ("sudoedit x", "sudoedit"),
        ("runuser -u x ls", "runuser"),
        ("shutdown -h now", "shutdown"),
        ("/sbin/shutdown now", "shutdown"),
        ("reboot -f", "reboot"),
        ("ls; reboot", "reboot"),
        ("halt", "halt"),
        ("poweroff", "poweroff"),
        ("init 0", "init 0"),
        ("init  '6'", "init 6"),
        ("/sbin/init 0", "init 0"),
        ("mkfs /dev/sda1", "mkfs"),
        ("mkfs -t ext4 /dev/sda1", "mkfs"),
        ("mkfs.ext4 /dev/sda1", "mkfs"),
        ("/sbin/mkfs.xfs /dev/mapper/x", "mkfs"),
        ("busybox reboot", "reboot"),
    ] {
        assert_eq!(
            blocked_reason(command).as_deref(),
            Some(expected),
            "{command}"
        );
    }
}

#[test]
fn recursive_removal_of_root_is_refused() {
    assert_refused_as("rm -rf /", include_str!("tables/remove_refused.txt"));
    assert_accepted(include_str!("tables/remove_passes.txt"));
}

#[test]
fn chmod_outside_workspace_is_refused() {
    assert_refused_as("chmod 777", include_str!("tables/modes_refused.txt"));
    assert_accepted(include_str!("tables/modes_pass.txt"));
}

#[test]
fn writing_to_devices_is_refused() {
    assert_refused_as("> /dev/", include_str!("tables/devices_refused.txt"));
    assert_refused_as("dd if=", include_str!("tables/copies_refused.txt"));
    assert_accepted(include_str!("tables/devices_pass.txt"));
}

#[test]
fn files_of_the_workspace_are_accepted() {
    assert_accepted(include_str!("tables/workspace_files.txt"));
}

#[test]
fn sudo_after_its_lookup_is_accepted() {
    assert_accepted(include_str!("tables/lookups.txt"));
    for (command, expected) in [
        ("command -v sudo && sudo rm -rf /", "rm -rf /"),
        ("command -v sudo; sudo -u x sh -c 'rm -rf /'", "rm -rf /"),
        ("command -v sudo; su", "su"),
        ("command -v git; sudo ls", "sudo"),
        ("command sudo -v", "sudo"),
        ("command -v shutdown && shutdown now", "shutdown"),
        ("echo command -v sudo; sudo ls", "sudo"),
    ] {
        assert_eq!(
            blocked_reason(command).as_deref(),
            Some(expected),
            "{command}"
        );
    }
}

#[test]
fn words_that_are_only_arguments_are_accepted() {
    assert_accepted(include_str!("tables/mentioned.txt"));
}

#[test]
fn incomplete_commands_are_left_to_the_shell() {
    assert_accepted(include_str!("tables/cut_short.txt"));
    // But commands on earlier lines are run before the shell finds the syntax error.
    assert_refused_as("sudo", "sudo ls⏎echo \"");
}

/// Text designed to make a naive parser slow, recurse deeply or fail.
fn hostile_texts() -> Vec<(&'static str, String)> {
    let full = |piece: &str| piece.repeat(MAX_COMMAND_BYTES / piece.len());
    let nested = |open: &str, close: &str| {
        let times = MAX_COMMAND_BYTES / (open.len() + close.len());
        format!("{}{}", open.repeat(times), close.repeat(times))
    };
    let mut all: Vec<_> = [
        "$(",
        "`",
        "\"",
        "'",
        "(",
        "((",
        "$((",
        "${",
        "\"$(",
        "\"${x:-",
        "<<a ",
        "<<a;",
        "<<a\n",
        "case x in ",
        "if ",
        "{ ",
        "[[ ",
        "eval ",
        "eval command ",
        "env ",
        "time ",
        "time x if ",
        "find -exec ",
        "find -exec eval ",
        "sh -c ",
        "sh <<A $(",
        "\\",
        "\\\n",
        "$'",
        "`\\`",
        "a=(",
        "!(",
        "@(",
        "x(",
        "x()",
        "for ((",
        ";",
        ";;",
        "&",
        "|",
        "<",
        ">",
        "<(",
        ">(",
        "#",
        "\n",
        "a ",
        "a;",
        "((a)b",
        "$((a)b",
        "$((a);",
        "$(($(eval ",
        "${IFS}",
        "x$IFS",
        "A=1 ",
        "A=",
        "/",
        "/..",
        "rm -rf /x",
        "> /dev/null ",
        "*",
        "[",
        "é",
        "😀",
        "u+rwx,",
        "chmod u+",
    ]
    .into_iter()
    .map(|piece| (piece, full(piece)))
    .collect();
    all.extend([
        ("$()", nested("$(", ")")),
        ("\"$()\"", nested("\"$(", ")\"")),
        ("()", nested("(", ")")),
        ("(( ))", nested("((", "))")),
        ("$(( ) )", nested("$((", ") )")),
        ("((a) b)", nested("(", " a)")),
        ("${}", nested("${x:-", "}")),
        ("\"${}\"", nested("\"${x:-", "}\"")),
        ("<()", nested("<(", ")")),
        ("case", nested("case x in x) ", ";; esac")),
        ("if", nested("if x; then ", "; fi")),
        ("eval ''", nested("eval '", "'")),
        ("$(( $( ", nested("$(( $( (", ") ) )")),
    ]);
    all
}

#[test]
fn hostile_text_is_checked_quickly() {
    // Generous, for an unoptimised build on a busy machine; an optimised build takes a tenth.
    const LIMIT: Duration = Duration::from_millis(1_500);
    let mut slowest = (Duration::ZERO, "");
    for (name, text) in hostile_texts() {
        let measure = || {
            let start = Instant::now();
            (check_blocklist(&text), start.elapsed())
        };
        let (first, mut elapsed) = measure();
        // Measured again if it seemed slow, because other processes may have slowed it down.
        for _ in 0..3 {
            if elapsed >= LIMIT {
                elapsed = elapsed.min(measure().1);
            }
        }
        assert!(elapsed < LIMIT, "{name:?} took {elapsed:?}");
        assert_eq!(first, check_blocklist(&text), "{name:?}");
        slowest = slowest.max((elapsed, name));
    }
    println!("slowest: {slowest:?}");
}

#[test]
fn deeply_nested_command_is_refused() {
    let deep = |open: &str, close: &str, times: usize| {
        format!("{}sudo ls{}", open.repeat(times), close.repeat(times))
    };
    for command in [
        deep("$(", ")", 10_000),
        deep("( ", " )", 10_000),
        deep("{ ", "; }", 10_000),
        deep("if ", "; then :; fi", 5_000),
        deep("case x in x) ", ";; esac", 3_000),
        deep("echo \"$(", ")\"", 5_000),
        deep("eval ", "", 4),
        deep("env ", "", 10_000),
        format!("{} sudo", "A=1 ".repeat(10_000)),
        format!("{}sudo", "ls;".repeat(10_000)),
    ] {
        let start: String = command.chars().take(30).collect();
        assert_eq!(blocked_reason(&command).as_deref(), Some("sudo"), "{start}");
    }
}
