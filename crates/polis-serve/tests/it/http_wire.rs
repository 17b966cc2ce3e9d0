//! HTTP server on real sockets: slow, oversized and malformed requests, TLS, Unix sockets, and shutdown.

use std::sync::Arc;
use std::time::Duration;

use polis_serve::http::{Listen, Options, Server, tls};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;

use crate::town::Town;

const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/certificate.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/key.pem");

/// A server on a real socket.
struct Running {
    town: Town,
    address: String,
    stop: tokio::sync::oneshot::Sender<()>,
    task: JoinHandle<bool>,
}

async fn start(options: Options) -> Running {
    start_at("127.0.0.1:0", options, false).await
}

async fn start_at(listen: &str, options: Options, encrypted: bool) -> Running {
    let town = Town::with(options).await;
    let tls = encrypted.then(|| tls::acceptor(CERTIFICATE.as_ref(), KEY.as_ref()).unwrap());
    let listener = Listen::parse(listen).unwrap().bind().await.unwrap();
    let server = Server::new(Arc::clone(&town.app), listener, tls);
    let url = server.url();
    let address = url.split("://").last().unwrap().to_owned();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));
    Running {
        town,
        address,
        stop,
        task,
    }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.unwrap()
    }

    /// Sends bytes on a new connection and reads until the server closes it.
    async fn raw(&self, bytes: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        read_all(&mut stream).await
    }

    fn auth(&self) -> String {
        format!(
            "Host: localhost\r\nAuthorization: Bearer {}\r\n",
            self.town.ada
        )
    }
}

async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> String {
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
async fn read_one(stream: &mut (impl AsyncRead + Unpin)) -> (u16, String) {
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
    (status(&head), String::from_utf8(body).unwrap())
}

fn status(answer: &str) -> u16 {
    answer
        .split(' ')
        .nth(1)
        .map_or(0, |status| status.parse().unwrap())
}

fn problem(answer: &str) -> Value {
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

async fn good_request(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), auth: &str) {
    let ask = format!("GET /v1/tasks HTTP/1.1\r\n{auth}\r\n");
    stream.write_all(ask.as_bytes()).await.unwrap();
    let (status, body) = read_one(stream).await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn slow_senders_are_given_up_and_others_do_not_notice() {
    let options = Options {
        header_timeout: Duration::from_millis(300),
        body_timeout: Duration::from_millis(300),
        max_connections: 8,
        ..Options::default()
    };
    let server = start(options).await;
    let mut slow = Vec::new();
    for n in 0..8 {
        let mut stream = server.connect().await;
        // Heads that do not end, bodies that do not arrive, and nothing at all.
        let begun = match n % 3 {
            0 => "GET /v1/tasks HTTP/1.1\r\nHost: loc".to_owned(),
            1 => format!(
                "POST /v1/tasks HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
                server.auth()
            ),
            _ => String::new(),
        };
        stream.write_all(begun.as_bytes()).await.unwrap();
        slow.push((n, stream));
    }
    // They occupy all connection slots; this client is accepted when they time out.
    let mut stream = server.connect().await;
    good_request(&mut stream, &server.auth()).await;
    for (n, mut stream) in slow {
        let answer = read_all(&mut stream).await;
        if n % 3 == 1 {
            assert_eq!(status(&answer), 408, "{answer}");
            assert_eq!(problem(&answer)["code"], "request_timeout");
        } else {
            assert!(answer.is_empty() || status(&answer) == 408, "{answer}");
        }
    }
    assert!(server.town.app.metrics().broken.get() >= 3);
    assert_eq!(server.town.tasks().await, 0);
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_read() {
    let options = Options {
        max_body: 1_000,
        ..Options::default()
    };
    let server = start(options).await;
    let head = |more: &str| {
        format!(
            "POST /v1/tasks HTTP/1.1\r\n{}Content-Type: application/json\r\nConnection: close\r\n{more}\r\n\r\n",
            server.auth()
        )
    };
    let answer = server.raw(&head("Content-Length: 1000000000000")).await;
    assert_eq!(status(&answer), 413, "{answer}");
    assert_eq!(problem(&answer)["code"], "request_too_large");
    let chunk = format!(
        "{}{:x}\r\n{}\r\n",
        head("Transfer-Encoding: chunked"),
        900,
        "x".repeat(900)
    );
    let answer = server
        .raw(&format!(
            "{chunk}{:x}\r\n{}\r\n0\r\n\r\n",
            900,
            "x".repeat(900)
        ))
        .await;
    assert_eq!(status(&answer), 413, "{answer}");
    // Without a token, no part of the body is read.
    let answer = server
        .raw("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n")
        .await;
    assert_eq!(status(&answer), 401, "{answer}");
    // The number of headers is limited too.
    let many = "X-Filler: x\r\n".repeat(200);
    let answer = server
        .raw(&format!(
            "GET /v1/tasks HTTP/1.1\r\n{}{many}\r\n",
            server.auth()
        ))
        .await;
    assert_eq!(status(&answer), 431, "{answer}");
    let long = "x".repeat(100_000);
    let answer = server
        .raw(&format!(
            "GET /v1/tasks?{long} HTTP/1.1\r\n{}\r\n",
            server.auth()
        ))
        .await;
    assert!([414, 431].contains(&status(&answer)), "{answer}");
    assert_eq!(server.town.tasks().await, 0);
    let mut stream = server.connect().await;
    good_request(&mut stream, &server.auth()).await;
}

#[tokio::test]
async fn requests_that_could_be_two_are_none() {
    let server = start(Options::default()).await;
    let auth = server.auth();
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
        let answer = server.raw(&request).await;
        // Refused, and the connection is closed: bytes after the request are not read.
        assert!(
            answer.is_empty() || (400..500).contains(&status(&answer)),
            "{what}: {answer}"
        );
        assert_eq!(
            answer.matches("HTTP/1.1 ").count(),
            usize::from(!answer.is_empty()),
            "{what}: {answer}"
        );
    }
    assert_eq!(server.town.tasks().await, 0);
    // With both Content-Length and Transfer-Encoding, the chunks count and the connection is closed
    // afterwards.
    let hidden =
        format!("POST /v1/tasks HTTP/1.1\r\n{auth}{json}Content-Length: {length}\r\n\r\n{body}");
    let both = format!(
        "POST /v1/tasks/claim HTTP/1.1\r\n{auth}Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
        hidden.len()
    );
    let answer = server.raw(&both).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert_eq!(server.town.tasks().await, 0);
}

#[tokio::test]
async fn several_requests_on_one_connection_are_answered_in_order() {
    let server = start(Options::default()).await;
    let mut stream = server.connect().await;
    let auth = server.auth();
    let three = format!(
        "GET /v1/tasks/1 HTTP/1.1\r\n{auth}\r\nGET /v1/tasks HTTP/1.1\r\n{auth}\r\nHEAD /v1/tasks HTTP/1.1\r\n{auth}Connection: close\r\n\r\n"
    );
    stream.write_all(three.as_bytes()).await.unwrap();
    let all = read_all(&mut stream).await;
    let found: Vec<u16> = all
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|a| a[..3].parse().unwrap())
        .collect();
    assert_eq!(found, [404, 200, 200], "{all}");
    assert!(all.ends_with("\r\n\r\n"), "HEAD has no body: {all}");
}

#[tokio::test]
async fn tls_and_unix_sockets_serve_the_same() {
    let server = start_at("127.0.0.1:0", Options::default(), true).await;
    let auth = server.auth();
    let mut stream = encrypted(&server.address).await;
    good_request(&mut stream, &auth).await;
    // Plaintext on a TLS socket gets no response.
    let answer = server
        .raw(&format!("GET /v1/tasks HTTP/1.1\r\n{auth}\r\n"))
        .await;
    assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    // The own origin of a TLS server has the scheme https.
    let mut stream = encrypted(&server.address).await;
    let ask = format!(
        "GET /v1/tasks HTTP/1.1\r\n{auth}Origin: https://localhost\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    assert_eq!(status(&read_all(&mut stream).await), 200);

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("polis.sock");
    let listen = format!("unix:{}", path.display());
    let server = start_at(&listen, Options::default(), false).await;
    let mut stream = UnixStream::connect(&path).await.unwrap();
    good_request(&mut stream, &server.auth()).await;
    stream
        .write_all(b"GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(read_one(&mut stream).await.0, 401);
    drop(stream);
    server.stop.send(()).unwrap();
    assert!(server.task.await.unwrap());
    assert!(!path.exists());
}

async fn encrypted(address: &str) -> tokio_rustls::client::TlsStream<TcpStream> {
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(rustls::pki_types::CertificateDer::from_pem_file(CERTIFICATE).unwrap())
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
async fn a_shutdown_finishes_what_was_accepted() {
    let server = start(Options::default()).await;
    let auth = server.auth();
    let mut idle = server.connect().await;
    good_request(&mut idle, &auth).await;
    // A request whose body has not arrived completely.
    let mut under_way = server.connect().await;
    let body = r#"{"subject":"last"}"#;
    let head = format!(
        "POST /v1/tasks HTTP/1.1\r\n{auth}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    under_way.write_all(head.as_bytes()).await.unwrap();
    while server.town.app.metrics().in_flight.get() == 0 {
        tokio::task::yield_now().await;
    }
    server.stop.send(()).unwrap();
    server.town.app.closing().begun.cancelled().await;
    assert!(
        read_all(&mut idle).await.is_empty(),
        "idle connections are closed"
    );
    assert!(
        TcpStream::connect(&server.address).await.is_err(),
        "nothing new is accepted"
    );
    assert!(!server.task.is_finished());
    under_way.write_all(body.as_bytes()).await.unwrap();
    let answer = read_all(&mut under_way).await;
    assert_eq!(status(&answer), 201, "{answer}");
    assert!(server.task.await.unwrap());
    assert_eq!(server.town.tasks().await, 1);
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_ever() {
    let options = Options {
        grace: Duration::from_millis(200),
        ..Options::default()
    };
    let server = start(options).await;
    let mut stuck = server.connect().await;
    let head = format!(
        "POST /v1/tasks HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n",
        server.auth()
    );
    stuck.write_all(head.as_bytes()).await.unwrap();
    while server.town.app.metrics().in_flight.get() == 0 {
        tokio::task::yield_now().await;
    }
    server.stop.send(()).unwrap();
    assert!(!server.task.await.unwrap(), "not everything was finished");
    assert!(read_all(&mut stuck).await.is_empty());
}
