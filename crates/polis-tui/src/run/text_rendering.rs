//! Rendering that may take long, on a blocking thread: long texts, and syntax highlighting of files.

use polis_view::highlight::{self, Kind};
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::terminal::clean_lines;

/// Runs long work with `spawn_blocking`. A panic is propagated to the caller: the panic hook has already
/// restored the terminal, so continuing would not be visible.
pub(super) async fn beside(work: impl FnOnce() -> StyledLines + Send + 'static) -> StyledLines {
    match tokio::task::spawn_blocking(work).await {
        Ok(lines) => lines,
        Err(broken) => match broken.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and the interface with it.
            Err(_) => StyledLines::default(),
        },
    }
}

/// Returns a file's lines with syntax highlighting.
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
