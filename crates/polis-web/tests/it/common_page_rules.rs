//! Tests of what all pages have in common: Content Security Policy, cacheable assets, CSRF token, language
//! and theme preferences, compression, and error pages for unknown and malformed URLs.

use std::io::Read as _;

use axum::body::Body;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;

use crate::test_server::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_fragments_have_strict_content_security_policy() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let answers = [
        server.open_browser().get("/signin").await,
        person.get("/tasks").await,
        person.get_fragment("/tasks").await,
        person.get("/no/such/page").await,
    ];
    for answer in answers {
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
        assert_eq!(answer.header("cache-control"), "no-store");
        // A document contains nothing that the Content Security Policy would forbid.
        for bad in [" style=\"", "<style", " onclick=", "javascript:"] {
            assert!(!answer.text.contains(bad), "{bad}");
        }
        let inline = answer.text.split("<script").skip(1);
        assert!(
            inline
                .into_iter()
                .all(|script| script.contains("></script>"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_exist_and_are_cacheable() {
    let server = TestServer::new().await;
    let mut anonymous = server.open_browser();
    let page = anonymous.get("/signin").await.expect_ok();
    let mut urls: Vec<&str> = page.text.split('"').collect();
    urls.retain(|text| text.starts_with("/assets/"));
    assert!(urls.len() >= 5, "{urls:?}");
    let mut bytes = page.text.len();
    for url in urls {
        let asset = anonymous.get(url).await.expect_ok();
        assert!(asset.header("cache-control").contains("immutable"));
        bytes += asset.text.len();
    }
    assert!(bytes < 150_000, "{bytes}");
    let lost = anonymous.get("/assets/x/nothing.js").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mutation_requires_csrf_token() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let right = person.csrf_token().await;
    for path in [
        "/preferences",
        "/signout",
        "/overview/approvals",
        "/overview/resume",
        "/overview/reply",
        "/overview/dismiss",
        "/overview/release",
        "/overview/approve",
        "/tasks",
        "/no/such/page",
    ] {
        for form in ["", "csrf=", "csrf=00", "csrf=%00", "lang=zh&theme=dark"] {
            let refused = person.post(path, form).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} {form}");
            assert!(refused.text.contains("origin_forbidden"), "{path} {form}");
        }
        let request = person
            .request_builder(Method::POST, path)
            .header("x-polis-csrf", "wrong")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(format!("csrf={right}")));
        let refused = person.send(request.unwrap()).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
    // The CSRF token of another session is not valid for this one.
    let mut other = server.login_as_user().await;
    let others = other.csrf_token().await;
    let refused = person
        .post("/preferences", &format!("csrf={others}&lang=zh"))
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(
        person
            .post_with_csrf("/preferences", "lang=zh")
            .await
            .redirect_target(),
        "/"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn language_and_theme_preferences_are_applied() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let page = person.get("/tasks").await.expect_ok().text;
    assert!(page.contains("lang=\"en\" data-theme=\"system\""), "{page}");
    assert!(page.contains(">Events<"));
    let back = person
        .post_with_csrf("/preferences", "lang=zh&back=%2Ftasks")
        .await;
    assert_eq!(back.redirect_target(), "/tasks");
    person.post_with_csrf("/preferences", "theme=dark").await;
    let page = person.get("/tasks").await.expect_ok().text;
    assert!(page.contains("lang=\"zh\" data-theme=\"dark\""), "{page}");
    assert!(page.contains(">事件<"));
    let elsewhere = person
        .post_with_csrf("/preferences", "lang=en&back=%2F%2Fevil.example")
        .await;
    assert_eq!(elsewhere.redirect_target(), "/");
    // Before a language is chosen, the browser's language is used.
    let anonymous = server.open_browser();
    let request = anonymous
        .request_builder(Method::GET, "/signin")
        .header("accept-language", "fr, zh-CN;q=0.8")
        .body(Body::empty());
    let answer = server.open_browser().send(request.unwrap()).await;
    assert!(answer.text.contains("登录"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_url_returns_not_found() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let page = person.get("/no/such/page").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.text.contains("route_not_found"));
    assert!(page.text.contains("<nav"), "the navigation is shown");
    let part = person.get_fragment("/no/such/page").await;
    assert_eq!(part.status, StatusCode::NOT_FOUND);
    assert_eq!(part.header("hx-retarget"), "#notices");
    person.post_with_csrf("/preferences", "lang=zh").await;
    let page = person.get("/no/such/page").await;
    assert!(page.text.contains("该网址没有对应的页面"), "{}", page.text);
    // API clients get the error in their own format.
    let token = server.issue_token("user", "all").await;
    let request = server
        .open_browser()
        .request_builder(Method::GET, "/v1/nothing")
        .header("authorization", format!("Bearer {token}"))
        .body(Body::empty());
    let answer = server.open_browser().send(request.unwrap()).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.header("content-type"), "application/problem+json");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_compressed_if_client_accepts_gzip() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    let plain = person.get("/tasks").await.expect_ok();
    assert_eq!(plain.header("content-encoding"), "");
    let request = person
        .request_builder(Method::GET, "/tasks")
        .header("accept-encoding", "gzip")
        .body(Body::empty());
    let answer = person.send_raw(request.unwrap()).await;
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let packed = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(packed.len() < plain.text.len() / 2);
    let mut text = String::new();
    let mut unpack = flate2::read::GzDecoder::new(packed.as_ref());
    unpack.read_to_string(&mut text).unwrap();
    assert!(text.contains("<title>"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_url_returns_error_page() {
    let server = TestServer::new().await;
    let mut person = server.login_as_user().await;
    for path in [
        "/tasks/abc",
        "/tasks/0/edit",
        "/agents/%20",
        "/workspaces/a%00b",
    ] {
        let page = person.get(path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}: {}", page.text);
        assert!(
            page.text.contains("<h1>Not found</h1>"),
            "{path}: {}",
            page.text
        );
    }
    let part = person.get_fragment("/tasks/abc/main").await;
    assert_eq!(part.header("hx-retarget"), "#notices");
    assert!(
        part.text.contains("data-code=\"route_not_found\""),
        "{}",
        part.text
    );
    let asked = person.get("/boards/global?part=x").await;
    assert_eq!(asked.status, StatusCode::BAD_REQUEST);
    assert!(
        asked.text.contains("data-code=\"invalid_input\""),
        "{}",
        asked.text
    );
    let sent = person.post_with_csrf("/tasks/1/move", "to=nowhere").await;
    assert_eq!(sent.status, StatusCode::BAD_REQUEST);
    assert!(
        sent.text.contains("data-code=\"invalid_input\""),
        "{}",
        sent.text
    );
    person.post_with_csrf("/preferences", "lang=zh").await;
    let page = person.get("/tasks/abc").await.text;
    assert!(page.contains("<h1>未找到</h1>"), "{page}");
}
