//! SHA-256 of file contents, for optimistic concurrency: a write may name the hash (`expectedHash`) that the
//! file must still have.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write};

use polis_core::id::quote_untrusted;
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_core::{Refusal, RefusalDetails};
use polis_ops::PortError;
use sha2::{Digest as _, Sha256};

use crate::refusal_tables::FileRefusal;

/// Returns the SHA-256 of a content in hex.
pub(super) fn sha256_hex(content: &[u8]) -> String {
    encode_hex(&Sha256::digest(content))
}

/// Returns the SHA-256 in hex of what `write` writes, without collecting it in memory.
pub(super) fn sha256_hex_of_writer(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    struct HashingWriter(Sha256);
    impl Write for HashingWriter {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            self.0.update(piece);
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hashing = HashingWriter(Sha256::new());
    // Writing to the hasher cannot fail.
    let _ = write(&mut hashing);
    encode_hex(&hashing.0.finalize())
}

/// Returns the SHA-256 in hex of a file, which may be larger than memory.
pub(super) fn sha256_hex_of_file(mut file: &File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    file.rewind()?;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(encode_hex(&hasher.finalize())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
}

fn encode_hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// Validates an expected hash from a caller and converts it to lower case.
pub(super) fn parse_expected_hash(text: Option<&str>) -> Result<Option<String>, PortError> {
    let Some(text) = text else { return Ok(None) };
    let hash = text.to_ascii_lowercase();
    if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(FileRefusal::InvalidHash.into());
    }
    Ok(Some(hash))
}

/// Fails with `hash_mismatch` if the current hash is not the expected one.
pub(super) fn check_expected_hash(
    path: &WorkspacePath,
    expected: &str,
    current: String,
) -> Result<(), PortError> {
    if expected == current {
        return Ok(());
    }
    let refusal = Refusal::from(FileRefusal::HashMismatch {
        path: quote_untrusted(&path.to_string()),
    });
    Err(refusal
        .with_details(RefusalDetails::Hash {
            current_hash: current,
        })
        .into())
}
