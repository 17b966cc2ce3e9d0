//! Draws overlays: help, confirmations, forms, the filter input, errors, unsaved drafts and edit conflicts.

use polis_core::number::saturating_cast;
use polis_i18n::msg;
use polis_view::display_width::truncate_to_width;
use polis_view::terminal_sanitizer::sanitize_line;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::widgets::Widget as _;
use ratatui_widgets::block::Block;
use ratatui_widgets::clear::Clear;
use unicode_width::UnicodeWidthStr as _;

use super::{TerminalTheme, draw_text_lines, join_lines, wrap_text};
use crate::app::{
    DisplayError, EditConflict, InputForm, LineInput, Overlay, TuiApp, UnsavedDraft,
    active_bindings, draft_file_notice,
};

/// Minimum number of diff lines to show before anything else.
const MIN_DIFF_LINES: usize = 4;

/// Draws the overlay. Returns the cursor position if there is a text input.
pub(super) fn draw_current_overlay(
    app: &TuiApp,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let overlay = app.overlay.as_ref()?;
    let keys = overlay.key_hints(app.lang);
    if let Overlay::Filter { line, .. } = overlay {
        return Some(draw_filter(line, area, theme, buffer));
    }
    // The status line stays visible: it shows the active keys.
    let area = Rect {
        height: area.height.saturating_sub(1),
        ..area
    };
    match overlay {
        Overlay::Help(offset) => {
            draw_help(app, *offset, area, theme, buffer);
            None
        }
        Overlay::Confirm { question, .. } => {
            let lines = [
                (sanitize_line(question), Style::new()),
                (keys.to_owned(), theme.dim()),
            ];
            draw_text_box("", &lines, area, theme, buffer);
            None
        }
        Overlay::Error(refused, _) => {
            let mut lines = error_lines(refused, theme);
            lines.push((keys.to_owned(), theme.dim()));
            let title = msg::tui_refused_title(app.lang);
            draw_text_box(title, &lines, area, theme, buffer);
            None
        }
        Overlay::Form(form) => draw_form(form, area, theme, buffer),
        Overlay::Filter { .. } => None,
        Overlay::Conflict(conflict) => {
            draw_conflict(app, conflict, keys, area, theme, buffer);
            None
        }
        Overlay::ConfirmDraftChoice(last, inner) => {
            let question = inner.draft().map(|draft| last.question(draft, app.lang));
            let lines = [
                (sanitize_line(&question.unwrap_or_default()), Style::new()),
                (keys.to_owned(), theme.dim()),
            ];
            draw_text_box("", &lines, area, theme, buffer);
            None
        }
        Overlay::UnsavedDraft(unsaved) => {
            let mut lines = unsaved_draft_lines(app, unsaved, theme);
            lines.push((keys.to_owned(), Style::new().add_modifier(Modifier::BOLD)));
            let title = msg::tui_not_saved_title(app.lang);
            draw_text_box(title, &lines, area, theme, buffer);
            None
        }
    }
}

fn error_lines(refused: &DisplayError, theme: TerminalTheme) -> Vec<(String, Style)> {
    vec![
        (
            sanitize_line(&refused.code),
            theme.colour_style(Color::Red).add_modifier(Modifier::BOLD),
        ),
        (join_lines(&refused.message), Style::new()),
        (
            format!("→ {}", join_lines(&refused.hint)),
            theme.colour_style(Color::Cyan),
        ),
    ]
}

/// Draws an empty centred box and returns its inner area.
fn draw_box(
    title: &str,
    size: (u16, u16),
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) -> Rect {
    let width = size.0.min(area.width);
    let height = size.1.min(area.height);
    let rect = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(rect, buffer);
    // A wide character that extends into the box would hide its border.
    for y in rect.y..rect.bottom() {
        let before = rect.x.checked_sub(1).and_then(|x| buffer.cell_mut((x, y)));
        if let Some(cell) = before.filter(|cell| cell.symbol().width() > 1) {
            cell.set_symbol(" ");
        }
    }
    let title = match title {
        "" => String::new(),
        title => format!(
            " {} ",
            truncate_to_width(&sanitize_line(title), usize::from(width).saturating_sub(4))
        ),
    };
    let block = Block::bordered()
        .title(title)
        .border_style(theme.colour_style(Color::Cyan));
    let inner = block.inner(rect);
    block.render(rect, buffer);
    inner
}

/// Draws a box with wrapped text.
fn draw_text_box(
    title: &str,
    lines: &[(String, Style)],
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) {
    let width = area.width.saturating_sub(6).min(70);
    let text_width = usize::from(width.saturating_sub(2));
    let mut wrapped = Vec::new();
    for (text, style) in lines {
        wrapped.extend(
            wrap_text(text, text_width)
                .into_iter()
                .map(|line| (line, *style)),
        );
    }
    let height = saturating_cast::<u16>(wrapped.len()).saturating_add(2);
    let inner = draw_box(title, (width, height), area, theme, buffer);
    for (y, (line, style)) in (inner.y..inner.bottom()).zip(wrapped) {
        buffer.set_stringn(inner.x, y, line, usize::from(inner.width), style);
    }
}

fn draw_help(app: &TuiApp, offset: usize, area: Rect, theme: TerminalTheme, buffer: &mut Buffer) {
    let lang = app.lang;
    let Some(page) = app.page() else { return };
    let mut lines: Vec<(String, &str, bool)> = Vec::new();
    let (page_bindings, general): (Vec<_>, Vec<_>) =
        active_bindings(page).partition(|binding| !binding.is_global());
    if !page_bindings.is_empty() {
        lines.push((msg::tui_help_on_this_page(lang).to_owned(), "", true));
    }
    let line = |binding: &&'static crate::app::KeyBinding| {
        (binding.keys.to_owned(), binding.description(lang), false)
    };
    lines.extend(page_bindings.iter().map(line));
    lines.push((msg::tui_help_everywhere(lang).to_owned(), "", true));
    lines.extend(general.iter().map(line));
    let mouse = msg::tui_help_mouse_keys(lang);
    lines.push((mouse.to_owned(), msg::tui_help_mouse(lang), false));
    let height = saturating_cast::<u16>(lines.len()).saturating_add(2);
    let size = (62.min(area.width), height.min(area.height));
    let title = msg::tui_help_title(lang);
    let inner = draw_box(title, size, area, theme, buffer);
    let first = offset.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (y, (keys, description, heading)) in
        (inner.y..inner.bottom()).zip(lines.into_iter().skip(first))
    {
        let style = if heading {
            theme.title()
        } else {
            Style::new().add_modifier(Modifier::BOLD)
        };
        buffer.set_stringn(inner.x + 1, y, keys, usize::from(inner.width), style);
        let at = inner.x + 15;
        let width = usize::from(inner.right().saturating_sub(at));
        buffer.set_stringn(
            at,
            y,
            truncate_to_width(description, width),
            width,
            Style::new(),
        );
    }
}

fn draw_form(
    form: &InputForm,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let rows = saturating_cast::<u16>(form.fields.len() * 2);
    let size = (area.width.saturating_sub(4).min(76), rows.saturating_add(2));
    let inner = draw_box(&form.title, size, area, theme, buffer);
    let width = usize::from(inner.width.saturating_sub(2));
    let mut cursor = None;
    // If not all fields fit, the focused one is visible.
    let first = (form.focus + 1).saturating_sub(usize::from(inner.height / 2));
    for (n, field) in form.fields.iter().enumerate().skip(first) {
        let y = inner.y + saturating_cast::<u16>((n - first) * 2);
        if y + 1 >= inner.bottom() {
            break;
        }
        buffer.set_stringn(
            inner.x,
            y,
            truncate_to_width(field.label, width),
            width,
            theme.dim(),
        );
        let (visible, column) = field.line.visible_part(width);
        buffer.set_stringn(inner.x + 1, y + 1, visible, width, Style::new());
        if n == form.focus {
            buffer.set_string(inner.x, y + 1, ">", theme.title());
            let column = saturating_cast::<u16>(column);
            cursor = Some(Position::new(inner.x + 1 + column, y + 1));
        }
    }
    cursor
}

fn draw_filter(
    line: &LineInput,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) -> Position {
    let rect = Rect {
        y: area.bottom().saturating_sub(1),
        height: 1,
        ..area
    };
    Clear.render(rect, buffer);
    buffer.set_string(rect.x, rect.y, "/", theme.title());
    let width = usize::from(rect.width.saturating_sub(2));
    let (visible, column) = line.visible_part(width);
    buffer.set_stringn(rect.x + 1, rect.y, visible, width, Style::new());
    let column = saturating_cast::<u16>(column);
    Position::new(rect.x + 1 + column, rect.y)
}

fn draw_conflict(
    app: &TuiApp,
    conflict: &EditConflict,
    keys: &str,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) {
    let lang = app.lang;
    let title = msg::tui_conflict_title(lang, &conflict.draft.target, &conflict.author);
    let size = (area.width.saturating_sub(2), area.height.saturating_sub(2));
    let inner = draw_box(&title, size, area, theme, buffer);
    let width = usize::from(inner.width);
    let wrapped = |text: &str, style: Style| -> Vec<(String, Style)> {
        let lines = wrap_text(text, width).into_iter();
        lines.map(|line| (line, style)).collect()
    };
    let keys = wrapped(keys, Style::new().add_modifier(Modifier::BOLD));
    let draft_file = conflict.draft.file.as_ref();
    let mut below = draft_file.map_or_else(Vec::new, |file| {
        wrapped(&sanitize_line(&draft_file_notice(file, lang)), Style::new())
    });
    // On a small screen the diff and the keys need the space more; the path is printed again on exit.
    if below.len() + keys.len() + MIN_DIFF_LINES > usize::from(inner.height) {
        below.clear();
    }
    below.extend(keys);
    let rows = u16::try_from(below.len()).unwrap_or(1).min(inner.height);
    let body = Rect {
        height: inner.height - rows,
        ..inner
    };
    draw_text_lines(&conflict.diff, conflict.offset, "", body, theme, buffer);
    for (y, (line, style)) in (body.bottom()..inner.bottom()).zip(below) {
        debug_assert!(line.width() <= width);
        buffer.set_stringn(inner.x, y, line, width, style);
    }
}

/// Returns the reason why a draft was not saved, and its file.
fn unsaved_draft_lines(
    app: &TuiApp,
    unsaved: &UnsavedDraft,
    theme: TerminalTheme,
) -> Vec<(String, Style)> {
    let mut lines = error_lines(&unsaved.error, theme);
    if let Some(file) = &unsaved.draft.file {
        lines.push((
            sanitize_line(&draft_file_notice(file, app.lang)),
            Style::new(),
        ));
    }
    lines
}
