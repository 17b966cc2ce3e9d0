//! Tests of TLS connections to model endpoints, directly and through an HTTP proxy (`CONNECT` tunnel).

use std::sync::Arc;

use polis_society::model::{ModelEndpoints, ModelEndpointsSettings, ModelErrorKind, ProxySettings};
use polis_testkit::scripted_model::{ScriptedModel, ScriptedReply};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::model_test_client::{TestRequest, endpoint_settings, short_timeouts};

const CERTIFICATE_PEM: &[u8] = include_bytes!("../../../polis-serve/tests/it/certificate.pem");
const KEY_PEM: &[u8] = include_bytes!("../../../polis-serve/tests/it/key.pem");

fn test_certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(CERTIFICATE_PEM).unwrap()
}

/// Accepts TLS connections and forwards them to a server; returns its port.
async fn start_tls_forwarder(server: &ScriptedModel) -> u16 {
    let key = PrivateKeyDer::from_pem_slice(KEY_PEM).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![test_certificate()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, to) = (listener.local_addr().unwrap().port(), server.port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate disconnects here.
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let mut there = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut there).await;
            });
        }
    });
    port
}

/// Starts a proxy that opens tunnels for clients with the password; returns its port and the requests it
/// gets.
async fn start_tunnel_proxy(to: u16) -> (u16, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let welcome = head.contains("Basic bWU6cGFzcw==");
            tell.send(head).unwrap();
            if !welcome {
                let no = b"HTTP/1.1 407 Who are you\r\n\r\n";
                stream.write_all(no).await.unwrap();
                continue;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            tokio::spawn(async move {
                let mut there = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut there).await;
            });
        }
    });
    (port, told)
}

fn tls_endpoints(server: &ScriptedModel, port: u16, trusts: bool, proxy: &str) -> ModelEndpoints {
    let mut one = endpoint_settings("main", server);
    one.base_url = format!("https://localhost:{port}/v1");
    let trust = trusts.then(|| test_certificate().to_vec());
    ModelEndpoints::new(ModelEndpointsSettings {
        endpoints: vec![one],
        retry_policy: short_timeouts(),
        proxies: ProxySettings {
            https: proxy.to_owned(),
            ..ProxySettings::default()
        },
        extra_certificates: trust.into_iter().collect(),
        ..ModelEndpointsSettings::default()
    })
    .unwrap()
}

#[tokio::test]
async fn endpoint_is_requested_over_tls() {
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
    let port = start_tls_forwarder(&server).await;
    let trusting = tls_endpoints(&server, port, true, "");
    for _ in 0..3 {
        let answer = TestRequest::default().send(&trusting).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.attempts), ("fine", 1));
    }
    assert_eq!(server.connection_count(), 1);
    // An untrusted certificate is not tried twice.
    let question = TestRequest::default();
    let error = question
        .send(&tls_endpoints(&server, port, false, ""))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Permanent);
    assert!(error.message.contains("cannot be used"), "{error}");
    assert!(question.observer.recorded_events().is_empty());
    assert_eq!(server.request_count(), 3);
}

#[tokio::test]
async fn proxy_tunnels_to_a_tls_endpoint() {
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
    let port = start_tls_forwarder(&server).await;
    let (through, mut told) = start_tunnel_proxy(port).await;
    let address = format!("http://me:pass@127.0.0.1:{through}");
    let answer = TestRequest::default()
        .send(&tls_endpoints(&server, port, true, &address))
        .await;
    assert_eq!(answer.unwrap().text, "fine");
    let head = told.recv().await.unwrap();
    assert!(
        head.starts_with(&format!("CONNECT localhost:{port} HTTP/1.1\r\n")),
        "{head}"
    );
    let request = server.requests()[0].clone();
    assert_eq!(request.method_and_path, "POST /v1/chat/completions");
    assert_eq!(
        request.header_value("proxy-authorization"),
        None,
        "the proxy password must not reach the endpoint"
    );

    let address = format!("http://127.0.0.1:{through}");
    let error = TestRequest::default()
        .send(&tls_endpoints(&server, port, true, &address))
        .await
        .unwrap_err();
    assert!(
        error.message.contains("its proxy refused the tunnel"),
        "{error}"
    );
    assert_eq!(server.request_count(), 1);
}
