//! Table tests of the blocklist: refused and accepted commands. Property tests and comparison with the real
//! shell are in separate files.

mod properties;
mod real_shell;

use std::time::{Duration, Instant};

use super::*;

/// Returns the reason a command is refused for, by its name in the list.
fn reason(command: &str) -> Option<String> {
    let refusal = check(command).err()?;
    assert_eq!(refusal.code, Code::CommandBlocked, "{command:?}");
    let Some(Details::Blocked { reason }) = refusal.details.as_deref() else {
        panic!("no reason for {command:?}");
    };
    let what = reason.strip_prefix("危险命令被禁止: ").unwrap().to_owned();
    assert_eq!(
        refusal.message,
        format!("Dangerous command refused: {what}.")
    );
    Some(what)
}

/// Each line is a command; `⏎` represents a line end inside a command.
fn lines(table: &str) -> impl Iterator<Item = String> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.replace('⏎', "\n"))
}

#[track_caller]
fn refused_as(what: &str, table: &str) {
    for command in lines(table) {
        assert_eq!(reason(&command).as_deref(), Some(what), "{command:?}");
    }
}

#[track_caller]
fn let_pass(table: &str) {
    for command in lines(table) {
        assert_eq!(reason(&command), None, "{command:?}");
    }
}

#[test]
fn what_cannot_be_a_command() {
    let long = |length: usize| "a".repeat(length);
    for command in [
        "",
        " ",
        "\n\t ",
        "echo \0",
        "\0",
        &long(MAX_COMMAND_BYTES + 1),
    ] {
        let refusal = check(command).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidCommand);
        assert!(refusal.message.ends_with('.') && !refusal.hint.is_empty());
    }
    assert_eq!(check(&long(MAX_COMMAND_BYTES)), Ok(()));
    assert_eq!(check("echo 你好"), Ok(()));
    assert_eq!(check("#"), Ok(()));
}

#[test]
fn the_documents_own_list() {
    for (command, what) in [
        ("rm -rf /", "rm -rf /"),
        ("sudo", "sudo"),
        ("su ", "su"),
        ("chmod 777", "chmod 777"),
        ("mkfs", "mkfs"),
        ("dd if=", "dd if="),
        ("echo x > /dev/", "> /dev/"),
        ("> /dev/", "> /dev/"),
        ("shutdown", "shutdown"),
        ("reboot", "reboot"),
        ("init 0", "init 0"),
        ("init 6", "init 6"),
    ] {
        assert_eq!(reason(command).as_deref(), Some(what), "{command}");
    }
}

#[test]
fn a_refusal_has_the_documents_reason_and_a_next_step() {
    let refusal = check("sudo ls").unwrap_err();
    assert_eq!(refusal.message, "Dangerous command refused: sudo.");
    assert!(!refusal.hint.is_empty());
    let json = serde_json::to_value(&refusal).unwrap();
    assert_eq!(json["code"], "command_blocked");
    assert_eq!(json["reason"], "危险命令被禁止: sudo");
}

#[test]
fn command_words_wherever_they_stand() {
    refused_as("sudo", include_str!("tables/places.txt"));
}

#[test]
fn command_words_in_substitutions() {
    refused_as("sudo", include_str!("tables/substitutions.txt"));
}

#[test]
fn quotes_do_not_hide_a_word() {
    refused_as("sudo", include_str!("tables/quotes.txt"));
}

#[test]
fn commands_that_run_commands() {
    refused_as("sudo", include_str!("tables/runners.txt"));
}

#[test]
fn other_names_of_the_same() {
    for (command, what) in [
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
        ("telinit 6", "telinit 6"),
        ("telinit -- 0", "telinit 0"),
        ("systemctl reboot", "systemctl reboot"),
        ("systemctl --force poweroff", "systemctl poweroff"),
        ("mkfs /dev/sda1", "mkfs"),
        ("mkfs -t ext4 x", "mkfs"),
        ("mkfs.ext4 /dev/sda1", "mkfs"),
        ("/sbin/mkfs.xfs x", "mkfs"),
        ("busybox reboot", "reboot"),
    ] {
        assert_eq!(reason(command).as_deref(), Some(what), "{command}");
    }
}

#[test]
fn removing_everything() {
    refused_as("rm -rf /", include_str!("tables/remove_refused.txt"));
    let_pass(include_str!("tables/remove_passes.txt"));
}

#[test]
fn modes_for_everybody() {
    refused_as("chmod 777", include_str!("tables/modes_refused.txt"));
    let_pass(include_str!("tables/modes_pass.txt"));
}

#[test]
fn writing_to_devices() {
    refused_as("> /dev/", include_str!("tables/devices_refused.txt"));
    refused_as("dd if=", include_str!("tables/copies_refused.txt"));
    let_pass(include_str!("tables/devices_pass.txt"));
}

#[test]
fn words_that_are_only_mentioned() {
    let_pass(include_str!("tables/mentioned.txt"));
}

#[test]
fn what_is_cut_short_is_the_shells_to_complain_about() {
    let_pass(include_str!("tables/cut_short.txt"));
    // But commands on earlier lines are run before the shell finds the syntax error.
    refused_as("sudo", "sudo ls⏎echo \"\nls; sudo ls; )");
}

/// Text designed to make a naive parser slow, recurse deeply or fail.
fn hostile() -> Vec<(&'static str, String)> {
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
fn hostile_text_is_quick() {
    // Generous, for an unoptimised build on a busy machine; an optimised build takes a tenth.
    const LIMIT: Duration = Duration::from_millis(1_500);
    let mut slowest = (Duration::ZERO, "");
    for (name, text) in hostile() {
        let measured = || {
            let start = Instant::now();
            (check(&text), start.elapsed())
        };
        let (first, mut took) = measured();
        // Measured again if it seemed slow, because other processes may have slowed it down.
        for _ in 0..3 {
            if took >= LIMIT {
                took = took.min(measured().1);
            }
        }
        assert!(took < LIMIT, "{name:?} took {took:?}");
        assert_eq!(first, check(&text), "{name:?}");
        slowest = slowest.max((took, name));
    }
    println!("slowest: {slowest:?}");
}

#[test]
fn nesting_that_is_only_deep_hides_nothing() {
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
        deep("eval ", "", 15),
        deep("env ", "", 10_000),
        format!("{} sudo", "A=1 ".repeat(10_000)),
        format!("{}sudo", "ls;".repeat(10_000)),
    ] {
        let start: String = command.chars().take(30).collect();
        assert_eq!(reason(&command).as_deref(), Some("sudo"), "{start}");
    }
}
