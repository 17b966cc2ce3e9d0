//! Notifies waiters of new events, regardless of which process committed them.
//!
//! Every committer touches the lock file after its commit; a thread watches that file through inotify. It
//! also polls once per interval, for platforms without inotify and for writers other than polis.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Shared;
use super::apply::last_sequence;
use super::lock::LOCK;

/// Polling interval when no notification arrives.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Publishes the newest event's sequence number; its thread ends when there are no subscribers left.
#[derive(Debug)]
pub(super) struct Feed {
    receiver: watch::Receiver<u64>,
}

impl Feed {
    pub(super) fn start(shared: Arc<Shared>) -> Self {
        let (sender, receiver) = watch::channel(0);
        let watcher = Watcher::new(&shared);
        // If the thread cannot be started, waiting still ends at its timeout.
        let _ = std::thread::Builder::new()
            .name("polis-feed".to_owned())
            .spawn(move || {
                while !sender.is_closed() {
                    watcher.wait(LOOK_EVERY);
                    if let Ok(last) = shared.read(last_sequence) {
                        sender.send_if_modified(|seen| std::mem::replace(seen, last) != last);
                    }
                }
            });
        Self { receiver }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.receiver.clone()
    }
}

#[cfg(target_os = "linux")]
mod watcher {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

    use super::{LOCK, Shared};

    pub(super) struct Watcher(Option<OwnedFd>);

    impl Watcher {
        pub(super) fn new(shared: &Shared) -> Self {
            let watch = || {
                let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
                inotify::add_watch(&fd, shared.directory.join(LOCK), WatchFlags::MODIFY).ok()?;
                Some(fd)
            };
            Self(watch())
        }

        pub(super) fn wait(&self, at_most: Duration) {
            let Some(fd) = &self.0 else {
                return std::thread::sleep(at_most);
            };
            let limit = Timespec::try_from(at_most).ok();
            let _ = poll(&mut [PollFd::new(fd, PollFlags::IN)], limit.as_ref());
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = inotify::Reader::new(fd, &mut buffer);
            while events.next().is_ok() {}
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod watcher {
    use std::time::Duration;

    use super::Shared;

    pub(super) struct Watcher;

    impl Watcher {
        pub(super) fn new(_: &Shared) -> Self {
            Self
        }

        pub(super) fn wait(&self, at_most: Duration) {
            std::thread::sleep(at_most.min(Duration::from_millis(50)));
        }
    }
}

use watcher::Watcher;
