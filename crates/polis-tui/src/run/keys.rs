//! Watches the keyboard for input without reading it: while an editor has the terminal, all input belongs to
//! the editor.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::mpsc as answers;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

/// A watcher of the keyboard.
#[derive(Debug)]
pub(super) struct Keys {
    typed: mpsc::Receiver<()>,
    again: answers::Sender<()>,
}

impl Keys {
    /// Starts watching.
    pub(super) fn watch() -> std::io::Result<Self> {
        let keyboard = std::io::stdin().as_fd().try_clone_to_owned()?;
        let (tell, typed) = mpsc::channel(1);
        let (again, asked) = answers::channel();
        std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || wait(&keyboard, &tell, &asked))?;
        Ok(Self { typed, again })
    }

    /// Waits until there is input; false if the keyboard is gone.
    pub(super) async fn typed(&mut self) -> bool {
        self.typed.recv().await.is_some()
    }

    /// Resumes watching after the input was read.
    pub(super) fn go_on(&self) {
        let _ = self.again.send(());
    }
}

/// Polls until there is input, notifies, and waits until it was read.
fn wait(keyboard: &OwnedFd, tell: &mpsc::Sender<()>, asked: &answers::Receiver<()>) {
    loop {
        let mut watched = [PollFd::new(keyboard, PollFlags::IN)];
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return,
        }
        let [watched] = &watched;
        let gone = watched
            .revents()
            .intersects(PollFlags::NVAL | PollFlags::ERR);
        if gone || tell.blocking_send(()).is_err() || asked.recv().is_err() {
            return;
        }
    }
}
