//! Ports that stay what they are between two uses.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Where the search begins and how many ports there are: below those that systems give to whoever asks for any, and
/// below those of the servers that `scripts/test` starts.
const FIRST: u16 = 12_000;
const MANY: u16 = 8_000;

/// A port on loopback at which nobody listens, and which nobody is given by chance: one to come back to after a
/// server has ended, or at which nobody is to be found.
///
/// # Panics
/// If all are taken.
pub fn lasting_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test programs that run side by side begin at different places.
    let own = u16::try_from(u64::from(std::process::id()) * 61 % u64::from(MANY)).unwrap();
    (0..MANY)
        .map(|_| FIRST + own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % MANY)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a port is free")
}
