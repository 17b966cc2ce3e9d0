//! From a message to the next state.

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use polis_core::Event;

use super::acts::Act;
use super::bindings::{self, Command};
use super::form::{Filled, edit};
use super::message::{Effect, Message, Refused, Wish};
use super::overlay::{Clash, Overlay};
use super::page::{Move, Page};
use super::place::{Place, Tab};
use super::{App, Notice, deal};
use crate::draw::tab_at;
use crate::show::Data;

/// How many rows a turn of the wheel moves.
const WHEEL: isize = 3;

/// Changes the state by a message that came at this moment, and answers what has to be done outside.
pub fn update(app: &mut App, now: i64, message: Message) -> Vec<Effect> {
    app.now = now;
    match message {
        Message::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
        Message::Key(key) => app.key(key),
        Message::Mouse(mouse) => app.mouse(mouse),
        Message::Paste(text) => app.paste(&text),
        Message::Resize(columns, rows) => app.resize(columns, rows),
        Message::Tick => {
            app.show_again();
            if let Some(page) = app.page_mut() {
                page.stale |= page.data.as_ref().is_some_and(Data::is_running);
            }
            app.refresh()
        }
        Message::News(events) => app.news(events),
        Message::Away(away) => {
            app.away = away;
            Vec::new()
        }
        Message::Loaded(wish, answer) => app.loaded(&wish, answer),
        Message::Done(act, answer) => app.done(act, answer),
        Message::Clashed {
            draft,
            version,
            text,
            by,
        } => {
            app.busy = app.busy.saturating_sub(1);
            app.overlay = Some(Overlay::Clash(Box::new(Clash::new(
                draft, version, text, by,
            ))));
            Vec::new()
        }
        Message::Edited(draft, answer) => deal::edited(app, draft, answer),
    }
}

impl App {
    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.notice = None;
        if let Some(overlay) = self.overlay.take() {
            return self.overlay_key(overlay, key);
        }
        if self.is_too_small() && key.code != KeyCode::Char('q') && key.code != KeyCode::Char('c') {
            return Vec::new();
        }
        let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        let pending = self.pending.take();
        if let (KeyCode::Char('g'), true) = (key.code, plain) {
            if pending == Some('g') {
                let height = self.body_rows();
                if let Some(page) = self.page_mut() {
                    page.go(Move::Top, height);
                }
            } else {
                self.pending = Some('g');
            }
            return Vec::new();
        }
        if let (KeyCode::Home, _) = (key.code, plain) {
            let height = self.body_rows();
            if let Some(page) = self.page_mut() {
                page.go(Move::Top, height);
            }
            return Vec::new();
        }
        if let (KeyCode::Char(digit @ '1'..='6'), true) = (key.code, plain) {
            let at = usize::try_from(digit.to_digit(10).unwrap_or(1)).unwrap_or(1);
            if let Some(tab) = Tab::ALL.get(at - 1) {
                return self.switch(*tab);
            }
        }
        let command = self.page().and_then(|page| bindings::command(page, key));
        command.map_or_else(Vec::new, |command| self.command(command))
    }

    fn command(&mut self, command: Command) -> Vec<Effect> {
        let height = self.body_rows();
        let half = isize::try_from(height / 2).unwrap_or(1).max(1);
        match command {
            Command::Down => self.step(1),
            Command::Up => self.step(-1),
            Command::HalfDown => self.step(half),
            Command::HalfUp => self.step(-half),
            Command::Bottom => {
                if let Some(page) = self.page_mut() {
                    page.go(Move::Bottom, height);
                }
                self.more()
            }
            Command::Open => self.open(),
            Command::Back => self.back(),
            Command::NextTab => self.turn(1),
            Command::PreviousTab => self.turn(Tab::ALL.len() - 1),
            Command::Filter => {
                let before = self
                    .page()
                    .map_or_else(String::new, |page| page.filter.clone());
                self.overlay = Some(Overlay::Filter {
                    line: super::line::Line::of(&before),
                    before,
                });
                Vec::new()
            }
            Command::Next | Command::Previous => {
                if let Some(page) = self.page_mut() {
                    page.go(Move::Seek(command == Command::Next), height);
                }
                Vec::new()
            }
            Command::Follow => {
                if let Some(page) = self.page_mut() {
                    page.follow = !page.follow;
                    page.settle(height);
                }
                Vec::new()
            }
            Command::Help => {
                self.overlay = Some(Overlay::Help(0));
                Vec::new()
            }
            Command::Redraw => {
                if let Some(page) = self.page_mut() {
                    page.stale = true;
                }
                self.refresh()
            }
            Command::Suspend => vec![Effect::Suspend],
            Command::Quit => vec![Effect::Quit],
            deed => deal::deal(self, deed),
        }
    }

    fn step(&mut self, by: isize) -> Vec<Effect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.go(Move::Step(by), height);
        }
        self.more()
    }

    /// Reads more rows when the selection comes near the end of those that are there.
    fn more(&mut self) -> Vec<Effect> {
        let Some(page) = self.page_mut() else {
            return Vec::new();
        };
        let near = page.selected + 20 >= page.len();
        let backwards = matches!(page.place, Place::Events);
        let near = if backwards { page.selected < 20 } else { near };
        let more = page.data.as_ref().is_some_and(Data::has_more);
        if near && more && page.loading.is_none() && !page.is_text() {
            page.rows = page.rows.saturating_add(super::page::ROWS);
            page.stale = true;
            return self.refresh();
        }
        Vec::new()
    }

    fn open(&mut self) -> Vec<Effect> {
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

    fn back(&mut self) -> Vec<Effect> {
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

    fn turn(&mut self, by: usize) -> Vec<Effect> {
        let at = (self.tab.index() + by) % Tab::ALL.len();
        Tab::ALL
            .get(at)
            .map_or_else(Vec::new, |tab| self.switch(*tab))
    }

    fn switch(&mut self, tab: Tab) -> Vec<Effect> {
        if tab == self.tab {
            // A second time: back to the tab's first page.
            self.stack_mut().truncate(1);
        }
        self.tab = tab;
        self.show_again();
        self.refresh()
    }

    /// Reads what is shown, if it has to be and is not being read already.
    pub(super) fn refresh(&mut self) -> Vec<Effect> {
        let (width, colour) = (self.columns(), self.colour);
        let Some(page) = self.page_mut() else {
            return Vec::new();
        };
        if !page.stale || page.loading.is_some() {
            return Vec::new();
        }
        let wish = Wish {
            place: page.place.clone(),
            search: match page.place.searches_store() {
                true => page.filter.clone(),
                false => String::new(),
            },
            width,
            colour,
            rows: page.rows,
        };
        page.stale = false;
        page.loading = Some(wish.clone());
        vec![Effect::Load(wish)]
    }

    fn loaded(&mut self, wish: &Wish, answer: Result<Data, Refused>) -> Vec<Effect> {
        let (lang, now, width, height) = (self.lang, self.now, self.columns(), self.body_rows());
        let answer = &mut Some(answer);
        for page in self.stacks.iter_mut().flatten() {
            if page.loading.as_ref() != Some(wish) {
                continue;
            }
            page.loading = None;
            match answer.take() {
                Some(Ok(data)) => page.take(data, lang, now, width, height),
                Some(Err(refused)) => {
                    page.refused = Some(refused);
                    page.edit = false;
                }
                // The same page is open twice; it is read for the other one when it is shown.
                None => page.stale = true,
            }
        }
        let mut effects = self.refresh();
        effects.extend(deal::edit(self));
        effects
    }

    fn news(&mut self, events: Vec<Event>) -> Vec<Effect> {
        self.away = false;
        for page in self.stacks.iter_mut().flatten() {
            page.stale |= events.iter().any(|event| page.place.is_touched_by(event));
        }
        self.refresh()
    }

    fn done(&mut self, act: Act, answer: Result<Option<String>, Refused>) -> Vec<Effect> {
        self.busy = self.busy.saturating_sub(1);
        let mut effects = Vec::new();
        match (answer, act) {
            (Ok(new), act) => {
                self.notice = Some(Notice::Done(act.said(new.as_deref(), self.lang)));
                if let Act::Save { draft, .. } = act {
                    effects.extend(draft.file.map(Effect::Forget));
                }
            }
            (Err(refused), Act::Save { draft, .. }) => {
                deal::keep(self, draft, refused);
            }
            (Err(refused), _) => {
                self.notice = Some(Notice::Refused(refused.clone()));
                if self.overlay.is_none() {
                    self.overlay = Some(Overlay::Refused(refused));
                }
            }
        }
        // What was done is seen by the log as well, but not what changes nothing in it.
        if let Some(page) = self.page_mut() {
            page.stale = true;
        }
        effects.extend(self.refresh());
        effects
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

    /// Makes what is drawn anew: the time or the size is another.
    fn show_again(&mut self) {
        let (lang, now, width, height) = (self.lang, self.now, self.columns(), self.body_rows());
        if let Some(page) = self.page_mut() {
            page.show(lang, now, width, height);
        }
    }

    fn paste(&mut self, text: &str) -> Vec<Effect> {
        match &mut self.overlay {
            Some(Overlay::Form(form)) => form.paste(text),
            Some(Overlay::Filter { line, .. }) => {
                line.insert(text);
                let text = line.text().to_owned();
                return self.filter(text);
            }
            _ => {}
        }
        Vec::new()
    }

    /// Narrows the page to a text, while it is typed.
    fn filter(&mut self, text: String) -> Vec<Effect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.stale |= page.place.searches_store() && page.filter != text;
            page.filter = text;
            page.narrow();
            page.settle(height);
        }
        self.refresh()
    }

    fn overlay_key(&mut self, overlay: Overlay, key: KeyEvent) -> Vec<Effect> {
        match overlay {
            Overlay::Form(mut form) => match form.key(key) {
                Filled::Open => self.overlay = Some(Overlay::Form(form)),
                Filled::Dropped => {}
                Filled::Act(act) => return deal::begin(self, act),
            },
            Overlay::Filter { mut line, before } => {
                let height = self.body_rows();
                match key.code {
                    KeyCode::Esc => return self.filter(before),
                    KeyCode::Enter => {
                        if let Some(page) = self.page_mut()
                            && (page.is_text() || page.data.is_none())
                        {
                            page.go(Move::Seek(true), height);
                        }
                        return Vec::new();
                    }
                    _ => edit(&mut line, key),
                }
                let text = line.text().to_owned();
                self.overlay = Some(Overlay::Filter { line, before });
                return self.filter(text);
            }
            Overlay::Help(offset) => {
                let offset = match key.code {
                    KeyCode::Char('j') | KeyCode::Down => offset + 1,
                    KeyCode::Char('k') | KeyCode::Up => offset.saturating_sub(1),
                    _ => return Vec::new(),
                };
                self.overlay = Some(Overlay::Help(offset));
            }
            Overlay::Confirm { question, act } => match key.code {
                KeyCode::Char('y' | 'Y') => return deal::begin(self, act),
                KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {}
                _ => self.overlay = Some(Overlay::Confirm { question, act }),
            },
            Overlay::Refused(_) => {}
            Overlay::Clash(clash) => return deal::clash_key(self, clash, key),
            Overlay::Kept {
                draft,
                refused,
                marks,
            } => return deal::kept_key(self, (draft, refused, marks), key),
        }
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        let wheel = match mouse.kind {
            MouseEventKind::ScrollDown => Some(WHEEL),
            MouseEventKind::ScrollUp => Some(-WHEEL),
            _ => None,
        };
        match (&mut self.overlay, wheel) {
            (Some(Overlay::Help(offset)), Some(by)) => {
                *offset = offset.saturating_add_signed(by);
                return Vec::new();
            }
            (Some(Overlay::Clash(clash)), Some(by)) => {
                clash.offset = clash.offset.saturating_add_signed(by);
                return Vec::new();
            }
            (Some(_), _) => return Vec::new(),
            (None, Some(by)) => return self.step(by),
            (None, None) => {}
        }
        if mouse.kind != MouseEventKind::Down(MouseButton::Left) {
            return Vec::new();
        }
        self.notice = None;
        if mouse.row == 0 {
            return tab_at(self, mouse.column).map_or_else(Vec::new, |tab| self.switch(tab));
        }
        if mouse.row == 1 {
            return self.back();
        }
        let height = self.body_rows();
        let at = usize::from(mouse.row).saturating_sub(2);
        let Some(page) = self.page_mut() else {
            return Vec::new();
        };
        let at = page.offset + at;
        if usize::from(mouse.row) >= height + 2 || page.row(at).is_none_or(|row| row.is_heading()) {
            return Vec::new();
        }
        page.follow = false;
        if page.selected == at {
            return self.open();
        }
        page.selected = at;
        page.settle(height);
        Vec::new()
    }
}
