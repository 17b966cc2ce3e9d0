//! Which server runs for a directory: a file with its address, which it holds locked as long as it runs.
//!
//! The lock is the kernel's, so a server that was killed leaves nothing that looks as if it ran.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name in the workspace.
const FILE: &str = "serve.url";
/// How often is tried to lock the file, or to read what is in it, and the time between.
const TRIES: (u32, Duration) = (20, Duration::from_millis(10));

/// A server's mark in its directory; gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    file: File,
    path: PathBuf,
}

impl Running {
    /// Leaves the mark. `None` if another server has left its own, or the directory cannot be written:
    /// the server serves all the same.
    pub(crate) async fn announce(workspace: &Path, url: &str) -> Option<Self> {
        page(url)?;
        let path = workspace.join(FILE);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .ok()?;
        let mut left = TRIES.0;
        // Somebody who looks holds it for a moment.
        while file.try_lock().is_err() {
            left = left.checked_sub(1)?;
            tokio::time::sleep(TRIES.1).await;
        }
        file.set_len(0).ok()?;
        file.write_all(url.as_bytes()).ok()?;
        Some(Self { file, path })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Emptied while it is still ours: a file that is removed could be another's by now.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
        tracing::debug!(path = %self.path.display(), "the server's mark is gone");
    }
}

/// The address of the server that runs for a directory.
pub(crate) async fn find(workspace: &Path) -> Option<String> {
    for _ in 0..TRIES.0 {
        let mut file = File::open(workspace.join(FILE)).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {}
            Ok(()) | Err(TryLockError::Error(_)) => return None,
        }
        let mut url = String::new();
        file.read_to_string(&mut url).ok()?;
        if !url.is_empty() {
            return Some(url);
        }
        // It is there, and about to say where.
        tokio::time::sleep(TRIES.1).await;
    }
    None
}

/// The address a browser opens; none for a server that no browser can reach.
pub(crate) fn page(url: &str) -> Option<String> {
    if !url.starts_with("http") {
        return None;
    }
    // Listening on every address, it is at home too.
    let home = url.replace("://0.0.0.0:", "://127.0.0.1:");
    Some(home.replace("://[::]:", "://[::1]:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_found_while_it_runs() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        assert_eq!(find(here).await, None);
        let url = "http://127.0.0.1:7707";
        let running = Running::announce(here, url).await.unwrap();
        assert_eq!(find(here).await.as_deref(), Some(url));
        assert!(
            Running::announce(here, "http://127.0.0.1:1")
                .await
                .is_none()
        );
        assert_eq!(find(here).await.as_deref(), Some(url));
        drop(running);
        assert_eq!(find(here).await, None);
        assert!(Running::announce(here, url).await.is_some());
    }

    #[test]
    fn a_browser_is_sent_home() {
        assert_eq!(
            page("http://0.0.0.0:7707").unwrap(),
            "http://127.0.0.1:7707"
        );
        assert_eq!(page("https://[::]:7707").unwrap(), "https://[::1]:7707");
        assert_eq!(page("unix:/tmp/x"), None);
    }
}
