//! Blackboard paths: validated relative paths of the Markdown files of the blackboard, such as
//! `shared/context.md` or `tasks/123/status.md`.
//!
//! Components consist of lower-case letters, digits and hyphens, and the file's extension is `.md`. Below
//! `tasks`, the first component names a task and must contain a digit, such as `123` or `task-20260225-001`; it
//! is not parsed as a `TaskId`. Length and depth are limited, and `.` and `..` are
//! refused (path traversal), so that a path is safe below the blackboard's directory.

use std::fmt;
use std::str::FromStr;

use crate::id::quote_untrusted;
use crate::refusal::{BlackboardRule, BoardRefusal, Refusal};

/// Maximum length of a path, in bytes: the name of its lock file is derived from the whole path.
const MAX_PATH_BYTES: usize = 240;
/// Maximum length of a component, in bytes: a file name must have room for `.bak`.
const MAX_PART_BYTES: usize = 100;
/// Maximum number of components.
const MAX_PARTS: usize = 8;

/// A path below the blackboard's directory, such as `tasks/123/status.md`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlackboardPath(String);

impl BlackboardPath {
    /// Returns the path relative to the blackboard's directory.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the file's name without its extension.
    pub(super) fn file_stem(&self) -> &str {
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
        match violated_rule(text) {
            None => Ok(Self(text.to_owned())),
            Some(rule) => Err(Refusal::from(BoardRefusal::InvalidPath {
                path: quote_untrusted(text),
                rule,
            })),
        }
    }
}

/// Returns the rule that a path violates.
fn violated_rule(path: &str) -> Option<BlackboardRule> {
    if path.is_empty() {
        return Some(BlackboardRule::Empty);
    }
    if path.starts_with('/') {
        return Some(BlackboardRule::Absolute);
    }
    if path.len() > MAX_PATH_BYTES {
        return Some(BlackboardRule::TooLong);
    }
    let parts: Vec<&str> = path.split('/').collect();
    if parts.iter().any(|part| *part == ".." || *part == ".") {
        return Some(BlackboardRule::Leaves);
    }
    if parts.iter().any(|part| part.is_empty()) {
        return Some(BlackboardRule::EmptyPart);
    }
    if parts.len() > MAX_PARTS || parts.iter().any(|part| part.len() > MAX_PART_BYTES) {
        return Some(BlackboardRule::TooDeep);
    }
    let (file, directories) = parts.split_last()?;
    let Some(stem) = file.strip_suffix(".md") else {
        return Some(BlackboardRule::Extension);
    };
    if stem.is_empty() {
        return Some(BlackboardRule::NoStem);
    }
    if let Some(broken) = directories
        .iter()
        .copied()
        .chain([stem])
        .find_map(violated_name_rule)
    {
        return Some(broken);
    }
    match directories {
        [] if stem == "tasks" => Some(BlackboardRule::TasksFile),
        ["tasks"] => Some(BlackboardRule::TaskFile),
        ["tasks", id, ..] if !id.bytes().any(|b| b.is_ascii_digit()) => {
            Some(BlackboardRule::TaskId)
        }
        _ => None,
    }
}

/// Returns the rule that a directory name, or a file name before `.md`, violates.
fn violated_name_rule(name: &str) -> Option<BlackboardRule> {
    if name.chars().any(char::is_uppercase) {
        return Some(BlackboardRule::UpperCase);
    }
    if !name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    {
        return Some(BlackboardRule::Characters);
    }
    name.starts_with('-').then_some(BlackboardRule::Hyphen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    #[test]
    fn documented_paths_are_accepted() {
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
    fn refusal_names_the_violated_rule() {
        let cases = [
            ("", "empty"),
            ("/etc/passwd.md", "absolute"),
            ("../x.md", "leaves"),
            ("a/../../x.md", "leaves"),
            ("a/./x.md", "leaves"),
            ("a//x.md", "empty-part"),
            ("shared/Context.md", "upper-case"),
            ("shared/con text.md", "characters"),
            ("shared/a_b.md", "characters"),
            ("shared/上下文.md", "characters"),
            ("shared/context.txt", "extension"),
            ("shared/context.md.bak", "extension"),
            ("shared/.md", "no-stem"),
            ("shared/a.b.md", "characters"),
            ("shared/x\0.md", "characters"),
            ("-x/a.md", "hyphen"),
            ("tasks/status.md", "task-file"),
            ("tasks/abc/status.md", "task-id"),
            ("tasks.md", "tasks-file"),
            ("a/b/c/d/e/f/g/h/i.md", "too-deep"),
        ];
        for (path, why) in cases {
            let refusal = path.parse::<BlackboardPath>().unwrap_err();
            assert_eq!(refusal.code, RefusalCode::INVALID_PATH);
            let rule = refusal.reason.arg("rule").unwrap().to_string();
            assert_eq!(rule, format!("blackboard-rule-{why}"), "{path:?}");
        }
        let long = format!("{}.md", "a".repeat(101));
        assert!(long.parse::<BlackboardPath>().is_err());
    }
}
