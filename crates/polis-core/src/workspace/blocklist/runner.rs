//! Commands that run other commands: `env`, `timeout`, `xargs`, `sh -c`, `eval`, `find -exec`.
//!
//! Follows their arguments to the command that is finally run. Arguments that are scripts are returned to the
//! shell parser.

use super::Danger;
use super::danger;
use super::shell::{Command, Inside, Word};

/// A program whose arguments, after its own options, are a command.
struct Wrapper {
    name: &'static str,
    /// One-letter options that take a value.
    short: &'static str,
    /// Long options that take the next word as their value.
    long: &'static [&'static str],
    /// Number of its own operands before the command.
    operands: usize,
}

const fn wrapper(
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper {
        name,
        short,
        long,
        operands,
    }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("env", "uCS", &["--unset", "--chdir", "--split-string"], 0),
    wrapper("nohup", "", &[], 0),
    wrapper("nice", "n", &["--adjustment"], 0),
    wrapper("ionice", "cnpPu", &["--class", "--classdata"], 0),
    wrapper("time", "of", &["--output", "--format"], 0),
    wrapper("timeout", "sk", &["--signal", "--kill-after"], 1),
    wrapper("stdbuf", "ioe", &["--input", "--output", "--error"], 0),
    wrapper(
        "xargs",
        "adEILnPs",
        &[
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-procs",
            "--max-chars",
            "--process-slot-var",
        ],
        0,
    ),
    wrapper("exec", "a", &[], 0),
    wrapper("command", "", &[], 0),
    wrapper("builtin", "", &[], 0),
    wrapper("coproc", "", &[], 0),
    wrapper("setsid", "", &[], 0),
    wrapper("busybox", "", &[], 0),
    wrapper("toybox", "", &[], 0),
    wrapper("chroot", "", &["--userspec", "--groups"], 1),
    wrapper("taskset", "", &[], 1),
    wrapper("chrt", "TPD", &[], 1),
    wrapper("fakeroot", "lsib", &["--lib", "--faked"], 0),
    wrapper(
        "flock",
        "wE",
        &["--timeout", "--wait", "--conflict-exit-code"],
        1,
    ),
    wrapper(
        "unshare",
        "SGRw",
        &["--root", "--wd", "--setuid", "--setgid"],
        0,
    ),
    wrapper("watch", "n", &["--interval"], 0),
];

const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "ash", "rbash", "zsh", "ksh", "mksh", "fish",
];

/// Inspects one command: refuses it, or returns the scripts it contains.
pub(super) fn inspect(command: &Command<'_>) -> Result<Inside, Danger> {
    if command.writes.iter().any(danger::device) {
        return Err(Danger("> /dev/"));
    }
    let mut inside = Inside::default();
    let mut left = vec![after_assignments(command.words)];
    let mut searched = false;
    while let Some(words) = left.pop() {
        let Some(searches) = follow(words, &mut inside)? else {
            continue;
        };
        // One pass finds the commands of every `find` among these words.
        if !searched {
            searched = true;
            left.extend(executed(searches).into_iter().rev());
        }
    }
    Ok(inside)
}

/// Follows a command through its wrappers. Returns the arguments of a `find`, if it is one.
fn follow<'w>(mut words: &'w [Word], inside: &mut Inside) -> Result<Option<&'w [Word]>, Danger> {
    loop {
        let Some((first, arguments)) = words.split_first() else {
            return Ok(None);
        };
        let Some(name) = first.known().and_then(danger::program) else {
            return Ok(None);
        };
        danger::check(name, arguments)?;
        if SHELLS.contains(&name) {
            shell(arguments, inside);
            return Ok(None);
        }
        match name {
            "eval" => {
                inside.scripts.push(joined(after_dashes(arguments)));
                return Ok(None);
            }
            "trap" => {
                let script = after_dashes(arguments).first();
                inside.scripts.extend(script.map(|word| word.text().into()));
                return Ok(None);
            }
            "find" => return Ok(Some(arguments)),
            "command" if arguments.first().is_some_and(asks_only) => return Ok(None),
            "env" => inside.scripts.extend(split_string(arguments)),
            _ => {}
        }
        let Some(wrapper) = WRAPPERS.iter().find(|known| known.name == name) else {
            return Ok(None);
        };
        words = wrapper.command(arguments);
        match name {
            "env" => {
                let assigned = leading(words, |word| word.text().contains('='));
                words = words.get(assigned..).unwrap_or_default();
            }
            "time" | "coproc" => words = after_assignments(words),
            "watch" => {
                inside.scripts.push(joined(words));
                return Ok(None);
            }
            "flock" if words.first().is_some_and(|word| word.text() == "-c") => {
                inside
                    .scripts
                    .extend(words.get(1).map(|word| word.text().into()));
                return Ok(None);
            }
            _ => {}
        }
    }
}

impl Wrapper {
    /// Returns the words after its own options and operands.
    fn command<'w>(&self, arguments: &'w [Word]) -> &'w [Word] {
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            let text = word.text();
            let Some(option) = text.strip_prefix('-') else {
                if self.name == "env" && text.contains('=') {
                    at += 1;
                    continue;
                }
                break;
            };
            if option.is_empty() && self.name != "env" {
                break;
            }
            at += 1;
            if option == "-" {
                break;
            }
            let value_follows = if option.starts_with('-') {
                self.long.contains(&text)
            } else {
                let value = option.find(|letter| self.short.contains(letter));
                value.is_some_and(|place| place + 1 == option.len())
            };
            at += usize::from(value_follows);
        }
        arguments.get(at + self.operands..).unwrap_or_default()
    }
}

/// Returns the words after leading assignments (`A=1 B=2`).
fn after_assignments(words: &[Word]) -> &[Word] {
    words
        .get(leading(words, Word::is_assignment)..)
        .unwrap_or_default()
}

/// Returns the words after a leading `--`.
fn after_dashes(words: &[Word]) -> &[Word] {
    match words.split_first() {
        Some((first, rest)) if first.text() == "--" => rest,
        _ => words,
    }
}

fn leading(words: &[Word], holds: impl Fn(&Word) -> bool) -> usize {
    words.iter().take_while(|word| holds(word)).count()
}

/// `command -v name` only prints the location of a command.
fn asks_only(word: &Word) -> bool {
    let text = word.text();
    text.starts_with('-') && !text.starts_with("--") && text.contains(['v', 'V'])
}

fn joined(words: &[Word]) -> String {
    let mut script = String::new();
    for word in words {
        script.push_str(word.text());
        script.push(' ');
    }
    script
}

/// Returns the string that `env -S` splits into words.
fn split_string(arguments: &[Word]) -> Option<String> {
    let mut words = arguments.iter().map(Word::text);
    while let Some(text) = words.next().filter(|text| text.starts_with('-')) {
        if text == "--split-string" {
            return words.next().map(Into::into);
        }
        if let Some(value) = text.strip_prefix("--split-string=") {
            return Some(value.into());
        }
        let flags = text.trim_start_matches(['-', 'i', 'v', '0']);
        if let Some(value) = flags.strip_prefix('S').filter(|_| !text.starts_with("--")) {
            return match value {
                "" => words.next().map(Into::into),
                value => Some(value.into()),
            };
        }
    }
    None
}

/// Handles a shell: takes the script after `-c`, or detects that it reads one from standard input.
fn shell(arguments: &[Word], inside: &mut Inside) {
    let (mut command, mut input) = (false, false);
    let mut at = 0;
    while let Some(text) = arguments.get(at).map(Word::text) {
        if matches!(text, "--" | "-") {
            at += 1;
            break;
        }
        if text.starts_with("--") {
            at += 1 + usize::from(matches!(text, "--rcfile" | "--init-file"));
            continue;
        }
        let Some(flags) = text.strip_prefix(['-', '+']) else {
            break;
        };
        command |= flags.contains('c');
        input |= flags.contains('s');
        // `-o pipefail`
        at += 1 + flags.matches(['o', 'O']).count();
    }
    let operand = arguments.get(at);
    if command {
        inside
            .scripts
            .extend(operand.map(|word| word.text().into()));
    } else {
        inside.reads_input |= input || operand.is_none();
    }
}

/// Returns the commands of `find -exec`. Each ends at the latest where the next one begins.
fn executed(arguments: &[Word]) -> Vec<&[Word]> {
    let mut commands = Vec::new();
    let mut rest = arguments;
    let starts = |word: &Word| matches!(word.text(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let ends = |word: &Word| starts(word) || matches!(word.text(), ";" | "+");
    while let Some(start) = rest.iter().position(starts) {
        rest = rest.get(start + 1..).unwrap_or_default();
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let (command, later) = rest.split_at(end);
        commands.push(command);
        rest = later;
    }
    commands
}
