//! TLS connections to models, directly and through a proxy.

use std::sync::Arc;

use polis_society::model::{Endpoints, EndpointsSettings, ModelFault, Proxies};
use polis_testkit::model_server::{ModelServer, Reply};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::model_ask::{Question, patience, settings};

const CERTIFICATE: &[u8] = include_bytes!("../../../polis-serve/tests/it/certificate.pem");
const KEY: &[u8] = include_bytes!("../../../polis-serve/tests/it/key.pem");

fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(CERTIFICATE).unwrap()
}

/// Accepts TLS connections and forwards them to a server; returns its port.
async fn encrypted(server: &ModelServer) -> u16 {
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate()], key)
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

/// A proxy that opens tunnels for clients with the password; returns its port, and the requests it got.
async fn proxy(to: u16) -> (u16, tokio::sync::mpsc::UnboundedReceiver<String>) {
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

fn model(server: &ModelServer, port: u16, trusts: bool, proxy: &str) -> Endpoints {
    let mut one = settings("main", server);
    one.base_url = format!("https://localhost:{port}/v1");
    let trust = trusts.then(|| certificate().to_vec());
    Endpoints::new(EndpointsSettings {
        endpoints: vec![one],
        patience: patience(),
        proxies: Proxies {
            https: proxy.to_owned(),
            ..Proxies::default()
        },
        trust: trust.into_iter().collect(),
        ..EndpointsSettings::default()
    })
    .unwrap()
}

#[tokio::test]
async fn an_endpoint_is_asked_over_tls() {
    let server = ModelServer::saying([Reply::text("fine")]);
    let port = encrypted(&server).await;
    let trusting = model(&server, port, true, "");
    for _ in 0..3 {
        let answer = Question::default().ask(&trusting).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.tries), ("fine", 1));
    }
    assert_eq!(server.connections(), 1);
    // An untrusted certificate is not tried twice.
    let question = Question::default();
    let error = question
        .ask(&model(&server, port, false, ""))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelFault::Permanent);
    assert!(error.message.contains("cannot be asked"), "{error}");
    assert!(question.notes.all().is_empty());
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a_proxy_makes_a_tunnel_to_an_encrypted_endpoint() {
    let server = ModelServer::saying([Reply::text("fine")]);
    let port = encrypted(&server).await;
    let (through, mut told) = proxy(port).await;
    let address = format!("http://me:pass@127.0.0.1:{through}");
    let answer = Question::default()
        .ask(&model(&server, port, true, &address))
        .await;
    assert_eq!(answer.unwrap().text, "fine");
    let head = told.recv().await.unwrap();
    assert!(
        head.starts_with(&format!("CONNECT localhost:{port} HTTP/1.1\r\n")),
        "{head}"
    );
    let request = server.requests()[0].clone();
    assert_eq!(request.line, "POST /v1/chat/completions");
    assert_eq!(
        request.header("proxy-authorization"),
        None,
        "the password is the proxy's"
    );

    let address = format!("http://127.0.0.1:{through}");
    let error = Question::default()
        .ask(&model(&server, port, true, &address))
        .await
        .unwrap_err();
    assert!(
        error.message.contains("its proxy gives no way to it"),
        "{error}"
    );
    assert_eq!(server.count(), 1);
}
