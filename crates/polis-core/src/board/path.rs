//! Blackboard paths: validation of `.md` files in lower case with hyphens, and of `tasks/{id}/...`.
//!
//! Limits length and depth and excludes `.` and `..`, so that a path is safe below the blackboard's directory.

use std::fmt;
use std::str::FromStr;

use crate::id::quoted;
use crate::refusal::{Code, Refusal};

/// Maximum length of a path, in bytes: the name of its lock file is derived from the whole path.
const MAX_BYTES: usize = 240;
/// Maximum length of a component, in bytes: a file name must have room for `.bak`.
const MAX_PART_BYTES: usize = 100;
/// Maximum number of components.
const MAX_PARTS: usize = 8;

/// A path below the blackboard's directory, such as `tasks/123/status.md`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlackboardPath(String);

impl BlackboardPath {
    /// Returns the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the file's name without its extension.
    pub(super) fn stem(&self) -> &str {
        let name = self.0.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".md").unwrap_or(name)
    }
}

impl fmt::Display for BlackboardPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BlackboardPath {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        match broken_rule(text) {
            None => Ok(Self(text.to_owned())),
            Some(rule) => Err(Refusal::new(
                Code::InvalidPath,
                format!("Invalid path {}: {rule}.", quoted(text)),
                "name a file below the blackboard, such as shared/context.md or tasks/123/status.md",
            )),
        }
    }
}

/// Returns the rule that a path violates, in words.
fn broken_rule(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.starts_with('/') {
        return Some("it must be relative to the blackboard");
    }
    if path.len() > MAX_BYTES {
        return Some("it is longer than 240 bytes");
    }
    let parts: Vec<&str> = path.split('/').collect();
    if parts.iter().any(|part| *part == ".." || *part == ".") {
        return Some("it must not leave the blackboard (no `.` or `..`)");
    }
    if parts.iter().any(|part| part.is_empty()) {
        return Some("it has an empty part");
    }
    if parts.len() > MAX_PARTS || parts.iter().any(|part| part.len() > MAX_PART_BYTES) {
        return Some("it is nested deeper than 8 parts, or a part is longer than 100 bytes");
    }
    let (file, directories) = parts.split_last()?;
    let Some(stem) = file.strip_suffix(".md") else {
        return Some("its extension must be .md");
    };
    if stem.is_empty() {
        return Some("the file has no name before .md");
    }
    if let Some(broken) = directories.iter().copied().chain([stem]).find_map(part) {
        return Some(broken);
    }
    match directories {
        [] if stem == "tasks" => Some("`tasks` is the directory of tasks"),
        ["tasks"] => Some("a task's file is tasks/{id}/NAME.md"),
        ["tasks", id, ..] if !id.bytes().any(|b| b.is_ascii_digit()) => {
            Some("a task's id is a number, or has one, such as 123 or task-20260225-001")
        }
        _ => None,
    }
}

/// Returns the rule that a directory name, or a file name before `.md`, violates.
fn part(name: &str) -> Option<&'static str> {
    if name.chars().any(char::is_uppercase) {
        return Some("it must be lower case");
    }
    if !name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    {
        return Some("only lower-case letters, digits and hyphens are accepted");
    }
    name.starts_with('-')
        .then_some("a part must not begin with a hyphen")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_paths_are_accepted() {
        for good in [
            "tasks/123/status.md",
            "tasks/123/validation.md",
            "tasks/task-20260225-001/escalation.md",
            "gm/gm-decisions.md",
            "shared/context.md",
            "notes.md",
            "a/b/c/d/e/f/g/h.md",
        ] {
            assert!(good.parse::<BlackboardPath>().is_ok(), "{good}");
        }
    }

    #[test]
    fn the_broken_rule_is_named() {
        let cases = [
            ("", "empty"),
            ("/etc/passwd.md", "relative"),
            ("../x.md", "leave"),
            ("a/../../x.md", "leave"),
            ("a/./x.md", "leave"),
            ("a//x.md", "empty part"),
            ("shared/Context.md", "lower case"),
            ("shared/con text.md", "hyphens"),
            ("shared/a_b.md", "hyphens"),
            ("shared/上下文.md", "hyphens"),
            ("shared/context.txt", ".md"),
            ("shared/context.md.bak", ".md"),
            ("shared/.md", "no name"),
            ("shared/a.b.md", "hyphens"),
            ("shared/x\0.md", "hyphens"),
            ("-x/a.md", "begin with a hyphen"),
            ("tasks/status.md", "tasks/{id}"),
            ("tasks/abc/status.md", "number"),
            ("tasks.md", "directory of tasks"),
            ("a/b/c/d/e/f/g/h/i.md", "deeper"),
        ];
        for (path, why) in cases {
            let refusal = path.parse::<BlackboardPath>().unwrap_err();
            assert_eq!(refusal.code, Code::InvalidPath);
            assert!(
                refusal.message.contains(why),
                "{path:?}: {}",
                refusal.message
            );
        }
        let long = format!("{}.md", "a".repeat(101));
        assert!(long.parse::<BlackboardPath>().is_err());
    }
}
