//! Picks TCP ports outside the ephemeral range, for tests that restart a server on the same port.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Start and size of the port range: below the ephemeral ports that systems assign, and below those of the
/// servers that `scripts/test` starts.
const FIRST_PORT: u16 = 12_000;
const PORT_COUNT: u16 = 8_000;

/// Returns a loopback port that is free and is not assigned as an ephemeral port: for restarting a server on
/// the same port, or for connecting to a port without a listener.
///
/// # Panics
/// If all are in use.
pub fn pick_non_ephemeral_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Concurrent test programs start at different offsets.
    let own = u16::try_from(u64::from(std::process::id()) * 61 % u64::from(PORT_COUNT)).unwrap();
    (0..PORT_COUNT)
        .map(|_| FIRST_PORT + own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % PORT_COUNT)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("no port of the range is free")
}
