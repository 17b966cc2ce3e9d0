//! Parsing of quotes and `$` expansions inside words.
//!
//! The value of an expansion is unknown before the command runs, so it becomes a placeholder in the word.
//! Command substitutions inside it are parsed as commands.

use super::super::Danger;
use super::grammar::Place;
use super::{Frame, Reader, Visitor, quote};

impl Reader<'_> {
    pub(super) fn in_double_quotes(
        &mut self,
        next: char,
        ends: bool,
        visitor: &mut Visitor<'_>,
    ) -> Result<(), Danger> {
        match next {
            '"' if ends => {
                self.at += 1;
                self.stack.pop();
            }
            '\\' => {
                self.at += 1;
                match self.peek() {
                    Some('\n') => self.at += 1,
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => self.take_quoted(escaped),
                    _ => self.push_quoted("\\"),
                }
            }
            '$' => self.dollar(true),
            '`' => self.backquote(ends, visitor)?,
            other => self.take_quoted(other),
        }
        Ok(())
    }

    pub(super) fn in_parameter(
        &mut self,
        next: char,
        quoted: bool,
        visitor: &mut Visitor<'_>,
    ) -> Result<(), Danger> {
        match next {
            '}' => {
                self.at += 1;
                self.stack.pop();
            }
            '\\' => self.escaped(),
            '\'' if !quoted => self.single_quoted(),
            '"' => {
                self.at += 1;
                self.stack.push(Frame::Double);
            }
            '$' => self.dollar(quoted),
            '`' => self.backquote(quoted, visitor)?,
            other => self.at += other.len_utf8(),
        }
        Ok(())
    }

    pub(super) fn in_arithmetic(
        &mut self,
        next: char,
        visitor: &mut Visitor<'_>,
    ) -> Result<(), Danger> {
        let Some(Frame::Arithmetic {
            open,
            again,
            documents_from,
            command,
        }) = self.stack.last_mut()
        else {
            return Ok(());
        };
        let (start, from, command) = (*again, *documents_from, *command);
        match next {
            '(' => {
                *open += 1;
                self.at += 1;
            }
            ')' if *open > 0 => {
                *open -= 1;
                self.at += 1;
            }
            ')' => {
                self.at += 1;
                if self.eat(")") {
                    self.stack.pop();
                } else {
                    self.read_as_commands(start, from);
                }
            }
            ';' | '\n' | '\'' if command => self.read_as_commands(start, from),
            other if command && is_operand(other) && self.follows_operand() => {
                self.read_as_commands(start, from);
            }
            '\\' => self.escaped(),
            '$' => self.dollar(true),
            '`' => self.backquote(false, visitor)?,
            other => self.at += other.len_utf8(),
        }
        Ok(())
    }

    /// The text turned out not to be arithmetic; parses it again as commands.
    fn read_as_commands(&mut self, start: usize, documents_from: usize) {
        self.stack.pop();
        self.at = start;
        self.push_commands(Place::Start, documents_from);
    }

    /// Returns whether a name or number followed by blanks precedes this position. Arithmetic has an operator
    /// between two operands.
    fn follows_operand(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        let word = before.trim_end_matches([' ', '\t']);
        word.len() < before.len() && word.ends_with(is_operand)
    }

    /// Parses a backslash outside of quotes and the character after it.
    pub(super) fn escaped(&mut self) {
        self.at += 1;
        match self.peek() {
            Some('\n') => self.at += 1,
            Some(escaped) => self.take_quoted(escaped),
            None => self.push_quoted("\\"),
        }
    }

    pub(super) fn single_quoted(&mut self) {
        self.at += 1;
        let rest = self.rest();
        match rest.split_once('\'') {
            Some((text, _)) => {
                self.at += text.len() + 1;
                self.push_quoted(text);
            }
            None => self.torn = true,
        }
    }

    /// Parses a `$` expansion.
    pub(super) fn dollar(&mut self, quoted: bool) {
        self.at += 1;
        self.skip_continuations();
        let rest = self.rest();
        let Some(next) = self.peek() else {
            return self.push_character('$', quoted);
        };
        match next {
            '(' => {
                self.push_unknown();
                self.at += 1;
                let again = self.at;
                self.push_group(again, self.documents.len());
            }
            '{' if rest.starts_with("{IFS}") && !quoted && self.splits() => {
                self.at += 5;
                self.end_word();
            }
            '{' => {
                self.push_unknown();
                self.at += 1;
                self.stack.push(Frame::Parameter { quoted });
            }
            '\'' if !quoted => match quote::ansi(rest.get(1..).unwrap_or_default()) {
                Some((text, after)) => {
                    self.at = self.text.len() - after.len();
                    self.push_quoted(&text);
                }
                None => self.torn = true,
            },
            // `$"…"`, a string to be translated: the quotes come next.
            '"' if !quoted => {}
            '_' | 'a'..='z' | 'A'..='Z' => {
                let name = |next: char| next == '_' || next.is_ascii_alphanumeric();
                let length = rest.find(|next| !name(next)).unwrap_or(rest.len());
                self.at += length;
                if rest.get(..length) == Some("IFS") && !quoted && self.splits() {
                    self.end_word();
                } else {
                    self.push_unknown();
                }
            }
            '@' | '*' | '#' | '?' | '$' | '!' | '-' | '0'..='9' => {
                self.at += 1;
                self.push_unknown();
            }
            _ => self.push_character('$', quoted),
        }
    }

    /// Returns whether `$IFS` ends a word here, as blanks would. It does not in an assignment.
    fn splits(&self) -> bool {
        self.commands().is_some_and(|list| {
            matches!(list.place, Place::Start | Place::Simple)
                && list.redirection.is_none()
                && list.word.as_ref().is_some_and(|word| !word.is_assignment())
        })
    }

    pub(super) fn backquote(
        &mut self,
        quoted: bool,
        visitor: &mut Visitor<'_>,
    ) -> Result<(), Danger> {
        let rest = self.rest().get(1..).unwrap_or_default();
        let Some((script, after)) = quote::backquoted(rest, quoted) else {
            self.torn = true;
            return Ok(());
        };
        self.at = self.text.len() - after.len();
        self.push_unknown();
        self.inner(&script, Frame::commands(), visitor)
    }
}

fn is_operand(character: char) -> bool {
    character == '_' || character.is_ascii_alphanumeric()
}
