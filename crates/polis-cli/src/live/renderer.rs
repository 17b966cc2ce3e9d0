//! How a run is shown: on a terminal, as lines, or as documents.

use polis_society::progress::Progress;
use serde_json::Value;

use super::run_state::{News, Screen};
use super::terminal::Terminal;
use super::{line, status_block};
use crate::error::Failure;
use crate::output::Output;

/// Where a run is shown.
#[derive(Debug)]
pub(crate) struct Face<'a> {
    out: &'a Output,
    terminal: Option<Terminal>,
}

impl<'a> Face<'a> {
    /// The best there is: a block that is redrawn, or lines, or documents.
    pub(crate) fn of(out: &'a Output) -> Self {
        let terminal = if out.is_json() {
            None
        } else {
            Terminal::open()
        };
        Self { out, terminal }
    }

    /// Shows what just happened.
    pub(crate) fn progress(&mut self, progress: &Progress, now: i64) -> Result<(), Failure> {
        match line::document(progress, now).filter(|_| self.out.is_json()) {
            Some(document) => self.out.document(&document),
            None => Ok(()),
        }
    }

    /// Shows what is worth a line.
    pub(crate) fn news(&mut self, news: &News, screen: &Screen, now: i64) -> Result<(), Failure> {
        if self.out.is_json() {
            return Ok(());
        }
        let widest = screen.widest();
        self.say(&line::text(news, now - screen.began, widest, self.out))
    }

    /// Says something to the person; a program is not told.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), Failure> {
        if self.out.is_json() {
            return Ok(());
        }
        match &mut self.terminal {
            Some(terminal) => terminal.above(text).map_err(Failure::unheard),
            None => self.out.line(text),
        }
    }

    /// Says something to a program; the person is told otherwise.
    pub(crate) fn document(&mut self, document: &Value) -> Result<(), Failure> {
        if self.out.is_json() {
            return self.out.document(document);
        }
        Ok(())
    }

    /// Draws the block anew.
    pub(crate) fn draw(&mut self, screen: &Screen, now: i64) -> Result<(), Failure> {
        let Some(terminal) = &mut self.terminal else {
            return Ok(());
        };
        let (columns, rows) = terminal.size();
        // Half of the screen is left to what is said.
        let size = (columns, (rows / 2).max(3));
        let lines = status_block::lines(screen, now, size, self.out);
        terminal.draw(lines).map_err(Failure::unheard)
    }

    /// What was typed, as whole lines.
    pub(crate) fn typed(&mut self, bytes: &[u8]) -> Option<Result<Vec<String>, Failure>> {
        let terminal = self.terminal.as_mut()?;
        Some(terminal.keys(bytes).map_err(Failure::unheard))
    }

    /// Gives the terminal back.
    pub(crate) fn close(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.close();
        }
    }
}
