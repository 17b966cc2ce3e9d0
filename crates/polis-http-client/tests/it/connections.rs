//! Tests of connections: reuse, HTTP/2 by ALPN, and certificates.

use http::Version;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use polis_http_client::{HttpClient, HttpClientSettings, ProxySettings, RequestError};

use crate::test_http_server::{TestHttpServer, post, post_and_read, trusting_client};

#[tokio::test]
async fn connection_is_shared_by_all_targets_of_an_origin() {
    let server = TestHttpServer::start_accepting().await;
    let client = HttpClient::new(HttpClientSettings::default());
    for path in ["v1", "v1/traces", "hook?x=1"] {
        for user in ["", "me:secret@"] {
            let url = format!("http://{user}127.0.0.1:{}/{path}", server.port);
            assert_eq!(post_and_read(&client.clone(), &url).await, Version::HTTP_11);
        }
    }
    assert_eq!(server.connection_count(), 1);
    let requests = server.requests();
    assert_eq!(requests.len(), 6);
    assert_eq!(requests[5].uri, "/hook?x=1");
    assert_eq!(requests[5].body, "{\"a\":1}");
    let headers = &requests[5].headers;
    assert_eq!(headers[CONTENT_TYPE], "application/json");
    assert_eq!(headers[HOST], format!("127.0.0.1:{}", server.port));
    assert_eq!(headers[AUTHORIZATION], "Basic bWU6c2VjcmV0");
    assert!(headers[USER_AGENT].to_str().unwrap().starts_with("polis/"));
    // The credentials of one target are not sent to another of the same origin.
    assert!(!requests[4].headers.contains_key(AUTHORIZATION));
}

#[tokio::test]
async fn http2_is_used_where_the_endpoint_offers_it() {
    for (offered, version) in [
        (&["h2", "http/1.1"][..], Version::HTTP_2),
        (&["h2"], Version::HTTP_2),
        (&["http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let server = TestHttpServer::start_tls(offered).await;
        let client = trusting_client(ProxySettings::default());
        let url = format!("https://localhost:{}/v1", server.port);
        for _ in 0..3 {
            assert_eq!(post_and_read(&client, &url).await, version, "{offered:?}");
        }
        let requests = server.requests();
        assert!(requests.iter().all(|r| r.version == version), "{offered:?}");
        assert_eq!(server.connection_count(), 1, "{offered:?}");
    }
}

#[tokio::test]
async fn concurrent_requests_share_one_http2_connection() {
    let server = TestHttpServer::start_tls(&["h2"]).await;
    let client = trusting_client(ProxySettings::default());
    let url = format!("https://localhost:{}/v1", server.port);
    post_and_read(&client, &url).await;
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (client, url) = (client.clone(), url.clone());
            tokio::spawn(async move { post_and_read(&client, &url).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), Version::HTTP_2);
    }
    assert_eq!(server.requests().len(), 21);
    assert_eq!(server.connection_count(), 1);
}

#[tokio::test]
async fn untrusted_certificate_is_a_permanent_error() {
    let server = TestHttpServer::start_tls(&["h2"]).await;
    let url = format!("https://localhost:{}/v1", server.port);
    let client = HttpClient::new(HttpClientSettings::default());
    let error = post(&client, &url).await.unwrap_err();
    assert!(error.is_permanent(), "{error:?}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn unreachable_host_is_a_transient_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let client = HttpClient::new(HttpClientSettings::default());
    let url = format!("http://me:secret@127.0.0.1:{port}/?key=secret");
    let error = post(&client, &url).await.unwrap_err();
    assert_eq!(
        error,
        RequestError::Unreachable(std::io::ErrorKind::ConnectionRefused)
    );
    assert!(!error.is_permanent());
    assert!(!format!("{error:?} {error}").contains("secret"));
}
