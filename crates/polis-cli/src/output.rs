//! Output of commands: JSON documents for programs, text and tables for people, warnings and progress on stderr.

use std::io::{self, IsTerminal as _, Write as _};

pub(crate) use polis_view::style::Style;
use polis_view::style::paint_onto;
pub(crate) use polis_view::terminal::{clean, clean_lines};
pub(crate) use polis_view::width::cut;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::error::Failure;

/// Output settings of a command: JSON or text, colours, verbosity, terminal width.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    colour: bool,
    verbose: bool,
    /// Width of the terminal, if stdout is one.
    width: Option<usize>,
}

impl Output {
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
    pub(crate) fn answer<T: Serialize>(
        &self,
        value: &T,
        human: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            self.document(value)
        } else {
            self.text(&human(value))
        }
    }

    /// Prints one JSON document on its own line.
    pub(crate) fn document<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        self.line(&text)
    }

    /// Prints text for a person, with a line break at the end. Prints nothing for an empty text.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.line(text.trim_end_matches('\n'))
    }

    /// Prints a line and flushes stdout.
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        written.map_err(Failure::unheard)
    }

    /// Prints text without a line break.
    pub(crate) fn raw(&self, text: &str) -> Result<(), Failure> {
        let written = io::stdout().lock().write_all(text.as_bytes());
        written.map_err(Failure::unheard)
    }

    /// Prints bytes unchanged for a program. On a terminal, control characters are made harmless.
    pub(crate) fn exact_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            return self.exact(&String::from_utf8_lossy(bytes));
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
        written.map_err(Failure::unheard)
    }

    /// Prints text unchanged for a program. On a terminal, control characters are made harmless.
    pub(crate) fn exact(&self, text: &str) -> Result<(), Failure> {
        let terminal = io::stdout().is_terminal();
        let written = if terminal {
            let mut shown = clean_lines(text);
            if !shown.is_empty() && !shown.ends_with('\n') {
                shown.push('\n');
            }
            self.raw(&shown)
        } else {
            self.raw(text)
        };
        written?;
        io::stdout().flush().map_err(Failure::unheard)
    }

    /// Prints an additional remark on stderr, for a person at a terminal only.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json && io::stderr().is_terminal() {
            self.warn(&self.paint(Style::Dim, text));
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
    pub(crate) fn warn(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Shows progress of long work: one line that is overwritten on a terminal, nothing otherwise.
    pub(crate) fn progress(&self, what: &str, done: usize, of: usize) {
        if self.json || !io::stderr().is_terminal() || of == 0 {
            return;
        }
        let end = if done >= of { "\r\x1b[K" } else { "" };
        let _ = write!(io::stderr().lock(), "\r{what} {:3}%{end}", done * 100 / of);
    }

    /// Colours a text, if output is coloured.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let mut painted = String::new();
        paint_onto(&mut painted, [style], text);
        painted
    }
}

/// A table with aligned columns; handles wide characters.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heads: &[&str]) -> Self {
        Self {
            rows: vec![heads.iter().map(|&head| head.to_owned()).collect()],
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    pub(crate) fn render(&self, out: &Output) -> String {
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
        let room = out
            .width
            .map_or(usize::MAX, |all| all.saturating_sub(before).max(12));
        let mut text = String::new();
        for (n, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (n, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let cell = if n + 1 == columns {
                    cut(cell, room)
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
                out.paint(Style::Bold, line)
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
    fn wide_characters_line_up() {
        let mut table = Table::new(&["ID", "主题", "ROLE"]);
        table.row(["1".into(), "后端实现".into(), "backend-leader".into()]);
        table.row(["20".into(), "ship it".into(), "-".into()]);
        let text = table.render(&plain(None));
        assert_eq!(
            text,
            "ID  主题      ROLE\n1   后端实现  backend-leader\n20  ship it   -\n"
        );
    }

    fn plain(width: Option<usize>) -> Output {
        Output {
            json: false,
            colour: false,
            verbose: false,
            width,
        }
    }

    #[test]
    fn the_last_column_gives_way_to_a_narrow_terminal() {
        let mut table = Table::new(&["ID", "SUBJECT"]);
        table.row(["1".into(), "后端实现后端实现后端实现".into()]);
        assert_eq!(
            table.render(&plain(Some(16))),
            "ID  SUBJECT\n1   后端实现后…\n"
        );
    }
}
