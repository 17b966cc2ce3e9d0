//! Parser that finds the simple commands in a shell line, with quotes removed as the shell does.
//!
//! It makes one pass from left to right with an explicit stack, so that deep nesting costs only proportional
//! memory. Scripts inside of words (backquotes, `sh -c`) are parsed in turn, to a bounded depth. Beyond its
//! limits the parser stops searching and relies on the sandbox. The visitor decides whether a command is
//! dangerous.

mod expand;
mod grammar;
mod list;
mod quote;
mod word;

use grammar::{Commands, Place};
pub(super) use word::Word;

use super::Danger;

/// Maximum depth of nested scripts.
const MAX_DEPTH: usize = 16;

/// A simple command.
#[derive(Debug)]
pub(super) struct Command<'w> {
    /// Its words, including variable assignments.
    pub(super) words: &'w [Word],
    /// The files its output is redirected to. After `done` or `}` there are redirections without words.
    pub(super) writes: &'w [Word],
}

/// Scripts that a command runs.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// Scripts among its arguments.
    pub(super) scripts: Vec<String>,
    /// Whether it runs its standard input as a script.
    pub(super) reads_input: bool,
}

type Visitor<'v> = dyn FnMut(&Command<'_>) -> Result<Inside, Danger> + 'v;

/// Passes every simple command of a line to the visitor, including those in nested scripts, until it reports a
/// danger. An incomplete part, such as one with an unterminated quote, is not passed: the shell does not run
/// it.
pub(super) fn read(text: &str, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
    let mut fuel = 10 * text.len() + 10_000;
    Reader::new(text, Frame::commands(), 0, &mut fuel).run(visitor)
}

/// An open construct at a position of the text.
#[derive(Debug)]
enum Frame {
    /// A list of commands.
    Commands(Box<Commands>),
    /// `"…"`
    Double,
    /// Text with expansions, up to its end (such as a here-document).
    Text,
    /// `${…}`
    Parameter {
        /// Whether it is inside double quotes.
        quoted: bool,
    },
    /// `((…))`, with the number of open parentheses inside. If it turns out not to be arithmetic, it is parsed
    /// again as commands from the position `again`.
    Arithmetic {
        open: usize,
        again: usize,
        documents_from: usize,
        /// Whether it is a command. Some shells have no arithmetic command: for them it is `( ( … ) )`.
        command: bool,
    },
}

impl Frame {
    fn commands() -> Self {
        Self::Commands(Box::default())
    }
}

/// A here-document: `<<END`.
#[derive(Debug)]
struct Document {
    end: String,
    /// Whether expansions are disabled in it, because its delimiter is quoted.
    literal: bool,
    strip_tabs: bool,
    /// Whether a shell runs it.
    script: bool,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    stack: Vec<Frame>,
    /// Here-documents that begin after the next line end.
    documents: Vec<Document>,
    /// Whether a quote is unterminated.
    torn: bool,
    depth: usize,
    /// Remaining number of steps, which bounds the time for hostile text.
    fuel: &'t mut usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, base: Frame, depth: usize, fuel: &'t mut usize) -> Self {
        Self {
            text,
            at: 0,
            stack: vec![base],
            documents: Vec::new(),
            torn: false,
            depth,
            fuel,
        }
    }

    fn run(mut self, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        while !self.torn && *self.fuel > 0 {
            let before = self.at;
            let Some(next) = self.peek() else {
                return self.end(visitor);
            };
            match self.stack.last() {
                Some(Frame::Commands(_)) => self.in_commands(next, visitor)?,
                Some(Frame::Double) => self.in_double_quotes(next, true, visitor)?,
                Some(Frame::Text) => self.in_double_quotes(next, false, visitor)?,
                Some(Frame::Parameter { quoted }) => {
                    let quoted = *quoted;
                    self.in_parameter(next, quoted, visitor)?;
                }
                Some(Frame::Arithmetic { .. }) => self.in_arithmetic(next, visitor)?,
                None => return Ok(()),
            }
            let steps = self.at.saturating_sub(before) + 1;
            *self.fuel = self.fuel.saturating_sub(steps);
        }
        Ok(())
    }

    /// Handles the end of the text. Open constructs are not run.
    fn end(&mut self, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        if self.stack.len() > 1 {
            return Ok(());
        }
        self.end_word();
        self.end_command(visitor)
    }

    /// Parses parentheses: commands, or arithmetic if a second parenthesis follows at once.
    fn push_group(&mut self, again: usize, documents_from: usize) {
        let command = self
            .commands()
            .is_some_and(|list| list.place == Place::After);
        if self.eat("(") {
            self.stack.push(Frame::Arithmetic {
                open: 0,
                again,
                documents_from,
                command,
            });
        } else {
            self.push_commands(Place::Start, documents_from);
        }
    }

    fn push_commands(&mut self, place: Place, documents_from: usize) {
        let mut list = Box::<Commands>::default();
        list.place = place;
        list.documents_from = documents_from;
        self.stack.push(Frame::Commands(list));
    }

    /// Parses a nested script.
    fn inner(&mut self, text: &str, base: Frame, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        if self.depth >= MAX_DEPTH {
            return Ok(());
        }
        Reader::new(text, base, self.depth + 1, self.fuel).run(visitor)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips line continuations (a backslash before a line end).
    fn skip_continuations(&mut self) {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
        }
    }

    /// Skips an operator, if it comes next. Returns whether it did.
    fn eat(&mut self, operator: &str) -> bool {
        self.skip_continuations();
        let found = self.rest().starts_with(operator);
        if found {
            self.at += operator.len();
        }
        found
    }

    fn commands(&self) -> Option<&Commands> {
        match self.stack.last() {
            Some(Frame::Commands(list)) => Some(list),
            _ => None,
        }
    }

    fn commands_mut(&mut self) -> Option<&mut Commands> {
        match self.stack.last_mut() {
            Some(Frame::Commands(list)) => Some(list),
            _ => None,
        }
    }

    /// Returns the index of the first here-document that begins after this line.
    fn documents_from(&self) -> usize {
        self.commands().map_or(0, |list| list.documents_from)
    }

    /// Returns the word that text parsed here belongs to. Text in `${…}` belongs to none.
    fn word(&mut self) -> Option<&mut Word> {
        let top = self.stack.len().checked_sub(1)?;
        let owner = match self.stack.last() {
            Some(Frame::Double) => top.checked_sub(1)?,
            _ => top,
        };
        match self.stack.get_mut(owner) {
            Some(Frame::Commands(list)) => Some(list.word.get_or_insert_default()),
            _ => None,
        }
    }

    fn push_quoted(&mut self, text: &str) {
        if let Some(word) = self.word() {
            word.push_quoted(text);
        }
    }

    fn push_unknown(&mut self) {
        if let Some(word) = self.word() {
            word.push_unknown();
        }
    }

    fn push_character(&mut self, character: char, quoted: bool) {
        if let Some(word) = self.word() {
            if quoted {
                word.push_quoted(character.encode_utf8(&mut [0; 4]));
            } else {
                word.push_bare(character);
            }
        }
    }

    /// Skips a character and adds it to the word literally.
    fn take_quoted(&mut self, character: char) {
        self.at += character.len_utf8();
        self.push_character(character, true);
    }
}
