//! Where in the grammar a list of commands is: which words are commands, which only words.
//!
//! It follows the grammar as far as that tells command words from others. Whether a line is well
//! formed is the shell's business: it runs nothing of a line that is not.

use super::word::Word;

/// What the next word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Place {
    /// The first word of a command.
    #[default]
    Start,
    /// Another word of a simple command.
    Simple,
    /// After `fi`, `}`, `)` and the like: nothing, but redirections.
    After,
    /// After `for`: a variable, once that is there `in` or `do`.
    For {
        /// Whether the variable was there.
        named: bool,
    },
    /// The words a loop goes through.
    ForWords,
    /// After `case`.
    Subject,
    /// The `in` of a `case`.
    In,
    /// A pattern of a `case`.
    Pattern,
    /// After `function`.
    FunctionName,
    /// In `[[ … ]]`, with so many open parentheses.
    Test(usize),
    /// Nothing that is run: the words of an array, or what the grammar does not have.
    Ignored,
}

/// What separates commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// `;` or `&`, which end a command for good.
    Hard,
    /// A line end, `&&`, `||` or `|`, which may also stand inside of `[[ … ]]`.
    Soft,
}

/// What a redirection's word is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirection {
    /// A file that is read.
    Read,
    /// A file that is written.
    Write,
    /// The line that ends a text that follows.
    Document {
        /// Whether tabs before it do not count.
        strip_tabs: bool,
    },
    /// A text that is read.
    Text,
}

/// A list of commands that is being read: a whole line, or what is inside of `(…)` or `$(…)`.
#[derive(Debug, Default)]
pub(super) struct Commands {
    pub(super) place: Place,
    /// How many `case` are open.
    cases: usize,
    /// The word that is being read.
    pub(super) word: Option<Word>,
    /// The words of the command so far.
    pub(super) words: Vec<Word>,
    /// A redirection whose word comes next.
    pub(super) redirection: Option<Redirection>,
    /// The files that the command's output goes to.
    pub(super) writes: Vec<Word>,
    /// Texts it reads.
    pub(super) texts: Vec<String>,
    /// Texts it reads that come after the line, by their place in the reader's list.
    pub(super) documents: Vec<usize>,
    /// Where in that list the texts of these lines begin: those before belong to lines around.
    pub(super) documents_from: usize,
}

impl Commands {
    /// Takes a word that is no part of a redirection.
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

    /// Takes a word where a command may begin.
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

    /// Whether the words so far can stand before any command, even one like `{ …; }`. Only a few
    /// of them, so that this stays quick.
    pub(super) fn only_prefixes(&self) -> bool {
        self.words.len() <= 2
            && self
                .words
                .iter()
                .all(|word| matches!(word.bare(), Some("time" | "coproc" | "-p")))
    }

    /// Whether a separator here ends a command.
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

    /// After `;;`: the next pattern, or in no `case` just the next command.
    pub(super) fn next_arm(&mut self) {
        self.place = match self.place {
            Place::Ignored => Place::Ignored,
            _ if self.cases > 0 => Place::Pattern,
            _ => Place::Start,
        };
    }
}

/// Whether a word is one of the grammar's where a command may begin.
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
