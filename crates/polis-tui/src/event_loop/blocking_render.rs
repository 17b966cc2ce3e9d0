//! Runs rendering that may take long on a blocking thread ([`render_blocking`]), and renders files with
//! syntax highlighting.

use polis_view::highlight::{self, HighlightKind};
use polis_view::style::{StyleSet, StyledLines, TextStyle};
use polis_view::terminal_sanitizer::sanitize_lines;

/// Runs `work` with `spawn_blocking` and returns its lines. A panic is propagated to the caller: the panic
/// hook has already restored the terminal, so continuing would not be visible.
pub(super) async fn render_blocking(
    work: impl FnOnce() -> StyledLines + Send + 'static,
) -> StyledLines {
    match tokio::task::spawn_blocking(work).await {
        Ok(lines) => lines,
        Err(broken) => match broken.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and the interface with it.
            Err(_) => StyledLines::default(),
        },
    }
}

/// Returns a file's lines, sanitized, with syntax highlighting if the language of `path` is known.
pub(super) fn highlight_file(text: &str, path: &str) -> StyledLines {
    let text = sanitize_lines(text);
    let mut lines = StyledLines::default();
    let mut push_piece = |piece: &str, styles: StyleSet| {
        let mut first = true;
        for part in piece.split('\n') {
            if !first {
                lines.end_line();
            }
            first = false;
            lines.push(part, styles);
        }
    };
    match highlight::language_for_path(path) {
        Some(language) => {
            for span in highlight::highlight(&text, language) {
                push_piece(span.text, highlight_styles(span.kind));
            }
        }
        None => push_piece(&text, StyleSet::NONE),
    }
    if !text.is_empty() && !text.ends_with('\n') {
        lines.end_line();
    }
    lines
}

fn highlight_styles(kind: HighlightKind) -> StyleSet {
    match kind {
        HighlightKind::Plain | HighlightKind::Call => StyleSet::NONE,
        HighlightKind::Comment => TextStyle::Dim.into(),
        HighlightKind::Text | HighlightKind::Added => TextStyle::Green.into(),
        HighlightKind::Value | HighlightKind::Meta => TextStyle::Yellow.into(),
        HighlightKind::Keyword => StyleSet::from(TextStyle::Bold),
        HighlightKind::Type | HighlightKind::Key => TextStyle::Cyan.into(),
        HighlightKind::Removed => TextStyle::Red.into(),
        HighlightKind::Heading => StyleSet::from(TextStyle::Bold).with_style(TextStyle::Cyan),
    }
}
