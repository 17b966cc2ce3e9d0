//! Markdown tables: a grid with aligned columns, narrowed to the page width. If even narrow columns do not
//! fit, each row becomes a record of labelled values.

use std::ops::Range;

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr as _;

use super::render_page::{ItemMarker, RenderPage};
use crate::display_width::truncate_to_width;
use crate::line_wrap::{self, WrapWidth};
use crate::style::{StyleSet, StyledString, TextStyle};

/// Minimum width of a narrowed column.
const MIN_COLUMN_WIDTH: usize = 8;
/// Maximum width of the label before each value of a record.
const MAX_LABEL_WIDTH: usize = 24;
/// Maximum number of rows for which separator lines are drawn between rows.
const MAX_RULED_ROWS: usize = 1_000;
const COLUMN_SEPARATOR: &str = " │ ";
const SEPARATOR_WIDTH: usize = 3;

/// A table while it is collected. All cells share one text, because a board may contain millions of them.
#[derive(Debug)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    text: StyledString,
    /// End offset of each cell in the text.
    cell_ends: Vec<usize>,
    /// End index of each row in the cells; the first row is the header.
    row_ends: Vec<usize>,
}

impl MarkdownTable {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            text: StyledString::default(),
            cell_ends: Vec::new(),
            row_ends: Vec::new(),
        }
    }

    pub(super) fn push_cell(&mut self, cell: &StyledString) {
        self.text.push_part(cell, 0..cell.len());
        self.cell_ends.push(self.text.len());
    }

    pub(super) fn end_row(&mut self) {
        self.row_ends.push(self.cell_ends.len());
    }

    /// Writes the table: as a grid if its columns fit the page, else as records.
    pub(super) fn write(&self, page: &mut RenderPage) {
        let natural = self.natural_widths();
        match narrow_columns(&natural, page.available_width().first_line) {
            Some(widths) => {
                let ruled = widths != natural && self.row_ends.len() <= MAX_RULED_ROWS;
                self.write_grid(page, &widths, ruled);
            }
            None => self.write_records(page),
        }
    }

    /// Returns the cells of each row.
    fn row_cells(&self) -> impl Iterator<Item = impl Iterator<Item = Range<usize>>> {
        let starts = std::iter::once(0).chain(self.row_ends.iter().copied());
        starts.zip(&self.row_ends).map(|(start, &end)| {
            (start..end).map(|n| {
                let before = n.checked_sub(1).and_then(|n| self.cell_ends.get(n));
                let end = self.cell_ends.get(n).copied().unwrap_or_default();
                before.copied().unwrap_or_default()..end
            })
        })
    }

    fn cell_text(&self, cell: Range<usize>) -> &str {
        self.text.text().get(cell).unwrap_or_default()
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths = vec![1; self.alignments.len()];
        for row in self.row_cells() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = self.cell_text(cell).width().max(*width);
            }
        }
        widths
    }

    /// Writes the rows as a grid; with `ruled`, separated by lines because some rows are wrapped.
    fn write_grid(&self, page: &mut RenderPage, widths: &[usize], ruled: bool) {
        let rule: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let rule = rule.join("─┼─");
        for (n, row) in self.row_cells().enumerate() {
            if n == 1 || n > 1 && ruled {
                page.write_line([(TextStyle::Dim.into(), rule.as_str())]);
            }
            self.write_row(page, row, widths);
        }
    }

    fn write_row(
        &self,
        page: &mut RenderPage,
        row: impl Iterator<Item = Range<usize>>,
        widths: &[usize],
    ) {
        let columns = row.zip(widths).zip(&self.alignments);
        let mut cells: Vec<_> = columns
            .map(|((cell, &width), &alignment)| CellWriter {
                start: cell.start,
                lines: line_wrap::wrap_lines(self.cell_text(cell), cell_wrap_width(width)),
                width,
                alignment,
            })
            .collect();
        let mut first = true;
        loop {
            let mut line = StyledString::default();
            let mut written = 0;
            for (n, cell) in cells.iter_mut().enumerate() {
                if n > 0 {
                    line.push(COLUMN_SEPARATOR, TextStyle::Dim.into());
                }
                written += usize::from(cell.write_line(&self.text, &mut line));
            }
            if written == 0 && !first {
                return;
            }
            first = false;
            let end = line.text().trim_end().len();
            page.write_line(line.spans(0..end));
        }
    }

    /// Writes each row as an item, with the column name before each value.
    fn write_records(&self, page: &mut RenderPage) {
        let widest = (page.available_width().other_lines / 3).min(MAX_LABEL_WIDTH);
        let mut rows = self.row_cells();
        let head = rows.next().into_iter().flatten();
        let labels: Vec<_> = head
            .map(|cell| truncate_to_width(self.cell_text(cell), widest))
            .collect();
        for row in rows {
            page.open_item(ItemMarker {
                text: "-".to_owned(),
                styles: StyleSet::NONE,
            });
            let filled = row.zip(&labels).filter(|(cell, _)| !cell.is_empty());
            for (cell, label) in filled {
                page.open_item(ItemMarker {
                    text: format!("{label}:"),
                    styles: TextStyle::Bold.into(),
                });
                let mut value = StyledString::default();
                value.push_part(&self.text, cell);
                page.write_text(&value);
                page.close_container();
            }
            page.close_container();
        }
        if self.row_ends.len() == 1 {
            let mut line = StyledString::default();
            line.push(&labels.join(COLUMN_SEPARATOR), TextStyle::Bold.into());
            page.write_text(&line);
        }
    }
}

/// A cell whose lines are being written.
struct CellWriter<'a> {
    start: usize,
    lines: line_wrap::WrappedLines<'a>,
    width: usize,
    alignment: Alignment,
}

impl CellWriter<'_> {
    /// Appends the cell's next line, padded to its width. Returns whether there was one.
    fn write_line(&mut self, text: &StyledString, line: &mut StyledString) -> bool {
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
        line.push(&" ".repeat(before), StyleSet::NONE);
        line.push_part(text, part);
        line.push(&" ".repeat(spare - before), StyleSet::NONE);
        written
    }
}

fn cell_wrap_width(width: usize) -> WrapWidth {
    WrapWidth {
        first_line: width,
        other_lines: width,
        split_words: true,
    }
}

/// Returns column widths that fit into `room` columns: the widest are narrowed first, down to the minimum.
/// Returns `None` if that is not enough.
fn narrow_columns(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let between = natural.len().saturating_sub(1) * SEPARATOR_WIDTH;
    let room = room.checked_sub(between)?;
    let total = |limit: usize| {
        natural
            .iter()
            .map(|width| (*width).min(limit))
            .sum::<usize>()
    };
    if total(MIN_COLUMN_WIDTH) > room {
        return None;
    }
    let widest = natural.iter().copied().max().unwrap_or(0).min(room);
    let limit = (MIN_COLUMN_WIDTH..=widest.max(MIN_COLUMN_WIDTH))
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
    fn widest_columns_are_narrowed_first() {
        assert_eq!(narrow_columns(&[3, 5], 11), Some(vec![3, 5]));
        assert_eq!(narrow_columns(&[3, 50], 23), Some(vec![3, 17]));
        assert_eq!(narrow_columns(&[40, 50], 24), Some(vec![11, 10]));
        assert_eq!(narrow_columns(&[8, 8], 18), None);
        assert_eq!(narrow_columns(&[1; 100], 50), None);
        assert_eq!(narrow_columns(&[9_000_000], 20), Some(vec![20]));
    }
}
