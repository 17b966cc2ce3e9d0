//! Page fragment tests, over all pages: a page subscribes exactly to the events its htmx fragments listen to,
//! no htmx request is triggered by an unrelated click, every `#id` link target exists, and the needed
//! stylesheets are loaded.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use polis_core::AgentId;
use polis_core::workspace::file_tools::WriteFileParams;
use polis_ops::op;
use serde_json::json;

use crate::test_server::{TestBrowser, TestServer};

/// An element's name and attributes, as the pages write them.
type HtmlTag = (String, BTreeMap<String, String>);

/// Returns the elements of a page.
fn parse_tags(page: &str) -> Vec<HtmlTag> {
    let opened = page
        .split('<')
        .skip(1)
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    opened.map(parse_tag).collect()
}

/// Parses an element from the text after its `<`.
fn parse_tag(text: &str) -> HtmlTag {
    let end = text.find([' ', '>']).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut found = BTreeMap::new();
    loop {
        rest = rest.trim_start();
        let end = rest.find([' ', '>', '=']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() {
            break;
        }
        let value = behind
            .strip_prefix("=\"")
            .and_then(|value| value.split_once('"'));
        let (value, behind) = value.unwrap_or(("", behind));
        found.insert(name.to_owned(), value.replace("&amp;", "&"));
        rest = behind;
    }
    (name.to_owned(), found)
}

/// Returns the event names that the page's fragments listen to.
fn subscribed_events(tags: &[HtmlTag]) -> BTreeSet<String> {
    let triggers = tags.iter().filter_map(|(_, with)| with.get("hx-trigger"));
    let events = triggers.flat_map(|trigger| trigger.split(','));
    let names = events.filter_map(|event| {
        let name = event.split_whitespace().next()?.strip_prefix("polis:")?;
        assert!(event.contains("from:body"), "{event}");
        Some(name.to_owned())
    });
    names.collect()
}

/// Creates data for every kind of page.
async fn create_sample_data(server: &TestServer) {
    let user = AgentId::user();
    server.create_task("first").await;
    for task in [
        json!({"subject": "second", "addBlockedBy": ["1"]}),
        json!({"subject": "third"}),
    ] {
        let params = serde_json::from_value(task).unwrap();
        op::create_task(&server.app.request(&user), &params)
            .await
            .unwrap();
    }
    let claim = serde_json::from_value(json!({"taskId": "1"})).unwrap();
    let ada: AgentId = "ada".parse().unwrap();
    op::claim_task(&server.app.request(&ada), &claim)
        .await
        .unwrap();
    for (body, reply_to) in [("one", None), ("two", Some(1))] {
        let params = op::TaskCommentParams {
            task_id: "1".parse().unwrap(),
            body: body.to_owned(),
            reply_to,
        };
        op::comment_task(&server.app.request(&user), &params)
            .await
            .unwrap();
        let letter = serde_json::from_value(json!({"to": "user", "payload": body})).unwrap();
        op::send_message(&server.app.request(&ada), &letter)
            .await
            .unwrap();
    }
    let file = WriteFileParams {
        path: "src/main.rs".to_owned(),
        content: "fn main() {}\n".to_owned(),
        ..WriteFileParams::default()
    };
    op::write_file(&server.app.request(&ada), None, &file)
        .await
        .unwrap();
    crate::agent_pages::start_sample_run(server).await;
}

/// One path of every kind of page.
const PAGE_PATHS: [&str; 28] = [
    "/",
    "/tasks",
    "/tasks?q=first&pending=100",
    "/tasks/new",
    "/tasks/1",
    "/tasks/1/edit",
    "/tasks/1/delete",
    "/tasks/1/comments",
    "/tasks/1/comments?before=2",
    "/tasks/1/comments/2",
    "/boards",
    "/boards/global",
    "/boards/global/edit",
    "/boards/global/history",
    "/agents",
    "/agents?under=lead",
    "/agents/ada",
    "/agents/user",
    "/agents/ada/mail?before=2",
    "/agents/messages/1",
    "/agents/runs/shop",
    "/agents/runs/shop/members/arch",
    "/agents/runs/shop/members/arch?from=0",
    "/workspaces",
    "/workspaces/ada",
    "/workspaces/ada/file/src/main.rs",
    "/events",
    "/events?before=3",
];

#[tokio::test(flavor = "multi_thread")]
async fn page_subscribes_exactly_to_events_of_its_fragments() {
    let server = TestServer::new().await;
    create_sample_data(&server).await;
    let mut person = server.login_as_user().await;
    for path in PAGE_PATHS {
        let page = person.get(path).await.expect_ok().text;
        let tags = parse_tags(&page);
        let body = tags.iter().find(|(name, _)| name == "body").unwrap();
        let live = body.1.get("data-live").map_or("", String::as_str);
        let told: BTreeSet<String> = live
            .split(',')
            .filter(|name| !name.is_empty())
            .map(|name| name.replace('/', ":"))
            .collect();
        let mut heard = subscribed_events(&tags);
        // A fragment that is loaded as soon as it is visible belongs to the page.
        for (_, with) in &tags {
            if with
                .get("hx-trigger")
                .is_some_and(|on| on == "intersect once")
            {
                let part = person.get_fragment(&with["hx-get"]).await.expect_ok().text;
                heard.extend(subscribed_events(&parse_tags(&part)));
            }
        }
        assert!(told.is_superset(&heard), "{path}: {told:?} {heard:?}");
        // The slider can return to the newest events, which are live, without another page load.
        if !path.starts_with("/events?") {
            assert_eq!(told, heard, "{path}");
        }
        assert_eq!(
            body.1.contains_key("data-place"),
            !live.is_empty(),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn htmx_request_on_plain_element_has_explicit_trigger() {
    let server = TestServer::new().await;
    create_sample_data(&server).await;
    let mut person = server.login_as_user().await;
    let parts = [
        "/overview/refresh",
        "/workspaces/ada/size",
        "/workspaces/ada/tree?path=src",
    ];
    for path in PAGE_PATHS.into_iter().chain(parts) {
        let page = if parts.contains(&path) {
            person.get_fragment(path).await.expect_ok().text
        } else {
            person.get(path).await.expect_ok().text
        };
        for (name, with) in parse_tags(&page) {
            let asks = with.contains_key("hx-get") || with.contains_key("hx-post");
            let clicked = matches!(name.as_str(), "form" | "a" | "button" | "input");
            assert!(
                !asks || clicked || with.contains_key("hx-trigger"),
                "{path}: {name} {with:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fragment_links_point_to_existing_ids() {
    let server = TestServer::new().await;
    create_sample_data(&server).await;
    let mut person = server.login_as_user().await;
    let propose = "act=propose&content=Use+Rust";
    person
        .post_with_csrf("/boards/global/decide", propose)
        .await;
    let mut seen = HashSet::new();
    for path in PAGE_PATHS {
        let page = person.get(path).await.expect_ok().text;
        for (_, with) in parse_tags(&page) {
            let Some((to, place)) = with.get("href").and_then(|href| href.split_once('#')) else {
                continue;
            };
            let to = if to.is_empty() { path } else { to };
            if seen.insert(format!("{to}#{place}")) {
                assert!(
                    page_has_id(&mut person, to, place).await,
                    "{path} links to {to}#{place}"
                );
            }
        }
    }
    assert!(seen.contains("/tasks/1#comment-1"), "{seen:?}");
}

/// Returns whether a page has an element with this id.
async fn page_has_id(person: &mut TestBrowser<'_>, path: &str, id: &str) -> bool {
    let page = person.get(path).await.expect_ok().text;
    let id = percent_encoding::percent_decode_str(id).decode_utf8_lossy();
    let mut tags = parse_tags(&page).into_iter();
    tags.any(|(_, with)| with.get("id").is_some_and(|own| *own == id))
}

/// Returns the class names in a stylesheet of `assets/`.
fn stylesheet_classes(sheet: &str) -> BTreeSet<String> {
    let path = format!("{}/assets/{sheet}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let names = text.split('.').skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
        rest[..end.unwrap_or(rest.len())].to_owned()
    });
    names
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn page_loads_stylesheet_of_every_class_it_uses() {
    const SHEETS: [&str; 7] = [
        "polis.css",
        "others.css",
        "tasks.css",
        "boards.css",
        "sides.css",
        "agents.css",
        "files.css",
    ];
    let styled: BTreeMap<&str, BTreeSet<String>> = SHEETS
        .into_iter()
        .map(|sheet| (sheet, stylesheet_classes(sheet)))
        .collect();
    let server = TestServer::new().await;
    create_sample_data(&server).await;
    let mut person = server.login_as_user().await;
    for path in PAGE_PATHS {
        let page = person.get(path).await.expect_ok().text;
        let tags = parse_tags(&page);
        let loaded = |sheet: &str| {
            let mut links = tags.iter().filter(|(name, _)| name == "link");
            links.any(|(_, with)| with["href"].ends_with(sheet))
        };
        assert!(loaded("polis.css"), "{path}");
        for class in tags.iter().filter_map(|(_, with)| with.get("class")) {
            for name in class.split(' ') {
                let mut sheets = styled.iter().filter(|(_, names)| names.contains(name));
                let somewhere = sheets.clone().next().is_some();
                assert!(
                    !somewhere || sheets.any(|(sheet, _)| loaded(sheet)),
                    "{path}: the stylesheet of class {name} is not loaded"
                );
            }
        }
    }
}
