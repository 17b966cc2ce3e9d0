//! YAML loading with limits: reports errors with their line, and refuses deep nesting and alias expansion
//! ("billion laughs").

use polis_core::refusal::Reason;
use saphyr::{LoadableYamlNode as _, MarkedYaml};

use crate::output::sanitize_line;
use crate::refusal_tables::YamlProblem;

/// Maximum column at which a block may begin. The parser recurses once for every nested block, and each level
/// takes at least one column.
const MAX_INDENT: usize = 400;
/// Texts with more than `MAX_ANCHORS` anchors may have at most `MAX_ALIASES` aliases: each alias is expanded
/// to a copy, and copies of copies exhaust any memory.
const MAX_ANCHORS: usize = 3;
const MAX_ALIASES: usize = 16;

/// A YAML error with its line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct YamlError {
    /// Line number, from 1.
    pub(crate) line: usize,
    /// The problem, without the line.
    pub(crate) reason: Reason,
}

/// Parses the documents of a text, with source positions.
pub(crate) fn load_yaml(text: &str) -> Result<Vec<MarkedYaml<'_>>, YamlError> {
    let too_deep = text.lines().position(|line| {
        let begin = line.find(|c| !matches!(c, ' ' | '\t' | '-' | '?' | ':'));
        begin.unwrap_or(line.len()) > MAX_INDENT
    });
    if let Some(line) = too_deep {
        return Err(YamlError {
            line: line + 1,
            reason: YamlProblem::NestedTooDeeply.into(),
        });
    }
    if count_markers(text, '&') > MAX_ANCHORS && count_markers(text, '*') > MAX_ALIASES {
        return Err(YamlError {
            line: 1,
            reason: YamlProblem::TooManyAliases.into(),
        });
    }
    MarkedYaml::load_from_str(text).map_err(|found| {
        let error = sanitize_line(found.info());
        YamlError {
            line: found.marker().line(),
            reason: YamlProblem::Syntax { error }.into(),
        }
    })
}

/// Counts occurrences of a marker (`&` or `*`) at positions where a value may begin.
fn count_markers(text: &str, mark: char) -> usize {
    let begins = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let before = before.chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || "[{,:-?".contains(c))
    };
    text.match_indices(mark)
        .filter(|(at, _)| begins(*at))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_nesting_is_refused() {
        let steps: String = (0..5_000)
            .map(|n| format!("{}a:\n", " ".repeat(n)))
            .collect();
        for text in [
            "- ".repeat(200_000),
            "? ".repeat(200_000),
            steps,
            "[".repeat(200_000),
        ] {
            assert!(load_yaml(&text).is_err());
        }
        let deep: String = (0..300).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        assert!(load_yaml(&deep).is_ok());
    }

    #[test]
    fn alias_expansion_is_refused() {
        let mut text = "a0: &a0 [x, x]\n".to_owned();
        for n in 1..40 {
            text.push_str(&format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1));
        }
        assert!(load_yaml(&text).is_err());
        let fair = "a: &a {b: 1}\nc: *a\nd: [*a, *a]\nurl: 'http://x/?a&b&c&d&e *'\n";
        assert!(load_yaml(fair).is_ok());
    }
}
