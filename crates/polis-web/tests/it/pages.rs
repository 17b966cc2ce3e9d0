//! Tests for what all pages have in common: headers, language, theme, CSRF token, and the response for unknown URLs.

use std::io::Read as _;

use axum::body::Body;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;

use crate::town::Town;

#[tokio::test(flavor = "multi_thread")]
async fn documents_and_parts_have_the_strict_policy() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let answers = [
        town.browser().get("/signin").await,
        person.get("/tasks").await,
        person.part("/tasks").await,
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
async fn what_is_loaded_is_there_and_may_be_kept() {
    let town = Town::new().await;
    let mut nobody = town.browser();
    let page = nobody.get("/signin").await.good();
    let mut urls: Vec<&str> = page.text.split('"').collect();
    urls.retain(|text| text.starts_with("/assets/"));
    assert!(urls.len() >= 5, "{urls:?}");
    let mut bytes = page.text.len();
    for url in urls {
        let asset = nobody.get(url).await.good();
        assert!(asset.header("cache-control").contains("immutable"));
        bytes += asset.text.len();
    }
    assert!(bytes < 150_000, "{bytes}");
    let lost = nobody.get("/assets/x/nothing.js").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_needs_the_word_of_our_own_pages() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let right = person.word().await;
    for path in [
        "/taste",
        "/signout",
        "/now/approvals",
        "/now/resume",
        "/now/answer",
        "/now/aside",
        "/now/release",
        "/now/approve",
        "/tasks",
        "/no/such/page",
    ] {
        for form in ["", "csrf=", "csrf=00", "csrf=%00", "lang=zh&theme=dark"] {
            let refused = person.post(path, form).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} {form}");
            assert!(refused.text.contains("origin_forbidden"), "{path} {form}");
        }
        let request = person
            .request(Method::POST, path)
            .header("x-polis-csrf", "wrong")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(format!("csrf={right}")));
        let refused = person.send(request.unwrap()).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
    // The CSRF token of another session is not valid for this one.
    let mut other = town.person().await;
    let others = other.word().await;
    let refused = person
        .post("/taste", &format!("csrf={others}&lang=zh"))
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(person.submit("/taste", "lang=zh").await.to(), "/");
}

#[tokio::test(flavor = "multi_thread")]
async fn language_and_colours_are_the_readers_choice() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = person.get("/tasks").await.good().text;
    assert!(page.contains("lang=\"en\" data-theme=\"system\""), "{page}");
    assert!(page.contains(">Events<"));
    let back = person.submit("/taste", "lang=zh&back=%2Ftasks").await;
    assert_eq!(back.to(), "/tasks");
    person.submit("/taste", "theme=dark").await;
    let page = person.get("/tasks").await.good().text;
    assert!(page.contains("lang=\"zh\" data-theme=\"dark\""), "{page}");
    assert!(page.contains(">事件<"));
    let elsewhere = person
        .submit("/taste", "lang=en&back=%2F%2Fevil.example")
        .await;
    assert_eq!(elsewhere.to(), "/");
    // Before a language is chosen, the browser's language is used.
    let nobody = town.browser();
    let request = nobody
        .request(Method::GET, "/signin")
        .header("accept-language", "fr, zh-CN;q=0.8")
        .body(Body::empty());
    let answer = town.browser().send(request.unwrap()).await;
    assert!(answer.text.contains("登录"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_nothing_is_at_says_so() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let page = person.get("/no/such/page").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.text.contains("route_not_found"));
    assert!(page.text.contains("<nav"), "the tabs lead on");
    let part = person.part("/no/such/page").await;
    assert_eq!(part.status, StatusCode::NOT_FOUND);
    assert_eq!(part.header("hx-retarget"), "#notices");
    person.submit("/taste", "lang=zh").await;
    let page = person.get("/no/such/page").await;
    assert!(page.text.contains("这个地址什么也没有"), "{}", page.text);
    // API clients get the error in their own format.
    let token = town.token("user", "all").await;
    let request = town
        .browser()
        .request(Method::GET, "/v1/nothing")
        .header("authorization", format!("Bearer {token}"))
        .body(Body::empty());
    let answer = town.browser().send(request.unwrap()).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.header("content-type"), "application/problem+json");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_compressed_for_those_who_take_that() {
    let town = Town::new().await;
    let mut person = town.person().await;
    let plain = person.get("/tasks").await.good();
    assert_eq!(plain.header("content-encoding"), "");
    let request = person
        .request(Method::GET, "/tasks")
        .header("accept-encoding", "gzip")
        .body(Body::empty());
    let answer = person.raw(request.unwrap()).await;
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let packed = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(packed.len() < plain.text.len() / 2);
    let mut text = String::new();
    let mut unpack = flate2::read::GzDecoder::new(packed.as_ref());
    unpack.read_to_string(&mut text).unwrap();
    assert!(text.contains("<title>"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_cannot_be_read_is_answered_like_any_other() {
    let town = Town::new().await;
    let mut person = town.person().await;
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
    let part = person.part("/tasks/abc/main").await;
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
    let sent = person.submit("/tasks/1/move", "to=nowhere").await;
    assert_eq!(sent.status, StatusCode::BAD_REQUEST);
    assert!(
        sent.text.contains("data-code=\"invalid_input\""),
        "{}",
        sent.text
    );
    person.submit("/taste", "lang=zh").await;
    let page = person.get("/tasks/abc").await.text;
    assert!(page.contains("<h1>没有找到</h1>"), "{page}");
}
