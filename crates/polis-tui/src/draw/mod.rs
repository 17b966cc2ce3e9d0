//! Draws the application state into a frame ([`draw_app`]): tabs, title, page, status line and overlay. Only
//! reads the state; rows are drawn by `list_table`, overlays by `draw_overlay`.

mod draw_overlay;
mod list_table;
mod terminal_theme;

use polis_core::number::saturating_cast;
use polis_i18n::msg;
use polis_view::display_width::truncate_to_width;
use polis_view::style::StyledLines;
use polis_view::terminal_sanitizer::sanitize_line;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use unicode_width::UnicodeWidthStr as _;

use crate::app::{
    MIN_TERMINAL_SIZE, PageContent, PageState, StatusNotice, Tab, TuiApp, active_bindings,
};
pub(crate) use terminal_theme::TerminalTheme;

/// Draws the whole screen.
pub fn draw_app(app: &TuiApp, frame: &mut Frame<'_>) {
    let area = frame.area();
    let theme = TerminalTheme { colour: app.colour };
    let buffer = frame.buffer_mut();
    if area.width < MIN_TERMINAL_SIZE.0 || area.height < MIN_TERMINAL_SIZE.1 {
        draw_too_small(app, area, buffer);
        return;
    }
    draw_tabs(app, row_area(area, 0), theme, buffer);
    if let Some(page) = app.page() {
        draw_title(app, page, row_area(area, 1), theme, buffer);
        let body = Rect {
            y: area.y + 2,
            height: area.height - 3,
            ..area
        };
        draw_page_body(app, page, body, theme, buffer);
        draw_status_line(app, page, row_area(area, area.height - 1), theme, buffer);
    }
    if let Some(cursor) = draw_overlay::draw_current_overlay(app, area, theme, buffer) {
        frame.set_cursor_position(cursor);
    }
}

fn row_area(area: Rect, at: u16) -> Rect {
    Rect {
        y: area.y + at,
        height: 1,
        ..area
    }
}

fn draw_too_small(app: &TuiApp, area: Rect, buffer: &mut Buffer) {
    let text = msg::tui_terminal_too_small(app.lang, MIN_TERMINAL_SIZE.0, MIN_TERMINAL_SIZE.1);
    let width = usize::from(area.width);
    for (row, line) in (area.y..area.bottom()).zip(wrap_text(&text, width)) {
        buffer.set_stringn(area.x, row, line, width, Style::new());
    }
}

/// Wraps a text to this many columns.
fn wrap_text(text: &str, width: usize) -> Vec<String> {
    use polis_view::line_wrap::{WrapWidth, wrap_lines};
    let wrap_width = WrapWidth {
        first_line: width.max(2),
        other_lines: width.max(2),
        split_words: true,
    };
    wrap_lines(text, wrap_width)
        .map(|part| text.get(part).unwrap_or_default().to_owned())
        .collect()
}

/// Joins a text into one sanitized line.
fn join_lines(text: &str) -> String {
    let parts: Vec<&str> = text.lines().map(str::trim).collect();
    sanitize_line(parts.join(" ").trim())
}

/// Returns the tabs as drawn: the text of each, its first column and the column after its last one. If not
/// all names fit, only the active tab has its name; the others are numbers.
fn tab_texts(app: &TuiApp) -> Vec<(Tab, String, u16, u16)> {
    let long: usize = Tab::ALL
        .iter()
        .map(|tab| tab.name(app.lang).width() + 4)
        .sum();
    let fits = long <= usize::from(app.size.0);
    let mut at: u16 = 0;
    let mut found = Vec::with_capacity(Tab::ALL.len());
    for (n, tab) in Tab::ALL.into_iter().enumerate() {
        let text = if fits || tab == app.tab {
            format!(" {} {} ", n + 1, tab.name(app.lang))
        } else {
            format!(" {} ", n + 1)
        };
        let columns = saturating_cast::<u16>(text.width());
        let end = at.saturating_add(columns);
        found.push((tab, text, at, end));
        at = end;
    }
    found
}

/// Returns the tab drawn at a column of the first row, for mouse clicks.
pub(crate) fn tab_at(app: &TuiApp, column: u16) -> Option<Tab> {
    let found = tab_texts(app)
        .into_iter()
        .find(|(_, _, start, end)| (*start..*end).contains(&column));
    found.map(|(tab, ..)| tab)
}

fn draw_tabs(app: &TuiApp, area: Rect, theme: TerminalTheme, buffer: &mut Buffer) {
    let mut end = 0;
    for (tab, text, start, stop) in tab_texts(app) {
        let style = if tab == app.tab {
            Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
        } else {
            Style::new()
        };
        let remaining = usize::from(area.width.saturating_sub(start));
        buffer.set_stringn(
            area.x + start.min(area.width),
            area.y,
            text,
            remaining,
            style,
        );
        end = stop;
    }
    let (state, colour) = match app {
        app if app.store_unreachable => (msg::tui_store_unreachable(app.lang), Color::Red),
        app if app.running_actions > 0 => ("…", Color::Yellow),
        _ => return,
    };
    let columns = u16::try_from(state.width()).unwrap_or(0) + 1;
    if end + columns <= area.width {
        let at = area.right() - columns;
        buffer.set_string(at, area.y, state, theme.colour_style(colour));
    }
}

fn draw_title(
    app: &TuiApp,
    page: &PageState,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) {
    let lang = app.lang;
    let mut right = String::new();
    if page.follow {
        right.push_str(msg::tui_following(lang));
    }
    if app.has_postponed_draft(&page.selection()) {
        right.push_str(msg::tui_draft_kept(lang));
    }
    if page.loading.is_some() && (page.data.is_none() || page.loading_to_end) {
        right.push_str(msg::tui_loading(lang));
    }
    let has_more = page
        .data
        .as_ref()
        .is_some_and(crate::page_content::PageData::has_more);
    if !page.is_empty() || has_no_matches(page) {
        let (at, all) = if page.is_text() {
            ((page.offset + app.body_rows()).min(page.len()), page.len())
        } else {
            page.position()
        };
        right.push_str(&format!("{at}/{all}{}", if has_more { "+" } else { "" }));
    }
    let mut left = sanitize_line(&page.route.title(lang));
    if app.stack().len() > 1 {
        left = format!("‹ {left}");
    }
    if !page.filter.is_empty() {
        left.push_str(&format!("  /{}", sanitize_line(&page.filter)));
    }
    let width = usize::from(area.width);
    let left_width = width.saturating_sub(right.width() + 1);
    buffer.set_style(area, theme.underline());
    buffer.set_stringn(
        area.x,
        area.y,
        truncate_to_width(&left, left_width),
        left_width,
        theme.title(),
    );
    let at = area
        .right()
        .saturating_sub(u16::try_from(right.width()).unwrap_or(0));
    buffer.set_stringn(at, area.y, &right, width, theme.dim());
}

fn draw_page_body(
    app: &TuiApp,
    page: &PageState,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) {
    // Loaded data stays visible while the store is unreachable; the status line says so.
    if let Some(refused) = &page.load_error
        && !(refused.is_temporary && page.data.is_some())
    {
        let text = format!("{} {}", refused.message, refused.hint);
        let width = usize::from(area.width);
        for (row, line) in (area.y..area.bottom()).zip(wrap_text(&join_lines(&text), width)) {
            buffer.set_stringn(area.x, row, line, width, theme.colour_style(Color::Red));
        }
        return;
    }
    match &page.content {
        PageContent::List { .. } if has_no_matches(page) => {
            draw_no_matches(app, page, area, theme, buffer);
        }
        PageContent::List { .. } => list_table::draw_rows(page, area, theme, buffer),
        PageContent::Text(lines) => {
            draw_text_lines(lines, page.offset, &page.filter, area, theme, buffer);
        }
    }
}

/// Whether the filter matches none of the loaded rows.
fn has_no_matches(page: &PageState) -> bool {
    page.is_empty() && page.data.is_some() && !page.filter.is_empty()
}

fn draw_no_matches(
    app: &TuiApp,
    page: &PageState,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) {
    let search = sanitize_line(&page.filter);
    let text = msg::tui_no_match(app.lang, search);
    let width = usize::from(area.width);
    for (row, line) in (area.y..area.bottom()).zip(wrap_text(&text, width)) {
        buffer.set_stringn(area.x, row, line, width, theme.title());
    }
}

/// Draws lines of a text starting at an offset, with search matches highlighted.
fn draw_text_lines(
    lines: &StyledLines,
    offset: usize,
    searched: &str,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) {
    let search = searched.to_lowercase();
    for row in 0..area.height {
        let n = offset + usize::from(row);
        let mut at = area.x;
        for (styles, text) in lines.line_spans(n) {
            let width = usize::from(area.right().saturating_sub(at));
            at = buffer
                .set_stringn(at, area.y + row, text, width, theme.text_style(styles))
                .0;
        }
        if !search.is_empty() && lines.plain_line(n).to_lowercase().contains(&search) {
            let line = Rect {
                y: area.y + row,
                height: 1,
                ..area
            };
            buffer.set_style(line, theme.search_match());
        }
    }
}

fn draw_status_line(
    app: &TuiApp,
    page: &PageState,
    area: Rect,
    theme: TerminalTheme,
    buffer: &mut Buffer,
) {
    let width = usize::from(area.width);
    let (text, style) = match &app.notice {
        Some(StatusNotice::Done(message)) => {
            (join_lines(message), theme.colour_style(Color::Green))
        }
        Some(StatusNotice::Error(refused)) => (
            join_lines(&msg::tui_field_with_value(
                app.lang,
                &refused.code,
                &refused.message,
            )),
            theme.colour_style(Color::Red),
        ),
        None => match &app.overlay {
            Some(overlay) => (overlay.key_hints(app.lang).to_owned(), theme.dim()),
            None => match page.load_error.as_ref().filter(|_| page.data.is_some()) {
                Some(refused) => (
                    join_lines(&format!(
                        "{} {}",
                        msg::tui_showing_earlier_data(app.lang),
                        refused.message
                    )),
                    theme.colour_style(Color::Red),
                ),
                None => (page_key_hints(app, page), theme.dim()),
            },
        },
    };
    buffer.set_stringn(
        area.x,
        area.y,
        truncate_to_width(&text, width),
        width,
        style,
    );
}

/// Returns the keys of the page, as many as fit.
fn page_key_hints(app: &TuiApp, page: &PageState) -> String {
    let lang = app.lang;
    let mut text = msg::tui_help_or_quit(lang).to_owned();
    let max_width = app.columns();
    for binding in active_bindings(page).filter(|binding| !binding.is_global()) {
        let more = format!("  {} {}", binding.keys, binding.description(lang));
        if text.width() + more.width() > max_width {
            break;
        }
        text.push_str(&more);
    }
    text
}
