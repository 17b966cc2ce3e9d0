//! Texts that take a while to be made ready: long ones, and files in colours.

use polis_view::highlight::{self, Kind};
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::terminal::clean_lines;

/// Does long work on a thread of its own. If it panics so does who waits for it: the panic has given the
/// terminal back, and a screen that went on would not be seen.
pub(super) async fn beside(work: impl FnOnce() -> StyledLines + Send + 'static) -> StyledLines {
    match tokio::task::spawn_blocking(work).await {
        Ok(lines) => lines,
        Err(broken) => match broken.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and the screen with it.
            Err(_) => StyledLines::default(),
        },
    }
}

/// A file's lines in the colours of its language.
pub(super) fn highlighted(text: &str, path: &str) -> StyledLines {
    let text = clean_lines(text);
    let mut lines = StyledLines::default();
    let mut put = |piece: &str, styles: Styles| {
        let mut first = true;
        for part in piece.split('\n') {
            if !first {
                lines.end_line();
            }
            first = false;
            lines.push(part, styles);
        }
    };
    match highlight::language_of_path(path) {
        Some(language) => {
            for span in highlight::highlight(&text, language) {
                put(span.text, styles_of(span.kind));
            }
        }
        None => put(&text, Styles::NONE),
    }
    if !text.is_empty() && !text.ends_with('\n') {
        lines.end_line();
    }
    lines
}

fn styles_of(kind: Kind) -> Styles {
    match kind {
        Kind::Plain | Kind::Call => Styles::NONE,
        Kind::Comment => Style::Dim.into(),
        Kind::Text | Kind::Added => Style::Green.into(),
        Kind::Value | Kind::Meta => Style::Yellow.into(),
        Kind::Keyword => Styles::from(Style::Bold),
        Kind::Type | Kind::Key => Style::Cyan.into(),
        Kind::Removed => Style::Red.into(),
        Kind::Heading => Styles::from(Style::Bold).with(Style::Cyan),
    }
}
