//! The update function: applies a message to the state and returns effects.

use crossterm::event::KeyEventKind;
use polis_core::Event;
use polis_ops::op::TaskStats;

use super::actions::Act;
use super::form::Form;
use super::message::{Effect, Message, Part, Refused, Wish};
use super::overlay::{Cause, Clash, Overlay};
use super::page::RUSH;
use super::route::Place;
use super::{ANEW, App, Counting, Notice, action_keys, drafts};
use crate::show::Data;

/// Applies a message received at this time to the state. Returns the effects to execute.
pub fn update(app: &mut App, now: i64, message: Message) -> Vec<Effect> {
    app.now = now;
    let effects = app.take(message);
    if app.overlay.is_none() {
        app.overlay = app.waiting.pop_front();
        app.unseen = app.overlay.is_some();
    }
    app.edit_only_here();
    effects
}

impl App {
    fn take(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Message::Key(key) => self.key(key),
            Message::Mouse(mouse) => self.mouse(mouse),
            Message::Paste(text) => self.paste(&text),
            Message::Resize(columns, rows) => self.resize(columns, rows),
            Message::Seen => {
                self.unseen = false;
                Vec::new()
            }
            Message::Tick => {
                self.show_again();
                let now = self.now;
                if let Some(page) = self.page_mut() {
                    let data = page.data.as_ref();
                    let old = now.abs_diff(page.read) >= ANEW;
                    page.stale |= page.is_cut_off()
                        || data.is_some_and(Data::is_running)
                        || old && data.is_some_and(Data::has_running);
                }
                self.refresh()
            }
            Message::News(events) => self.news(events),
            Message::Away(away) => {
                self.away = away;
                Vec::new()
            }
            Message::Loaded(wish, answer) => self.loaded(&wish, answer),
            Message::Figures(answer) => self.figures(answer),
            Message::Done(act, answer) => self.done(act, answer),
            Message::Clashed {
                draft,
                version,
                text,
                by,
            } => {
                self.busy = self.busy.saturating_sub(1);
                drafts::clashed(self, Clash::new(draft, version, text, by))
            }
            Message::Edited(draft, answer) => drafts::edited(self, draft, answer),
        }
    }

    /// Cancels a requested edit if the user has moved on before the text was loaded.
    fn edit_only_here(&mut self) {
        let covered = self.overlay.is_some();
        let here = self.tab.index();
        for (tab, stack) in self.stacks.iter_mut().enumerate() {
            let last = stack.len().saturating_sub(1);
            for (at, page) in stack.iter_mut().enumerate() {
                page.edit &= !covered && tab == here && at == last;
            }
        }
    }

    /// Loads the data of the visible page, if it is stale and not already being loaded.
    pub(super) fn refresh(&mut self) -> Vec<Effect> {
        let (width, colour) = (self.columns(), self.colour);
        let Some(page) = self.page_mut() else {
            return Vec::new();
        };
        if !page.stale && !page.further || page.loading.is_some() {
            return Vec::new();
        }
        let search = match page.place.searches_store() {
            true => page.filter.clone(),
            false => String::new(),
        };
        let further = std::mem::take(&mut page.further);
        let part = match &page.data {
            Some(Data::Events(sheet)) if sheet.search == search => match further {
                true => Part::Before(sheet.from),
                false => Part::Since(sheet.to),
            },
            _ => Part::Whole,
        };
        // Newer rows still have to be loaded after the older ones.
        page.stale &= matches!(part, Part::Before(_));
        let wish = Wish {
            place: page.place.clone(),
            search,
            width,
            colour,
            rows: match part {
                Part::Before(_) if page.rush => RUSH,
                _ => page.rows,
            },
            part,
        };
        page.loading = Some(wish.clone());
        vec![Effect::Load(wish)]
    }

    fn loaded(&mut self, wish: &Wish, answer: Result<Data, Refused>) -> Vec<Effect> {
        let (lang, now, width, height) = (self.lang, self.now, self.columns(), self.body_rows());
        let counted = answer.is_ok();
        let answer = &mut Some(answer);
        let mut found = true;
        for page in self.stacks.iter_mut().flatten() {
            if page.loading.as_ref() != Some(wish) {
                continue;
            }
            page.loading = None;
            match answer.take() {
                // The search text has changed in the meantime.
                Some(Ok(Data::Events(sheet))) if sheet.search != page.filter => page.stale = true,
                Some(Ok(data)) => found &= page.take(data, lang, now, width, height),
                Some(Err(refused)) => {
                    page.refused = Some(refused);
                    page.edit = false;
                    page.rush = false;
                }
                // The same page is open twice; the other one is loaded when it is shown.
                None => page.stale = true,
            }
        }
        if !found {
            self.say_not_found();
        }
        let mut effects = self.refresh();
        if effects.is_empty() && self.page().is_some_and(|page| page.rush) {
            effects = self.more();
        }
        if matches!((&wish.place, counted), (Place::Now, true)) {
            effects.extend(self.count());
        }
        effects.extend(action_keys::edit(self));
        effects
    }

    /// Requests the success figures, at most one computation at a time.
    fn count(&mut self) -> Option<Effect> {
        let idle = self.counting == Counting::No;
        self.counting = match idle {
            true => Counting::Now,
            false => Counting::NowAndAgain,
        };
        idle.then_some(Effect::Figures)
    }

    fn figures(&mut self, answer: Result<TaskStats, Refused>) -> Vec<Effect> {
        let again = self.counting == Counting::NowAndAgain;
        self.counting = Counting::No;
        if let Ok(stats) = answer {
            let pages = self.stacks.iter_mut().flatten();
            for sheet in pages.filter_map(|page| match &mut page.data {
                Some(Data::Now(sheet)) => Some(sheet),
                _ => None,
            }) {
                sheet.stats = Some(stats.clone());
            }
            self.show_again();
        }
        // On failure the page shows the error when it is reloaded.
        match again {
            true => self.count().into_iter().collect(),
            false => Vec::new(),
        }
    }

    fn news(&mut self, events: Vec<Event>) -> Vec<Effect> {
        let back = std::mem::replace(&mut self.away, false);
        for page in self.stacks.iter_mut().flatten() {
            let touched = events.iter().any(|event| page.place.is_touched_by(event));
            if touched {
                page.shrink();
            }
            page.stale |= touched || back && page.refused.is_some();
        }
        self.refresh()
    }

    fn done(&mut self, act: Act, answer: Result<Option<String>, Refused>) -> Vec<Effect> {
        self.busy = self.busy.saturating_sub(1);
        let mut effects = Vec::new();
        match (answer, act) {
            (Ok(new), act) => {
                self.notice = Some(Notice::Done(act.said(new.as_deref(), self.lang)));
                self.take_sent(&act);
                if let Act::Save(draft) = act {
                    effects.extend(drafts::forget(self, draft));
                }
            }
            (Err(refused), Act::Save(draft)) => {
                drafts::keep(self, draft, refused, Cause::Store);
            }
            (Err(refused), act) => {
                self.notice = Some(Notice::Refused(refused.clone()));
                let form = self.take_sent(&act);
                self.waiting.push_back(Overlay::Refused(refused, form));
            }
        }
        // Changes also arrive through the log, except for actions that write no event.
        if let Some(page) = self.page_mut() {
            page.stale = true;
        }
        effects.extend(self.refresh());
        effects
    }

    /// Removes and returns the form that an action came from, if any.
    fn take_sent(&mut self, act: &Act) -> Option<Form> {
        let at = self.sent.iter().position(|(sent, _)| sent == act)?;
        Some(self.sent.swap_remove(at).1)
    }

    fn resize(&mut self, columns: u16, rows: u16) -> Vec<Effect> {
        if self.size == (columns, rows) {
            return Vec::new();
        }
        let wrapped = self.size.0 != columns;
        self.size = (columns, rows);
        for page in self.stacks.iter_mut().flatten() {
            page.stale |= wrapped && page.is_text();
        }
        self.show_again();
        self.refresh()
    }

    /// Renders the page again, because the time or the size has changed.
    pub(super) fn show_again(&mut self) {
        let (lang, now, width, height) = (self.lang, self.now, self.columns(), self.body_rows());
        if let Some(page) = self.page_mut() {
            page.show(lang, now, width, height);
        }
    }
}
