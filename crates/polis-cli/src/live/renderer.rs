//! Renderer of a run: a redrawn status block on a terminal, plain lines for a file or pipe, or JSON documents
//! for a program.

use polis_i18n::UiLanguage;
use polis_society::progress_event::ProgressEvent;
use serde_json::Value;

use super::live_terminal::LiveTerminal;
use super::run_state::{LiveRun, NewsItem};
use super::{progress_line, status_block};
use crate::error::CliError;
use crate::output::CliOutput;

/// The renderer of a run.
#[derive(Debug)]
pub(crate) struct RunRenderer<'a> {
    out: &'a CliOutput,
    terminal: Option<LiveTerminal>,
}

impl<'a> RunRenderer<'a> {
    /// Selects the renderer: JSON documents if asked for, a redrawn block on a terminal, plain lines
    /// otherwise.
    pub(crate) fn for_output(out: &'a CliOutput) -> Self {
        let terminal = if out.is_json() {
            None
        } else {
            LiveTerminal::open()
        };
        Self { out, terminal }
    }

    /// Returns the language of messages.
    pub(crate) fn lang(&self) -> UiLanguage {
        self.out.lang()
    }

    /// Prints a progress event as a JSON document, in JSON mode.
    pub(crate) fn print_progress(
        &mut self,
        progress: &ProgressEvent,
        now: i64,
    ) -> Result<(), CliError> {
        match progress_line::progress_document(progress, now).filter(|_| self.out.is_json()) {
            Some(document) => self.out.print_json(&document),
            None => Ok(()),
        }
    }

    /// Prints a news item as a line, in text mode.
    pub(crate) fn print_news(
        &mut self,
        news: &NewsItem,
        screen: &LiveRun,
        now: i64,
    ) -> Result<(), CliError> {
        if self.out.is_json() {
            return Ok(());
        }
        let widest = screen.longest_name_width();
        self.print_text(&progress_line::render_news(
            news,
            now - screen.began_ms,
            widest,
            self.out,
        ))
    }

    /// Prints a text for the person, in text mode only.
    pub(crate) fn print_text(&mut self, text: &str) -> Result<(), CliError> {
        if self.out.is_json() {
            return Ok(());
        }
        match &mut self.terminal {
            Some(terminal) => terminal.print_above(text).map_err(CliError::stdout_failed),
            None => self.out.print_line(text),
        }
    }

    /// Prints a JSON document, in JSON mode only.
    pub(crate) fn print_document(&mut self, document: &Value) -> Result<(), CliError> {
        if self.out.is_json() {
            return self.out.print_json(document);
        }
        Ok(())
    }

    /// Redraws the status block.
    pub(crate) fn draw_status(&mut self, screen: &LiveRun, now: i64) -> Result<(), CliError> {
        let Some(terminal) = &mut self.terminal else {
            return Ok(());
        };
        let (columns, rows) = terminal.size();
        // At least half of the screen is left to the scrolling lines.
        let size = (columns, (rows / 2).max(3));
        let lines = status_block::render_block(screen, now, size, self.out);
        terminal.draw_block(lines).map_err(CliError::stdout_failed)
    }

    /// Passes typed bytes to the line editor. Returns the completed lines; `None` without a terminal.
    pub(crate) fn handle_keys(&mut self, bytes: &[u8]) -> Option<Result<Vec<String>, CliError>> {
        let terminal = self.terminal.as_mut()?;
        Some(terminal.handle_keys(bytes).map_err(CliError::stdout_failed))
    }

    /// Erases the status block and restores the terminal modes.
    pub(crate) fn close_terminal(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.close();
        }
    }
}
