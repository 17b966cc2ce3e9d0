//! Output of commands: JSON documents for programs, text and tables for people, warnings and progress on
//! stderr.

use std::io::{self, IsTerminal as _, Write as _};

use polis_i18n::UiLanguage;
pub(crate) use polis_view::display_width::truncate_to_width;
pub(crate) use polis_view::style::TextStyle;
use polis_view::style::push_ansi;
pub(crate) use polis_view::terminal_sanitizer::{sanitize_line, sanitize_lines};
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::cli::GlobalArgs;
use crate::error::CliError;
use crate::person_language::PersonLanguage;

/// Output settings of a command: JSON or text, colours, verbosity, terminal width.
#[derive(Debug)]
pub(crate) struct CliOutput {
    json: bool,
    colour: bool,
    verbose: bool,
    /// Language of messages.
    language: PersonLanguage,
    /// Width of the terminal, if stdout is one.
    width: Option<usize>,
}

impl CliOutput {
    /// Returns the language of messages.
    pub(crate) fn lang(&self) -> UiLanguage {
        self.language.get()
    }

    /// Creates the output of a command with these flags.
    pub(crate) fn for_flags(globals: &GlobalArgs) -> Self {
        Self {
            language: globals.language.clone(),
            ..Self::new(globals.json, globals.verbose)
        }
    }

    /// Creates an English output.
    pub(crate) fn new(json: bool, verbose: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let terminal = !json && io::stdout().is_terminal();
        let size = terminal
            .then(|| rustix::termios::tcgetwinsize(io::stdout()).ok())
            .flatten();
        Self {
            json,
            colour: !plain && terminal,
            verbose,
            language: PersonLanguage::default(),
            width: size.map(|s| usize::from(s.ws_col)).filter(|w| *w > 0),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Prints a result: the JSON document for a program, or the text that `human` renders from it.
    pub(crate) fn print_result<T: Serialize>(
        &self,
        value: &T,
        human: impl FnOnce(&T) -> String,
    ) -> Result<(), CliError> {
        if self.json {
            self.print_json(value)
        } else {
            self.print_text(&human(value))
        }
    }

    /// Prints one JSON document on its own line.
    pub(crate) fn print_json<T: Serialize>(&self, value: &T) -> Result<(), CliError> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        self.print_line(&text)
    }

    /// Prints text for a person, with a line break at the end. Prints nothing for an empty text.
    pub(crate) fn print_text(&self, text: &str) -> Result<(), CliError> {
        if text.is_empty() {
            return Ok(());
        }
        self.print_line(text.trim_end_matches('\n'))
    }

    /// Prints a line and flushes stdout.
    pub(crate) fn print_line(&self, text: &str) -> Result<(), CliError> {
        let mut stdout = io::stdout().lock();
        let result = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        result.map_err(CliError::stdout_failed)
    }

    /// Prints text without a line break.
    pub(crate) fn print_raw(&self, text: &str) -> Result<(), CliError> {
        let result = io::stdout().lock().write_all(text.as_bytes());
        result.map_err(CliError::stdout_failed)
    }

    /// Prints bytes unchanged for a program. On a terminal, control characters are made harmless.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> Result<(), CliError> {
        if io::stdout().is_terminal() {
            return self.print_unchanged(&String::from_utf8_lossy(bytes));
        }
        let mut stdout = io::stdout().lock();
        let result = stdout.write_all(bytes).and_then(|()| stdout.flush());
        result.map_err(CliError::stdout_failed)
    }

    /// Prints text unchanged for a program. On a terminal, control characters are made harmless.
    pub(crate) fn print_unchanged(&self, text: &str) -> Result<(), CliError> {
        let terminal = io::stdout().is_terminal();
        let result = if terminal {
            let mut printable = sanitize_lines(text);
            if !printable.is_empty() && !printable.ends_with('\n') {
                printable.push('\n');
            }
            self.print_raw(&printable)
        } else {
            self.print_raw(text)
        };
        result?;
        io::stdout().flush().map_err(CliError::stdout_failed)
    }

    /// Prints an additional remark on stderr, for a person at a terminal only.
    pub(crate) fn print_remark(&self, text: &str) {
        if !self.json && io::stderr().is_terminal() {
            self.print_stderr(&self.paint(TextStyle::Dim, text));
        }
    }

    /// Returns the width to render Markdown at: the terminal's, or the default.
    pub(crate) fn width_or(&self, default: usize) -> usize {
        self.width.unwrap_or(default)
    }

    /// Returns whether output is coloured.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// Prints a line on stderr.
    pub(crate) fn print_stderr(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Shows progress of long work: one line that is overwritten on a terminal, nothing otherwise.
    pub(crate) fn show_progress(&self, what: &str, done: usize, total: usize) {
        if self.json || !io::stderr().is_terminal() || total == 0 {
            return;
        }
        let end = if done >= total { "\r\x1b[K" } else { "" };
        let _ = write!(
            io::stderr().lock(),
            "\r{what} {:3}%{end}",
            done * 100 / total
        );
    }

    /// Colours a text, if output is coloured.
    pub(crate) fn paint(&self, style: TextStyle, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let mut painted = String::new();
        push_ansi(&mut painted, [style], text);
        painted
    }
}

/// A table with aligned columns; handles wide characters.
#[derive(Debug)]
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(heads: &[&str]) -> Self {
        Self {
            rows: vec![heads.iter().map(|&head| head.to_owned()).collect()],
        }
    }

    pub(crate) fn push_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| sanitize_line(&cell)).collect());
    }

    pub(crate) fn render(&self, out: &CliOutput) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.width())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        // Only the last column is cut on a narrow terminal.
        let before: usize = widths.iter().rev().skip(1).map(|w| w + 2).sum();
        let last_width = out
            .width
            .map_or(usize::MAX, |all| all.saturating_sub(before).max(12));
        let mut text = String::new();
        for (n, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (n, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let cell = if n + 1 == columns {
                    truncate_to_width(cell, last_width)
                } else {
                    cell.clone()
                };
                let pad = width.saturating_sub(cell.width());
                line.push_str(&cell);
                // Not with a format width, which is bounded: a path may be longer.
                line.extend(std::iter::repeat_n(' ', pad + 2));
            }
            let line = line.trim_end();
            text.push_str(&if n == 0 {
                out.paint(TextStyle::Bold, line)
            } else {
                line.to_owned()
            });
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_aligns_wide_characters() {
        let mut table = TextTable::new(&["ID", "主题", "ROLE"]);
        table.push_row(["1".into(), "后端实现".into(), "backend-leader".into()]);
        table.push_row(["20".into(), "ship it".into(), "-".into()]);
        let text = table.render(&plain_output(None));
        assert_eq!(
            text,
            "ID  主题      ROLE\n1   后端实现  backend-leader\n20  ship it   -\n"
        );
    }

    fn plain_output(width: Option<usize>) -> CliOutput {
        CliOutput {
            language: PersonLanguage::default(),
            json: false,
            colour: false,
            verbose: false,
            width,
        }
    }

    #[test]
    fn table_truncates_last_column_on_narrow_terminal() {
        let mut table = TextTable::new(&["ID", "SUBJECT"]);
        table.push_row(["1".into(), "后端实现后端实现后端实现".into()]);
        assert_eq!(
            table.render(&plain_output(Some(16))),
            "ID  SUBJECT\n1   后端实现后…\n"
        );
    }
}
