//! TLS setup of the server: loads certificate chain and private key from PEM files.

use std::path::Path;
use std::sync::Arc;

use polis_core::Refusal;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
pub use tokio_rustls::TlsAcceptor;

use crate::refusal_tables::ListenRefusal;

/// Creates an acceptor for TLS 1.2 and 1.3. Fails with `InvalidInput` if a file cannot be read or key and
/// certificate do not match.
pub fn load_tls_acceptor(certificates: &Path, key: &Path) -> Result<TlsAcceptor, Refusal> {
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|_| Refusal::from(ListenRefusal::UnreadableCertificate))?;
    if chain.is_empty() {
        return Err(Refusal::from(ListenRefusal::UnreadableCertificate));
    }
    let key = PrivateKeyDer::from_pem_file(key)
        .map_err(|_| Refusal::from(ListenRefusal::UnreadableKey))?;
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|_| Refusal::from(ListenRefusal::KeyMismatch))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
