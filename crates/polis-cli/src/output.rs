//! What goes to the screen or to a program: JSON documents, sentences and tables.

use std::io::{self, IsTerminal as _, Write as _};

pub(crate) use polis_view::style::Style;
use polis_view::style::paint_onto;
pub(crate) use polis_view::terminal::{clean, clean_lines};
pub(crate) use polis_view::width::cut;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::error::Failure;

/// How to answer.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    colour: bool,
    verbose: bool,
    /// The terminal's width, if the answer goes to one.
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

    /// One answer: the document for a program, or what `human` makes of it for a person.
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

    /// One JSON document on its own line.
    pub(crate) fn document<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        self.line(&text)
    }

    /// Text for a person; ends with a line break if there is any.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.line(text.trim_end_matches('\n'))
    }

    /// A line, at once.
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        written.map_err(Failure::unheard)
    }

    /// Raw text, without a line break.
    pub(crate) fn raw(&self, text: &str) -> Result<(), Failure> {
        let written = io::stdout().lock().write_all(text.as_bytes());
        written.map_err(Failure::unheard)
    }

    /// Bytes to the letter for a program; on a terminal they are made safe to look at.
    pub(crate) fn exact_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            return self.exact(&String::from_utf8_lossy(bytes));
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
        written.map_err(Failure::unheard)
    }

    /// A text to the letter for a program, and made safe for a terminal.
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

    /// What is said beside an answer, to a person only.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json && io::stderr().is_terminal() {
            self.warn(&self.paint(Style::Dim, text));
        }
    }

    /// How wide, and whether in colour, Markdown is rendered.
    pub(crate) fn width_or(&self, default: usize) -> usize {
        self.width.unwrap_or(default)
    }

    /// Whether there are colours.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// A line on standard error.
    pub(crate) fn warn(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Progress of long work: on a terminal one line that is overwritten, elsewhere nothing.
    pub(crate) fn progress(&self, what: &str, done: usize, of: usize) {
        if self.json || !io::stderr().is_terminal() || of == 0 {
            return;
        }
        let end = if done >= of { "\r\x1b[K" } else { "" };
        let _ = write!(io::stderr().lock(), "\r{what} {:3}%{end}", done * 100 / of);
    }

    /// Text in a colour, where there are colours.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let mut painted = String::new();
        paint_onto(&mut painted, [style], text);
        painted
    }
}

/// A table whose columns line up, wide characters included.
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
        // The last column gives way to a narrow terminal, the others stay whole.
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
                // Not by a format's width, which is bounded: a path may be longer.
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
