//! HTTP server tests on real sockets: slow clients, oversized requests, request smuggling, pipelining, TLS,
//! Unix sockets and graceful shutdown.

use std::sync::Arc;
use std::time::Duration;

use polis_serve::http::{HttpServer, ListenAddress, ServerOptions, tls};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;

use crate::test_server::TestServer;

const CERTIFICATE_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/certificate.pem");
const PRIVATE_KEY_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/key.pem");

/// A server on a real socket.
struct TestSocketServer {
    test_server: TestServer,
    address: String,
    stop: tokio::sync::oneshot::Sender<()>,
    task: JoinHandle<bool>,
}

async fn start_socket_server(options: ServerOptions) -> TestSocketServer {
    start_socket_server_at("127.0.0.1:0", options, false).await
}

async fn start_socket_server_at(
    listen: &str,
    options: ServerOptions,
    encrypted: bool,
) -> TestSocketServer {
    let test_server = TestServer::with_options(options).await;
    let tls = encrypted.then(|| {
        tls::load_tls_acceptor(CERTIFICATE_PATH.as_ref(), PRIVATE_KEY_PATH.as_ref()).unwrap()
    });
    let listener = ListenAddress::parse(listen).unwrap().bind().await.unwrap();
    let server = HttpServer::new(Arc::clone(&test_server.http_app), listener, tls);
    let url = server.url();
    let address = url.split("://").last().unwrap().to_owned();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));
    TestSocketServer {
        test_server,
        address,
        stop,
        task,
    }
}

impl TestSocketServer {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.unwrap()
    }

    /// Sends bytes on a new connection and reads until the server closes it.
    async fn send_raw(&self, bytes: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        read_to_end(&mut stream).await
    }

    fn auth_headers(&self) -> String {
        format!(
            "Host: localhost\r\nAuthorization: Bearer {}\r\n",
            self.test_server.ada_token
        )
    }
}

/// Reads until the server closes the connection.
async fn read_to_end(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut all = Vec::new();
    let reading = stream.read_to_end(&mut all);
    let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
    assert!(
        read.is_ok(),
        "the server does not close: {}",
        String::from_utf8_lossy(&all)
    );
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads one response with a Content-Length from a keep-alive connection.
async fn read_response(stream: &mut (impl AsyncRead + Unpin)) -> (u16, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    (status_code(&head), String::from_utf8(body).unwrap())
}

fn status_code(answer: &str) -> u16 {
    answer
        .split(' ')
        .nth(1)
        .map_or(0, |status| status.parse().unwrap())
}

fn problem_document(answer: &str) -> Value {
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

async fn expect_good_request(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), auth: &str) {
    let ask = format!("GET /v1/tasks HTTP/1.1\r\n{auth}\r\n");
    stream.write_all(ask.as_bytes()).await.unwrap();
    let (status, body) = read_response(stream).await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn slow_clients_time_out_without_blocking_others() {
    let options = ServerOptions {
        header_timeout: Duration::from_millis(300),
        body_timeout: Duration::from_millis(300),
        max_connections: 8,
        ..ServerOptions::default()
    };
    let server = start_socket_server(options).await;
    let mut slow = Vec::new();
    for n in 0..8 {
        let mut stream = server.connect().await;
        // Heads that do not end, bodies that do not arrive, and nothing at all.
        let begun = match n % 3 {
            0 => "GET /v1/tasks HTTP/1.1\r\nHost: loc".to_owned(),
            1 => format!(
                "POST /v1/tasks HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
                server.auth_headers()
            ),
            _ => String::new(),
        };
        stream.write_all(begun.as_bytes()).await.unwrap();
        slow.push((n, stream));
    }
    // They occupy all connection slots; this client is accepted when they time out.
    let mut stream = server.connect().await;
    expect_good_request(&mut stream, &server.auth_headers()).await;
    for (n, mut stream) in slow {
        let answer = read_to_end(&mut stream).await;
        if n % 3 == 1 {
            assert_eq!(status_code(&answer), 408, "{answer}");
            assert_eq!(problem_document(&answer)["code"], "request_timeout");
        } else {
            assert!(answer.is_empty() || status_code(&answer) == 408, "{answer}");
        }
    }
    assert!(
        server
            .test_server
            .http_app
            .metrics()
            .broken_connections
            .get()
            >= 3
    );
    assert_eq!(server.test_server.count_tasks().await, 0);
}

#[tokio::test]
async fn oversized_request_is_refused_before_it_is_read() {
    let options = ServerOptions {
        max_body_bytes: 1_000,
        ..ServerOptions::default()
    };
    let server = start_socket_server(options).await;
    let head = |more: &str| {
        format!(
            "POST /v1/tasks HTTP/1.1\r\n{}Content-Type: application/json\r\nConnection: close\r\n{more}\r\n\r\n",
            server.auth_headers()
        )
    };
    let answer = server
        .send_raw(&head("Content-Length: 1000000000000"))
        .await;
    assert_eq!(status_code(&answer), 413, "{answer}");
    assert_eq!(problem_document(&answer)["code"], "request_too_large");
    let chunk = format!(
        "{}{:x}\r\n{}\r\n",
        head("Transfer-Encoding: chunked"),
        900,
        "x".repeat(900)
    );
    let answer = server
        .send_raw(&format!(
            "{chunk}{:x}\r\n{}\r\n0\r\n\r\n",
            900,
            "x".repeat(900)
        ))
        .await;
    assert_eq!(status_code(&answer), 413, "{answer}");
    // Without a token, no part of the body is read.
    let answer = server
        .send_raw(
            "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n",
        )
        .await;
    assert_eq!(status_code(&answer), 401, "{answer}");
    // The number of headers is limited too.
    let many = "X-Filler: x\r\n".repeat(200);
    let answer = server
        .send_raw(&format!(
            "GET /v1/tasks HTTP/1.1\r\n{}{many}\r\n",
            server.auth_headers()
        ))
        .await;
    assert_eq!(status_code(&answer), 431, "{answer}");
    let long = "x".repeat(100_000);
    let answer = server
        .send_raw(&format!(
            "GET /v1/tasks?{long} HTTP/1.1\r\n{}\r\n",
            server.auth_headers()
        ))
        .await;
    assert!([414, 431].contains(&status_code(&answer)), "{answer}");
    assert_eq!(server.test_server.count_tasks().await, 0);
    let mut stream = server.connect().await;
    expect_good_request(&mut stream, &server.auth_headers()).await;
}

#[tokio::test]
async fn request_smuggling_is_refused() {
    let server = start_socket_server(ServerOptions::default()).await;
    let auth = server.auth_headers();
    let body = r#"{"subject":"smuggled"}"#;
    let json = "Content-Type: application/json\r\n";
    let length = body.len();
    for (what, request) in [
        (
            "two lengths",
            format!(
                "POST /v1/tasks HTTP/1.1\r\n{auth}{json}Content-Length: {length}\r\nContent-Length: 0\r\n\r\n{body}"
            ),
        ),
        (
            "a length of letters",
            format!(
                "POST /v1/tasks HTTP/1.1\r\n{auth}{json}Content-Length: +{length}\r\n\r\n{body}"
            ),
        ),
        (
            "an unknown coding",
            format!(
                "POST /v1/tasks HTTP/1.1\r\n{auth}{json}Transfer-Encoding: xchunked\r\n\r\n{body}"
            ),
        ),
        (
            "chunked not last",
            format!(
                "POST /v1/tasks HTTP/1.1\r\n{auth}{json}Transfer-Encoding: chunked, identity\r\n\r\n{body}"
            ),
        ),
        (
            "a folded header",
            format!(
                "POST /v1/tasks HTTP/1.1\r\n{auth}{json}X: a\r\n b\r\nContent-Length: {length}\r\n\r\n{body}"
            ),
        ),
        (
            "a space before the colon",
            format!(
                "POST /v1/tasks HTTP/1.1\r\n{auth}{json}Content-Length : {length}\r\n\r\n{body}"
            ),
        ),
        (
            "a bare carriage return",
            format!(
                "POST /v1/tasks HTTP/1.1\r\n{auth}{json}X: a\rb\r\nContent-Length: {length}\r\n\r\n{body}"
            ),
        ),
        (
            "a bad chunk",
            format!(
                "POST /v1/tasks HTTP/1.1\r\n{auth}{json}Transfer-Encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n"
            ),
        ),
        ("no version", "GET /v1/tasks\r\n\r\n".to_owned()),
        (
            "not HTTP",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n".to_owned(),
        ),
        (
            "another protocol",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        ),
        ("a NUL", format!("GET /v1/tasks\0 HTTP/1.1\r\n{auth}\r\n")),
    ] {
        let answer = server.send_raw(&request).await;
        // Refused, and the connection is closed: bytes after the request are not read.
        assert!(
            answer.is_empty() || (400..500).contains(&status_code(&answer)),
            "{what}: {answer}"
        );
        assert_eq!(
            answer.matches("HTTP/1.1 ").count(),
            usize::from(!answer.is_empty()),
            "{what}: {answer}"
        );
    }
    assert_eq!(server.test_server.count_tasks().await, 0);
    // With both Content-Length and Transfer-Encoding, the chunks count and the connection is closed
    // afterwards.
    let hidden =
        format!("POST /v1/tasks HTTP/1.1\r\n{auth}{json}Content-Length: {length}\r\n\r\n{body}");
    let both = format!(
        "POST /v1/tasks/claim HTTP/1.1\r\n{auth}Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
        hidden.len()
    );
    let answer = server.send_raw(&both).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert_eq!(server.test_server.count_tasks().await, 0);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = start_socket_server(ServerOptions::default()).await;
    let mut stream = server.connect().await;
    let auth = server.auth_headers();
    let three = format!(
        "GET /v1/tasks/1 HTTP/1.1\r\n{auth}\r\nGET /v1/tasks HTTP/1.1\r\n{auth}\r\nHEAD /v1/tasks HTTP/1.1\r\n{auth}Connection: close\r\n\r\n"
    );
    stream.write_all(three.as_bytes()).await.unwrap();
    let all = read_to_end(&mut stream).await;
    let found: Vec<u16> = all
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|a| a[..3].parse().unwrap())
        .collect();
    assert_eq!(found, [404, 200, 200], "{all}");
    assert!(all.ends_with("\r\n\r\n"), "HEAD has no body: {all}");
}

#[tokio::test]
async fn tls_and_unix_sockets_serve_same_api() {
    let server = start_socket_server_at("127.0.0.1:0", ServerOptions::default(), true).await;
    let auth = server.auth_headers();
    let mut stream = connect_tls(&server.address).await;
    expect_good_request(&mut stream, &auth).await;
    // Plaintext on a TLS socket gets no response.
    let answer = server
        .send_raw(&format!("GET /v1/tasks HTTP/1.1\r\n{auth}\r\n"))
        .await;
    assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    // The own origin of a TLS server has the scheme https.
    let mut stream = connect_tls(&server.address).await;
    let ask = format!(
        "GET /v1/tasks HTTP/1.1\r\n{auth}Origin: https://localhost\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    assert_eq!(status_code(&read_to_end(&mut stream).await), 200);

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("polis.sock");
    let listen = format!("unix:{}", path.display());
    let server = start_socket_server_at(&listen, ServerOptions::default(), false).await;
    let mut stream = UnixStream::connect(&path).await.unwrap();
    expect_good_request(&mut stream, &server.auth_headers()).await;
    stream
        .write_all(b"GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(read_response(&mut stream).await.0, 401);
    drop(stream);
    server.stop.send(()).unwrap();
    assert!(server.task.await.unwrap());
    assert!(!path.exists());
}

/// Connects with TLS, trusting only the test certificate.
async fn connect_tls(address: &str) -> tokio_rustls::client::TlsStream<TcpStream> {
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(rustls::pki_types::CertificateDer::from_pem_file(CERTIFICATE_PATH).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(address).await.unwrap();
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    connector.connect(name, stream).await.unwrap()
}

#[tokio::test]
async fn shutdown_finishes_accepted_requests() {
    let server = start_socket_server(ServerOptions::default()).await;
    let auth = server.auth_headers();
    let mut idle = server.connect().await;
    expect_good_request(&mut idle, &auth).await;
    // A request whose body has not arrived completely.
    let mut under_way = server.connect().await;
    let body = r#"{"subject":"last"}"#;
    let head = format!(
        "POST /v1/tasks HTTP/1.1\r\n{auth}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    under_way.write_all(head.as_bytes()).await.unwrap();
    while server.test_server.http_app.metrics().in_flight.get() == 0 {
        tokio::task::yield_now().await;
    }
    server.stop.send(()).unwrap();
    server
        .test_server
        .http_app
        .shutdown()
        .started
        .cancelled()
        .await;
    assert!(
        read_to_end(&mut idle).await.is_empty(),
        "idle connections are closed"
    );
    assert!(
        TcpStream::connect(&server.address).await.is_err(),
        "no new connection is accepted"
    );
    assert!(!server.task.is_finished());
    under_way.write_all(body.as_bytes()).await.unwrap();
    let answer = read_to_end(&mut under_way).await;
    assert_eq!(status_code(&answer), 201, "{answer}");
    assert!(server.task.await.unwrap());
    assert_eq!(server.test_server.count_tasks().await, 1);
}

#[tokio::test]
async fn shutdown_gives_up_after_grace_period() {
    let options = ServerOptions {
        grace_period: Duration::from_millis(200),
        ..ServerOptions::default()
    };
    let server = start_socket_server(options).await;
    let mut stuck = server.connect().await;
    let head = format!(
        "POST /v1/tasks HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n",
        server.auth_headers()
    );
    stuck.write_all(head.as_bytes()).await.unwrap();
    while server.test_server.http_app.metrics().in_flight.get() == 0 {
        tokio::task::yield_now().await;
    }
    server.stop.send(()).unwrap();
    assert!(
        !server.task.await.unwrap(),
        "a request was still unfinished"
    );
    assert!(read_to_end(&mut stuck).await.is_empty());
}
