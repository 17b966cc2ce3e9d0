//! Globs over blackboard paths: `*` and `?` match within a component, `**` any number of components, `[ab]` one
//! character of a class, `{a,b}` one of several. Unlike in `.gitignore`, a glob always matches the whole path:
//! `*.md` does not match `shared/context.md`.

use globset::{GlobBuilder, GlobMatcher};

/// Maximum length of a pattern in bytes, which bounds the memory and the nesting of the compiled automaton.
const MAX_GLOB_BYTES: usize = 500;

/// A compiled glob. It matches in time linear in the path.
#[derive(Debug, Clone)]
pub struct BlackboardGlob(GlobMatcher);

impl BlackboardGlob {
    /// Compiles a pattern. Fails with the reason if it is invalid.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_GLOB_BYTES {
            return Err(format!(
                "a path pattern is longer than {MAX_GLOB_BYTES} bytes"
            ));
        }
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        // The message of the error names the pattern.
        glob.map(|glob| Self(glob.compile_matcher()))
            .map_err(|error| error.to_string())
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        self.0.glob().glob()
    }

    /// Returns whether the whole path matches.
    pub(super) fn is_match(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

impl PartialEq for BlackboardGlob {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for BlackboardGlob {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_patterns_match_expected_paths() {
        let cases = [
            ("**", "tasks/1/status.md", true),
            ("tasks/**", "tasks/1/status.md", true),
            ("tasks/*", "tasks/1/status.md", false),
            ("tasks/*/status.md", "tasks/1/status.md", true),
            ("tasks/*/*.md", "tasks/1/status.md", true),
            ("gm/gm-*.md", "gm/gm-decisions.md", true),
            ("gm/gm-*.md", "gm/other.md", false),
            ("*.md", "shared/context.md", false),
            ("**/context.md", "shared/context.md", true),
            ("**/context.md", "context.md", true),
            ("shared/context.md", "shared/context.md", true),
            ("shared/c?ntext.md", "shared/context.md", true),
            ("shared?context.md", "shared/context.md", false),
            ("shared/[a-d]ontext.md", "shared/context.md", true),
            ("{gm,shared}/*.md", "shared/context.md", true),
            ("", "a.md", false),
        ];
        for (pattern, path, expected) in cases {
            let glob = BlackboardGlob::parse(pattern).unwrap();
            assert_eq!(glob.is_match(path), expected, "{pattern} {path}");
            assert_eq!(glob.as_str(), pattern);
        }
    }

    #[test]
    fn many_stars_match_in_reasonable_time() {
        let glob = BlackboardGlob::parse(&"*a".repeat(60)).unwrap();
        assert!(!glob.is_match(&"a".repeat(200).replace('a', "ab")));
    }

    #[test]
    fn hostile_and_invalid_patterns_are_refused() {
        for pattern in [
            "[",
            "[b-a]",
            "{a",
            "a}",
            "\\",
            &"*a".repeat(1_000),
            &"{".repeat(1_000_000),
        ] {
            assert!(BlackboardGlob::parse(pattern).is_err());
        }
    }
}
