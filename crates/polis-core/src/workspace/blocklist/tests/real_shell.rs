//! Comparison of the parser with the shell of this machine: both produce the same words, and the parser finds
//! every command that the shell runs.

use std::io::Write;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use proptest::prelude::*;

use super::super::shell::Inside;
use super::properties::scripts;
use super::*;

/// Returns the words of the only simple command in a line, as the parser finds them.
fn read_words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    shell::read(line, &mut |command| {
        found.extend(command.words.iter().map(|word| word.text().to_owned()));
        Ok(Inside::default())
    })
    .unwrap();
    found
}

/// Returns the output of `/bin/sh` for a script on its standard input.
fn run_shell(script: &str) -> String {
    let mut process = Process::new("/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    process
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    let output = process.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A part of a word, quoted in some way; nothing in it depends on run time.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z0-9_./,:+%@=-]{1,4}",
        1 => "[ -~]".prop_map(|any| format!("\\{any}")),
        1 => "[ -&(-~é\n\t]{0,5}".prop_map(|text| format!("'{text}'")),
        // In double quotes a backslash is removed before four characters only.
        2 => proptest::collection::vec(
            prop_oneof![
                "[ !#%-\\[\\]-_a-~é\n]",
                "\\\\[$`\"\\\\]",
                "\\\\[a-z .*'é]",
                "\\$[ .,%/=]",
                Just("\\\n".to_owned()),
            ],
            0..4,
        )
        .prop_map(|parts| format!("\"{}\"", parts.concat())),
        1 => Just("\\\n".to_owned()),
        1 => Just("\\é".to_owned()),
    ]
}

fn words() -> impl Strategy<Value = String> {
    let word = proptest::collection::vec(piece(), 1..5).prop_map(|pieces| pieces.concat());
    let blank = prop_oneof![Just(" "), Just("\t "), Just(" \\\n")];
    proptest::collection::vec((word, blank), 1..5).prop_map(|words| {
        let parts = words
            .into_iter()
            .map(|(word, blank)| format!("{blank}{word}"));
        parts.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn words_are_those_of_the_shell(lines in proptest::collection::vec(words(), 20)) {
        // Many lines for each process: `\001` ends a word, `\002` a line.
        let mut script = String::new();
        for line in &lines {
            script.push_str(&format!("printf '%s\\001' start{line}\nprintf '\\002'\n"));
        }
        let output = run_shell(&script);
        let answers: Vec<&str> = output.split_terminator('\u{2}').collect();
        prop_assert_eq!(answers.len(), lines.len(), "{}", script);
        for (line, answer) in lines.iter().zip(answers) {
            let expected: Vec<&str> = answer.split_terminator('\u{1}').collect();
            prop_assert_eq!(read_words(&format!("start{line}")), expected, "{:?}", line);
        }
    }
}

/// Fragments that change a line or make it invalid. Excludes what the parser leaves to the sandbox: variables,
/// and `[[`, which is a command of some shells and grammar of others.
const NOISE: &[&str] = &[
    "sudo",
    "true",
    "x",
    "A=1",
    "\n",
    ";",
    ";;",
    "&&",
    "||",
    "|",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "!",
    "$(",
    "'",
    "\"",
    "\\",
    "#",
    "<<E",
    "\nE\n",
    ">x",
    "2>&1",
    "if",
    "then",
    "fi",
    "for x in a;",
    "do",
    "done",
    "case x in",
    "x)",
    "*)",
    "esac",
    "eval",
    "''",
    " ",
    "\\\n",
    "in",
    "time",
    "<",
    "<<<",
];

/// Well-formed lines with some inserted fragments.
fn line() -> impl Strategy<Value = String> {
    let noise = (
        any::<proptest::sample::Index>(),
        proptest::sample::select(NOISE),
    );
    let script = scripts(&[
        "sudo",
        "'su'do x",
        ": sudo",
        "true",
        "A=1 sudo",
        ": 'a; sudo'",
    ]);
    (script, proptest::collection::vec(noise, 0..3)).prop_map(|(mut line, noise)| {
        for (place, noise) in noise {
            let mut at = place.index(line.len() + 1);
            while !line.is_char_boundary(at) {
                at -= 1;
            }
            line.insert_str(at, noise);
        }
        line
    })
}

/// Returns whether a line defines a function, which could recurse infinitely.
fn defines_function(line: &str) -> bool {
    let dense: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    dense.contains("()") || dense.contains("(#")
}

/// Returns whether running a line starts the `sudo` in `programs`. No other program can be started.
fn starts_sudo(shell: &str, line: &str, programs: &Path) -> bool {
    let mark = programs.join("ran");
    let work = programs.join("work");
    std::fs::create_dir_all(&work).unwrap();
    Process::new(shell)
        .args(["-c", line])
        .current_dir(&work)
        .env_clear()
        .env("PATH", programs)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let ran = mark.exists();
    if ran {
        std::fs::remove_file(mark).unwrap();
    }
    ran
}

#[test]
fn every_dangerous_command_that_the_shell_runs_was_seen() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::os::unix::fs::{PermissionsExt, symlink};

    let programs = tempfile::tempdir().unwrap();
    let sudo = programs.path().join("sudo");
    let script = format!("#!/bin/sh\n: > '{}/ran'\n", programs.path().display());
    std::fs::write(&sudo, script).unwrap();
    std::fs::set_permissions(&sudo, std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("/bin/sh", programs.path().join("sh")).unwrap();
    symlink("/usr/bin/env", programs.path().join("env")).unwrap();
    assert!(starts_sudo("/bin/sh", "sudo", programs.path()));
    assert!(!starts_sudo("/bin/sh", "echo sudo", programs.path()));

    let shells = ["/bin/sh", "/bin/bash"];
    let shells = shells.into_iter().filter(|shell| Path::new(shell).exists());
    let mut runner = TestRunner::deterministic();
    let mut ran = 0;
    for shell in shells.cycle().take(500) {
        let line = line().new_tree(&mut runner).unwrap().current();
        // A background command may still be starting when the shell has ended.
        let background = line.replace("&&", "").replace(">&", "").contains('&');
        if background || defines_function(&line) || line.trim().is_empty() {
            continue;
        }
        if starts_sudo(shell, &line, programs.path()) {
            ran += 1;
            assert!(check(&line).is_err(), "{shell} runs sudo: {line:?}");
        }
    }
    assert!(ran > 100, "only {ran} lines ran sudo");
}
