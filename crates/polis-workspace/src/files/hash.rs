//! SHA-256 of contents, and whether it is the one a caller expects.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write};

use polis_core::id::quoted;
use polis_core::workspace::path::WorkspacePath;
use polis_core::{Code, Details, Refusal};
use polis_ops::PortError;
use sha2::{Digest as _, Sha256};

use super::fault;

/// A content's hash, hexadecimal.
pub(super) fn of(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// The same of what is written piece by piece.
pub(super) fn of_written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    struct Hashing(Sha256);
    impl Write for Hashing {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            self.0.update(piece);
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hashing = Hashing(Sha256::new());
    // Hashing takes everything.
    let _ = write(&mut hashing);
    hex(&hashing.0.finalize())
}

/// The same of a whole file, which may be larger than memory.
pub(super) fn of_file(mut file: &File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    file.rewind()?;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// What a caller gives as a hash, if it is one.
pub(super) fn expected(text: Option<&str>) -> Result<Option<String>, PortError> {
    let Some(text) = text else { return Ok(None) };
    let hash = text.to_ascii_lowercase();
    if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(fault::invalid(
            "The expected hash is not a SHA-256 in 64 hexadecimal digits.",
            "give the hash that reading the file answered, or leave it out",
        ));
    }
    Ok(Some(hash))
}

/// Refuses a content other than the expected one.
pub(super) fn compare(
    path: &WorkspacePath,
    expected: &str,
    current: String,
) -> Result<(), PortError> {
    if expected == current {
        return Ok(());
    }
    let refusal = Refusal::new(
        Code::HashMismatch,
        format!(
            "{} has changed since you read it; nothing was changed.",
            quoted(&path.to_string())
        ),
        "read the file again and repeat your change on what is there now",
    );
    Err(refusal
        .with(Details::Hash {
            current_hash: current,
        })
        .into())
}
