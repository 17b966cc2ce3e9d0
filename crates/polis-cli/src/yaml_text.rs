//! Reading YAML: faults with their line, and no text that is nested or repeats itself beyond all
//! measure.

use saphyr::{LoadableYamlNode as _, MarkedYaml};

/// How far into a line blocks may begin. The parser goes one call deeper with every block inside
/// another, and each takes a column at least.
const MAX_INDENT: usize = 400;
/// A text with more anchors than this may not have more aliases than that: each alias is read as a
/// copy, and copies of copies of copies fill any memory.
const MAX_ANCHORS: usize = 3;
const MAX_ALIASES: usize = 16;

/// Why a text is not YAML that can be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct YamlFault {
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong with it.
    pub(crate) why: String,
}

/// The documents of a text, with the places of their values.
pub(crate) fn load(text: &str) -> Result<Vec<MarkedYaml<'_>>, YamlFault> {
    let too_deep = text.lines().position(|line| {
        let begin = line.find(|c| !matches!(c, ' ' | '\t' | '-' | '?' | ':'));
        begin.unwrap_or(line.len()) > MAX_INDENT
    });
    if let Some(line) = too_deep {
        return Err(YamlFault {
            line: line + 1,
            why: "it is nested too deep".to_owned(),
        });
    }
    if marks(text, '&') > MAX_ANCHORS && marks(text, '*') > MAX_ALIASES {
        return Err(YamlFault {
            line: 1,
            why: "it repeats parts of itself too often".to_owned(),
        });
    }
    MarkedYaml::load_from_str(text).map_err(|error| YamlFault {
        line: error.marker().line(),
        why: error.info().to_owned(),
    })
}

/// How often a mark stands where it may begin a value.
fn marks(text: &str, mark: char) -> usize {
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
    fn no_nesting_brings_the_reader_down() {
        let steps: String = (0..5_000)
            .map(|n| format!("{}a:\n", " ".repeat(n)))
            .collect();
        for text in [
            "- ".repeat(200_000),
            "? ".repeat(200_000),
            steps,
            "[".repeat(200_000),
        ] {
            assert!(load(&text).is_err());
        }
        let deep: String = (0..300).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        assert!(load(&deep).is_ok());
    }

    #[test]
    fn no_copies_of_copies_fill_the_memory() {
        let mut text = "a0: &a0 [x, x]\n".to_owned();
        for n in 1..40 {
            text.push_str(&format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1));
        }
        assert!(load(&text).is_err());
        let fair = "a: &a {b: 1}\nc: *a\nd: [*a, *a]\nurl: 'http://x/?a&b&c&d&e *'\n";
        assert!(load(fair).is_ok());
    }
}
