//! TLS trust store for outgoing connections: the system's root certificates and additional ones, loaded at the first
//! TLS connection.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::request_error::RequestError;

/// The protocols that are offered to a TLS endpoint (ALPN), the preferred one first.
const OFFERED_PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Trusted certificates; the system's are loaded when they are first needed.
#[derive(Debug, Default)]
pub struct TlsRoots {
    extra_certificates: Vec<Vec<u8>>,
    client_config: OnceLock<Result<Arc<ClientConfig>, &'static str>>,
}

impl TlsRoots {
    /// Returns the trust store of this process, with the system's certificates.
    pub fn system() -> Arc<Self> {
        static SYSTEM_ROOTS: OnceLock<Arc<TlsRoots>> = OnceLock::new();
        Arc::clone(SYSTEM_ROOTS.get_or_init(Arc::default))
    }

    /// Returns a trust store with the system's certificates and these (DER).
    pub fn with_extra_certificates(extra_certificates: Vec<Vec<u8>>) -> Arc<Self> {
        if extra_certificates.is_empty() {
            return Self::system();
        }
        Arc::new(Self {
            extra_certificates,
            client_config: OnceLock::new(),
        })
    }

    /// Returns the TLS configuration, loading the certificates on first use. Fails with `TlsUnavailable` if no
    /// certificate can be loaded.
    pub(crate) async fn client_config(self: &Arc<Self>) -> Result<Arc<ClientConfig>, RequestError> {
        if self.client_config.get().is_none() {
            let tls_roots = Arc::clone(self);
            // Reads some hundred files, so it runs on the blocking thread pool.
            let read = move || {
                tls_roots
                    .client_config
                    .get_or_init(|| tls_roots.load_config());
            };
            let _ = tokio::task::spawn_blocking(read).await;
        }
        let loaded = self.client_config.get().cloned();
        loaded
            .unwrap_or(Err("the system's certificates cannot be read"))
            .map_err(RequestError::TlsUnavailable)
    }

    /// Loads the certificates and builds the TLS configuration.
    fn load_config(&self) -> Result<Arc<ClientConfig>, &'static str> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let extra = self
            .extra_certificates
            .iter()
            .cloned()
            .map(CertificateDer::from);
        roots.add_parsable_certificates(extra);
        if roots.is_empty() {
            return Err("the system has no trusted root certificates (install ca-certificates)");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| "TLS cannot be initialised")?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = OFFERED_PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn system_certificates_are_loaded_once_per_process() {
        let first = TlsRoots::system();
        let second = TlsRoots::with_extra_certificates(Vec::new());
        assert!(Arc::ptr_eq(&first, &second));
        let (one, other) = tokio::join!(first.client_config(), second.client_config());
        match (one, other) {
            (Ok(one), Ok(other)) => assert!(Arc::ptr_eq(&one, &other)),
            // A machine without certificates.
            (one, other) => assert_eq!(one.unwrap_err(), other.unwrap_err()),
        }
    }

    #[tokio::test]
    async fn http2_is_offered_before_http1() {
        let certificate = include_bytes!("../../polis-serve/tests/it/tls/authority.der").to_vec();
        let roots = TlsRoots::with_extra_certificates(vec![certificate]);
        let config = roots.client_config().await.unwrap();
        assert_eq!(config.alpn_protocols, [&b"h2"[..], b"http/1.1"]);
    }
}
