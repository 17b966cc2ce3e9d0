//! The rules of `.gitignore` files, and the globs of a search, which are written the same way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

/// What a line of a `.gitignore` says beside its glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rule {
    /// Whether it takes back what an earlier line said.
    negated: bool,
    only_directories: bool,
}

/// Rules in their order; the last that matches counts.
#[derive(Debug)]
pub(super) struct Rules {
    globs: GlobSet,
    rules: Vec<Rule>,
}

/// What rules say about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A rule matches it.
    Matched,
    /// A rule that begins with `!` matches it.
    Negated,
}

impl Rules {
    /// The rules of a file, one on each line. A line that is no rule is left out.
    pub(super) fn of_file(content: &[u8]) -> Self {
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        let lines = content.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
        let lines: Vec<&str> = lines
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .filter(|line| !line.starts_with('#'))
            .collect();
        Self::build(lines.iter().filter_map(|line| parse(line).ok().flatten()))
            .unwrap_or_else(|_| Self::none())
    }

    /// The globs of a search; the message of the first that is none.
    pub(super) fn of_globs(globs: &[String]) -> Result<Self, String> {
        let parsed: Result<Vec<_>, _> = globs.iter().map(|glob| parse(glob)).collect();
        Self::build(parsed?.into_iter().flatten())
    }

    fn none() -> Self {
        Self {
            globs: GlobSet::empty(),
            rules: Vec::new(),
        }
    }

    fn build(lines: impl Iterator<Item = (globset::Glob, Rule)>) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        let mut rules = Vec::new();
        for (glob, rule) in lines {
            set.add(glob);
            rules.push(rule);
        }
        let globs = set.build().map_err(|error| error.to_string())?;
        Ok(Self { globs, rules })
    }

    /// Whether there is no rule.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether any rule does not begin with `!`.
    pub(super) fn any_plain(&self) -> bool {
        self.rules.iter().any(|rule| !rule.negated)
    }

    /// What they say about a path, which is relative to the directory they are in.
    pub(super) fn verdict(&self, path: &[u8], is_directory: bool) -> Option<Verdict> {
        if self.is_empty() {
            return None;
        }
        let candidate = Candidate::new(Path::new(OsStr::from_bytes(path)));
        let matching = self.globs.matches_candidate(&candidate);
        let rules = matching.iter().rev().filter_map(|at| self.rules.get(*at));
        rules
            .filter(|rule| is_directory || !rule.only_directories)
            .map(|rule| {
                if rule.negated {
                    Verdict::Negated
                } else {
                    Verdict::Matched
                }
            })
            .next()
    }
}

/// A line as a glob over whole paths; nothing if the line is empty.
fn parse(line: &str) -> Result<Option<(globset::Glob, Rule)>, String> {
    let mut text = trim_end(line);
    let negated = text.starts_with('!');
    text = text.strip_prefix('!').unwrap_or(text);
    let only_directories = text.ends_with('/');
    text = text.strip_suffix('/').unwrap_or(text);
    // A slash anywhere but at the end ties the glob to the directory of the file.
    let tied = text.contains('/');
    text = text.strip_prefix('/').unwrap_or(text);
    if text.is_empty() {
        return Ok(None);
    }
    let mut glob = String::with_capacity(text.len() + 5);
    if !tied {
        glob.push_str("**/");
    }
    glob.push_str(text);
    if text.ends_with("/**") {
        // What is in the directory, and not the directory.
        glob.push_str("/*");
    }
    let glob = GlobBuilder::new(&glob)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| error.to_string())?;
    let rule = Rule {
        negated,
        only_directories,
    };
    Ok(Some((glob, rule)))
}

/// Without blanks at the end, unless the first of them is escaped.
fn trim_end(line: &str) -> &str {
    let trimmed = line.trim_end_matches([' ', '\t']);
    if trimmed.ends_with('\\') && trimmed.len() < line.len() {
        line.get(..=trimmed.len()).unwrap_or(line)
    } else {
        trimmed
    }
}
