//! Going about: on a page, to another one, to another tab.

use super::App;
use super::message::Effect;
use super::page::{Move, NEAR, Page, ROWS};
use super::place::{Place, Tab};
use crate::show::Data;

impl App {
    pub(super) fn top(&mut self) -> Vec<Effect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.go(Move::Top, height);
        }
        self.more()
    }

    pub(super) fn step(&mut self, by: isize) -> Vec<Effect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.go(Move::Step(by), height);
        }
        self.more()
    }

    /// Reads more rows when the selection comes near the end of those that are there.
    pub(super) fn more(&mut self) -> Vec<Effect> {
        let Some(page) = self.page_mut() else {
            return Vec::new();
        };
        let near = usize::try_from(NEAR).unwrap_or(usize::MAX);
        let backwards = matches!(page.place, Place::Events);
        let near = match backwards {
            true => page.selected < near,
            false => page.selected + near >= page.len(),
        };
        let more = page.data.as_ref().is_some_and(Data::has_more);
        if near && more && page.loading.is_none() && !page.is_text() {
            match backwards {
                true => page.further = true,
                false => {
                    page.rows = page.rows.saturating_add(ROWS);
                    page.stale = true;
                }
            }
            return self.refresh();
        }
        Vec::new()
    }

    pub(super) fn open(&mut self) -> Vec<Effect> {
        let Some(place) = self.page().and_then(|page| {
            let row = page.row(page.selected)?;
            row.open.clone()
        }) else {
            return Vec::new();
        };
        self.visit(place)
    }

    /// Opens a page over the one that is shown.
    pub(super) fn visit(&mut self, place: Place) -> Vec<Effect> {
        self.stack_mut().push(Page::new(place));
        self.refresh()
    }

    pub(super) fn back(&mut self) -> Vec<Effect> {
        let height = self.body_rows();
        if self.stack().len() > 1 {
            self.stack_mut().pop();
            return self.refresh();
        }
        if let Some(page) = self.page_mut()
            && !page.filter.is_empty()
        {
            page.filter.clear();
            page.stale |= page.place.searches_store();
            page.narrow();
            page.settle(height);
            return self.refresh();
        }
        Vec::new()
    }

    pub(super) fn turn(&mut self, by: usize) -> Vec<Effect> {
        let at = (self.tab.index() + by) % Tab::ALL.len();
        Tab::ALL
            .get(at)
            .map_or_else(Vec::new, |tab| self.switch(*tab))
    }

    pub(super) fn switch(&mut self, tab: Tab) -> Vec<Effect> {
        if tab == self.tab {
            // A second time: back to the tab's first page.
            self.stack_mut().truncate(1);
        }
        self.tab = tab;
        self.show_again();
        self.refresh()
    }
}
