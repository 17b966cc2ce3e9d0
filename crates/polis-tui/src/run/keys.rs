//! When there is something to read from the keyboard. Nothing is read here: while an editor has the terminal,
//! all that is typed is the editor's.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::mpsc as answers;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

/// A watch on the keyboard.
#[derive(Debug)]
pub(super) struct Keys {
    typed: mpsc::Receiver<()>,
    again: answers::Sender<()>,
}

impl Keys {
    /// Begins to watch.
    pub(super) fn watch() -> std::io::Result<Self> {
        let keyboard = std::io::stdin().as_fd().try_clone_to_owned()?;
        let (tell, typed) = mpsc::channel(1);
        let (again, asked) = answers::channel();
        std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || wait(&keyboard, &tell, &asked))?;
        Ok(Self { typed, again })
    }

    /// Waits until something was typed; false if nothing ever will be again.
    pub(super) async fn typed(&mut self) -> bool {
        self.typed.recv().await.is_some()
    }

    /// What was typed is read; watch for more.
    pub(super) fn go_on(&self) {
        let _ = self.again.send(());
    }
}

/// Sleeps until there is something to read, tells it, and waits until it is read.
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
