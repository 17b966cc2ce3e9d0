//! Webhook signature (HMAC-SHA256) of a delivery, following the Standard Webhooks specification.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Prefix of secrets whose remainder is base64.
const SECRET_PREFIX: &str = "whsec_";

/// Returns the value of `webhook-signature`: HMAC-SHA256 over id, timestamp and body.
pub(super) fn sign_delivery(secret: &str, id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut mac = hmac_sha256(&decode_secret(secret));
    for part in [
        id.as_bytes(),
        b".",
        timestamp.to_string().as_bytes(),
        b".",
        body,
    ] {
        mac.update(part);
    }
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Returns the key bytes of a secret.
fn decode_secret(secret: &str) -> Vec<u8> {
    let encoded = secret.strip_prefix(SECRET_PREFIX);
    let decoded = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
    decoded.unwrap_or_else(|| secret.as_bytes().to_vec())
}

fn hmac_sha256(key: &[u8]) -> Hmac<Sha256> {
    // HMAC accepts keys of any length; keys longer than a block are hashed.
    match Hmac::new_from_slice(key) {
        Ok(mac) => mac,
        Err(_) => Hmac::new(&Default::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 4231 test vectors: a short key, a short text key, and a key longer than a block.
    #[test]
    fn hmac_matches_rfc_4231_vectors() {
        let cases: [(&[u8], &[u8], &str); 3] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, text, expected) in cases {
            let mut mac = hmac_sha256(key);
            mac.update(text);
            assert_eq!(to_hex(&mac.finalize().into_bytes()), expected);
        }
    }

    #[test]
    fn webhook_secret_is_base64_or_plain_bytes() {
        assert_eq!(decode_secret("whsec_AAEC"), [0, 1, 2]);
        assert_eq!(decode_secret("whsec_?"), b"whsec_?");
        assert_eq!(decode_secret("plain"), b"plain");
    }
}
