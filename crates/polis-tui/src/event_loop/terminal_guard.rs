//! Terminal setup and restoration: raw mode, alternate screen, mouse and paste reporting. The terminal is
//! restored when the guard ([`TerminalGuard`]) is dropped, and on a panic before its message is printed.

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
static TERMINAL_ACTIVE: AtomicBool = AtomicBool::new(false);

/// The terminal in our mode. Dropping it restores the terminal.
#[derive(Debug)]
pub(super) struct TerminalGuard {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TerminalGuard {
    /// Enters the alternate screen and raw mode.
    pub(super) fn enter() -> io::Result<Self> {
        restore_terminal_on_panic();
        enter_terminal_mode()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        if terminal.is_err() {
            restore_terminal();
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
        if TERMINAL_ACTIVE.load(Ordering::SeqCst) {
            self.terminal.draw(frame)?;
        }
        Ok(())
    }

    /// Restores the terminal temporarily.
    #[expect(
        clippy::unused_self,
        reason = "only the owner of the guard may restore the terminal"
    )]
    pub(super) fn restore(&mut self) {
        restore_terminal();
    }

    /// Enters our mode again and redraws everything.
    pub(super) fn reenter(&mut self) -> io::Result<()> {
        // Another program may have used the terminal without our restoring it, for example after an external
        // SIGSTOP.
        restore_terminal();
        enter_terminal_mode()?;
        self.terminal.clear()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn enter_terminal_mode() -> io::Result<()> {
    enable_raw_mode()?;
    TERMINAL_ACTIVE.store(true, Ordering::SeqCst);
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste
    )
}

/// Restores the terminal; further calls have no effect.
fn restore_terminal() {
    if TERMINAL_ACTIVE.swap(false, Ordering::SeqCst) {
        leave_alternate_screen();
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// Leaves the alternate screen: ours, or that of a program that was killed and may not have left it itself.
pub(super) fn leave_alternate_screen() {
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
}

/// Installs a panic hook that restores the terminal, so that the panic message is visible.
fn restore_terminal_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore_terminal();
            before(panic);
        }));
    });
}
