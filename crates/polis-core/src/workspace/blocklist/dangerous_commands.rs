//! The list of dangerous commands, and the programs that run other programs.
//!
//! The list is that of requirement 001 (docs/requirements.md) and some equivalent programs. Some programs are refused
//! only with certain arguments: `dd` if it writes to a device, or reads a file and names no output file; `mkfs` for a
//! device and without a file; `chmod 777` with `-R`, without a file, and for a path outside of the workspace.

use super::simple_commands::{is_assignment, split_commands};

/// Programs that run a command with the rights of another user. A script that looks one up
/// (`if command -v sudo; then …`) is prepared for its absence, so it is not refused for it.
const PRIVILEGE_PROGRAMS: &[&str] = &["sudo", "su", "doas", "pkexec", "sudoedit", "runuser"];

/// Programs that shut the system down.
const SHUTDOWN_PROGRAMS: &[&str] = &["shutdown", "reboot", "halt", "poweroff"];

/// Entries of `/dev` that are safe to write to: no data is lost.
const HARMLESS_DEVICES: &[&str] = &[
    "null", "zero", "full", "stdin", "stdout", "stderr", "tty", "fd", "pts", "shm",
];

/// Returns the list's name of the dangerous command in a script; `depth` limits scripts within scripts.
pub(super) fn find_danger(script: &str, depth: usize) -> Option<&'static str> {
    let commands = split_commands(script);
    let mut allowed = PRIVILEGE_PROGRAMS.to_vec();
    let looked_up = commands.iter().filter(|words| is_lookup(words)).flatten();
    allowed.retain(|program| looked_up.clone().any(|word| word == program));
    commands
        .iter()
        .find_map(|words| danger_in_words(words, &allowed, depth))
}

/// Returns whether a command only looks up where programs are.
fn is_lookup(words: &[String]) -> bool {
    match words.first().map_or("", String::as_str) {
        "which" | "type" | "hash" => true,
        "command" => words
            .get(1)
            .is_some_and(|word| word.eq_ignore_ascii_case("-v")),
        _ => false,
    }
}

/// Follows a command through wrappers and scripts. Programs in `allowed` may be used.
fn danger_in_words(mut words: &[String], allowed: &[&str], depth: usize) -> Option<&'static str> {
    while !is_lookup(words) {
        let (first, arguments) = words.split_first()?;
        let name = system_program(first)?;
        if !allowed.contains(&name)
            && let Some(danger) = program_danger(name, arguments)
        {
            return Some(danger);
        }
        let script = match name {
            "sh" | "bash" | "dash" | "zsh" => shell_script(arguments)?.to_owned(),
            "eval" => arguments.join(" "),
            "find" => {
                let is_end =
                    |word: &String| ["-exec", "-execdir", "-ok", ";", "+"].contains(&word.as_str());
                let mut commands = arguments.split(is_end).skip(1);
                return commands.find_map(|words| danger_in_words(words, allowed, depth));
            }
            _ => {
                words = wrapped_command(name, arguments)?;
                continue;
            }
        };
        return find_danger(&script, depth.checked_sub(1)?);
    }
    None
}

/// Returns the command that a wrapper such as `env` or `timeout` runs.
fn wrapped_command<'a>(name: &str, arguments: &'a [String]) -> Option<&'a [String]> {
    let options_with_value = match name {
        "nohup" | "setsid" | "command" | "builtin" | "busybox" => "",
        "env" | "sudo" | "doas" => "ugC",
        "nice" | "ionice" | "timeout" | "xargs" | "exec" => "acdEIknLPs",
        "time" | "stdbuf" => "efo",
        _ => return None,
    };
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        if !word.starts_with('-') && !is_assignment(word) {
            break;
        }
        let is_short = word.starts_with('-') && !word.starts_with("--");
        let takes_value = is_short && word.ends_with(|letter| options_with_value.contains(letter));
        rest = after.get(usize::from(takes_value)..)?;
    }
    rest.get(usize::from(name == "timeout")..)
}

/// Returns the script after `-c` in the arguments of a shell.
fn shell_script(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter().map(String::as_str);
    loop {
        let option = words.next().filter(|word| word.starts_with('-'))?;
        if option.contains('c') && !option.starts_with("--") {
            return words.find(|word| !word.starts_with('-'));
        }
        if option.ends_with('o') {
            // `-o pipefail`
            words.next();
        }
    }
}

/// Returns the name of the system program that a word starts; programs in other directories are not the system's.
fn system_program(word: &str) -> Option<&str> {
    let (directory, name) = word.rsplit_once('/').unwrap_or(("/bin", word));
    let prefix = directory.trim_end_matches("/sbin").trim_end_matches("/bin");
    (prefix != directory && matches!(prefix, "" | "/usr" | "/usr/local")).then_some(name)
}

/// Returns the entry of the list, if a program is dangerous with these arguments.
fn program_danger(name: &str, arguments: &[String]) -> Option<&'static str> {
    let mut operands = operands(arguments).peekable();
    let first = operands.peek().copied().unwrap_or_default();
    match name {
        ">" | "tee" => operands.any(is_device).then_some("> /dev/"),
        "rm" => (is_recursive(arguments) && operands.any(is_root)).then_some("rm -rf /"),
        "chmod" => {
            // With the sticky bit it is the mode of a directory like /tmp.
            let is_for_all = u32::from_str_radix(first, 8).is_ok_and(|mode| mode & 0o1777 == 0o777);
            let is_wide = is_recursive(arguments) || operands.clone().count() < 2;
            (is_for_all && (is_wide || operands.any(is_outside_workspace))).then_some("chmod 777")
        }
        "dd" => {
            let has = |key: &str, matches: fn(&str) -> bool| {
                let mut values = arguments.iter().filter_map(|word| word.strip_prefix(key));
                values.any(matches)
            };
            let only_reads = has("if=", |_| true) && !has("of=", |_| true);
            (only_reads || has("of=", is_device)).then_some("dd if=")
        }
        "init" if first == "0" => Some("init 0"),
        "init" if first == "6" => Some("init 6"),
        _ if name == "mkfs" || name.len() > 5 && name.starts_with("mkfs.") => {
            (first.is_empty() || operands.any(is_device)).then_some("mkfs")
        }
        _ => {
            let mut always = PRIVILEGE_PROGRAMS.iter().chain(SHUTDOWN_PROGRAMS);
            always.find(|program| **program == name).copied()
        }
    }
}

/// Iterates over the arguments that are not options.
fn operands(arguments: &[String]) -> impl Iterator<Item = &str> + Clone {
    let mut only_operands = false;
    arguments.iter().map(String::as_str).filter(move |word| {
        let is_option = !only_operands && word.len() > 1 && word.starts_with('-');
        only_operands |= *word == "--";
        !is_option
    })
}

fn is_recursive(arguments: &[String]) -> bool {
    let mut options = arguments.iter().take_while(|word| *word != "--");
    options.any(|word| match word.strip_prefix('-') {
        Some(letters) if !letters.starts_with('-') => letters.contains(['r', 'R']),
        _ => word == "--recursive",
    })
}

/// Recognizes `/` in any spelling, and a glob that matches everything in it.
fn is_root(path: &str) -> bool {
    let is_glob = |part: &&str| matches!(*part, "*" | ".*");
    absolute_components(path).is_some_and(|parts| parts.iter().all(is_glob))
}

/// Returns whether a path is neither in the workspace nor in the command's own `/tmp`.
fn is_outside_workspace(path: &str) -> bool {
    let is_inside = |parts: Vec<&str>| matches!(parts.as_slice(), ["tmp" | "workspace", _, ..]);
    absolute_components(path).is_some_and(|parts| !is_inside(parts))
}

/// Returns whether data written to this path goes to a device. `/dev` itself counts, as in requirement 001.
fn is_device(path: &str) -> bool {
    let parts = absolute_components(path).unwrap_or_default();
    let is_harmless = |entry: &&str| HARMLESS_DEVICES.contains(entry);
    parts.first() == Some(&"dev") && !parts.get(1).is_some_and(is_harmless)
}

/// Returns the components of an absolute path without variables, with `.` and `..` resolved.
fn absolute_components(path: &str) -> Option<Vec<&str>> {
    let relative = path.strip_prefix('/').filter(|path| !path.contains('$'))?;
    let mut parts = Vec::new();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    Some(parts)
}
