//! Text search over tasks: parsing and matching of queries. A task matches if every word occurs in its
//! subject or description, or is its number.
//!
//! The matching rules are defined here, so that every store returns the same results. How a store finds the
//! tasks quickly is up to the store.

use super::Task;
use crate::id::TaskId;
use crate::refusal::{Refusal, TaskRefusal};

/// Maximum length of a query, in bytes.
pub const MAX_SEARCH_BYTES: usize = 200;

/// A parsed query: words that must all occur in a task's subject or description. ASCII letters match
/// case-insensitively. `12` and `#12` also match the task with that number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskSearch {
    words: Vec<SearchWord>,
}

/// One word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWord {
    /// The word in lower case.
    pub text: String,
    /// The task number that it may denote.
    pub number: Option<TaskId>,
}

impl TaskSearch {
    /// Parses a query. A query of only spaces is empty and matches every task. Fails with `invalid_input` if
    /// it is too long or contains NUL.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.len() > MAX_SEARCH_BYTES || text.contains('\0') {
            return Err(Refusal::from(TaskRefusal::SearchTooLong {
                max_search_bytes: MAX_SEARCH_BYTES,
            }));
        }
        let word = |text: &str| SearchWord {
            text: text.to_ascii_lowercase(),
            number: text.strip_prefix('#').unwrap_or(text).parse().ok(),
        };
        Ok(Self {
            words: text.split_whitespace().map(word).collect(),
        })
    }

    /// Returns the words of the query.
    pub fn words(&self) -> &[SearchWord] {
        &self.words
    }

    /// Returns whether a task matches all words.
    pub fn matches_task(&self, task: &Task) -> bool {
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
    use crate::RefusalCode;

    #[test]
    fn search_word_may_be_a_task_number() {
        let numbers = |text| {
            let search = TaskSearch::parse(text).unwrap();
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
    fn search_that_is_too_long_is_refused() {
        let code = |text: &str| TaskSearch::parse(text).err().map(|refusal| refusal.code);
        assert_eq!(code(&"长".repeat(66)), None);
        assert_eq!(code(&"长".repeat(67)), Some(RefusalCode::INVALID_INPUT));
        assert_eq!(code("a\0b"), Some(RefusalCode::INVALID_INPUT));
    }
}
