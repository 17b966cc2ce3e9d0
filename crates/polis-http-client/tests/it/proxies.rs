//! Tests of proxies: plain requests, tunnels, and hosts without a proxy.

use http::Version;
use http::header::PROXY_AUTHORIZATION;
use polis_http_client::{HttpClient, HttpClientSettings, ProxySettings, RequestError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::test_http_server::{TestHttpServer, post, post_and_read, trusting_client};

/// Starts a proxy that opens tunnels to this port on localhost. Returns its port and the heads of the requests.
async fn start_tunnel_proxy(
    to: u16,
    response: &'static str,
) -> (u16, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, heads) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            sender.send(String::from_utf8(head).unwrap()).unwrap();
            stream.write_all(response.as_bytes()).await.unwrap();
            tokio::spawn(async move {
                let mut there = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut there).await;
            });
        }
    });
    (port, heads)
}

#[tokio::test]
async fn plain_request_goes_to_the_proxy_unless_no_proxy_excludes_its_host() {
    let proxy = TestHttpServer::start_accepting().await;
    let server = TestHttpServer::start_accepting().await;
    let client = HttpClient::new(HttpClientSettings {
        proxies: ProxySettings {
            http: format!("http://me:pass@127.0.0.1:{}", proxy.port),
            no_proxy: "localhost,.internal.invalid".to_owned(),
            ..ProxySettings::default()
        },
        ..HttpClientSettings::default()
    });
    post_and_read(&client, "http://models.invalid/v1?x=1").await;
    let [request] = proxy.requests().try_into().unwrap();
    assert_eq!(request.uri, "http://models.invalid/v1?x=1");
    assert_eq!(request.headers["host"], "models.invalid");
    assert_eq!(request.headers[PROXY_AUTHORIZATION], "Basic bWU6cGFzcw==");

    post_and_read(&client, &format!("http://localhost:{}/v1", server.port)).await;
    let [request] = server.requests().try_into().unwrap();
    assert_eq!(request.uri, "/v1");
    assert!(!request.headers.contains_key(PROXY_AUTHORIZATION));
    assert!(post(&client, "http://other.invalid/").await.is_ok());
    assert!(post(&client, "http://a.internal.invalid/").await.is_err());
    assert_eq!(proxy.requests().len(), 2);
}

#[tokio::test]
async fn tls_request_goes_through_a_tunnel() {
    let server = TestHttpServer::start_tls(&["h2"]).await;
    let (port, mut heads) = start_tunnel_proxy(server.port, "HTTP/1.1 200 OK\r\n\r\n").await;
    let client = trusting_client(ProxySettings {
        https: format!("http://me:pass@127.0.0.1:{port}"),
        ..ProxySettings::default()
    });
    let url = format!("https://localhost:{}/v1", server.port);
    assert_eq!(post_and_read(&client, &url).await, Version::HTTP_2);
    let head = heads.recv().await.unwrap();
    let expected = format!("CONNECT localhost:{} HTTP/1.1\r\n", server.port);
    assert!(head.starts_with(&expected), "{head}");
    assert!(head.contains("Basic bWU6cGFzcw=="), "{head}");
    let [request] = server.requests().try_into().unwrap();
    assert!(
        !request.headers.contains_key(PROXY_AUTHORIZATION),
        "the proxy password must not reach the endpoint"
    );
}

#[tokio::test]
async fn refused_tunnel_is_a_transient_error() {
    let refusal = "HTTP/1.1 407 Who are you\r\n\r\n";
    let (port, _heads) = start_tunnel_proxy(9, refusal).await;
    let client = trusting_client(ProxySettings {
        all: format!("http://127.0.0.1:{port}"),
        ..ProxySettings::default()
    });
    let error = post(&client, "https://localhost/").await.unwrap_err();
    assert_eq!(error, RequestError::TunnelRefused);
    assert!(!error.is_permanent());
}
