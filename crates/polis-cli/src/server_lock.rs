//! Server lock file: records the address of the server that runs for a project. The server holds the file
//! locked as long as it runs.
//!
//! The lock is the kernel's (`flock`), so a killed server leaves no stale lock behind.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the lock file in the data directory.
const LOCK_FILE: &str = "serve.url";
/// Number of attempts to lock or read the file, and the pause between them.
const LOCK_RETRY: (u32, Duration) = (20, Duration::from_millis(10));

/// A held server lock file. Dropping it empties and unlocks the file.
#[derive(Debug)]
pub(crate) struct ServerLock {
    file: File,
    path: PathBuf,
}

impl ServerLock {
    /// Creates and locks the file. Returns `None` if no browser can reach the server (a Unix socket), if
    /// another server holds the lock, or if the directory cannot be written; the server runs without the file
    /// then.
    pub(crate) async fn acquire(data_dir: &Path, url: &str) -> Option<Self> {
        browser_url(url)?;
        let path = data_dir.join(LOCK_FILE);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .ok()?;
        let mut left = LOCK_RETRY.0;
        // A process that reads the address holds a shared lock for a moment.
        while file.try_lock().is_err() {
            left = left.checked_sub(1)?;
            tokio::time::sleep(LOCK_RETRY.1).await;
        }
        file.set_len(0).ok()?;
        file.write_all(url.as_bytes()).ok()?;
        Some(Self { file, path })
    }
}

impl Drop for ServerLock {
    fn drop(&mut self) {
        // Emptied while the lock is still held. Removing the file after unlocking could remove the file of a
        // new server.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
        tracing::debug!(path = %self.path.display(), "server lock file released");
    }
}

/// Returns the address of the server that runs for a project; `None` if none holds the lock.
pub(crate) async fn find_running_server(data_dir: &Path) -> Option<String> {
    for _ in 0..LOCK_RETRY.0 {
        let mut file = File::open(data_dir.join(LOCK_FILE)).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {}
            Ok(()) | Err(TryLockError::Error(_)) => return None,
        }
        let mut url = String::new();
        file.read_to_string(&mut url).ok()?;
        if !url.is_empty() {
            return Some(url);
        }
        // The lock is held, but the address is not written yet.
        tokio::time::sleep(LOCK_RETRY.1).await;
    }
    None
}

/// Returns the address a browser opens; `None` for a server that no browser can reach (a Unix socket).
pub(crate) fn browser_url(url: &str) -> Option<String> {
    if !url.starts_with("http") {
        return None;
    }
    // A server that listens on all addresses is reached at the loopback address.
    let home = url.replace("://0.0.0.0:", "://127.0.0.1:");
    Some(home.replace("://[::]:", "://[::1]:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn server_is_found_only_while_lock_is_held() {
        let directory = tempfile::tempdir().unwrap();
        let data_dir = directory.path();
        assert_eq!(find_running_server(data_dir).await, None);
        let url = "http://127.0.0.1:7707";
        let running = ServerLock::acquire(data_dir, url).await.unwrap();
        assert_eq!(find_running_server(data_dir).await.as_deref(), Some(url));
        assert!(
            ServerLock::acquire(data_dir, "http://127.0.0.1:1")
                .await
                .is_none()
        );
        assert_eq!(find_running_server(data_dir).await.as_deref(), Some(url));
        drop(running);
        assert_eq!(find_running_server(data_dir).await, None);
        assert!(ServerLock::acquire(data_dir, url).await.is_some());
    }

    #[test]
    fn browser_url_replaces_unspecified_address() {
        assert_eq!(
            browser_url("http://0.0.0.0:7707").unwrap(),
            "http://127.0.0.1:7707"
        );
        assert_eq!(
            browser_url("https://[::]:7707").unwrap(),
            "https://[::1]:7707"
        );
        assert_eq!(browser_url("unix:/tmp/x"), None);
    }
}
