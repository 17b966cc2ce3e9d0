//! Waking those who wait for events, whichever process committed them.
//!
//! Every committer touches the lock file after its commit; a thread watches that file through
//! inotify. Where there is no inotify, and for writers that are not polis, it looks once a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Shared;
use super::apply::last_sequence;
use super::lock::LOCK;

/// How long to sleep when nothing tells of changes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The news; its thread ends when nobody listens any more.
#[derive(Debug)]
pub(super) struct Feed {
    receiver: watch::Receiver<u64>,
}

impl Feed {
    pub(super) fn start(shared: Arc<Shared>) -> Self {
        let (sender, receiver) = watch::channel(0);
        let watcher = Watcher::new(&shared);
        // Without the thread waiting still ends, at its time limit.
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
