//! The terminal itself: taking it, giving it back, whatever ends the program.

use std::io::{self, Stdout, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use ratatui_core::terminal::{Frame, Terminal};
use ratatui_crossterm::CrosstermBackend;

/// Whether the terminal is ours at the moment.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Stage {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Stage {
    /// Takes the terminal.
    pub(super) fn enter() -> io::Result<Self> {
        give_back_on_panic();
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        if terminal.is_err() {
            give_back();
        }
        Ok(Self {
            terminal: terminal?,
        })
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        size()
    }

    /// Draws a frame: only what changed is written.
    pub(super) fn draw(&mut self, frame: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if TAKEN.load(Ordering::SeqCst) {
            self.terminal.draw(frame)?;
        }
        Ok(())
    }

    /// Gives the terminal back for a while.
    #[expect(
        clippy::unused_self,
        reason = "only who has the terminal can give it back"
    )]
    pub(super) fn leave(&mut self) {
        give_back();
    }

    /// Takes the terminal again, and draws all of it anew.
    pub(super) fn come_back(&mut self) -> io::Result<()> {
        // Somebody else may have had it without our having given it back: after a stop from outside, say.
        give_back();
        take()?;
        self.terminal.clear()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste
    )
}

/// Gives the terminal back, once however often it is asked for.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        leave();
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// Leaves the screen: our own, or that of a program that was ended on the terminal and may not have done so itself.
pub(super) fn leave() {
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
}

/// A panic is told on a terminal that shows it.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}
