//! Looking for tasks by words.
//!
//! What a text asks for is decided here, so that every store finds the same; how a store finds it quickly is its
//! own matter.

use super::Task;
use crate::id::TaskId;
use crate::refusal::{Code, Refusal};

/// The longest text that is searched for, in bytes.
pub const MAX_SEARCH: usize = 200;

/// Words that a task has to have, all of them, in its subject or its description. The letters a to z count in
/// either case. `12` and `#12` are also the task of that number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    words: Vec<Word>,
}

/// One word of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word, with small letters.
    pub text: String,
    /// The number that it may stand for.
    pub number: Option<TaskId>,
}

impl Search {
    /// What a text asks for. A text of spaces asks for nothing, and every task has that.
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

    /// Its words.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Whether a task has all of it.
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
