//! Input handling: passes keys, mouse events and pasted text to the overlay if there is one, else to the
//! page, and executes the commands of navigation and display. Commands on items are in `action_keys`.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::app_message::AppEffect;
use super::bindings::{self, KeyCommand};
use super::input_form::{FormOutcome, apply_edit_key};
use super::line_input::LineInput;
use super::overlay::Overlay;
use super::page_state::{PageMove, PageState};
use super::{TuiApp, action_keys, drafts};
use crate::draw::tab_at;
use polis_view::Tab;

/// Rows per mouse wheel step.
const WHEEL_ROWS: isize = 3;

impl TuiApp {
    pub(super) fn handle_key(&mut self, key: KeyEvent) -> Vec<AppEffect> {
        let control = key.modifiers == KeyModifiers::CONTROL;
        if self.has_undrawn_overlay() && !(control && key.code == KeyCode::Char('c')) {
            return Vec::new();
        }
        self.notice = None;
        self.stop_loading_to_end();
        let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        if self.is_too_small() {
            // Nothing is visible, so no command is executed, whatever page or overlay is open.
            let quits = match key.code {
                KeyCode::Char('q') => plain,
                KeyCode::Char('c') => control,
                _ => false,
            };
            return quits.then_some(AppEffect::Quit).into_iter().collect();
        }
        if let Some(overlay) = self.overlay.take() {
            return self.handle_overlay_key(overlay, key);
        }
        let pending = self.pending_key.take();
        if let (KeyCode::Char('g'), true) = (key.code, plain) {
            if pending == Some('g') {
                return self.go_to_end(PageMove::Top);
            }
            self.pending_key = Some('g');
            return Vec::new();
        }
        if key.code == KeyCode::Home {
            return self.go_to_end(PageMove::Top);
        }
        if let (KeyCode::Char(digit @ '1'..='6'), true) = (key.code, plain) {
            let at = usize::try_from(digit.to_digit(10).unwrap_or(1)).unwrap_or(1);
            if let Some(tab) = Tab::ALL.get(at - 1) {
                return self.switch_tab(*tab);
            }
        }
        let command = self
            .page()
            .and_then(|page| bindings::command_for_key(page, key));
        command.map_or_else(Vec::new, |command| self.run_command(command))
    }

    fn run_command(&mut self, command: KeyCommand) -> Vec<AppEffect> {
        let height = self.body_rows();
        let half_page = isize::try_from(height / 2).unwrap_or(1).max(1);
        match command {
            KeyCommand::Down => self.move_selection(1),
            KeyCommand::Up => self.move_selection(-1),
            KeyCommand::HalfDown => self.move_selection(half_page),
            KeyCommand::HalfUp => self.move_selection(-half_page),
            KeyCommand::Bottom => self.go_to_end(PageMove::Bottom),
            KeyCommand::Open => self.open_selected(),
            KeyCommand::Back => self.go_back(),
            KeyCommand::NextTab => self.rotate_tab(1),
            KeyCommand::PreviousTab => self.rotate_tab(Tab::ALL.len() - 1),
            KeyCommand::Filter => {
                let before = self
                    .page()
                    .map_or_else(String::new, |page| page.filter.clone());
                self.overlay = Some(Overlay::Filter {
                    line: LineInput::default(),
                    before,
                });
                self.apply_filter(String::new())
            }
            KeyCommand::Next | KeyCommand::Previous => self.seek_match(command == KeyCommand::Next),
            KeyCommand::Follow => {
                if let Some(page) = self.page_mut() {
                    page.follow = !page.follow;
                    page.clamp_selection(height);
                }
                Vec::new()
            }
            KeyCommand::Help => {
                self.overlay = Some(Overlay::Help(0));
                Vec::new()
            }
            KeyCommand::Redraw => {
                if let Some(page) = self.page_mut() {
                    page.stale = true;
                }
                self.reload_if_stale()
            }
            KeyCommand::Suspend => vec![AppEffect::Suspend],
            KeyCommand::Quit => vec![AppEffect::Quit],
            other => action_keys::run_item_command(self, other),
        }
    }

    pub(super) fn handle_paste(&mut self, text: &str) -> Vec<AppEffect> {
        if self.is_too_small() || self.has_undrawn_overlay() {
            return Vec::new();
        }
        match &mut self.overlay {
            Some(Overlay::Form(form)) => form.paste(text),
            Some(Overlay::Filter { line, .. }) => {
                line.insert(text);
                let text = line.text().to_owned();
                return self.apply_filter(text);
            }
            _ => {}
        }
        Vec::new()
    }

    /// Filters the page while the filter is typed.
    fn apply_filter(&mut self, text: String) -> Vec<AppEffect> {
        let height = self.body_rows();
        if let Some(page) = self.page_mut() {
            page.set_filter(text, height);
        }
        self.reload_if_stale()
    }

    fn handle_overlay_key(&mut self, overlay: Overlay, key: KeyEvent) -> Vec<AppEffect> {
        // Global keys also work in an overlay, except that Ctrl-C cancels a text input first.
        let typed = matches!(overlay, Overlay::Form(_) | Overlay::Filter { .. });
        if key.modifiers == KeyModifiers::CONTROL {
            let effect = match key.code {
                KeyCode::Char('z') => Some(AppEffect::Suspend),
                KeyCode::Char('c') if !typed => Some(AppEffect::Quit),
                _ => None,
            };
            if let Some(effect) = effect {
                self.overlay = Some(overlay);
                return vec![effect];
            }
        }
        match overlay {
            Overlay::Form(mut form) => match form.handle_key(key) {
                FormOutcome::Open => self.overlay = Some(Overlay::Form(form)),
                FormOutcome::Cancelled => {}
                FormOutcome::Submitted(action) => {
                    self.submitted_forms.push((action.clone(), form));
                    return action_keys::start_action(self, action);
                }
            },
            Overlay::Filter { mut line, before } => {
                match key.code {
                    KeyCode::Esc => return self.apply_filter(before),
                    KeyCode::Enter => {
                        let is_searchable =
                            |page: &PageState| page.is_text() || page.data.is_none();
                        return if self.page().is_some_and(is_searchable) {
                            self.seek_match(true)
                        } else {
                            Vec::new()
                        };
                    }
                    // Recalls the previous filter.
                    KeyCode::Up => line = LineInput::with_text(&before),
                    _ => apply_edit_key(&mut line, key),
                }
                let text = line.text().to_owned();
                self.overlay = Some(Overlay::Filter { line, before });
                return self.apply_filter(text);
            }
            Overlay::Help(offset) => {
                let offset = match key.code {
                    KeyCode::Char('j') | KeyCode::Down => offset + 1,
                    KeyCode::Char('k') | KeyCode::Up => offset.saturating_sub(1),
                    _ => return Vec::new(),
                };
                self.overlay = Some(Overlay::Help(offset));
            }
            Overlay::Confirm { question, act } => match bindings::unmodified_key(key) {
                KeyCode::Char('y' | 'Y') => return action_keys::start_action(self, act),
                KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {}
                _ => self.overlay = Some(Overlay::Confirm { question, act }),
            },
            // Reopen the form with the text that was typed.
            Overlay::Error(_, form) => {
                self.overlay = form.map(|form| action_keys::reopen_form(self, form));
            }
            Overlay::Conflict(conflict) => return drafts::handle_conflict_key(self, conflict, key),
            Overlay::UnsavedDraft(unsaved) => {
                return drafts::handle_unsaved_draft_key(self, unsaved, key);
            }
            Overlay::ConfirmDraftChoice(last, inner) => {
                return drafts::handle_confirmation_key(self, last, *inner, key);
            }
        }
        Vec::new()
    }

    pub(super) fn handle_mouse(&mut self, mouse: MouseEvent) -> Vec<AppEffect> {
        if self.is_too_small() || self.has_undrawn_overlay() {
            return Vec::new();
        }
        if mouse.kind != MouseEventKind::Moved {
            self.stop_loading_to_end();
        }
        let scroll = match mouse.kind {
            MouseEventKind::ScrollDown => Some(WHEEL_ROWS),
            MouseEventKind::ScrollUp => Some(-WHEEL_ROWS),
            _ => None,
        };
        match (&mut self.overlay, scroll) {
            (Some(Overlay::Help(offset)), Some(step)) => {
                *offset = offset.saturating_add_signed(step);
                return Vec::new();
            }
            (Some(Overlay::Conflict(conflict)), Some(step)) => {
                conflict.offset = conflict.offset.saturating_add_signed(step);
                return Vec::new();
            }
            (Some(_), _) => return Vec::new(),
            (None, Some(step)) => return self.move_selection(step),
            (None, None) => {}
        }
        if mouse.kind != MouseEventKind::Down(MouseButton::Left) {
            return Vec::new();
        }
        self.notice = None;
        if mouse.row == 0 {
            return tab_at(self, mouse.column).map_or_else(Vec::new, |tab| self.switch_tab(tab));
        }
        if mouse.row == 1 {
            return self.go_back();
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
            return self.open_selected();
        }
        page.selected = at;
        page.clamp_selection(height);
        Vec::new()
    }
}
