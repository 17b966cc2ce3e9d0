//! Markdown tables: aligned columns, narrowed to the page width; with too many columns for it, each row
//! becomes a record of labelled values.

use std::ops::Range;

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr as _;

use super::page::{Marker, Page};
use crate::style::{Style, Styled, Styles};
use crate::width::cut;
use crate::wrap::{self, Room};

/// Minimum width of a narrowed column.
const LEAST_COLUMN: usize = 8;
/// Maximum width of the label before each value of a record.
const MAX_LABEL: usize = 24;
/// Maximum number of rows for which separator lines are drawn between rows.
const MAX_RULED: usize = 1_000;
const BETWEEN: &str = " │ ";
const BETWEEN_COLUMNS: usize = 3;

/// A table while it is collected. All cells share one text, because a board may contain millions of them.
#[derive(Debug)]
pub(super) struct Table {
    alignments: Vec<Alignment>,
    text: Styled,
    /// End offset of each cell in the text.
    cell_ends: Vec<usize>,
    /// End index of each row in the cells; the first row is the header.
    row_ends: Vec<usize>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            text: Styled::default(),
            cell_ends: Vec::new(),
            row_ends: Vec::new(),
        }
    }

    pub(super) fn push_cell(&mut self, cell: &Styled) {
        self.text.push_part(cell, 0..cell.len());
        self.cell_ends.push(self.text.len());
    }

    pub(super) fn end_row(&mut self) {
        self.row_ends.push(self.cell_ends.len());
    }

    /// Writes the table.
    pub(super) fn write(&self, page: &mut Page) {
        let natural = self.natural_widths();
        match narrowed(&natural, page.room().first) {
            Some(widths) => {
                let ruled = widths != natural && self.row_ends.len() <= MAX_RULED;
                self.write_grid(page, &widths, ruled);
            }
            None => self.write_records(page),
        }
    }

    /// Returns the cells of each row.
    fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = Range<usize>>> {
        let starts = std::iter::once(0).chain(self.row_ends.iter().copied());
        starts.zip(&self.row_ends).map(|(start, &end)| {
            (start..end).map(|n| {
                let before = n.checked_sub(1).and_then(|n| self.cell_ends.get(n));
                let end = self.cell_ends.get(n).copied().unwrap_or_default();
                before.copied().unwrap_or_default()..end
            })
        })
    }

    fn cell(&self, cell: Range<usize>) -> &str {
        self.text.text().get(cell).unwrap_or_default()
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths = vec![1; self.alignments.len()];
        for row in self.rows() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = self.cell(cell).width().max(*width);
            }
        }
        widths
    }

    /// Writes the rows as a grid; with `ruled`, separated by lines because some rows are wrapped.
    fn write_grid(&self, page: &mut Page, widths: &[usize], ruled: bool) {
        let rule: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let rule = rule.join("─┼─");
        for (n, row) in self.rows().enumerate() {
            if n == 1 || n > 1 && ruled {
                page.line([(Style::Dim.into(), rule.as_str())]);
            }
            self.write_row(page, row, widths);
        }
    }

    fn write_row(
        &self,
        page: &mut Page,
        row: impl Iterator<Item = Range<usize>>,
        widths: &[usize],
    ) {
        let columns = row.zip(widths).zip(&self.alignments);
        let mut cells: Vec<_> = columns
            .map(|((cell, &width), &alignment)| Cell {
                start: cell.start,
                lines: wrap::lines(self.cell(cell), column_room(width)),
                width,
                alignment,
            })
            .collect();
        let mut first = true;
        loop {
            let mut line = Styled::default();
            let mut written = 0;
            for (n, cell) in cells.iter_mut().enumerate() {
                if n > 0 {
                    line.push(BETWEEN, Style::Dim.into());
                }
                written += usize::from(cell.write_line(&self.text, &mut line));
            }
            if written == 0 && !first {
                return;
            }
            first = false;
            let end = line.text().trim_end().len();
            page.line(line.spans(0..end));
        }
    }

    /// Writes each row as an item, with the column name before each value.
    fn write_records(&self, page: &mut Page) {
        let widest = (page.room().rest / 3).min(MAX_LABEL);
        let mut rows = self.rows();
        let head = rows.next().into_iter().flatten();
        let labels: Vec<_> = head.map(|cell| cut(self.cell(cell), widest)).collect();
        for row in rows {
            page.open_item(Marker {
                text: "-".to_owned(),
                styles: Styles::NONE,
            });
            let filled = row.zip(&labels).filter(|(cell, _)| !cell.is_empty());
            for (cell, label) in filled {
                page.open_item(Marker {
                    text: format!("{label}:"),
                    styles: Style::Bold.into(),
                });
                let mut value = Styled::default();
                value.push_part(&self.text, cell);
                page.text(&value);
                page.close();
            }
            page.close();
        }
        if self.row_ends.len() == 1 {
            let mut line = Styled::default();
            line.push(&labels.join(BETWEEN), Style::Bold.into());
            page.text(&line);
        }
    }
}

/// A cell whose lines are being written.
struct Cell<'a> {
    start: usize,
    lines: wrap::Lines<'a>,
    width: usize,
    alignment: Alignment,
}

impl Cell<'_> {
    /// Appends the cell's next line, padded to its width. Returns whether there was one.
    fn write_line(&mut self, text: &Styled, line: &mut Styled) -> bool {
        let next = self.lines.next();
        let written = next.is_some();
        let part = next.map_or(0..0, |part| self.start + part.start..self.start + part.end);
        let used = text.text().get(part.clone()).map_or(0, str::width);
        let spare = self.width.saturating_sub(used);
        let before = match self.alignment {
            Alignment::None | Alignment::Left => 0,
            Alignment::Center => spare / 2,
            Alignment::Right => spare,
        };
        line.push(&" ".repeat(before), Styles::NONE);
        line.push_part(text, part);
        line.push(&" ".repeat(spare - before), Styles::NONE);
        written
    }
}

fn column_room(width: usize) -> Room {
    Room {
        first: width,
        rest: width,
        cut_words: true,
    }
}

/// Returns column widths that fit into the room: the widest columns are narrowed first, down to the minimum.
/// Returns `None` if that is not enough.
fn narrowed(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let between = natural.len().saturating_sub(1) * BETWEEN_COLUMNS;
    let room = room.checked_sub(between)?;
    let total = |limit: usize| {
        natural
            .iter()
            .map(|width| (*width).min(limit))
            .sum::<usize>()
    };
    if total(LEAST_COLUMN) > room {
        return None;
    }
    let widest = natural.iter().copied().max().unwrap_or(0).min(room);
    let limit = (LEAST_COLUMN..=widest.max(LEAST_COLUMN))
        .rev()
        .find(|limit| total(*limit) <= room)?;
    let mut spare = room - total(limit);
    let narrow = |&width: &usize| {
        let more = usize::from(width > limit && spare > 0);
        spare -= more;
        width.min(limit) + more
    };
    Some(natural.iter().map(narrow).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_give_way_first() {
        assert_eq!(narrowed(&[3, 5], 11), Some(vec![3, 5]));
        assert_eq!(narrowed(&[3, 50], 23), Some(vec![3, 17]));
        assert_eq!(narrowed(&[40, 50], 24), Some(vec![11, 10]));
        assert_eq!(narrowed(&[8, 8], 18), None);
        assert_eq!(narrowed(&[1; 100], 50), None);
        assert_eq!(narrowed(&[9_000_000], 20), Some(vec![20]));
    }
}
