//! Keyboard watcher: a thread that reports when there is input on the terminal, but never reads it.
//!
//! The event loop reads the input and then resumes the watcher. Because the watcher takes no input itself, an
//! external editor that has the terminal gets all of it.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::mpsc as std_mpsc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

/// Handle of the thread that watches standard input.
#[derive(Debug)]
pub(super) struct KeyboardWatcher {
    input_ready: mpsc::Receiver<()>,
    resume_sender: std_mpsc::Sender<()>,
}

impl KeyboardWatcher {
    /// Starts the thread that watches the keyboard.
    pub(super) fn start() -> std::io::Result<Self> {
        let keyboard = std::io::stdin().as_fd().try_clone_to_owned()?;
        let (sender, typed) = mpsc::channel(1);
        let (resume_sender, resume_receiver) = std_mpsc::channel();
        std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || poll_keyboard(&keyboard, &sender, &resume_receiver))?;
        Ok(Self {
            input_ready: typed,
            resume_sender,
        })
    }

    /// Waits until there is input. Returns false if standard input is closed or fails.
    pub(super) async fn wait_for_input(&mut self) -> bool {
        self.input_ready.recv().await.is_some()
    }

    /// Resumes watching after the input was read.
    pub(super) fn resume(&self) {
        let _ = self.resume_sender.send(());
    }
}

/// Polls until there is input, notifies, and waits until it was read.
fn poll_keyboard(
    keyboard: &OwnedFd,
    sender: &mpsc::Sender<()>,
    resume_receiver: &std_mpsc::Receiver<()>,
) {
    loop {
        let mut poll_fds = [PollFd::new(keyboard, PollFlags::IN)];
        match poll(&mut poll_fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return,
        }
        let [poll_fd] = &poll_fds;
        let hung_up = poll_fd
            .revents()
            .intersects(PollFlags::NVAL | PollFlags::ERR);
        if hung_up || sender.blocking_send(()).is_err() || resume_receiver.recv().is_err() {
            return;
        }
    }
}
