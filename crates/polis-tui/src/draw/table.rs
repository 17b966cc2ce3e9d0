//! Draws rows in aligned columns. A narrow screen shows fewer columns; characters are never cut in half.

use polis_view::width::cut;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

use super::Theme;
use crate::app::{Page, Place};
use crate::show::{Cell, Row};

/// Spaces between two columns.
const GAP: usize = 2;

/// A column of a list.
#[derive(Debug, Clone, Copy)]
struct Column {
    /// Maximum width; the column without a limit takes the remaining space.
    most: Option<usize>,
    /// Minimum screen width at which the column is shown.
    from: usize,
}

const fn upto(most: usize, from: usize) -> Column {
    Column {
        most: Some(most),
        from,
    }
}

const REST: Column = Column {
    most: None,
    from: 0,
};

/// Returns the columns of a page's rows.
fn columns(place: &Place) -> &'static [Column] {
    match place {
        Place::Now | Place::Events | Place::Commands(_) => {
            &const { [upto(8, 0), upto(20, 0), REST, upto(14, 56)] }
        }
        Place::Tasks => {
            &const {
                [
                    upto(8, 0),
                    REST,
                    upto(18, 50),
                    upto(16, 76),
                    upto(14, 100),
                    upto(12, 64),
                ]
            }
        }
        Place::Boards => {
            &const {
                [
                    REST,
                    upto(8, 0),
                    upto(10, 70),
                    upto(18, 50),
                    upto(20, 90),
                    upto(12, 60),
                ]
            }
        }
        Place::Versions(_) => {
            &const { [upto(8, 0), REST, upto(20, 50), upto(10, 60), upto(12, 0)] }
        }
        Place::Rulings(_) => &const { [upto(8, 0), upto(20, 0), REST, upto(24, 70)] },
        Place::Agents => &const { [REST, upto(18, 0), upto(18, 56), upto(12, 76), upto(20, 66)] },
        Place::Workspaces => &const { [upto(24, 0), upto(16, 0), REST] },
        _ => &const { [REST, upto(10, 0)] },
    }
}

/// Draws the visible rows.
pub(super) fn draw(page: &Page, area: Rect, theme: Theme, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let drawn = (page.offset..page.len()).take(usize::from(area.height));
    let visible: Vec<(usize, &Row)> = drawn
        .filter_map(|at| page.row(at).map(|row| (at, row)))
        .collect();
    let columns = columns(&page.place);
    let widths = widths(columns, visible.iter().map(|(_, row)| *row), width);
    for (y, (at, row)) in (area.y..area.bottom()).zip(visible) {
        if row.is_heading() {
            let text = row.cells.first().map_or("", |cell| cell.text.as_str());
            let styles = row
                .cells
                .first()
                .map(|cell| cell.styles)
                .unwrap_or_default();
            buffer.set_stringn(area.x, y, cut(text, width), width, theme.of(styles));
            continue;
        }
        let mut x = area.x;
        for (cell, width) in row.cells.iter().zip(&widths) {
            let Some(width) = width else { continue };
            let room = usize::from(area.right().saturating_sub(x)).min(*width);
            draw_cell(cell, x, y, room, theme, buffer);
            x = x.saturating_add(u16::try_from(width + GAP).unwrap_or(u16::MAX));
        }
        if at == page.selected {
            let line = Rect {
                y,
                height: 1,
                ..area
            };
            buffer.set_style(line, theme.selected());
        }
    }
}

fn draw_cell(cell: &Cell, x: u16, y: u16, room: usize, theme: Theme, buffer: &mut Buffer) {
    if room > 0 {
        let text = cut(&cell.text, room);
        buffer.set_stringn(x, y, text, room, theme.of(cell.styles));
    }
}

/// Returns the width of each column; `None` for a hidden one.
fn widths<'a>(
    columns: &[Column],
    rows: impl Iterator<Item = &'a Row> + Clone,
    width: usize,
) -> Vec<Option<usize>> {
    let natural = |n: usize| {
        rows.clone()
            .filter(|row| !row.is_heading())
            .filter_map(|row| row.cells.get(n))
            .map(|cell| cell.text.width())
            .max()
            .unwrap_or(0)
    };
    let mut widths: Vec<Option<usize>> = columns
        .iter()
        .enumerate()
        .map(|(n, column)| match column.most {
            _ if column.from > width => None,
            None => Some(0),
            Some(most) => Some(natural(n).min(most)).filter(|width| *width > 0),
        })
        .collect();
    let used: usize = widths
        .iter()
        .flatten()
        .map(|width| if *width > 0 { width + GAP } else { 0 })
        .sum();
    let rest = columns.iter().position(|column| column.most.is_none());
    if let Some(slot) = rest.and_then(|at| widths.get_mut(at)) {
        *slot = Some(width.saturating_sub(used));
    }
    widths
}
