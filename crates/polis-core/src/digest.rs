//! SHA-256 in hexadecimal, used where a hash must resist forgery (artifact ids, token secrets,
//! idempotency).

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::number::saturating_cast;

/// Hashes a list of texts. Each is prefixed with its length, so that different lists never give the same
/// input.
pub fn sha256_hex_of_parts(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(saturating_cast::<u64>(part.len()).to_be_bytes());
        hash.update(part.as_bytes());
    }
    encode_hex(&hash.finalize())
}

/// Hashes one text with plain SHA-256, as other programs compute it.
pub fn sha256_hex(text: &str) -> String {
    encode_hex(&Sha256::digest(text.as_bytes()))
}

fn encode_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_of_known_text_is_standard_sha256() {
        assert_eq!(
            sha256_hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn parts_with_different_boundaries_differ() {
        assert_ne!(
            sha256_hex_of_parts(&["ab", "c"]),
            sha256_hex_of_parts(&["a", "bc"])
        );
        assert_ne!(sha256_hex_of_parts(&["a"]), sha256_hex_of_parts(&["a", ""]));
    }
}
