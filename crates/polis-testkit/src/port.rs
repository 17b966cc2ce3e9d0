//! Allocates TCP ports that stay free, for tests that reuse a port.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Start and size of the port range: below the ephemeral ports that systems assign, and below those of the
/// servers that `scripts/test` starts.
const FIRST: u16 = 12_000;
const MANY: u16 = 8_000;

/// Returns a loopback port that is free and is not assigned as an ephemeral port: for restarting a server on
/// the same port, or for connecting to a port without a listener.
///
/// # Panics
/// If all are in use.
pub fn lasting_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Concurrent test programs start at different offsets.
    let own = u16::try_from(u64::from(std::process::id()) * 61 % u64::from(MANY)).unwrap();
    (0..MANY)
        .map(|_| FIRST + own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % MANY)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a port is free")
}
