//! Finds the simple commands in a line of shell, with quotes removed as the shell does.
//!
//! One pass from left to right with a stack of its own, so deep nesting costs memory in
//! proportion and no more. Scripts inside of words (backquotes, `sh -c`) are read in turn, to a
//! bounded depth; where the bounds end the reader stops looking, and the kernel decides. What a
//! command is good for is the visitor's to say.

mod expand;
mod grammar;
mod list;
mod quote;
mod word;

use grammar::{Commands, Place};
pub(super) use word::Word;

use super::Danger;

/// How deep scripts in scripts are followed.
const MAX_DEPTH: usize = 16;

/// A simple command.
#[derive(Debug)]
pub(super) struct Command<'w> {
    /// Its words, variable assignments among them.
    pub(super) words: &'w [Word],
    /// The files its output goes to. After `done` or `}` they stand without words.
    pub(super) writes: &'w [Word],
}

/// What a command turned out to run.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// Scripts among its words.
    pub(super) scripts: Vec<String>,
    /// Whether it runs what it reads.
    pub(super) reads_input: bool,
}

type Visitor<'v> = dyn FnMut(&Command<'_>) -> Result<Inside, Danger> + 'v;

/// Shows every simple command of a line to the visitor, those in scripts inside of it too, until
/// it finds a danger. A part that is cut short, such as by a quote that does not end, is not shown:
/// the shell does not run it.
pub(super) fn read(text: &str, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
    let mut fuel = 10 * text.len() + 10_000;
    Reader::new(text, Frame::commands(), 0, &mut fuel).run(visitor)
}

/// What is open at a place of the text.
#[derive(Debug)]
enum Frame {
    /// A list of commands.
    Commands(Box<Commands>),
    /// `"…"`
    Double,
    /// A text that only parts of are replaced in, to its end.
    Text,
    /// `${…}`
    Parameter {
        /// Whether it stands in double quotes.
        quoted: bool,
    },
    /// `((…))`, with so many parentheses open inside. If it turns out to be none, it is read again
    /// as commands from the place given.
    Arithmetic {
        open: usize,
        again: usize,
        documents_from: usize,
        /// Whether it is a command. Some shells have no such command: for them it is `( ( … ) )`.
        command: bool,
    },
}

impl Frame {
    fn commands() -> Self {
        Self::Commands(Box::default())
    }
}

/// A text that follows after the line: `<<END`.
#[derive(Debug)]
struct Document {
    end: String,
    /// Whether nothing is replaced in it.
    literal: bool,
    strip_tabs: bool,
    /// Whether a shell runs it.
    script: bool,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    stack: Vec<Frame>,
    /// Texts that begin after the next line end.
    documents: Vec<Document>,
    /// Whether a quote did not end.
    torn: bool,
    depth: usize,
    /// How many steps may still be made in all; keeps hostile text cheap.
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

    /// The end of the text. What is still open is not run.
    fn end(&mut self, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        if self.stack.len() > 1 {
            return Ok(());
        }
        self.end_word();
        self.end_command(visitor)
    }

    /// What is in parentheses: commands, or with another parenthesis at once arithmetic.
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

    /// Reads a script inside of this one.
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

    /// Steps over a line end that is no line end.
    fn skip_continuations(&mut self) {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
        }
    }

    /// Steps over an operator, if it comes next.
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

    /// Where the texts that begin after this line are in the list.
    fn documents_from(&self) -> usize {
        self.commands().map_or(0, |list| list.documents_from)
    }

    /// The word that text read here belongs to. Text in `${…}` belongs to none.
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

    /// Steps over a character and takes it as it is.
    fn take_quoted(&mut self, character: char) {
        self.at += character.len_utf8();
        self.push_character(character, true);
    }
}
