//! Tests of responses: redirects, body limits, timeouts, and requests that are dropped.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use polis_http_client::{HttpClient, HttpClientSettings, RequestError, RequestTimeouts};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::test_http_server::{TestHttpServer, post};

fn new_client() -> HttpClient {
    HttpClient::new(HttpClientSettings::default())
}

#[tokio::test]
async fn redirect_is_returned_and_not_followed() {
    let elsewhere = TestHttpServer::start_accepting().await;
    let port = elsewhere.port;
    for status in [301, 302, 303, 307, 308] {
        let server = TestHttpServer::start(move |_| {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            let location = format!("http://127.0.0.1:{port}/");
            let location = HeaderValue::try_from(location).unwrap();
            response.headers_mut().insert(LOCATION, location);
            response
        })
        .await;
        let url = format!("http://127.0.0.1:{}/", server.port);
        let response = post(&new_client(), &url).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(server.requests().len(), 1);
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn body_is_read_up_to_the_limit_and_not_decoded() {
    let server = TestHttpServer::start(|_| {
        let mut response = Response::new(Bytes::from(vec![b'x'; 1000]));
        let headers = response.headers_mut();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        response
    })
    .await;
    let url = format!("http://127.0.0.1:{}/", server.port);
    let client = new_client();
    for (limit, is_complete) in [(1000, true), (999, false)] {
        let mut response = post(&client, &url).await.unwrap();
        assert_eq!(response.headers()[RETRY_AFTER], "7");
        let body = response.read_body(limit).await.unwrap();
        assert_eq!(body.is_complete, is_complete);
        assert_eq!(body.contents.len(), if is_complete { 1000 } else { 0 });
    }
    let accepted = server.requests()[0].headers.get("accept-encoding").cloned();
    assert_eq!(accepted, None);
}

#[tokio::test]
async fn drained_response_keeps_its_connection() {
    let server = TestHttpServer::start(|_| Response::new(Bytes::from(vec![b'x'; 50_000]))).await;
    let url = format!("http://127.0.0.1:{}/", server.port);
    let client = new_client();
    for _ in 0..3 {
        let response = post(&client, &url).await.unwrap();
        response.drain(Duration::from_secs(10)).await;
    }
    assert_eq!(server.connection_count(), 1);
}

/// Listens on a free port. Returns the URL.
async fn start_listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    (listener, url)
}

/// Accepts a connection, reads the request and sends these bytes. Returns the open connection.
async fn accept_and_send(listener: &TcpListener, response: &str) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"{\"a\":1}") {
        request.push(stream.read_u8().await.unwrap());
    }
    stream.write_all(response.as_bytes()).await.unwrap();
    stream
}

/// Waits until the client has closed the connection.
async fn wait_for_disconnect(mut stream: TcpStream) {
    let closing = tokio::time::timeout(Duration::from_secs(20), stream.read_u8());
    closing
        .await
        .expect("the connection stays open")
        .unwrap_err();
}

/// Posts with these timeouts and reads the response.
async fn post_with_timeouts(url: &str, timeouts: RequestTimeouts) -> Result<(), RequestError> {
    let client = new_client();
    let target = client.prepare(url, HeaderMap::new()).unwrap();
    let body = Bytes::from_static(b"{\"a\":1}");
    let mut response = client
        .post(&target, HeaderMap::new(), body, timeouts)
        .await?;
    response.read_body(1000).await.map(|_| ())
}

#[tokio::test]
async fn late_response_times_out_and_closes_the_connection() {
    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(50);
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc";
    for (sent, (first_byte, chunk, total), expected) in [
        ("", (SHORT, LONG, LONG), RequestError::FirstByteTimeout),
        ("", (LONG, LONG, SHORT), RequestError::FirstByteTimeout),
        (head, (LONG, SHORT, LONG), RequestError::ChunkTimeout),
        (head, (LONG, LONG, SHORT * 10), RequestError::ChunkTimeout),
    ] {
        let (listener, url) = start_listener().await;
        let timeouts = RequestTimeouts {
            first_byte,
            chunk,
            total,
        };
        let (result, stream) = tokio::join!(
            post_with_timeouts(&url, timeouts),
            accept_and_send(&listener, sent)
        );
        assert_eq!(result.unwrap_err(), expected, "{timeouts:?}");
        wait_for_disconnect(stream).await;
    }
}

#[tokio::test]
async fn broken_response_is_a_transient_error() {
    for (sent, expected) in [
        ("", RequestError::ConnectionClosed),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
            RequestError::ConnectionClosed,
        ),
        ("SMTP ready\r\n\r\n", RequestError::InvalidResponse),
    ] {
        let (listener, url) = start_listener().await;
        let (result, ()) = tokio::join!(
            post_with_timeouts(&url, RequestTimeouts::total(Duration::from_secs(20))),
            async { drop(accept_and_send(&listener, sent).await) }
        );
        let error = result.unwrap_err();
        assert_eq!(error, expected, "{sent}");
        assert!(!error.is_permanent());
    }
}

#[tokio::test]
async fn dropped_request_closes_its_connection() {
    for sent in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"] {
        let (listener, url) = start_listener().await;
        let posting = tokio::spawn(async move {
            let total = RequestTimeouts::total(Duration::from_secs(20));
            post_with_timeouts(&url, total).await
        });
        let stream = accept_and_send(&listener, sent).await;
        posting.abort();
        wait_for_disconnect(stream).await;
        assert!(posting.await.unwrap_err().is_cancelled());
    }
}

#[tokio::test]
async fn connection_closed_by_the_server_while_idle_is_replaced() {
    let (listener, url) = start_listener().await;
    let client = new_client();
    let reply = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    for _ in 0..3 {
        let (response, stream) =
            tokio::join!(post(&client, &url), accept_and_send(&listener, reply));
        response.unwrap().drain(Duration::from_secs(10)).await;
        drop(stream);
        // The runtime polls the connection, which notices that.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
}
