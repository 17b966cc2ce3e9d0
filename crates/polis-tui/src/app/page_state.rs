//! State of one page: its data, rendered rows or lines, selection, scroll position, filter and loading state,
//! and the movements on it, including the search for the next match.

use polis_core::number::saturating_cast;
use polis_view::UiLanguage;
use polis_view::style::StyledLines;

use super::app_message::{DisplayError, LoadRequest};
use super::page_route::Route;
use crate::page_content::{ListRow, PageData, RenderContext, Selection};

/// Number of rows loaded initially, and per further load.
pub(super) const ROWS_PER_LOAD: u32 = 200;
/// Maximum number of additional rows per load on the way to the end, large enough that the rows are not
/// rebuilt too often.
pub(super) const MAX_ROWS_PER_LOAD: u32 = 10_000;
/// Distance of the selection from the last loaded row at which more rows are loaded.
pub(super) const LOAD_MORE_DISTANCE: u32 = 20;

/// State of an open page.
#[derive(Debug)]
pub struct PageState {
    /// Which page it is.
    pub route: Route,
    /// The loaded data; `None` before the first load.
    pub data: Option<PageData>,
    /// The rows or lines that the data was rendered to.
    pub content: PageContent,
    /// Index of the selected row among the visible rows.
    pub selected: usize,
    /// Index of the first drawn row or line.
    pub offset: usize,
    /// The filter of a list, or the search text in a text.
    pub filter: String,
    /// Whether the view follows the end.
    pub follow: bool,
    /// The load request in progress; at most one per page.
    pub loading: Option<LoadRequest>,
    /// When the data was loaded, in milliseconds.
    pub loaded_at: i64,
    /// Whether it has to be reloaded.
    pub stale: bool,
    /// Why it could not be loaded.
    pub load_error: Option<DisplayError>,
    /// Whether older rows are requested too.
    pub wants_older: bool,
    /// Number of rows requested.
    pub requested_rows: u32,
    /// Whether it is on the way to the end of a partially loaded list: rows are loaded until the end is
    /// reached or a key is pressed.
    pub loading_to_end: bool,
    /// Whether to open the external editor as soon as the data is loaded.
    pub edit_when_loaded: bool,
    /// Movements requested before the data was loaded.
    pub pending_moves: Vec<PageMove>,
}

/// A movement on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMove {
    /// To the first row or line.
    Top,
    /// To the last row or line.
    Bottom,
    /// Down by this many rows or lines; negative is up.
    Step(isize),
    /// To the next search match: forward if true, backward if false.
    Seek(bool),
}

/// The rendered data of a page.
#[derive(Debug)]
pub enum PageContent {
    /// Rows, of which the filter selects the visible ones.
    List {
        /// All loaded rows.
        rows: Vec<ListRow>,
        /// Indices of the visible rows.
        view: Vec<usize>,
    },
    /// Text wrapped to the screen width; the filter is a search in it.
    Text(StyledLines),
}

impl PageState {
    /// Creates a page without data.
    pub fn new(route: Route) -> Self {
        let follow = matches!(route, Route::Events | Route::Agent(..) | Route::Command(..));
        Self {
            route,
            data: None,
            content: PageContent::List {
                rows: Vec::new(),
                view: Vec::new(),
            },
            selected: 0,
            offset: 0,
            filter: String::new(),
            follow,
            loading: None,
            loaded_at: 0,
            stale: true,
            load_error: None,
            wants_older: false,
            requested_rows: ROWS_PER_LOAD,
            loading_to_end: false,
            edit_when_loaded: false,
            pending_moves: Vec::new(),
        }
    }

    /// Returns the number of visible rows or lines.
    pub fn len(&self) -> usize {
        match &self.content {
            PageContent::List { view, .. } => view.len(),
            PageContent::Text(lines) => lines.len(),
        }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it shows text instead of rows.
    pub fn is_text(&self) -> bool {
        matches!(self.content, PageContent::Text(_))
    }

    /// Returns a visible row.
    pub fn row(&self, at: usize) -> Option<&ListRow> {
        match &self.content {
            PageContent::List { rows, view } => rows.get(*view.get(at)?),
            PageContent::Text(_) => None,
        }
    }

    /// Returns the target of key commands: the item of the selected row, or the item the whole page shows.
    pub fn selection(&self) -> Selection {
        match self.row(self.selected) {
            Some(row) => row.selection.clone(),
            None => match (&self.data, &self.route) {
                (Some(data), _) => data.selection(),
                (None, Route::Board(name)) => Selection::Board(name.clone()),
                (None, _) => Selection::None,
            },
        }
    }

    /// Whether loading failed for a temporary reason.
    pub fn failed_temporarily(&self) -> bool {
        self.load_error
            .as_ref()
            .is_some_and(|refused| refused.is_temporary)
    }

    /// Merges loaded data into the page, renders it and performs the pending movements. Returns whether every
    /// search among them found a match.
    pub fn set_data(
        &mut self,
        data: PageData,
        lang: UiLanguage,
        now: i64,
        width: usize,
        height: usize,
    ) -> bool {
        self.data = Some(match self.data.take() {
            Some(before) => before.merged_with(data),
            None => data,
        });
        if let (Some(PageData::Events(loaded)), true) = (&mut self.data, self.follow) {
            loaded.evict_oldest();
        }
        self.load_error = None;
        self.loaded_at = now;
        self.render(lang, now, width, height);
        let mut found = true;
        for page_move in std::mem::take(&mut self.pending_moves) {
            found &= self.apply_move(page_move, height);
        }
        if self.loading_to_end {
            self.apply_move(self.loading_end(), height);
            self.loading_to_end = self.data.as_ref().is_some_and(PageData::has_more);
        }
        found
    }

    /// Returns the end at which more rows are loaded; for the event log that is its beginning.
    pub fn loading_end(&self) -> PageMove {
        match self.route {
            Route::Events => PageMove::Top,
            _ => PageMove::Bottom,
        }
    }

    /// Requests more rows. On the way to the end the number is doubled (by at most `MAX_ROWS_PER_LOAD` rows),
    /// because the loaded rows are loaded again too.
    pub fn request_more_rows(&mut self) {
        let more = if self.loading_to_end {
            self.requested_rows.clamp(ROWS_PER_LOAD, MAX_ROWS_PER_LOAD)
        } else {
            ROWS_PER_LOAD
        };
        self.requested_rows = self.requested_rows.saturating_add(more);
        self.stale = true;
    }

    /// Reduces the number of requested rows to those near the selection, because all of them are reloaded on
    /// every relevant event.
    pub fn request_fewer_rows(&mut self) {
        let selected = saturating_cast::<u32>(self.selected);
        let loads = selected
            .saturating_add(2 * LOAD_MORE_DISTANCE)
            .div_ceil(ROWS_PER_LOAD);
        self.requested_rows = self.requested_rows.min(loads.saturating_mul(ROWS_PER_LOAD));
    }

    /// Moves immediately, or as soon as data is loaded. Returns false if the search text is not found.
    pub fn apply_move(&mut self, page_move: PageMove, height: usize) -> bool {
        if self.data.is_none() {
            if matches!(page_move, PageMove::Top | PageMove::Bottom) {
                self.pending_moves.clear();
            }
            self.pending_moves.push(page_move);
            return true;
        }
        match page_move {
            PageMove::Top => self.go_top(height),
            PageMove::Bottom => self.go_bottom(height),
            PageMove::Step(step) => self.move_by(step, height),
            PageMove::Seek(forward) => return self.seek_match(forward, height),
        }
        true
    }

    /// Renders the data again.
    pub fn render(&mut self, lang: UiLanguage, now: i64, width: usize, height: usize) {
        let Some(data) = &self.data else { return };
        let before = self.row(self.selected).map(|row| row.selection.clone());
        self.content = data.render(&RenderContext { lang, now, width });
        self.apply_filter();
        self.restore_selection(before, height);
    }

    /// Sets the filter. The selected row stays selected if it is still visible.
    pub fn set_filter(&mut self, text: String, height: usize) {
        let before = self.row(self.selected).map(|row| row.selection.clone());
        self.stale |= self.route.searches_store() && self.filter != text;
        self.filter = text;
        self.apply_filter();
        self.restore_selection(before, height);
    }

    fn restore_selection(&mut self, before: Option<Selection>, height: usize) {
        if let Some(before) = before.filter(|selection| *selection != Selection::None)
            && let Some(at) = (0..self.len()).find(|at| {
                self.row(*at)
                    .is_some_and(|row| row.selection.is_same_item(&before))
            })
        {
            self.selected = at;
        }
        self.clamp_selection(height);
    }

    /// Determines the visible rows. If the store does the search, all loaded rows are visible.
    fn apply_filter(&mut self) {
        let searched = self.route.searches_store();
        let search = self.filter.to_lowercase();
        if let PageContent::List { rows, view } = &mut self.content {
            let fits = |row: &ListRow| {
                searched || search.is_empty() || row.is_heading() || row.contains_text(&search)
            };
            *view = (0..rows.len())
                .filter(|at| rows.get(*at).is_some_and(fits))
                .collect();
            // A heading without rows is hidden, unless the store returned nothing else.
            let empty_headings: Vec<bool> = (0..view.len())
                .map(|at| {
                    let heading = |at: usize| {
                        view.get(at)
                            .and_then(|at| rows.get(*at))
                            .is_none_or(ListRow::is_heading)
                    };
                    !searched && !search.is_empty() && heading(at) && heading(at + 1)
                })
                .collect();
            let mut flags = empty_headings.iter();
            view.retain(|_| !flags.next().copied().unwrap_or(false));
        }
    }

    /// Moves the selection to a selectable row and scrolls it into view; if the page follows the end, that is
    /// the last row or line.
    pub fn clamp_selection(&mut self, height: usize) {
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
        if self.row(self.selected).is_some_and(ListRow::is_heading) {
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
    fn move_by(&mut self, step: isize, height: usize) {
        self.follow = false;
        if self.is_text() {
            let end = self.len().saturating_sub(height);
            self.offset = self.offset.saturating_add_signed(step).min(end);
            return;
        }
        let last = self.len().saturating_sub(1);
        let mut at = self.selected.saturating_add_signed(step).min(last);
        if !self.can_select(at) {
            let below = (at..self.len()).find(|at| self.can_select(*at));
            let above = (0..at).rev().find(|at| self.can_select(*at));
            let target = if step > 0 {
                below.or(above)
            } else {
                above.or(below)
            };
            at = target.unwrap_or(self.selected);
        }
        self.selected = at;
        self.clamp_selection(height);
    }

    /// Moves to the first row or line.
    fn go_top(&mut self, height: usize) {
        self.follow = false;
        self.selected = 0;
        self.offset = 0;
        self.clamp_selection(height);
    }

    /// Moves to the last row or line.
    fn go_bottom(&mut self, height: usize) {
        self.selected = self.len().saturating_sub(1);
        self.offset = self.len().saturating_sub(height);
        self.clamp_selection(height);
    }

    /// Moves to the next search match, forward or backward, wrapping around. Returns false if there is none.
    fn seek_match(&mut self, forward: bool, height: usize) -> bool {
        let search = self.filter.to_lowercase();
        if search.is_empty() {
            return true;
        }
        let count = self.len();
        let current = if self.is_text() {
            self.offset
        } else {
            self.selected
        };
        let context = (1..=count).map(|n| {
            if forward {
                (current + n) % count
            } else {
                (current + count - n) % count
            }
        });
        let found = context.into_iter().find(|at| match &self.content {
            PageContent::List { .. } => self
                .row(*at)
                .is_some_and(|row| !row.is_heading() && row.contains_text(&search)),
            PageContent::Text(lines) => lines.plain_line(*at).to_lowercase().contains(&search),
        });
        let Some(found) = found else {
            return false;
        };
        self.follow = false;
        if self.is_text() {
            self.offset = found.min(self.len().saturating_sub(height));
        } else {
            self.selected = found;
            self.clamp_selection(height);
        }
        true
    }
}
