//! TLS trust store for connections to models: the system's root certificates and those of the settings.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// Trusted certificates; the system's are loaded when they are first needed.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    extra: Vec<Vec<u8>>,
    config: OnceLock<Result<Arc<ClientConfig>, &'static str>>,
}

impl Trust {
    /// Creates a trust store with the system's certificates and these (DER).
    pub(super) fn with(extra: Vec<Vec<u8>>) -> Self {
        Self {
            extra,
            config: OnceLock::new(),
        }
    }

    pub(super) async fn config(self: &Arc<Self>) -> Result<Arc<ClientConfig>, &'static str> {
        if self.config.get().is_none() {
            let trust = Arc::clone(self);
            // Reads some hundred files, so it runs on the blocking thread pool.
            let read = move || {
                trust.config.get_or_init(|| trust.read());
            };
            let _ = tokio::task::spawn_blocking(read).await;
        }
        match self.config.get() {
            Some(config) => config.clone(),
            None => Err("the system's certificates cannot be read"),
        }
    }

    fn read(&self) -> Result<Arc<ClientConfig>, &'static str> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let extra = self.extra.iter().cloned().map(CertificateDer::from);
        roots.add_parsable_certificates(extra);
        if roots.is_empty() {
            return Err("the system has no certificates to trust (ca-certificates)");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| "TLS cannot be used")?;
        Ok(Arc::new(
            builder.with_root_certificates(roots).with_no_client_auth(),
        ))
    }
}
