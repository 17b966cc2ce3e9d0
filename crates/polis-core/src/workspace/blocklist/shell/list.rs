//! Parsing of command lists: separators, redirections, parentheses, and the end of a command.
//!
//! Each completed command is passed to the visitor, followed by the scripts and here-documents that it runs.

use super::super::Danger;
use super::grammar::{Place, Redirection, Separator};
use super::{Command, Document, Frame, Reader, Visitor};

impl Reader<'_> {
    pub(super) fn in_commands(
        &mut self,
        next: char,
        visitor: &mut Visitor<'_>,
    ) -> Result<(), Danger> {
        match next {
            ' ' | '\t' => {
                self.at += 1;
                self.end_word();
            }
            '\n' => {
                self.at += 1;
                self.end_word();
                self.separate(Separator::Soft, visitor)?;
                self.read_documents(visitor)?;
            }
            '#' if self.commands().is_some_and(|list| list.word.is_none()) => {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            }
            '\\' => self.escaped(),
            '\'' => self.single_quoted(),
            '"' => {
                self.at += 1;
                self.push_quoted("");
                self.stack.push(Frame::Double);
            }
            '$' => self.dollar(false),
            '`' => self.backquote(false, visitor)?,
            ';' | '&' | '|' => self.operator(visitor)?,
            '<' | '>' => self.redirection(next),
            '(' => self.open(),
            ')' => self.close(visitor)?,
            other => {
                self.at += other.len_utf8();
                if let Some(word) = self.word() {
                    word.push_bare(other);
                }
            }
        }
        Ok(())
    }

    /// Parses an operator that begins with `;`, `&` or `|`.
    fn operator(&mut self, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        self.end_word();
        if self.eat(";") {
            if self.eat(";") || self.rest().starts_with('&') {
                self.eat("&");
                self.end_command(visitor)?;
                if let Some(list) = self.commands_mut() {
                    list.next_arm();
                }
                return Ok(());
            }
            return self.separate(Separator::Hard, visitor);
        }
        if self.eat("&") {
            if self.eat("&") {
                return self.separate(Separator::Soft, visitor);
            }
            if self.eat(">") {
                self.eat(">");
                self.expect(Redirection::Write);
                return Ok(());
            }
            return self.separate(Separator::Hard, visitor);
        }
        self.eat("|");
        if !self.eat("|") {
            self.eat("&");
        }
        self.separate(Separator::Soft, visitor)
    }

    /// Parses a redirection or process substitution that begins with `<` or `>`.
    fn redirection(&mut self, next: char) {
        let rest = self.rest();
        if rest.starts_with("<(") || rest.starts_with(">(") {
            self.at += 2;
            self.push_unknown();
            self.push_commands(Place::Start, self.documents.len());
            return;
        }
        if let Some(list) = self.commands_mut() {
            list.word.take_if(|word| word.is_descriptor());
        }
        self.end_word();
        self.at += 1;
        let redirection = if next == '>' {
            let _ = self.eat(">") || self.eat("|") || self.eat("&");
            Redirection::Write
        } else if self.eat("<") {
            if self.eat("<") {
                Redirection::Text
            } else {
                let strip_tabs = self.eat("-");
                Redirection::Document { strip_tabs }
            }
        } else if self.eat(">") {
            Redirection::Write
        } else {
            self.eat("&");
            Redirection::Read
        };
        self.expect(redirection);
    }

    /// Expects the word of a redirection next, unless none is possible here.
    fn expect(&mut self, redirection: Redirection) {
        if let Some(list) = self.commands_mut()
            && !matches!(list.place, Place::Test(_) | Place::Ignored)
        {
            list.redirection = Some(redirection);
        }
    }

    fn open(&mut self) {
        self.at += 1;
        let rest = self.rest();
        let Some(list) = self.commands_mut() else {
            return;
        };
        if let Some(word) = &mut list.word {
            let array = word.is_assignment() && word.text().ends_with('=');
            let pattern = word.text().ends_with(['?', '*', '+', '@', '!'])
                && !(list.place == Place::Start && word.bare() == Some("!"));
            if array || pattern {
                word.push_unknown();
                self.push_commands(Place::Ignored, self.documents.len());
                return;
            }
            self.end_word();
        }
        let again = self.at;
        let Some(list) = self.commands_mut() else {
            return;
        };
        list.redirection = None;
        let empty = rest.trim_start_matches([' ', '\t']).strip_prefix(')');
        match list.place {
            Place::Test(open) => list.place = Place::Test(open + 1),
            Place::Pattern => {}
            Place::Start | Place::After => match empty {
                // The parentheses of a function definition.
                Some(after) => self.at = self.text.len() - after.len(),
                None => self.open_group(again),
            },
            Place::Simple if list.only_prefixes() => {
                list.words.clear();
                self.open_group(again);
            }
            Place::Simple if list.words.len() == 1 && empty.is_some() => {
                list.words.clear();
                list.place = Place::Start;
                self.at = self.text.len() - empty.unwrap_or_default().len();
            }
            Place::For { named: false } if rest.starts_with('(') => {
                list.place = Place::For { named: true };
                self.push_group(again, self.documents_from());
            }
            _ => self.push_commands(Place::Ignored, self.documents.len()),
        }
    }

    /// Parses `( … )` or `(( … ))` where a command may begin.
    fn open_group(&mut self, again: usize) {
        if let Some(list) = self.commands_mut() {
            list.place = Place::After;
        }
        self.push_group(again, self.documents_from());
    }

    fn close(&mut self, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        self.at += 1;
        self.end_word();
        let Some(list) = self.commands_mut() else {
            return Ok(());
        };
        match &mut list.place {
            Place::Pattern => {
                list.place = Place::Start;
                return Ok(());
            }
            Place::Test(open) if *open > 0 => {
                *open -= 1;
                return Ok(());
            }
            _ => {}
        }
        self.end_command(visitor)?;
        if self.stack.len() > 1 {
            // Here-documents that have not begun inside begin after the line outside.
            self.stack.pop();
        } else if let Some(list) = self.commands_mut() {
            list.place = Place::Start;
        }
        Ok(())
    }

    fn separate(&mut self, separator: Separator, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        if self.commands().is_some_and(|list| list.ends_at(separator)) {
            self.end_command(visitor)?;
            if let Some(list) = self.commands_mut() {
                list.place = Place::Start;
            }
        }
        Ok(())
    }

    pub(super) fn end_word(&mut self) {
        let number = self.documents.len();
        let Some(list) = self.commands_mut() else {
            return;
        };
        let Some(word) = list.word.take() else {
            return;
        };
        match list.redirection.take() {
            None => list.accept(word),
            Some(Redirection::Read) => {}
            Some(Redirection::Write) => list.writes.push(word),
            Some(Redirection::Text) => list.texts.push(word.text().into()),
            Some(Redirection::Document { strip_tabs }) => {
                list.documents.push(number);
                self.documents.push(Document {
                    end: word.text().into(),
                    literal: word.is_quoted(),
                    strip_tabs,
                    script: false,
                });
            }
        }
    }

    /// Passes the command that ends here to the visitor, and parses the scripts that it runs.
    pub(super) fn end_command(&mut self, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        let Some(list) = self.commands_mut() else {
            return Ok(());
        };
        list.redirection = None;
        let words = std::mem::take(&mut list.words);
        let writes = std::mem::take(&mut list.writes);
        let texts = std::mem::take(&mut list.texts);
        let documents = std::mem::take(&mut list.documents);
        if words.is_empty() && writes.is_empty() {
            return Ok(());
        }
        let inside = visitor(&Command {
            words: &words,
            writes: &writes,
        })?;
        for script in &inside.scripts {
            self.inner(script, Frame::commands(), visitor)?;
        }
        if inside.reads_input {
            for text in &texts {
                self.inner(text, Frame::commands(), visitor)?;
            }
            for number in documents {
                if let Some(document) = self.documents.get_mut(number) {
                    document.script = true;
                }
            }
        }
        Ok(())
    }

    /// Reads the here-documents that begin here.
    fn read_documents(&mut self, visitor: &mut Visitor<'_>) -> Result<(), Danger> {
        let from = self.documents_from().min(self.documents.len());
        let documents = self.documents.split_off(from);
        for document in documents {
            let whole = self.rest();
            let mut length = 0;
            for line in whole.split_inclusive('\n') {
                self.at += line.len();
                let line = line.strip_suffix('\n').unwrap_or(line);
                let line = if document.strip_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if line == document.end {
                    break;
                }
                length = self.at - (self.text.len() - whole.len());
            }
            let body = whole.get(..length).unwrap_or_default();
            if document.script {
                self.inner(body, Frame::commands(), visitor)?;
            } else if !document.literal {
                self.inner(body, Frame::Text, visitor)?;
            }
        }
        Ok(())
    }
}
