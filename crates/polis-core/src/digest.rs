//! SHA-256 in hexadecimal, used wherever a hash must resist forgery (artifact ids, token secrets, idempotency).

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Hashes a list of texts. Each is prefixed with its length, so that different lists never give the same input.
pub fn of_parts(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hexadecimal(&hash.finalize())
}

/// Hashes one text with plain SHA-256, as other programs compute it.
pub fn of(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
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
    fn it_is_the_hash_that_others_know() {
        assert_eq!(
            of("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn where_a_part_ends_counts() {
        assert_ne!(of_parts(&["ab", "c"]), of_parts(&["a", "bc"]));
        assert_ne!(of_parts(&["a"]), of_parts(&["a", ""]));
    }
}
