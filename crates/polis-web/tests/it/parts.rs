//! Tests for the fragments of all pages: a page subscribes exactly to the events that its fragments listen to, no
//! fragment is fetched by a click that means something else, and every link target exists.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use polis_core::AgentId;
use polis_core::workspace::file::WriteFile;
use polis_ops::op::{self, Desk};
use serde_json::json;

use crate::town::{Browser, Town};

/// An element's name and attributes, as the pages write them.
type Tag = (String, BTreeMap<String, String>);

/// Returns the elements of a page.
fn tags(page: &str) -> Vec<Tag> {
    let opened = page
        .split('<')
        .skip(1)
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    opened.map(tag).collect()
}

fn tag(text: &str) -> Tag {
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
fn listened_to(tags: &[Tag]) -> BTreeSet<String> {
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
async fn busy(town: &Town) {
    let user = AgentId::user();
    town.create_task("first").await;
    for task in [
        json!({"subject": "second", "addBlockedBy": ["1"]}),
        json!({"subject": "third"}),
    ] {
        let params = serde_json::from_value(task).unwrap();
        op::create_task(&town.polis, &user, &params).await.unwrap();
    }
    let claim = serde_json::from_value(json!({"taskId": "1"})).unwrap();
    let ada: AgentId = "ada".parse().unwrap();
    op::claim_task(&town.polis, &ada, &claim).await.unwrap();
    for (body, reply_to) in [("one", None), ("two", Some(1))] {
        let params = op::TaskComment {
            task_id: "1".parse().unwrap(),
            body: body.to_owned(),
            reply_to,
        };
        op::comment_task(&town.polis, &user, &params).await.unwrap();
        let letter = serde_json::from_value(json!({"to": "user", "payload": body})).unwrap();
        op::send_message(&town.polis, &ada, &letter).await.unwrap();
    }
    let file = WriteFile {
        path: "src/main.rs".to_owned(),
        content: "fn main() {}\n".to_owned(),
        ..WriteFile::default()
    };
    op::write_file(&town.polis, Desk::own(&ada), &file)
        .await
        .unwrap();
    crate::agents::run(town).await;
}

const PAGES: [&str; 28] = [
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
    "/agents/letters/1",
    "/agents/runs/shop",
    "/agents/runs/shop/of/arch",
    "/agents/runs/shop/of/arch?from=0",
    "/workspaces",
    "/workspaces/ada",
    "/workspaces/ada/file/src/main.rs",
    "/events",
    "/events?before=3",
];

#[tokio::test(flavor = "multi_thread")]
async fn pages_hear_of_what_their_parts_listen_to_and_of_nothing_else() {
    let town = Town::new().await;
    busy(&town).await;
    let mut person = town.person().await;
    for path in PAGES {
        let page = person.get(path).await.good().text;
        let tags = tags(&page);
        let body = tags.iter().find(|(name, _)| name == "body").unwrap();
        let live = body.1.get("data-live").map_or("", String::as_str);
        let told: BTreeSet<String> = live
            .split(',')
            .filter(|name| !name.is_empty())
            .map(|name| name.replace('/', ":"))
            .collect();
        let mut heard = listened_to(&tags);
        // A fragment that is loaded as soon as it is visible belongs to the page.
        for (_, with) in &tags {
            if with
                .get("hx-trigger")
                .is_some_and(|on| on == "intersect once")
            {
                let part = person.part(&with["hx-get"]).await.good().text;
                heard.extend(listened_to(&self::tags(&part)));
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
async fn nothing_is_fetched_by_a_click_that_means_something_else() {
    let town = Town::new().await;
    busy(&town).await;
    let mut person = town.person().await;
    let parts = [
        "/now/look",
        "/workspaces/ada/size",
        "/workspaces/ada/tree?path=src",
    ];
    for path in PAGES.into_iter().chain(parts) {
        let page = match parts.contains(&path) {
            true => person.part(path).await.good().text,
            false => person.get(path).await.good().text,
        };
        for (name, with) in tags(&page) {
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
async fn every_place_that_is_linked_to_is_there() {
    let town = Town::new().await;
    busy(&town).await;
    let mut person = town.person().await;
    let propose = "act=propose&content=Use+Rust";
    person.submit("/boards/global/decide", propose).await;
    let mut seen = HashSet::new();
    for path in PAGES {
        let page = person.get(path).await.good().text;
        for (_, with) in tags(&page) {
            let Some((to, place)) = with.get("href").and_then(|href| href.split_once('#')) else {
                continue;
            };
            let to = if to.is_empty() { path } else { to };
            if seen.insert(format!("{to}#{place}")) {
                assert!(
                    has(&mut person, to, place).await,
                    "{path} links to {to}#{place}"
                );
            }
        }
    }
    assert!(seen.contains("/tasks/1#comment-1"), "{seen:?}");
}

async fn has(person: &mut Browser<'_>, path: &str, id: &str) -> bool {
    let page = person.get(path).await.good().text;
    let id = percent_encoding::percent_decode_str(id).decode_utf8_lossy();
    let mut tags = tags(&page).into_iter();
    tags.any(|(_, with)| with.get("id").is_some_and(|own| *own == id))
}

/// Returns the class names in a stylesheet.
fn classes_of(sheet: &str) -> BTreeSet<String> {
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
async fn a_page_loads_the_sheets_of_what_it_is_made_of() {
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
        .map(|sheet| (sheet, classes_of(sheet)))
        .collect();
    let town = Town::new().await;
    busy(&town).await;
    let mut person = town.person().await;
    for path in PAGES {
        let page = person.get(path).await.good().text;
        let tags = tags(&page);
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
                    "{path}: {name} has its style in a sheet that is not loaded"
                );
            }
        }
    }
}
