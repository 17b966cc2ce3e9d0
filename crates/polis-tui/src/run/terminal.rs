//! Terminal setup and restoration: raw mode, alternate screen, mouse and paste reporting, restored however
//! the program ends.

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

/// Whether the terminal is currently in our mode.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal in our mode. Dropping it restores the terminal.
#[derive(Debug)]
pub(super) struct Stage {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Stage {
    /// Enters the alternate screen and raw mode.
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

    /// Returns the terminal size (columns, rows).
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        size()
    }

    /// Draws a frame; only changes are written.
    pub(super) fn draw(&mut self, frame: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if TAKEN.load(Ordering::SeqCst) {
            self.terminal.draw(frame)?;
        }
        Ok(())
    }

    /// Restores the terminal temporarily.
    #[expect(
        clippy::unused_self,
        reason = "only who has the terminal can give it back"
    )]
    pub(super) fn leave(&mut self) {
        give_back();
    }

    /// Enters our mode again and redraws everything.
    pub(super) fn come_back(&mut self) -> io::Result<()> {
        // Another program may have used the terminal without our restoring it, for example after an external
        // SIGSTOP.
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

/// Restores the terminal; further calls have no effect.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        leave();
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// Leaves the alternate screen: ours, or that of a program that was killed and may not have left it itself.
pub(super) fn leave() {
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
}

/// Installs a panic hook that restores the terminal, so that the panic message is visible.
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
