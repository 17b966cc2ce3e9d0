//! Draws the application state into a frame: tabs, title, page, status line and overlay.

mod overlay;
mod table;
mod theme;

use polis_view::style::StyledLines;
use polis_view::terminal::clean;
use polis_view::width::cut;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use unicode_width::UnicodeWidthStr as _;

use crate::app::{App, LEAST, Notice, Page, Shown, Tab, bindings};
pub(crate) use theme::Theme;

/// Draws the whole screen.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let theme = Theme { colour: app.colour };
    let buffer = frame.buffer_mut();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(app, area, buffer);
        return;
    }
    tabs(app, line_of(area, 0), theme, buffer);
    if let Some(page) = app.page() {
        title(app, page, line_of(area, 1), theme, buffer);
        let body = Rect {
            y: area.y + 2,
            height: area.height - 3,
            ..area
        };
        page_body(app, page, body, theme, buffer);
        bottom(app, page, line_of(area, area.height - 1), theme, buffer);
    }
    if let Some(cursor) = overlay::draw(app, area, theme, buffer) {
        frame.set_cursor_position(cursor);
    }
}

fn line_of(area: Rect, at: u16) -> Rect {
    Rect {
        y: area.y + at,
        height: 1,
        ..area
    }
}

fn too_small(app: &App, area: Rect, buffer: &mut Buffer) {
    let text = app.lang.say(
        format!("Too small: {}x{} is needed. q quits.", LEAST.0, LEAST.1),
        format!("窗口太小：至少 {}x{}。q 退出。", LEAST.0, LEAST.1),
    );
    let width = usize::from(area.width);
    for (row, line) in (area.y..area.bottom()).zip(pieces(&text, width)) {
        buffer.set_stringn(area.x, row, line, width, Style::new());
    }
}

/// Wraps a text to this many columns.
fn pieces(text: &str, width: usize) -> Vec<String> {
    use polis_view::wrap::{Room, lines};
    let room = Room {
        first: width.max(2),
        rest: width.max(2),
        cut_words: true,
    };
    lines(text, room)
        .map(|part| text.get(part).unwrap_or_default().to_owned())
        .collect()
}

/// Joins a text into one sanitized line.
fn joined(text: &str) -> String {
    let parts: Vec<&str> = text.lines().map(str::trim).collect();
    clean(parts.join(" ").trim())
}

/// Returns the tabs as drawn: the text of each, and its first and last column.
fn tab_texts(app: &App) -> Vec<(Tab, String, u16, u16)> {
    let long: usize = Tab::ALL
        .iter()
        .map(|tab| tab.name(app.lang).width() + 4)
        .sum();
    let whole = long <= usize::from(app.size.0);
    let mut at: u16 = 0;
    let mut found = Vec::with_capacity(Tab::ALL.len());
    for (n, tab) in Tab::ALL.into_iter().enumerate() {
        let text = match whole || tab == app.tab {
            true => format!(" {} {} ", n + 1, tab.name(app.lang)),
            false => format!(" {} ", n + 1),
        };
        let columns = u16::try_from(text.width()).unwrap_or(u16::MAX);
        let end = at.saturating_add(columns);
        found.push((tab, text, at, end));
        at = end;
    }
    found
}

/// Returns the tab drawn at a column.
pub(crate) fn tab_at(app: &App, column: u16) -> Option<Tab> {
    let found = tab_texts(app)
        .into_iter()
        .find(|(_, _, start, end)| (*start..*end).contains(&column));
    found.map(|(tab, ..)| tab)
}

fn tabs(app: &App, area: Rect, theme: Theme, buffer: &mut Buffer) {
    let mut end = 0;
    for (tab, text, start, stop) in tab_texts(app) {
        let style = match tab == app.tab {
            true => Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD),
            false => Style::new(),
        };
        let room = usize::from(area.width.saturating_sub(start));
        buffer.set_stringn(area.x + start.min(area.width), area.y, text, room, style);
        end = stop;
    }
    let (state, colour) = match app {
        app if app.away => (app.lang.say("store away", "存储不可用"), Color::Red),
        app if app.busy > 0 => ("…", Color::Yellow),
        _ => return,
    };
    let columns = u16::try_from(state.width()).unwrap_or(0) + 1;
    if end + columns <= area.width {
        let at = area.right() - columns;
        buffer.set_string(at, area.y, state, theme.colour(colour));
    }
}

fn title(app: &App, page: &Page, area: Rect, theme: Theme, buffer: &mut Buffer) {
    let lang = app.lang;
    let mut right = String::new();
    if page.follow {
        right.push_str(lang.say("[follows] ", "[跟随] "));
    }
    if app.has_later(&page.thing()) {
        right.push_str(lang.say("[your draft is kept: e] ", "[草稿已保留：e] "));
    }
    if page.loading.is_some() && (page.data.is_none() || page.rush) {
        right.push_str(lang.say("reads… ", "读取中… "));
    }
    let many = page.data.as_ref().is_some_and(crate::show::Data::has_more);
    if !page.is_empty() || finds_nothing(page) {
        let (at, all) = match page.is_text() {
            true => ((page.offset + app.body_rows()).min(page.len()), page.len()),
            false => page.position(),
        };
        right.push_str(&format!("{at}/{all}{}", if many { "+" } else { "" }));
    }
    let mut left = clean(&page.place.title(lang));
    if app.stack().len() > 1 {
        left = format!("‹ {left}");
    }
    if !page.filter.is_empty() {
        left.push_str(&format!("  /{}", clean(&page.filter)));
    }
    let width = usize::from(area.width);
    let room = width.saturating_sub(right.width() + 1);
    buffer.set_style(area, theme.underline());
    buffer.set_stringn(area.x, area.y, cut(&left, room), room, theme.title());
    let at = area
        .right()
        .saturating_sub(u16::try_from(right.width()).unwrap_or(0));
    buffer.set_stringn(at, area.y, &right, width, theme.dim());
}

fn page_body(app: &App, page: &Page, area: Rect, theme: Theme, buffer: &mut Buffer) {
    // Loaded data stays visible while the store is unreachable; the status line says so.
    if let Some(refused) = &page.refused
        && !(refused.passing && page.data.is_some())
    {
        let text = format!("{} {} {}", refused.message, refused.hint, refused.detail);
        let width = usize::from(area.width);
        for (row, line) in (area.y..area.bottom()).zip(pieces(&joined(&text), width)) {
            buffer.set_stringn(area.x, row, line, width, theme.colour(Color::Red));
        }
        return;
    }
    match &page.shown {
        Shown::Rows { .. } if finds_nothing(page) => nothing(app, page, area, theme, buffer),
        Shown::Rows { .. } => table::draw(page, area, theme, buffer),
        Shown::Text(lines) => {
            text_body(lines, page.offset, &page.filter, area, theme, buffer);
        }
    }
}

/// Whether the filter matches none of the loaded rows.
fn finds_nothing(page: &Page) -> bool {
    page.is_empty() && page.data.is_some() && !page.filter.is_empty()
}

fn nothing(app: &App, page: &Page, area: Rect, theme: Theme, buffer: &mut Buffer) {
    let wanted = clean(&page.filter);
    let text = app.lang.say(
        format!("Nothing here holds \"{wanted}\". Esc ends the filter."),
        format!("这里没有匹配“{wanted}”的内容。按 Esc 取消过滤。"),
    );
    let width = usize::from(area.width);
    for (row, line) in (area.y..area.bottom()).zip(pieces(&text, width)) {
        buffer.set_stringn(area.x, row, line, width, theme.title());
    }
}

/// Draws lines of a text starting at an offset, with search matches highlighted.
fn text_body(
    lines: &StyledLines,
    offset: usize,
    searched: &str,
    area: Rect,
    theme: Theme,
    buffer: &mut Buffer,
) {
    let wanted = searched.to_lowercase();
    for row in 0..area.height {
        let n = offset + usize::from(row);
        let mut at = area.x;
        for (styles, text) in lines.line(n) {
            let room = usize::from(area.right().saturating_sub(at));
            at = buffer
                .set_stringn(at, area.y + row, text, room, theme.of(styles))
                .0;
        }
        if !wanted.is_empty() && lines.plain(n).to_lowercase().contains(&wanted) {
            let line = Rect {
                y: area.y + row,
                height: 1,
                ..area
            };
            buffer.set_style(line, theme.found());
        }
    }
}

fn bottom(app: &App, page: &Page, area: Rect, theme: Theme, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let (text, style) = match &app.notice {
        Some(Notice::Done(said)) => (joined(said), theme.colour(Color::Green)),
        Some(Notice::Refused(refused)) => (
            joined(&format!("{}: {}", refused.code, refused.message)),
            theme.colour(Color::Red),
        ),
        None => match &app.overlay {
            Some(overlay) => (overlay.keys(app.lang).to_owned(), theme.dim()),
            None => match page.refused.as_ref().filter(|_| page.data.is_some()) {
                Some(refused) => (
                    joined(&format!(
                        "{} {}",
                        app.lang.say("As it was before.", "此为先前内容。"),
                        refused.message
                    )),
                    theme.colour(Color::Red),
                ),
                None => (hints(app, page), theme.dim()),
            },
        },
    };
    buffer.set_stringn(area.x, area.y, cut(&text, width), width, style);
}

/// Returns the keys of the page, as many as fit.
fn hints(app: &App, page: &Page) -> String {
    let lang = app.lang;
    let mut text = lang.say("? help  q quit", "? 帮助  q 退出").to_owned();
    let room = app.columns();
    for binding in bindings(page).filter(|binding| !binding.is_general()) {
        let more = format!("  {} {}", binding.keys, binding.says(lang));
        if text.width() + more.width() > room {
            break;
        }
        text.push_str(&more);
    }
    text
}
