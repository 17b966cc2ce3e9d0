//! The update function ([`update_app`]): applies a message to the state and returns the effects that the
//! event loop executes. Decides when a page is loaded again; only the visible page is loaded.

use crossterm::event::KeyEventKind;
use polis_core::Event;
use polis_ops::op::TaskStats;

use super::actions::UserAction;
use super::app_message::{AppEffect, AppMessage, DisplayError, LoadRange, LoadRequest};
use super::input_form::InputForm;
use super::overlay::{EditConflict, Overlay, SaveFailure};
use super::page_route::Route;
use super::page_state::MAX_ROWS_PER_LOAD;
use super::{RELOAD_INTERVAL_MS, StatsLoading, StatusNotice, TuiApp, action_keys, drafts};
use crate::page_content::PageData;

/// Applies a message, received at the time `now` (milliseconds since 1970), to the state. Returns the effects
/// to execute.
pub fn update_app(app: &mut TuiApp, now: i64, message: AppMessage) -> Vec<AppEffect> {
    app.now = now;
    let effects = app.handle_message(message);
    if app.overlay.is_none() {
        app.overlay = app.queued_overlays.pop_front();
        app.overlay_undrawn = app.overlay.is_some();
    }
    app.cancel_hidden_edits();
    effects
}

impl TuiApp {
    fn handle_message(&mut self, message: AppMessage) -> Vec<AppEffect> {
        match message {
            AppMessage::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            AppMessage::Key(key) => self.handle_key(key),
            AppMessage::Mouse(mouse) => self.handle_mouse(mouse),
            AppMessage::Paste(text) => self.handle_paste(&text),
            AppMessage::Resize(columns, rows) => self.resize(columns, rows),
            AppMessage::OverlayDrawn => {
                self.overlay_undrawn = false;
                Vec::new()
            }
            AppMessage::Tick => {
                self.rerender_page();
                let now = self.now;
                if let Some(page) = self.page_mut() {
                    let data = page.data.as_ref();
                    let old = now.abs_diff(page.loaded_at) >= RELOAD_INTERVAL_MS;
                    page.stale |= page.failed_temporarily()
                        || data.is_some_and(PageData::is_running)
                        || old && data.is_some_and(PageData::has_running);
                }
                self.reload_if_stale()
            }
            AppMessage::EventsArrived(events) => self.events_arrived(events),
            AppMessage::StoreUnreachable(unreachable) => {
                self.store_unreachable = unreachable;
                Vec::new()
            }
            AppMessage::Loaded(request, answer) => self.page_loaded(&request, answer),
            AppMessage::StatsComputed(answer) => self.stats_computed(answer),
            AppMessage::ActionFinished(action, answer) => self.action_finished(action, answer),
            AppMessage::SaveConflict {
                draft,
                version,
                text,
                by,
            } => {
                self.running_actions = self.running_actions.saturating_sub(1);
                drafts::show_conflict(self, EditConflict::new(draft, version, text, by))
            }
            AppMessage::EditorClosed(draft, answer) => drafts::editor_closed(self, draft, answer),
        }
    }

    /// Cancels a requested edit if another page or an overlay is shown before the text was loaded.
    fn cancel_hidden_edits(&mut self) {
        let covered = self.overlay.is_some();
        let current_tab = self.tab.index();
        for (tab, stack) in self.stacks.iter_mut().enumerate() {
            let last = stack.len().saturating_sub(1);
            for (at, page) in stack.iter_mut().enumerate() {
                page.edit_when_loaded &= !covered && tab == current_tab && at == last;
            }
        }
    }

    /// Loads the data of the visible page, if it is stale and not already being loaded.
    pub(super) fn reload_if_stale(&mut self) -> Vec<AppEffect> {
        let (width, colour) = (self.columns(), self.colour);
        let Some(page) = self.page_mut() else {
            return Vec::new();
        };
        if !page.stale && !page.wants_older || page.loading.is_some() {
            return Vec::new();
        }
        let search = if page.route.searches_store() {
            page.filter.clone()
        } else {
            String::new()
        };
        let load_older = std::mem::take(&mut page.wants_older);
        let part = match &page.data {
            Some(PageData::Events(loaded)) if loaded.search == search => {
                if load_older {
                    LoadRange::Before(loaded.first_seq)
                } else {
                    LoadRange::Since(loaded.last_seq)
                }
            }
            _ => LoadRange::Newest,
        };
        // Newer rows still have to be loaded after the older ones.
        page.stale &= matches!(part, LoadRange::Before(_));
        let request = LoadRequest {
            route: page.route.clone(),
            search,
            width,
            colour,
            rows: match part {
                LoadRange::Before(_) if page.loading_to_end => MAX_ROWS_PER_LOAD,
                _ => page.requested_rows,
            },
            range: part,
        };
        page.loading = Some(request.clone());
        vec![AppEffect::Load(request)]
    }

    fn page_loaded(
        &mut self,
        request: &LoadRequest,
        answer: Result<PageData, DisplayError>,
    ) -> Vec<AppEffect> {
        let (lang, now, width, height) = (self.lang, self.now, self.columns(), self.body_rows());
        let succeeded = answer.is_ok();
        let answer = &mut Some(answer);
        let mut found = true;
        for page in self.stacks.iter_mut().flatten() {
            if page.loading.as_ref() != Some(request) {
                continue;
            }
            page.loading = None;
            match answer.take() {
                // The search text has changed in the meantime.
                Some(Ok(PageData::Events(loaded))) if loaded.search != page.filter => {
                    page.stale = true;
                }
                Some(Ok(data)) => found &= page.set_data(data, lang, now, width, height),
                Some(Err(refused)) => {
                    page.load_error = Some(refused);
                    page.edit_when_loaded = false;
                    page.loading_to_end = false;
                }
                // The same page is open twice; the other one is loaded when it is shown.
                None => page.stale = true,
            }
        }
        if !found {
            self.show_not_found();
        }
        let mut effects = self.reload_if_stale();
        if effects.is_empty() && self.page().is_some_and(|page| page.loading_to_end) {
            effects = self.load_more_near_end();
        }
        if matches!((&request.route, succeeded), (Route::Overview, true)) {
            effects.extend(self.request_stats());
        }
        effects.extend(action_keys::start_requested_edit(self));
        effects
    }

    /// Requests the success figures, at most one computation at a time.
    fn request_stats(&mut self) -> Option<AppEffect> {
        let idle = self.stats_loading == StatsLoading::Idle;
        self.stats_loading = if idle {
            StatsLoading::Running
        } else {
            StatsLoading::RunningOutdated
        };
        idle.then_some(AppEffect::ComputeStats)
    }

    fn stats_computed(&mut self, answer: Result<TaskStats, DisplayError>) -> Vec<AppEffect> {
        let rerun = self.stats_loading == StatsLoading::RunningOutdated;
        self.stats_loading = StatsLoading::Idle;
        if let Ok(stats) = answer {
            let pages = self.stacks.iter_mut().flatten();
            for overview in pages.filter_map(|page| match &mut page.data {
                Some(PageData::Overview(overview)) => Some(overview),
                _ => None,
            }) {
                overview.stats = Some(stats.clone());
            }
            self.rerender_page();
        }
        // On failure the page shows the error when it is reloaded.
        if rerun {
            self.request_stats().into_iter().collect()
        } else {
            Vec::new()
        }
    }

    fn events_arrived(&mut self, events: Vec<Event>) -> Vec<AppEffect> {
        let reconnected = std::mem::replace(&mut self.store_unreachable, false);
        for page in self.stacks.iter_mut().flatten() {
            let affected = events.iter().any(|event| page.route.is_affected_by(event));
            if affected {
                page.request_fewer_rows();
            }
            page.stale |= affected || reconnected && page.load_error.is_some();
        }
        self.reload_if_stale()
    }

    fn action_finished(
        &mut self,
        action: UserAction,
        answer: Result<Option<String>, DisplayError>,
    ) -> Vec<AppEffect> {
        self.running_actions = self.running_actions.saturating_sub(1);
        let mut effects = Vec::new();
        match (answer, action) {
            (Ok(new), action) => {
                self.notice = Some(StatusNotice::Done(
                    action.confirmation_message(new.as_deref(), self.lang),
                ));
                self.take_submitted_form(&action);
                if let UserAction::Save(draft) = action {
                    effects.extend(drafts::forget_draft(self, draft));
                }
            }
            (Err(refused), UserAction::Save(draft)) => {
                drafts::show_unsaved_draft(self, draft, refused, SaveFailure::Store);
            }
            (Err(refused), action) => {
                self.notice = Some(StatusNotice::Error(refused.clone()));
                let form = self.take_submitted_form(&action);
                self.queued_overlays
                    .push_back(Overlay::Error(refused, form));
            }
        }
        // Changes also arrive through the log, except for actions that write no event.
        if let Some(page) = self.page_mut() {
            page.stale = true;
        }
        effects.extend(self.reload_if_stale());
        effects
    }

    /// Removes and returns the form that an action came from, if any.
    fn take_submitted_form(&mut self, action: &UserAction) -> Option<InputForm> {
        let at = self
            .submitted_forms
            .iter()
            .position(|(sent, _)| sent == action)?;
        Some(self.submitted_forms.swap_remove(at).1)
    }

    fn resize(&mut self, columns: u16, rows: u16) -> Vec<AppEffect> {
        if self.size == (columns, rows) {
            return Vec::new();
        }
        let wrapped = self.size.0 != columns;
        self.size = (columns, rows);
        for page in self.stacks.iter_mut().flatten() {
            page.stale |= wrapped && page.is_text();
        }
        self.rerender_page();
        self.reload_if_stale()
    }

    /// Renders the page again, because the time or the size has changed.
    pub(super) fn rerender_page(&mut self) {
        let (lang, now, width, height) = (self.lang, self.now, self.columns(), self.body_rows());
        if let Some(page) = self.page_mut() {
            page.render(lang, now, width, height);
        }
    }
}
