//! The list of dangerous commands: checks a command's name and arguments.
//!
//! The list is that of the source document, extended by equivalent programs: `doas`, `pkexec`, `sudoedit` and
//! `runuser` give another user's privileges as `sudo` and `su` do; `halt`, `poweroff`, `telinit` and
//! `systemctl` shut down the system as `shutdown` and `init` do.

use super::Danger;
use super::shell::Word;

/// Directories of system programs. A program with the same name in another directory is not the system's.
const SYSTEM: &[&[&str]] = &[
    &["bin"],
    &["sbin"],
    &["usr", "bin"],
    &["usr", "sbin"],
    &["usr", "local", "bin"],
    &["usr", "local", "sbin"],
    &["run", "wrappers", "bin"],
];

/// Files in `/dev` that are safe to write to: no data is lost.
const HARMLESS: &[&str] = &[
    "null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "ptmx",
];

/// Directories in `/dev` that do not contain hardware devices.
const HARMLESS_DIRECTORIES: &[&str] = &["fd", "pts", "shm"];

/// Returns the name of the program that a command word starts, if it is a system program.
pub(super) fn program(word: &str) -> Option<&str> {
    if !word.contains('/') {
        return Some(word);
    }
    let mut parts = absolute(word)?;
    let name = parts.pop()?;
    SYSTEM.contains(&parts.as_slice()).then_some(name)
}

/// Fails with a [`Danger`] if a program is dangerous with these arguments.
pub(super) fn check(name: &str, arguments: &[Word]) -> Result<(), Danger> {
    let found = match name {
        "sudo" => Some("sudo"),
        "su" => Some("su"),
        "doas" => Some("doas"),
        "pkexec" => Some("pkexec"),
        "sudoedit" => Some("sudoedit"),
        "runuser" => Some("runuser"),
        "shutdown" => Some("shutdown"),
        "reboot" => Some("reboot"),
        "halt" => Some("halt"),
        "poweroff" => Some("poweroff"),
        "init" => run_level(arguments, ["init 0", "init 6"]),
        "telinit" => run_level(arguments, ["telinit 0", "telinit 6"]),
        "systemctl" => system_end(arguments),
        "rm" => removes_root(arguments).then_some("rm -rf /"),
        "chmod" => opens_to_all(arguments).then_some("chmod 777"),
        "dd" => copies_devices(arguments),
        "tee" => arguments.iter().any(device).then_some("> /dev/"),
        _ => (name == "mkfs" || name.len() > 5 && name.starts_with("mkfs.")).then_some("mkfs"),
    };
    found.map_or(Ok(()), |name| Err(Danger(name)))
}

/// Returns whether output redirected to this file goes to a device. `/dev` itself counts, as in the source
/// document.
pub(super) fn device(word: &Word) -> bool {
    let Some(parts) = word.known().and_then(absolute) else {
        return false;
    };
    match parts.as_slice() {
        ["dev", name] => !HARMLESS.contains(name) && !HARMLESS_DIRECTORIES.contains(name),
        ["dev", directory, ..] => !HARMLESS_DIRECTORIES.contains(directory),
        ["dev"] => true,
        _ => false,
    }
}

/// Returns the components of an absolute path, with `.` and `..` resolved.
fn absolute(path: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in path.strip_prefix('/')?.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    Some(parts)
}

fn run_level(arguments: &[Word], names: [&'static str; 2]) -> Option<&'static str> {
    match operands(arguments).next().and_then(Word::known) {
        Some("0") => Some(names[0]),
        Some("6") => Some(names[1]),
        _ => None,
    }
}

fn system_end(arguments: &[Word]) -> Option<&'static str> {
    match operands(arguments).next().and_then(Word::known) {
        Some("reboot") => Some("systemctl reboot"),
        Some("poweroff") => Some("systemctl poweroff"),
        Some("halt") => Some("systemctl halt"),
        Some("kexec") => Some("systemctl kexec"),
        _ => None,
    }
}

/// Iterates over the arguments that are not options.
fn operands(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    let mut all = false;
    arguments.iter().filter(move |word| {
        if all || !word.text().starts_with('-') || word.text() == "-" {
            return true;
        }
        all = word.text() == "--";
        false
    })
}

/// Recognizes a recursive `rm` of `/`. The force option makes no difference, because commands have no terminal
/// to ask on.
fn removes_root(arguments: &[Word]) -> bool {
    let options = arguments
        .iter()
        .map(Word::text)
        .take_while(|text| *text != "--")
        .filter(|text| text.starts_with('-'));
    let recursive = options.into_iter().any(|option| {
        if option.starts_with("--") {
            // Long options may be abbreviated as long as they are unambiguous.
            option.len() > 2 && "--recursive".starts_with(option)
        } else {
            option.contains(['r', 'R'])
        }
    });
    recursive && operands(arguments).any(is_root)
}

/// Recognizes `/` in any spelling, and a glob that matches everything in it.
fn is_root(word: &Word) -> bool {
    let Some(parts) = word.pattern().and_then(absolute) else {
        return false;
    };
    parts
        .iter()
        .all(|part| word.is_glob() && matches!(*part, "*" | ".*" | "**"))
}

/// Recognizes `chmod` to a mode that gives all permissions to all users.
fn opens_to_all(arguments: &[Word]) -> bool {
    let mut all = false;
    let mode = arguments.iter().find(|word| {
        let text = word.text();
        // A mode may begin with a dash too: `chmod -x file`.
        let flags = |text: &str| text.chars().all(|flag| "RvcfHLPh".contains(flag));
        let option = !all
            && text
                .strip_prefix('-')
                .is_some_and(|rest| rest.starts_with('-') || flags(rest));
        all |= text == "--";
        !option
    });
    let Some(mode) = mode.and_then(Word::known) else {
        return false;
    };
    match u32::from_str_radix(mode, 8) {
        // With the sticky bit it is a directory like /tmp, where all users may write but not delete others'
        // files.
        Ok(mode) => mode & 0o1777 == 0o777,
        Err(_) => symbolic(mode) == Some(0o777),
    }
}

/// Returns the permissions that a symbolic mode such as `a+rwx` certainly grants.
fn symbolic(mode: &str) -> Option<u32> {
    let mut granted = 0_u32;
    for clause in mode.split(',') {
        let start = clause.find(['+', '-', '='])?;
        let (who, mut actions) = clause.split_at_checked(start)?;
        let mut mask = 0_u32;
        for class in who.chars() {
            mask |= match class {
                'u' => 0o700,
                'g' => 0o070,
                'o' => 0o007,
                'a' => 0o777,
                _ => return None,
            };
        }
        while let Some(action) = actions.chars().next() {
            let rest = actions.get(1..)?;
            let end = rest.find(['+', '-', '=']).unwrap_or(rest.len());
            let (permissions, later) = rest.split_at_checked(end)?;
            actions = later;
            let mut bits = 0_u32;
            for permission in permissions.chars() {
                bits |= match permission {
                    'r' => 0o444,
                    'w' => 0o222,
                    'x' => 0o111,
                    // Set-id, sticky, and permissions that depend on the file or on other classes.
                    'X' | 's' | 't' | 'u' | 'g' | 'o' => 0,
                    _ => return None,
                };
            }
            match action {
                '+' => granted |= bits & mask,
                '-' => granted &= !(bits & mask),
                _ => granted = granted & !mask | bits & mask,
            }
        }
    }
    Some(granted)
}

fn copies_devices(arguments: &[Word]) -> Option<&'static str> {
    if arguments.iter().any(|word| word.text().starts_with("if=")) {
        return Some("dd if=");
    }
    let to_device = |word: &Word| {
        word.known()
            .and_then(|text| text.strip_prefix("of="))
            .is_some_and(|file| device(&Word::from_text(file)))
    };
    arguments.iter().any(to_device).then_some("> /dev/")
}
