//! Navigation: movement on a page, opening and closing pages, switching tabs.

use super::message::Effect;
use super::page::{Move, NEAR, Page};
use polis_view::Tab;

use super::route::Place;
use super::{App, Notice};
use crate::show::Data;

impl App {
    /// Moves to the first or the last row. If not all rows are loaded, loads more until they are.
    pub(super) fn far(&mut self, to: Move) -> Vec<Effect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.go(to, height);
            let unread = page.data.as_ref().is_none_or(Data::has_more);
            page.rush = unread && page.far_end() == to;
        }
        self.more()
    }

    /// Stops loading toward the end; called when another key is pressed.
    pub(super) fn rest(&mut self) {
        for page in self.stacks.iter_mut().flatten() {
            page.rush = false;
        }
    }

    /// Moves to the next search match, forward or backward.
    pub(super) fn seek(&mut self, forward: bool) -> Vec<Effect> {
        let height = self.body_rows();
        let page = self.page_mut();
        if page.is_some_and(|page| !page.go(Move::Seek(forward), height)) {
            self.say_not_found();
        }
        Vec::new()
    }

    pub(super) fn say_not_found(&mut self) {
        let wanted = self.page().map_or("", |page| page.filter.as_str());
        let said = self.lang.say(
            format!("Not found: {wanted}"),
            format!("没有找到：{wanted}"),
        );
        self.notice = Some(Notice::Done(said));
    }

    pub(super) fn step(&mut self, by: isize) -> Vec<Effect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.go(Move::Step(by), height);
        }
        self.more()
    }

    /// Loads more rows when the selection is near the end of the loaded ones.
    pub(super) fn more(&mut self) -> Vec<Effect> {
        let Some(page) = self.page_mut() else {
            return Vec::new();
        };
        let near = usize::try_from(NEAR).unwrap_or(usize::MAX);
        let backwards = page.far_end() == Move::Top;
        let near = match backwards {
            true => page.selected < near,
            false => page.selected + near >= page.len(),
        };
        let more = page.data.as_ref().is_some_and(Data::has_more);
        if near && more && page.loading.is_none() && !page.is_text() {
            match backwards {
                true => page.further = true,
                false => page.grow(),
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

    /// Opens a page above the visible one.
    pub(super) fn visit(&mut self, place: Place) -> Vec<Effect> {
        self.stack_mut().push(Page::new(place));
        self.refresh()
    }

    /// Clears the filter, or else closes the page.
    pub(super) fn back(&mut self) -> Vec<Effect> {
        let (height, deep) = (self.body_rows(), self.stack().len() > 1);
        match self.page_mut() {
            Some(page) if !page.filter.is_empty() => page.narrow_to(String::new(), height),
            _ if deep => {
                self.stack_mut().pop();
            }
            _ => return Vec::new(),
        }
        self.refresh()
    }

    pub(super) fn turn(&mut self, by: usize) -> Vec<Effect> {
        let at = (self.tab.index() + by) % Tab::ALL.len();
        Tab::ALL
            .get(at)
            .map_or_else(Vec::new, |tab| self.switch(*tab))
    }

    pub(super) fn switch(&mut self, tab: Tab) -> Vec<Effect> {
        if tab == self.tab {
            // The tab was already active: return to its first page.
            self.stack_mut().truncate(1);
        }
        self.tab = tab;
        self.show_again();
        self.refresh()
    }
}
