//! Grammar state of a command list: decides which words are commands and which are only arguments.
//!
//! It implements the shell grammar only as far as that distinction needs. Whether a line is well formed is left
//! to the shell, which runs nothing of a malformed line.

use super::word::Word;

/// Role of the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Place {
    /// The first word of a command.
    #[default]
    Start,
    /// Another word of a simple command.
    Simple,
    /// After `fi`, `}`, `)` and the like: only redirections may follow.
    After,
    /// After `for`: the variable, then `in` or `do`.
    For {
        /// Whether the variable has been read.
        named: bool,
    },
    /// The words that a loop iterates over.
    ForWords,
    /// After `case`.
    Subject,
    /// The `in` of a `case`.
    In,
    /// A pattern of a `case`.
    Pattern,
    /// After `function`.
    FunctionName,
    /// In `[[ … ]]`, with the number of open parentheses.
    Test(usize),
    /// Words that are not run: the elements of an array, or words that the grammar does not allow.
    Ignored,
}

/// Kind of separator between commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// `;` or `&`, which always end a command.
    Hard,
    /// A line end, `&&`, `||` or `|`, which may also occur inside `[[ … ]]`.
    Soft,
}

/// Kind of redirection that a word belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirection {
    /// A file that is read.
    Read,
    /// A file that is written.
    Write,
    /// The delimiter of a here-document.
    Document {
        /// Whether leading tabs are ignored (`<<-`).
        strip_tabs: bool,
    },
    /// A here-string.
    Text,
}

/// A command list that is being parsed: a whole line, or the content of `(…)` or `$(…)`.
#[derive(Debug, Default)]
pub(super) struct Commands {
    pub(super) place: Place,
    /// Number of open `case` statements.
    cases: usize,
    /// The word that is being read.
    pub(super) word: Option<Word>,
    /// The words of the current command.
    pub(super) words: Vec<Word>,
    /// A redirection whose word comes next.
    pub(super) redirection: Option<Redirection>,
    /// The files that the command's output is redirected to.
    pub(super) writes: Vec<Word>,
    /// Its here-strings.
    pub(super) texts: Vec<String>,
    /// Its here-documents, as indexes in the reader's list.
    pub(super) documents: Vec<usize>,
    /// Index in that list of the first here-document of these lines; those before belong to enclosing lines.
    pub(super) documents_from: usize,
}

impl Commands {
    /// Accepts a word that does not belong to a redirection.
    pub(super) fn accept(&mut self, word: Word) {
        match self.place {
            Place::Start => self.first(word),
            Place::After => {
                if is_reserved(&word) {
                    self.first(word);
                }
            }
            Place::Simple => {
                if self.only_prefixes() && is_reserved(&word) {
                    self.words.clear();
                    self.first(word);
                } else {
                    self.words.push(word);
                }
            }
            Place::For { named: false } => self.place = Place::For { named: true },
            Place::For { named: true } => match word.bare() {
                Some("in") => self.place = Place::ForWords,
                Some("do") => self.place = Place::Start,
                _ => {}
            },
            Place::Subject => self.place = Place::In,
            Place::In => {
                if word.bare() == Some("in") {
                    self.cases += 1;
                    self.place = Place::Pattern;
                }
            }
            Place::Pattern => {
                if word.bare() == Some("esac") {
                    self.first(word);
                }
            }
            Place::FunctionName => self.place = Place::Start,
            Place::Test(_) => {
                if word.bare() == Some("]]") {
                    self.place = Place::After;
                }
            }
            Place::ForWords | Place::Ignored => {}
        }
    }

    /// Accepts a word where a command may begin.
    fn first(&mut self, word: Word) {
        self.place = match word.bare() {
            Some("if" | "then" | "elif" | "else" | "while" | "until" | "do" | "!" | "{") => {
                Place::Start
            }
            Some("fi" | "done" | "}") => Place::After,
            Some("esac") => {
                self.cases = self.cases.saturating_sub(1);
                Place::After
            }
            Some("for" | "select") => Place::For { named: false },
            Some("case") => Place::Subject,
            Some("function") => Place::FunctionName,
            Some("[[") => Place::Test(0),
            _ => {
                self.words.push(word);
                Place::Simple
            }
        };
    }

    /// Returns whether the words so far may precede any command, even one like `{ …; }`. Limited to a few
    /// words, so that the check stays cheap.
    pub(super) fn only_prefixes(&self) -> bool {
        self.words.len() <= 2
            && self
                .words
                .iter()
                .all(|word| matches!(word.bare(), Some("time" | "coproc" | "-p")))
    }

    /// Returns whether a separator ends a command here.
    pub(super) fn ends_at(&self, separator: Separator) -> bool {
        match self.place {
            Place::Start | Place::Simple | Place::After | Place::ForWords | Place::FunctionName => {
                true
            }
            Place::Test(_) => separator == Separator::Hard,
            Place::For { .. } | Place::Subject | Place::In | Place::Pattern | Place::Ignored => {
                false
            }
        }
    }

    /// After `;;`: the next pattern, or outside of a `case` just the next command.
    pub(super) fn next_arm(&mut self) {
        self.place = match self.place {
            Place::Ignored => Place::Ignored,
            _ if self.cases > 0 => Place::Pattern,
            _ => Place::Start,
        };
    }
}

/// Returns whether a word is a reserved word of the grammar where a command may begin.
fn is_reserved(word: &Word) -> bool {
    matches!(
        word.bare(),
        Some(
            "if" | "then"
                | "elif"
                | "else"
                | "fi"
                | "while"
                | "until"
                | "for"
                | "select"
                | "do"
                | "done"
                | "case"
                | "esac"
                | "function"
                | "!"
                | "{"
                | "}"
                | "[["
        )
    )
}
