//! Renderer of a run: a redrawn status block on a terminal, plain lines for a file or pipe, or JSON documents for a
//! program.

use polis_society::progress::Progress;
use serde_json::Value;

use super::run_state::{News, Screen};
use super::terminal::Terminal;
use super::{line, status_block};
use crate::error::Failure;
use crate::output::Output;

/// The renderer of a run.
#[derive(Debug)]
pub(crate) struct Face<'a> {
    out: &'a Output,
    terminal: Option<Terminal>,
}

impl<'a> Face<'a> {
    /// Selects the renderer: JSON documents if asked for, a redrawn block on a terminal, plain lines otherwise.
    pub(crate) fn of(out: &'a Output) -> Self {
        let terminal = if out.is_json() {
            None
        } else {
            Terminal::open()
        };
        Self { out, terminal }
    }

    /// Prints a progress event as a JSON document, in JSON mode.
    pub(crate) fn progress(&mut self, progress: &Progress, now: i64) -> Result<(), Failure> {
        match line::document(progress, now).filter(|_| self.out.is_json()) {
            Some(document) => self.out.document(&document),
            None => Ok(()),
        }
    }

    /// Prints a news item as a line, in text mode.
    pub(crate) fn news(&mut self, news: &News, screen: &Screen, now: i64) -> Result<(), Failure> {
        if self.out.is_json() {
            return Ok(());
        }
        let widest = screen.widest();
        self.say(&line::text(news, now - screen.began, widest, self.out))
    }

    /// Prints a text for the person, in text mode only.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), Failure> {
        if self.out.is_json() {
            return Ok(());
        }
        match &mut self.terminal {
            Some(terminal) => terminal.above(text).map_err(Failure::unheard),
            None => self.out.line(text),
        }
    }

    /// Prints a JSON document, in JSON mode only.
    pub(crate) fn document(&mut self, document: &Value) -> Result<(), Failure> {
        if self.out.is_json() {
            return self.out.document(document);
        }
        Ok(())
    }

    /// Redraws the status block.
    pub(crate) fn draw(&mut self, screen: &Screen, now: i64) -> Result<(), Failure> {
        let Some(terminal) = &mut self.terminal else {
            return Ok(());
        };
        let (columns, rows) = terminal.size();
        // At least half of the screen is left to the scrolling lines.
        let size = (columns, (rows / 2).max(3));
        let lines = status_block::lines(screen, now, size, self.out);
        terminal.draw(lines).map_err(Failure::unheard)
    }

    /// Passes typed bytes to the line editor. Returns the completed lines; `None` without a terminal.
    pub(crate) fn typed(&mut self, bytes: &[u8]) -> Option<Result<Vec<String>, Failure>> {
        let terminal = self.terminal.as_mut()?;
        Some(terminal.keys(bytes).map_err(Failure::unheard))
    }

    /// Restores the terminal.
    pub(crate) fn close(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.close();
        }
    }
}
