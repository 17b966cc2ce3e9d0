//! Draws overlays: help, confirmations, forms, errors and edit conflicts.

use polis_view::terminal::clean;
use polis_view::width::cut;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::widgets::Widget as _;
use ratatui_widgets::block::Block;
use ratatui_widgets::clear::Clear;
use unicode_width::UnicodeWidthStr as _;

use super::{Theme, joined, pieces, text_body};
use crate::app::{App, Clash, Form, Kept, Line, Overlay, Refused, bindings, kept_in};

/// Minimum number of diff lines to show before anything else.
const LEAST_DIFF: usize = 4;

/// Draws the overlay. Returns the cursor position if there is a text input.
pub(super) fn draw(app: &App, area: Rect, theme: Theme, buffer: &mut Buffer) -> Option<Position> {
    let overlay = app.overlay.as_ref()?;
    let keys = overlay.keys(app.lang);
    if let Overlay::Filter { line, .. } = overlay {
        return Some(filter(line, area, theme, buffer));
    }
    // The status line stays visible: it shows the active keys.
    let area = Rect {
        height: area.height.saturating_sub(1),
        ..area
    };
    match overlay {
        Overlay::Help(offset) => {
            help(app, *offset, area, theme, buffer);
            None
        }
        Overlay::Confirm { question, .. } => {
            let lines = [
                (clean(question), Style::new()),
                (keys.to_owned(), theme.dim()),
            ];
            sentences("", &lines, area, theme, buffer);
            None
        }
        Overlay::Refused(refused, _) => {
            let mut lines = of_refusal(refused, theme);
            lines.push((keys.to_owned(), theme.dim()));
            let title = app.lang.say("Refused", "被拒绝");
            sentences(title, &lines, area, theme, buffer);
            None
        }
        Overlay::Form(form) => form_box(form, area, theme, buffer),
        Overlay::Filter { .. } => None,
        Overlay::Clash(clash) => {
            clash_box(app, clash, keys, area, theme, buffer);
            None
        }
        Overlay::Sure(last, over) => {
            let question = over.draft().map(|draft| last.question(draft, app.lang));
            let lines = [
                (clean(&question.unwrap_or_default()), Style::new()),
                (keys.to_owned(), theme.dim()),
            ];
            sentences("", &lines, area, theme, buffer);
            None
        }
        Overlay::Kept(kept) => {
            let mut lines = of_kept(app, kept, theme);
            lines.push((keys.to_owned(), Style::new().add_modifier(Modifier::BOLD)));
            let title = app.lang.say("Not saved", "未保存");
            sentences(title, &lines, area, theme, buffer);
            None
        }
    }
}

fn of_refusal(refused: &Refused, theme: Theme) -> Vec<(String, Style)> {
    let mut lines = vec![
        (
            clean(&refused.code),
            theme.colour(Color::Red).add_modifier(Modifier::BOLD),
        ),
        (joined(&refused.message), Style::new()),
        (
            format!("→ {}", joined(&refused.hint)),
            theme.colour(Color::Cyan),
        ),
    ];
    if !refused.detail.is_empty() {
        lines.push((joined(&refused.detail), theme.dim()));
    }
    lines
}

/// Draws an empty centred box and returns its inner area.
fn frame(title: &str, size: (u16, u16), area: Rect, theme: Theme, buffer: &mut Buffer) -> Rect {
    let width = size.0.min(area.width);
    let height = size.1.min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, buffer);
    // A wide character that extends into the box would hide its border.
    for y in place.y..place.bottom() {
        let before = place.x.checked_sub(1).and_then(|x| buffer.cell_mut((x, y)));
        if let Some(cell) = before.filter(|cell| cell.symbol().width() > 1) {
            cell.set_symbol(" ");
        }
    }
    let title = match title {
        "" => String::new(),
        title => format!(
            " {} ",
            cut(&clean(title), usize::from(width).saturating_sub(4))
        ),
    };
    let block = Block::bordered()
        .title(title)
        .border_style(theme.colour(Color::Cyan));
    let inner = block.inner(place);
    block.render(place, buffer);
    inner
}

/// Draws a box with wrapped text.
fn sentences(
    title: &str,
    lines: &[(String, Style)],
    area: Rect,
    theme: Theme,
    buffer: &mut Buffer,
) {
    let width = area.width.saturating_sub(6).min(70);
    let room = usize::from(width.saturating_sub(2));
    let mut wrapped = Vec::new();
    for (text, style) in lines {
        wrapped.extend(pieces(text, room).into_iter().map(|line| (line, *style)));
    }
    let height = u16::try_from(wrapped.len())
        .unwrap_or(u16::MAX)
        .saturating_add(2);
    let inner = frame(title, (width, height), area, theme, buffer);
    for (y, (line, style)) in (inner.y..inner.bottom()).zip(wrapped) {
        buffer.set_stringn(inner.x, y, line, usize::from(inner.width), style);
    }
}

fn help(app: &App, offset: usize, area: Rect, theme: Theme, buffer: &mut Buffer) {
    let lang = app.lang;
    let Some(page) = app.page() else { return };
    let mut lines: Vec<(String, &str, bool)> = Vec::new();
    let (here, general): (Vec<_>, Vec<_>) =
        bindings(page).partition(|binding| !binding.is_general());
    if !here.is_empty() {
        lines.push((lang.say("On this page", "本页").to_owned(), "", true));
    }
    let line = |binding: &&'static crate::app::Binding| {
        (binding.keys.to_owned(), binding.says(lang), false)
    };
    lines.extend(here.iter().map(line));
    lines.push((lang.say("Everywhere", "任何页面").to_owned(), "", true));
    lines.extend(general.iter().map(line));
    let mouse = lang.say("click, wheel", "点击、滚轮");
    lines.push((
        mouse.to_owned(),
        lang.say("select, open, scroll", "选择、打开、滚动"),
        false,
    ));
    let height = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .saturating_add(2);
    let size = (62.min(area.width), height.min(area.height));
    let title = lang.say(
        "Keys (j k scroll, any other key closes)",
        "按键（j k 滚动，其他键关闭）",
    );
    let inner = frame(title, size, area, theme, buffer);
    let first = offset.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (y, (keys, says, heading)) in (inner.y..inner.bottom()).zip(lines.into_iter().skip(first)) {
        let style = match heading {
            true => theme.title(),
            false => Style::new().add_modifier(Modifier::BOLD),
        };
        buffer.set_stringn(inner.x + 1, y, keys, usize::from(inner.width), style);
        let at = inner.x + 15;
        let room = usize::from(inner.right().saturating_sub(at));
        buffer.set_stringn(at, y, cut(says, room), room, Style::new());
    }
}

fn form_box(form: &Form, area: Rect, theme: Theme, buffer: &mut Buffer) -> Option<Position> {
    let rows = u16::try_from(form.fields.len() * 2).unwrap_or(u16::MAX);
    let size = (area.width.saturating_sub(4).min(76), rows.saturating_add(2));
    let inner = frame(&form.title, size, area, theme, buffer);
    let room = usize::from(inner.width.saturating_sub(2));
    let mut cursor = None;
    // If not all fields fit, the focused one is visible.
    let first = (form.focus + 1).saturating_sub(usize::from(inner.height / 2));
    for (n, field) in form.fields.iter().enumerate().skip(first) {
        let y = inner.y + u16::try_from((n - first) * 2).unwrap_or(u16::MAX);
        if y + 1 >= inner.bottom() {
            break;
        }
        buffer.set_stringn(inner.x, y, cut(field.label, room), room, theme.dim());
        let (shown, column) = field.line.shown(room);
        buffer.set_stringn(inner.x + 1, y + 1, shown, room, Style::new());
        if n == form.focus {
            buffer.set_string(inner.x, y + 1, ">", theme.title());
            let column = u16::try_from(column).unwrap_or(u16::MAX);
            cursor = Some(Position::new(inner.x + 1 + column, y + 1));
        }
    }
    cursor
}

fn filter(line: &Line, area: Rect, theme: Theme, buffer: &mut Buffer) -> Position {
    let place = Rect {
        y: area.bottom().saturating_sub(1),
        height: 1,
        ..area
    };
    Clear.render(place, buffer);
    buffer.set_string(place.x, place.y, "/", theme.title());
    let room = usize::from(place.width.saturating_sub(2));
    let (shown, column) = line.shown(room);
    buffer.set_stringn(place.x + 1, place.y, shown, room, Style::new());
    let column = u16::try_from(column).unwrap_or(u16::MAX);
    Position::new(place.x + 1 + column, place.y)
}

fn clash_box(app: &App, clash: &Clash, keys: &str, area: Rect, theme: Theme, buffer: &mut Buffer) {
    let lang = app.lang;
    let title = lang.say(
        format!("{} was changed by {} meanwhile", clash.draft.of, clash.by),
        format!("{} 已被 {} 修改", clash.draft.of, clash.by),
    );
    let size = (area.width.saturating_sub(2), area.height.saturating_sub(2));
    let inner = frame(&title, size, area, theme, buffer);
    let width = usize::from(inner.width);
    let wrapped = |text: &str, style: Style| -> Vec<(String, Style)> {
        let lines = pieces(text, width).into_iter();
        lines.map(|line| (line, style)).collect()
    };
    let keys = wrapped(keys, Style::new().add_modifier(Modifier::BOLD));
    let kept = clash.draft.file.as_ref();
    let mut below = kept.map_or_else(Vec::new, |file| {
        wrapped(&clean(&kept_in(file, lang)), Style::new())
    });
    // On a small screen the diff and the keys need the space more; the path is printed again on exit.
    if below.len() + keys.len() + LEAST_DIFF > usize::from(inner.height) {
        below.clear();
    }
    below.extend(keys);
    let rows = u16::try_from(below.len()).unwrap_or(1).min(inner.height);
    let body = Rect {
        height: inner.height - rows,
        ..inner
    };
    text_body(&clash.diff, clash.offset, "", body, theme, buffer);
    for (y, (line, style)) in (body.bottom()..inner.bottom()).zip(below) {
        debug_assert!(line.width() <= width);
        buffer.set_stringn(inner.x, y, line, width, style);
    }
}

/// Returns the reason why a draft was not saved, and its file.
fn of_kept(app: &App, kept: &Kept, theme: Theme) -> Vec<(String, Style)> {
    let mut lines = of_refusal(&kept.refused, theme);
    if let Some(file) = &kept.draft.file {
        lines.push((clean(&kept_in(file, app.lang)), Style::new()));
    }
    lines
}
