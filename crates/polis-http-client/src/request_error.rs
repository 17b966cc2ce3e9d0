//! Error of a request without a complete response. It contains no URL and no header, which may be secret.

use std::error::Error;
use std::io;

use hyper_util::client::legacy;

/// Why there is no response, or only a part of one. The text completes a sentence such as "The endpoint did not
/// respond: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The host name cannot be resolved, or none of its addresses accepts connections.
    #[error("it cannot be reached")]
    Unreachable(io::ErrorKind),
    /// The proxy cannot be reached.
    #[error("its proxy cannot be reached")]
    ProxyUnreachable,
    /// The proxy did not open a tunnel.
    #[error("its proxy refused the tunnel")]
    TunnelRefused,
    /// The connection, with its TLS handshake, was not established in time.
    #[error("the connection timed out")]
    ConnectTimeout,
    /// The certificate of the endpoint is not trusted, for this reason.
    #[error("its certificate is not trusted")]
    UntrustedCertificate(String),
    /// The TLS handshake failed for another reason.
    #[error("the TLS handshake failed")]
    TlsHandshake(String),
    /// TLS cannot be used on this system.
    #[error("{0}")]
    TlsUnavailable(&'static str),
    /// The response did not begin in time.
    #[error("the response did not begin in time")]
    FirstByteTimeout,
    /// The next part of the response did not arrive in time.
    #[error("the response stalled")]
    ChunkTimeout,
    /// The response was not valid HTTP.
    #[error("the response was not valid HTTP")]
    InvalidResponse,
    /// The connection was closed before the response was complete.
    #[error("the connection broke")]
    ConnectionClosed,
}

impl RequestError {
    /// Returns whether a retry does not help.
    pub fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::UntrustedCertificate(_) | Self::TlsUnavailable(_)
        )
    }

    /// Classifies an error of sending a request: of the connector, or of hyper.
    pub(crate) fn from_send_error(error: &legacy::Error) -> Self {
        let Some(source) = error.source() else {
            return Self::ConnectionClosed;
        };
        if let Some(error) = source.downcast_ref::<Self>() {
            return error.clone();
        }
        source
            .downcast_ref::<hyper::Error>()
            .map_or(Self::ConnectionClosed, Self::from_hyper_error)
    }

    /// Classifies an error of HTTP.
    pub(crate) fn from_hyper_error(error: &hyper::Error) -> Self {
        if error.is_parse() {
            Self::InvalidResponse
        } else {
            Self::ConnectionClosed
        }
    }

    /// Classifies an error of connecting: the I/O error is somewhere in the chain of causes.
    pub(crate) fn from_connect_error(error: &(dyn Error + 'static)) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Self::Unreachable(error.kind());
            }
            cause = error.source();
        }
        Self::Unreachable(io::ErrorKind::Other)
    }

    /// Classifies an error of the TLS handshake.
    pub(crate) fn from_tls_error(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner {
            Some(rustls::Error::InvalidCertificate(_)) => {
                Self::UntrustedCertificate(error.to_string())
            }
            _ => Self::TlsHandshake(error.to_string()),
        }
    }
}
