//! Event feed (change notification): wakes waiters when this or any other process has committed events.
//!
//! Every committer writes to the lock file after its commit; a thread watches that file through inotify. It
//! also polls once a second, for writers other than polis and in case inotify fails; on platforms without
//! inotify it polls every 50 ms.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::EmbeddedStoreState;
use super::apply::last_sequence;
use super::lock::LOCK_FILE;

/// Maximum time between two reads of the newest sequence number.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Publishes the newest event's sequence number; its thread ends when there are no subscribers left.
#[derive(Debug)]
pub(super) struct LockFileEventFeed {
    receiver: watch::Receiver<u64>,
}

impl LockFileEventFeed {
    pub(super) fn start(shared: Arc<EmbeddedStoreState>) -> Self {
        let (sender, receiver) = watch::channel(0);
        let watcher = Watcher::new(&shared);
        // If the thread cannot be started, waiting still ends at its timeout.
        let _ = std::thread::Builder::new()
            .name("polis-feed".to_owned())
            .spawn(move || {
                while !sender.is_closed() {
                    watcher.wait(POLL_INTERVAL);
                    if let Ok(last) = shared.read_inline(last_sequence) {
                        sender.send_if_modified(|current| std::mem::replace(current, last) != last);
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

    use super::{EmbeddedStoreState, LOCK_FILE};

    pub(super) struct Watcher(Option<OwnedFd>);

    impl Watcher {
        pub(super) fn new(shared: &EmbeddedStoreState) -> Self {
            let watch = || {
                let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
                inotify::add_watch(&fd, shared.directory.join(LOCK_FILE), WatchFlags::MODIFY)
                    .ok()?;
                Some(fd)
            };
            Self(watch())
        }

        pub(super) fn wait(&self, timeout: Duration) {
            let Some(fd) = &self.0 else {
                return std::thread::sleep(timeout);
            };
            let limit = Timespec::try_from(timeout).ok();
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

    use super::EmbeddedStoreState;

    pub(super) struct Watcher;

    impl Watcher {
        pub(super) fn new(_: &EmbeddedStoreState) -> Self {
            Self
        }

        pub(super) fn wait(&self, at_most: Duration) {
            std::thread::sleep(at_most.min(Duration::from_millis(50)));
        }
    }
}

use watcher::Watcher;
