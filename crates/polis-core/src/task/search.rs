//! Text search over tasks: parsing and matching of queries.
//!
//! The matching rules are defined here, so that every store returns the same result. How a store finds the
//! tasks quickly is up to the store.

use super::Task;
use crate::id::TaskId;
use crate::refusal::{Code, Refusal};

/// Maximum length of a query, in bytes.
pub const MAX_SEARCH: usize = 200;

/// A parsed query: words that must all occur in a task's subject or description. ASCII letters match
/// case-insensitively. `12` and `#12` also match the task with that number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    words: Vec<Word>,
}

/// One word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word in lower case.
    pub text: String,
    /// The task number that it may denote.
    pub number: Option<TaskId>,
}

impl Search {
    /// Parses a query. A query of only spaces is empty and matches every task.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.len() > MAX_SEARCH || text.contains('\0') {
            return Err(Refusal::new(
                Code::InvalidInput,
                format!("A search is a text of at most {MAX_SEARCH} bytes, without NUL."),
                "search for fewer words",
            ));
        }
        let word = |text: &str| Word {
            text: text.to_ascii_lowercase(),
            number: text.strip_prefix('#').unwrap_or(text).parse().ok(),
        };
        Ok(Self {
            words: text.split_whitespace().map(word).collect(),
        })
    }

    /// Returns the words of the query.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Returns whether a task matches all words.
    pub fn finds(&self, task: &Task) -> bool {
        let subject = task.subject.to_ascii_lowercase();
        let description = task.description.to_ascii_lowercase();
        self.words.iter().all(|word| {
            word.number == Some(task.id)
                || subject.contains(&word.text)
                || description.contains(&word.text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_be_a_number() {
        let numbers = |text| {
            let search = Search::parse(text).unwrap();
            let words = search.words().iter();
            words
                .map(|w| w.number.map(TaskId::number))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            numbers("12 #7 #x v2 #"),
            [Some(12), Some(7), None, None, None]
        );
        assert_eq!(numbers("  "), []);
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let code = |text: &str| Search::parse(text).err().map(|refusal| refusal.code);
        assert_eq!(code(&"长".repeat(66)), None);
        assert_eq!(code(&"长".repeat(67)), Some(Code::InvalidInput));
        assert_eq!(code("a\0b"), Some(Code::InvalidInput));
    }
}
