//! State of one page: its data, rendered rows or lines, selection, scroll position, filter and loading state.

use polis_view::Lang;
use polis_view::style::StyledLines;

use super::message::{Refused, Wish};
use super::route::Place;
use crate::show::{Data, Row, Thing, Ways};

/// Number of rows loaded initially, and per further load.
pub(super) const ROWS: u32 = 200;
/// Maximum number of additional rows per load on the way to the end, large enough that the rows are not
/// rebuilt too often.
pub(super) const RUSH: u32 = 10_000;
/// Distance of the selection from the last loaded row at which more rows are loaded.
pub(super) const NEAR: u32 = 20;

/// A page.
#[derive(Debug)]
pub struct Page {
    /// What it shows.
    pub place: Place,
    /// The loaded data.
    pub data: Option<Data>,
    /// The rendered data.
    pub shown: Shown,
    /// Index of the selected row among the visible rows.
    pub selected: usize,
    /// Index of the first drawn row or line.
    pub offset: usize,
    /// The filter of a list, or the search text in a text.
    pub filter: String,
    /// Whether the view follows the end.
    pub follow: bool,
    /// The load request in progress.
    pub loading: Option<Wish>,
    /// When the data was loaded, in milliseconds.
    pub read: i64,
    /// Whether it has to be reloaded.
    pub stale: bool,
    /// Why it could not be loaded.
    pub refused: Option<Refused>,
    /// Whether older rows are requested too.
    pub further: bool,
    /// Number of rows requested.
    pub rows: u32,
    /// Whether it is on the way to the end of a partially loaded list: rows are loaded until the end is
    /// reached or a key is pressed.
    pub rush: bool,
    /// Whether to open an editor as soon as the data is loaded.
    pub edit: bool,
    /// Movements requested before the data was loaded.
    pub moves: Vec<Move>,
}

/// A movement on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// To the first row or line.
    Top,
    /// To the last row or line.
    Bottom,
    /// Down by this many rows or lines; negative is up.
    Step(isize),
    /// To the next search match, forward or backward.
    Seek(bool),
}

/// The rendered data of a page.
#[derive(Debug)]
pub enum Shown {
    /// Rows, of which the filter selects the visible ones.
    Rows {
        /// All rows.
        rows: Vec<Row>,
        /// Indices of the visible rows.
        view: Vec<usize>,
    },
    /// Lines of text.
    Text(StyledLines),
}

impl Page {
    /// Creates a page without data.
    pub fn new(place: Place) -> Self {
        let follow = matches!(place, Place::Events | Place::Agent(..) | Place::Command(..));
        Self {
            place,
            data: None,
            shown: Shown::Rows {
                rows: Vec::new(),
                view: Vec::new(),
            },
            selected: 0,
            offset: 0,
            filter: String::new(),
            follow,
            loading: None,
            read: 0,
            stale: true,
            refused: None,
            further: false,
            rows: ROWS,
            rush: false,
            edit: false,
            moves: Vec::new(),
        }
    }

    /// Returns the number of visible rows or lines.
    pub fn len(&self) -> usize {
        match &self.shown {
            Shown::Rows { view, .. } => view.len(),
            Shown::Text(lines) => lines.len(),
        }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it shows text instead of rows.
    pub fn is_text(&self) -> bool {
        matches!(self.shown, Shown::Text(_))
    }

    /// Returns a visible row.
    pub fn row(&self, at: usize) -> Option<&Row> {
        match &self.shown {
            Shown::Rows { rows, view } => rows.get(*view.get(at)?),
            Shown::Text(_) => None,
        }
    }

    /// Returns the target of key commands: the item of the selected row, or the item the whole page shows.
    pub fn thing(&self) -> Thing {
        match self.row(self.selected) {
            Some(row) => row.thing.clone(),
            None => match (&self.data, &self.place) {
                (Some(data), _) => data.thing(),
                (None, Place::Board(name)) => Thing::Board(name.clone()),
                (None, _) => Thing::None,
            },
        }
    }

    /// Whether loading failed for a temporary reason.
    pub fn is_cut_off(&self) -> bool {
        self.refused.as_ref().is_some_and(|refused| refused.passing)
    }

    /// Takes loaded data. Returns whether every search requested before found a match.
    pub fn take(&mut self, data: Data, lang: Lang, now: i64, width: usize, height: usize) -> bool {
        self.data = Some(match self.data.take() {
            Some(before) => before.joined_by(data),
            None => data,
        });
        if let (Some(Data::Events(sheet)), true) = (&mut self.data, self.follow) {
            sheet.let_go();
        }
        self.refused = None;
        self.read = now;
        self.show(lang, now, width, height);
        let mut found = true;
        for asked in std::mem::take(&mut self.moves) {
            found &= self.go(asked, height);
        }
        if self.rush {
            self.go(self.far_end(), height);
            self.rush = self.data.as_ref().is_some_and(Data::has_more);
        }
        found
    }

    /// Returns the end at which more rows are loaded; for the log that is its beginning.
    pub fn far_end(&self) -> Move {
        match self.place {
            Place::Events => Move::Top,
            _ => Move::Bottom,
        }
    }

    /// Requests more rows. On the way to the end the number is doubled (by at most `RUSH` rows), because the
    /// loaded rows are loaded again too.
    pub fn grow(&mut self) {
        let more = match self.rush {
            true => self.rows.clamp(ROWS, RUSH),
            false => ROWS,
        };
        self.rows = self.rows.saturating_add(more);
        self.stale = true;
    }

    /// Reduces the number of requested rows to those near the selection, because all of them are reloaded on
    /// every relevant event.
    pub fn shrink(&mut self) {
        let near = u32::try_from(self.selected).unwrap_or(u32::MAX);
        let near = near.saturating_add(2 * NEAR).div_ceil(ROWS);
        self.rows = self.rows.min(near.saturating_mul(ROWS));
    }

    /// Moves immediately, or as soon as data is loaded. Returns false if the search text is not found.
    pub fn go(&mut self, asked: Move, height: usize) -> bool {
        if self.data.is_none() {
            if matches!(asked, Move::Top | Move::Bottom) {
                self.moves.clear();
            }
            self.moves.push(asked);
            return true;
        }
        match asked {
            Move::Top => self.go_top(height),
            Move::Bottom => self.go_bottom(height),
            Move::Step(by) => self.step(by, height),
            Move::Seek(forward) => return self.seek(forward, height),
        }
        true
    }

    /// Renders the data again.
    pub fn show(&mut self, lang: Lang, now: i64, width: usize, height: usize) {
        let Some(data) = &self.data else { return };
        let before = self.row(self.selected).map(|row| row.thing.clone());
        self.shown = data.show(&Ways { lang, now, width });
        self.narrow();
        self.select(before, height);
    }

    /// Sets the filter. The selected row stays selected if it is still visible.
    pub fn narrow_to(&mut self, text: String, height: usize) {
        let before = self.row(self.selected).map(|row| row.thing.clone());
        self.stale |= self.place.searches_store() && self.filter != text;
        self.filter = text;
        self.narrow();
        self.select(before, height);
    }

    fn select(&mut self, before: Option<Thing>, height: usize) {
        if let Some(before) = before.filter(|thing| *thing != Thing::None)
            && let Some(at) = (0..self.len())
                .find(|at| self.row(*at).is_some_and(|row| row.thing.is_same(&before)))
        {
            self.selected = at;
        }
        self.settle(height);
    }

    /// Determines the visible rows.
    fn narrow(&mut self) {
        let searched = self.place.searches_store();
        let wanted = self.filter.to_lowercase();
        if let Shown::Rows { rows, view } = &mut self.shown {
            let fits =
                |row: &Row| searched || wanted.is_empty() || row.is_heading() || row.holds(&wanted);
            *view = (0..rows.len())
                .filter(|at| rows.get(*at).is_some_and(fits))
                .collect();
            // A heading without rows is hidden, unless the store returned nothing else.
            let bare: Vec<bool> = (0..view.len())
                .map(|at| {
                    let heading = |at: usize| {
                        view.get(at)
                            .and_then(|at| rows.get(*at))
                            .is_none_or(Row::is_heading)
                    };
                    !searched && !wanted.is_empty() && heading(at) && heading(at + 1)
                })
                .collect();
            let mut bare = bare.iter();
            view.retain(|_| !bare.next().copied().unwrap_or(false));
        }
    }

    /// Moves the selection to a selectable row and scrolls it into view.
    pub fn settle(&mut self, height: usize) {
        let last = self.len().saturating_sub(1);
        if self.is_text() {
            let end = self.len().saturating_sub(height);
            self.offset = if self.follow {
                end
            } else {
                self.offset.min(end)
            };
            return;
        }
        self.selected = if self.follow {
            last
        } else {
            self.selected.min(last)
        };
        if self.row(self.selected).is_some_and(Row::is_heading) {
            let down = (self.selected..self.len()).find(|at| self.can_select(*at));
            let up = (0..self.selected).rev().find(|at| self.can_select(*at));
            self.selected = down.or(up).unwrap_or(self.selected);
        }
        let first = self.first_selectable();
        if self.selected < self.offset || self.selected <= first {
            self.offset = if self.selected <= first {
                0
            } else {
                self.selected
            };
        }
        if height > 0 && self.selected >= self.offset + height {
            self.offset = self.selected + 1 - height;
        }
        self.offset = self
            .offset
            .min(self.len().saturating_sub(height.min(self.len())));
    }

    fn first_selectable(&self) -> usize {
        (0..self.len()).find(|at| self.can_select(*at)).unwrap_or(0)
    }

    fn can_select(&self, at: usize) -> bool {
        self.row(at).is_some_and(|row| !row.is_heading())
    }

    /// Returns the position of the selected row and the number of rows; headings do not count.
    pub fn position(&self) -> (usize, usize) {
        let count = |until: usize| (0..until).filter(|at| self.can_select(*at)).count();
        (count(self.selected + 1), count(self.len()))
    }

    /// Moves the selection, or scrolls a text.
    fn step(&mut self, by: isize, height: usize) {
        self.follow = false;
        if self.is_text() {
            let end = self.len().saturating_sub(height);
            self.offset = self.offset.saturating_add_signed(by).min(end);
            return;
        }
        let last = self.len().saturating_sub(1);
        let mut at = self.selected.saturating_add_signed(by).min(last);
        if !self.can_select(at) {
            let below = (at..self.len()).find(|at| self.can_select(*at));
            let above = (0..at).rev().find(|at| self.can_select(*at));
            let on = match by > 0 {
                true => below.or(above),
                false => above.or(below),
            };
            at = on.unwrap_or(self.selected);
        }
        self.selected = at;
        self.settle(height);
    }

    /// Moves to the first row or line.
    fn go_top(&mut self, height: usize) {
        self.follow = false;
        self.selected = 0;
        self.offset = 0;
        self.settle(height);
    }

    /// Moves to the last row or line.
    fn go_bottom(&mut self, height: usize) {
        self.selected = self.len().saturating_sub(1);
        self.offset = self.len().saturating_sub(height);
        self.settle(height);
    }

    /// Moves to the next search match, forward or backward.
    fn seek(&mut self, forward: bool, height: usize) -> bool {
        let wanted = self.filter.to_lowercase();
        if wanted.is_empty() {
            return true;
        }
        let count = self.len();
        let here = if self.is_text() {
            self.offset
        } else {
            self.selected
        };
        let ways = (1..=count).map(|n| match forward {
            true => (here + n) % count,
            false => (here + count - n) % count,
        });
        let found = ways.into_iter().find(|at| match &self.shown {
            Shown::Rows { .. } => self
                .row(*at)
                .is_some_and(|row| !row.is_heading() && row.holds(&wanted)),
            Shown::Text(lines) => lines.plain(*at).to_lowercase().contains(&wanted),
        });
        let Some(found) = found else {
            return false;
        };
        self.follow = false;
        if self.is_text() {
            self.offset = found.min(self.len().saturating_sub(height));
        } else {
            self.selected = found;
            self.settle(height);
        }
        true
    }
}
