//! Terminal control of the live view: keeps the status block and the input line at the bottom while other
//! output scrolls above, edits the typed line in non-canonical mode, and restores the terminal at the end.
//! Also contains the thread that reads stdin, whether it is a terminal or a pipe.

use std::io::{IsTerminal as _, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::sync::mpsc;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A terminal in use by the live view. Dropping it restores the previous terminal modes.
#[derive(Debug)]
pub(crate) struct LiveTerminal {
    saved_modes: Option<Termios>,
    /// Number of lines of the block above the cursor line.
    drawn_lines: Option<usize>,
    lines: Vec<String>,
    editor: LineEditor,
}

impl LiveTerminal {
    /// Opens the terminal of this process, if both stdin and stdout are terminals.
    pub(crate) fn open() -> Option<Self> {
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            return None;
        }
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut modes) = before.clone() {
            // Non-canonical mode without echo: we read single keys and display them; Ctrl-C still sends a
            // signal.
            modes
                .local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &modes);
        }
        Some(Self {
            saved_modes: before,
            drawn_lines: None,
            lines: Vec::new(),
            editor: LineEditor::default(),
        })
    }

    /// Returns the size of the terminal: columns and rows.
    pub(crate) fn size(&self) -> (usize, usize) {
        let size = tcgetwinsize(std::io::stdout()).ok();
        let or = |number: Option<u16>, fallback: usize| {
            number
                .map(usize::from)
                .filter(|n| *n > 0)
                .unwrap_or(fallback)
        };
        (
            or(size.map(|s| s.ws_col), 80),
            or(size.map(|s| s.ws_row), 24),
        )
    }

    /// Prints text above the status block.
    pub(crate) fn print_above(&mut self, text: &str) -> std::io::Result<()> {
        let mut page = self.erase_sequence();
        page.push_str(text);
        page.push('\n');
        self.drawn_lines = None;
        self.write_stdout(&page)
    }

    /// Redraws the status block and the input line.
    pub(crate) fn draw_block(&mut self, lines: Vec<String>) -> std::io::Result<()> {
        let mut page = self.erase_sequence();
        for line in &lines {
            page.push_str(line);
            page.push('\n');
        }
        page.push_str(&self.editor.render_line(self.size().0));
        self.drawn_lines = Some(lines.len());
        self.lines = lines;
        self.write_stdout(&page)
    }

    /// Handles typed bytes. Returns the lines completed by them.
    pub(crate) fn handle_keys(&mut self, bytes: &[u8]) -> std::io::Result<Vec<String>> {
        let finished = self.editor.handle_keys(bytes);
        let lines = std::mem::take(&mut self.lines);
        self.draw_block(lines)?;
        Ok(finished)
    }

    /// Erases the block and restores the terminal.
    pub(crate) fn close(&mut self) {
        let page = self.erase_sequence();
        self.drawn_lines = None;
        let _ = self.write_stdout(&page);
        if let Some(before) = self.saved_modes.take() {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
        }
    }

    fn erase_sequence(&self) -> String {
        match self.drawn_lines {
            None => String::new(),
            Some(0) => "\r\x1b[J".to_owned(),
            Some(above) => format!("\r\x1b[{above}A\x1b[J"),
        }
    }

    #[expect(
        clippy::unused_self,
        reason = "drawing requires exclusive access to the terminal"
    )]
    fn write_stdout(&mut self, page: &str) -> std::io::Result<()> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(page.as_bytes())?;
        stdout.flush()
    }
}

impl Drop for LiveTerminal {
    fn drop(&mut self) {
        self.close();
    }
}

/// Reads stdin in the background: key bytes from a terminal, any data from a pipe. The channel closes at end
/// of input.
pub(crate) fn spawn_stdin_reader() -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel(16);
    // On its own thread: a blocking read cannot be cancelled, and must not keep the program from exiting.
    std::thread::spawn(move || {
        let mut bytes = [0; 4_096];
        while let Ok(count) = std::io::stdin().read(&mut bytes) {
            let read = bytes.get(..count).unwrap_or_default().to_vec();
            if count == 0 || send.blocking_send(read).is_err() {
                return;
            }
        }
    });
    receive
}

/// Line editor: the line that is being typed.
#[derive(Debug, Default)]
pub(crate) struct LineEditor {
    text: String,
    /// Bytes of an incomplete UTF-8 character.
    incomplete_bytes: Vec<u8>,
    escape: EscapeState,
}

/// State of the escape sequence parser.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum EscapeState {
    #[default]
    None,
    Started,
    InSequence,
}

impl LineEditor {
    /// Handles typed bytes. Returns the completed lines.
    pub(crate) fn handle_keys(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut finished = Vec::new();
        self.incomplete_bytes.extend_from_slice(bytes);
        let (text, rest) = split_complete_chars(&self.incomplete_bytes);
        self.incomplete_bytes = rest;
        for c in text.chars() {
            if self.skip_escape(c) {
                continue;
            }
            match c {
                '\n' | '\r' => finished.push(std::mem::take(&mut self.text)),
                '\u{7f}' | '\u{8}' => {
                    self.text.pop();
                }
                '\u{15}' => self.text.clear(),
                '\u{17}' => {
                    let trimmed = self.text.trim_end();
                    let end = trimmed.rfind(' ').map_or(0, |at| at + 1);
                    self.text.truncate(end);
                }
                c if c.is_control() => {}
                c => self.text.push(c),
            }
        }
        finished
    }

    /// Returns whether a character belongs to a key that has no function here, such as an arrow key.
    fn skip_escape(&mut self, c: char) -> bool {
        match (self.escape, c) {
            (EscapeState::None, '\u{1b}') => self.escape = EscapeState::Started,
            (EscapeState::None, _) => return false,
            (EscapeState::Started, '[' | 'O') => self.escape = EscapeState::InSequence,
            (EscapeState::Started, _) | (EscapeState::InSequence, '@'..='~') => {
                self.escape = EscapeState::None;
            }
            (EscapeState::InSequence, _) => {}
        }
        true
    }

    /// Renders the line with its prompt; a long line is scrolled to its end.
    fn render_line(&self, columns: usize) -> String {
        let available = columns.saturating_sub(3);
        let mut text = self.text.as_str();
        let mut width = text.width();
        while width > available {
            let mut rest = text.chars();
            let Some(first) = rest.next() else { break };
            width = width.saturating_sub(first.width().unwrap_or(0));
            text = rest.as_str();
        }
        format!("> {text}")
    }
}

/// Splits bytes into the complete characters at the beginning and the bytes of an incomplete one at the end.
/// Invalid UTF-8 is dropped.
fn split_complete_chars(bytes: &[u8]) -> (String, Vec<u8>) {
    let mut text = String::new();
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(all) => {
                text.push_str(all);
                return (text, Vec::new());
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                text.push_str(std::str::from_utf8(good).unwrap_or_default());
                match error.error_len() {
                    None => return (text, bad.to_vec()),
                    Some(length) => rest = bad.get(length..).unwrap_or_default(),
                }
            }
        }
    }
}
