//! `.gitignore` rules, and the globs of a search, which have the same syntax. The rules are text that was read
//! beneath the workspace; the `ignore` crate opens no file here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Ignore rules in order; the last match takes precedence.
#[derive(Debug)]
pub(super) struct IgnoreRules(Gitignore);

impl IgnoreRules {
    /// Parses the rules of a file, one per line. Invalid lines are skipped.
    pub(super) fn from_file(content: &[u8]) -> Self {
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        let mut builder = GitignoreBuilder::new("");
        for line in content.split(|byte| *byte == b'\n') {
            if let Ok(line) = std::str::from_utf8(line) {
                let _ = builder.add_line(None, line);
            }
        }
        Self(builder.build().unwrap_or_else(|_| Gitignore::empty()))
    }

    /// Parses the globs of a search. Fails with the message for the first invalid glob.
    pub(super) fn from_globs(globs: &[String]) -> Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        for glob in globs {
            // A glob of a search is never a comment.
            let escape = if glob.starts_with('#') { "\\" } else { "" };
            builder
                .add_line(None, &format!("{escape}{glob}"))
                .map_err(|error| error.to_string())?;
        }
        builder.build().map(Self).map_err(|error| error.to_string())
    }

    /// Returns whether there are no rules.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether any rule does not begin with `!`.
    pub(super) fn has_positive_rule(&self) -> bool {
        self.0.num_ignores() > 0
    }

    /// Returns the last matching rule's effect on a path, which is relative to the directory of the rules.
    pub(super) fn match_path(&self, path: &[u8], is_directory: bool) -> Match<()> {
        self.0
            .matched(Path::new(OsStr::from_bytes(path)), is_directory)
            .map(|_| ())
    }
}
