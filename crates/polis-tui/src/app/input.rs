//! Input handling: keys, mouse and paste, on the page or in the overlay above it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::bindings::{self, Command};
use super::form::{Filled, edit};
use super::line_input::Line;
use super::message::Effect;
use super::overlay::Overlay;
use super::page::{Move, Page};
use super::{App, action_keys, drafts};
use crate::draw::tab_at;
use polis_view::Tab;

/// Rows per mouse wheel step.
const WHEEL: isize = 3;

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers == KeyModifiers::CONTROL;
        if self.is_unseen() && !(control && key.code == KeyCode::Char('c')) {
            return Vec::new();
        }
        self.notice = None;
        self.rest();
        let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        if self.is_too_small() {
            // Nothing is visible, so no command is executed, whatever page or overlay is open.
            let quits = match key.code {
                KeyCode::Char('q') => plain,
                KeyCode::Char('c') => control,
                _ => false,
            };
            return quits.then_some(Effect::Quit).into_iter().collect();
        }
        if let Some(overlay) = self.overlay.take() {
            return self.overlay_key(overlay, key);
        }
        let pending = self.pending.take();
        if let (KeyCode::Char('g'), true) = (key.code, plain) {
            if pending == Some('g') {
                return self.far(Move::Top);
            }
            self.pending = Some('g');
            return Vec::new();
        }
        if key.code == KeyCode::Home {
            return self.far(Move::Top);
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
            Command::Bottom => self.far(Move::Bottom),
            Command::Open => self.open(),
            Command::Back => self.back(),
            Command::NextTab => self.turn(1),
            Command::PreviousTab => self.turn(Tab::ALL.len() - 1),
            Command::Filter => {
                let before = self
                    .page()
                    .map_or_else(String::new, |page| page.filter.clone());
                self.overlay = Some(Overlay::Filter {
                    line: Line::default(),
                    before,
                });
                self.filter(String::new())
            }
            Command::Next | Command::Previous => self.seek(command == Command::Next),
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
            deed => action_keys::deal(self, deed),
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        if self.is_too_small() || self.is_unseen() {
            return Vec::new();
        }
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

    /// Filters the page while the filter is typed.
    fn filter(&mut self, text: String) -> Vec<Effect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.narrow_to(text, height);
        }
        self.refresh()
    }

    fn overlay_key(&mut self, overlay: Overlay, key: KeyEvent) -> Vec<Effect> {
        // Global keys also work in an overlay, except that Ctrl-C cancels a text input first.
        let typed = matches!(overlay, Overlay::Form(_) | Overlay::Filter { .. });
        if key.modifiers == KeyModifiers::CONTROL {
            let effect = match key.code {
                KeyCode::Char('z') => Some(Effect::Suspend),
                KeyCode::Char('c') if !typed => Some(Effect::Quit),
                _ => None,
            };
            if let Some(effect) = effect {
                self.overlay = Some(overlay);
                return vec![effect];
            }
        }
        match overlay {
            Overlay::Form(mut form) => match form.key(key) {
                Filled::Open => self.overlay = Some(Overlay::Form(form)),
                Filled::Dropped => {}
                Filled::Act(act) => {
                    self.sent.push((act.clone(), form));
                    return action_keys::begin(self, act);
                }
            },
            Overlay::Filter { mut line, before } => {
                match key.code {
                    KeyCode::Esc => return self.filter(before),
                    KeyCode::Enter => {
                        let sought = |page: &Page| page.is_text() || page.data.is_none();
                        return match self.page().is_some_and(sought) {
                            true => self.seek(true),
                            false => Vec::new(),
                        };
                    }
                    // Recalls the previous filter.
                    KeyCode::Up => line = Line::of(&before),
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
            Overlay::Confirm { question, act } => match bindings::alone(key) {
                KeyCode::Char('y' | 'Y') => return action_keys::begin(self, act),
                KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {}
                _ => self.overlay = Some(Overlay::Confirm { question, act }),
            },
            // Reopen the form with the text that was typed.
            Overlay::Refused(_, form) => {
                self.overlay = form.map(|form| action_keys::again(self, form));
            }
            Overlay::Clash(clash) => return drafts::clash_key(self, clash, key),
            Overlay::Kept(kept) => return drafts::kept_key(self, kept, key),
            Overlay::Sure(last, over) => return drafts::sure_key(self, last, *over, key),
        }
        Vec::new()
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        if self.is_too_small() || self.is_unseen() {
            return Vec::new();
        }
        if mouse.kind != MouseEventKind::Moved {
            self.rest();
        }
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
