//! Navigation: movement on a page, opening and closing pages on the stack of a tab, switching tabs, and
//! loading more rows when the selection comes near the end of the loaded ones.

use super::app_message::AppEffect;
use super::page_state::{LOAD_MORE_DISTANCE, PageMove, PageState};
use polis_core::number::saturating_cast;
use polis_i18n::msg;
use polis_view::Tab;

use super::page_route::Route;
use super::{StatusNotice, TuiApp};
use crate::page_content::PageData;

impl TuiApp {
    /// Moves to the first or the last row. If rows beyond it are not loaded yet, loads them until the end is
    /// reached or [`Self::stop_loading_to_end`] is called.
    pub(super) fn go_to_end(&mut self, target: PageMove) -> Vec<AppEffect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.apply_move(target, height);
            let unread = page.data.as_ref().is_none_or(PageData::has_more);
            page.loading_to_end = unread && page.loading_end() == target;
        }
        self.load_more_near_end()
    }

    /// Stops loading toward the end; called when a key is pressed or the mouse is used.
    pub(super) fn stop_loading_to_end(&mut self) {
        for page in self.stacks.iter_mut().flatten() {
            page.loading_to_end = false;
        }
    }

    /// Moves to the next search match, forward or backward.
    pub(super) fn seek_match(&mut self, forward: bool) -> Vec<AppEffect> {
        let height = self.body_rows();
        let page = self.page_mut();
        if page.is_some_and(|page| !page.apply_move(PageMove::Seek(forward), height)) {
            self.show_not_found();
        }
        Vec::new()
    }

    pub(super) fn show_not_found(&mut self) {
        let search = self.page().map_or("", |page| page.filter.as_str());
        let message = msg::tui_text_not_found(self.lang, search);
        self.notice = Some(StatusNotice::Done(message));
    }

    pub(super) fn move_selection(&mut self, step: isize) -> Vec<AppEffect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.apply_move(PageMove::Step(step), height);
        }
        self.load_more_near_end()
    }

    /// Loads more rows when the selection is near the end of the loaded ones.
    pub(super) fn load_more_near_end(&mut self) -> Vec<AppEffect> {
        let Some(page) = self.page_mut() else {
            return Vec::new();
        };
        let distance = saturating_cast::<usize>(LOAD_MORE_DISTANCE);
        let backwards = page.loading_end() == PageMove::Top;
        let is_near = if backwards {
            page.selected < distance
        } else {
            page.selected + distance >= page.len()
        };
        let more = page.data.as_ref().is_some_and(PageData::has_more);
        if is_near && more && page.loading.is_none() && !page.is_text() {
            if backwards {
                page.wants_older = true;
            } else {
                page.request_more_rows();
            }
            return self.reload_if_stale();
        }
        Vec::new()
    }

    pub(super) fn open_selected(&mut self) -> Vec<AppEffect> {
        let Some(route) = self.page().and_then(|page| {
            let row = page.row(page.selected)?;
            row.opens.clone()
        }) else {
            return Vec::new();
        };
        self.open_route(route)
    }

    /// Opens a page above the visible one.
    pub(super) fn open_route(&mut self, route: Route) -> Vec<AppEffect> {
        self.stack_mut().push(PageState::new(route));
        self.reload_if_stale()
    }

    /// Clears the filter, or else closes the page.
    pub(super) fn go_back(&mut self) -> Vec<AppEffect> {
        let (height, can_pop) = (self.body_rows(), self.stack().len() > 1);
        match self.page_mut() {
            Some(page) if !page.filter.is_empty() => page.set_filter(String::new(), height),
            _ if can_pop => {
                self.stack_mut().pop();
            }
            _ => return Vec::new(),
        }
        self.reload_if_stale()
    }

    pub(super) fn rotate_tab(&mut self, step: usize) -> Vec<AppEffect> {
        let at = (self.tab.index() + step) % Tab::ALL.len();
        Tab::ALL
            .get(at)
            .map_or_else(Vec::new, |tab| self.switch_tab(*tab))
    }

    pub(super) fn switch_tab(&mut self, tab: Tab) -> Vec<AppEffect> {
        if tab == self.tab {
            // The tab was already active: return to its first page.
            self.stack_mut().truncate(1);
        }
        self.tab = tab;
        self.rerender_page();
        self.reload_if_stale()
    }
}
