//! Webhook signature of a delivery, following the Standard Webhooks specification (HMAC-SHA256).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Prefix of secrets whose remainder is base64.
const PREFIX: &str = "whsec_";

/// Returns the value of `webhook-signature`: HMAC-SHA256 over id, timestamp and body.
pub(super) fn signature(secret: &str, id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut mac = mac(&key(secret));
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
fn key(secret: &str) -> Vec<u8> {
    let coded = secret.strip_prefix(PREFIX);
    let decoded = coded.and_then(|coded| STANDARD.decode(coded).ok());
    decoded.unwrap_or_else(|| secret.as_bytes().to_vec())
}

fn mac(key: &[u8]) -> Hmac<Sha256> {
    // HMAC accepts keys of any length; keys longer than a block are hashed.
    match Hmac::new_from_slice(key) {
        Ok(mac) => mac,
        Err(_) => Hmac::new(&Default::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 4231 test vectors: a short key, a short text key, and a key longer than a block.
    #[test]
    fn the_mac_is_the_standard_s() {
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
        for (key, text, wanted) in cases {
            let mut mac = mac(key);
            mac.update(text);
            assert_eq!(hex(&mac.finalize().into_bytes()), wanted);
        }
    }

    #[test]
    fn a_secret_is_base64_or_its_own_bytes() {
        assert_eq!(key("whsec_AAEC"), [0, 1, 2]);
        assert_eq!(key("whsec_?"), b"whsec_?");
        assert_eq!(key("plain"), b"plain");
    }
}
