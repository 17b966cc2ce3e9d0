//! Draws the rows of a list in aligned columns, whose maximum widths depend on the page. A narrow screen
//! shows fewer columns; wide characters are never cut in half.

use polis_core::number::saturating_cast;
use polis_view::display_width::truncate_to_width;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

use super::TerminalTheme;
use crate::app::{PageState, Route};
use crate::page_content::{ListCell, ListRow};

/// Spaces between two columns.
const COLUMN_GAP: usize = 2;

/// A column of a list.
#[derive(Debug, Clone, Copy)]
struct TableColumn {
    /// Maximum width; the column without a limit takes the remaining space.
    max_width: Option<usize>,
    /// Minimum screen width at which the column is shown.
    min_screen_width: usize,
}

const fn limited_column(max_width: usize, from: usize) -> TableColumn {
    TableColumn {
        max_width: Some(max_width),
        min_screen_width: from,
    }
}

const REMAINING_WIDTH: TableColumn = TableColumn {
    max_width: None,
    min_screen_width: 0,
};

/// Returns the columns of a page's rows, in the order of the cells of its rows in `page_content`.
fn route_columns(route: &Route) -> &'static [TableColumn] {
    match route {
        Route::Overview | Route::Events | Route::Commands(_) => {
            &const {
                [
                    limited_column(8, 0),
                    limited_column(20, 0),
                    REMAINING_WIDTH,
                    limited_column(14, 56),
                ]
            }
        }
        Route::Tasks => {
            &const {
                [
                    limited_column(8, 0),
                    REMAINING_WIDTH,
                    limited_column(18, 50),
                    limited_column(16, 76),
                    limited_column(14, 100),
                    limited_column(12, 64),
                ]
            }
        }
        Route::Boards => {
            &const {
                [
                    REMAINING_WIDTH,
                    limited_column(8, 0),
                    limited_column(10, 70),
                    limited_column(18, 50),
                    limited_column(20, 90),
                    limited_column(12, 60),
                ]
            }
        }
        Route::Versions(_) => {
            &const {
                [
                    limited_column(8, 0),
                    REMAINING_WIDTH,
                    limited_column(20, 50),
                    limited_column(10, 60),
                    limited_column(12, 0),
                ]
            }
        }
        Route::Decisions(_) => {
            &const {
                [
                    limited_column(8, 0),
                    limited_column(20, 0),
                    REMAINING_WIDTH,
                    limited_column(24, 70),
                ]
            }
        }
        Route::Agents => {
            &const {
                [
                    REMAINING_WIDTH,
                    limited_column(18, 0),
                    limited_column(18, 56),
                    limited_column(12, 76),
                    limited_column(20, 66),
                ]
            }
        }
        Route::Workspaces => {
            &const {
                [
                    limited_column(24, 0),
                    limited_column(16, 0),
                    REMAINING_WIDTH,
                ]
            }
        }
        _ => &const { [REMAINING_WIDTH, limited_column(10, 0)] },
    }
}

/// Draws the visible rows.
pub(super) fn draw_rows(page: &PageState, area: Rect, theme: TerminalTheme, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let indices = (page.offset..page.len()).take(usize::from(area.height));
    let visible: Vec<(usize, &ListRow)> = indices
        .filter_map(|at| page.row(at).map(|row| (at, row)))
        .collect();
    let columns = route_columns(&page.route);
    let widths = column_widths(columns, visible.iter().map(|(_, row)| *row), width);
    for (y, (at, row)) in (area.y..area.bottom()).zip(visible) {
        if row.is_heading() {
            let text = row.cells.first().map_or("", |cell| cell.text.as_str());
            let styles = row
                .cells
                .first()
                .map(|cell| cell.styles)
                .unwrap_or_default();
            buffer.set_stringn(
                area.x,
                y,
                truncate_to_width(text, width),
                width,
                theme.text_style(styles),
            );
            continue;
        }
        let mut x = area.x;
        for (cell, width) in row.cells.iter().zip(&widths) {
            let Some(width) = width else { continue };
            let cell_width = usize::from(area.right().saturating_sub(x)).min(*width);
            draw_cell(cell, x, y, cell_width, theme, buffer);
            x = x.saturating_add(saturating_cast::<u16>(width + COLUMN_GAP));
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

fn draw_cell(
    cell: &ListCell,
    x: u16,
    y: u16,
    width: usize,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) {
    if width > 0 {
        let text = truncate_to_width(&cell.text, width);
        buffer.set_stringn(x, y, text, width, theme.text_style(cell.styles));
    }
}

/// Returns the width of each column; `None` for a hidden one.
fn column_widths<'a>(
    columns: &[TableColumn],
    rows: impl Iterator<Item = &'a ListRow> + Clone,
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
        .map(|(n, column)| match column.max_width {
            _ if column.min_screen_width > width => None,
            None => Some(0),
            Some(max_width) => Some(natural(n).min(max_width)).filter(|width| *width > 0),
        })
        .collect();
    let used: usize = widths
        .iter()
        .flatten()
        .map(|width| if *width > 0 { width + COLUMN_GAP } else { 0 })
        .sum();
    let rest = columns.iter().position(|column| column.max_width.is_none());
    if let Some(slot) = rest.and_then(|at| widths.get_mut(at)) {
        *slot = Some(width.saturating_sub(used));
    }
    widths
}
