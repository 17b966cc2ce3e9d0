//! Every page, in both languages, light and dark, wide and narrow: it is there, it is whole, and everybody can use it.

use polis_testkit::browser::{Browser, Setup};
use serde_json::json;

use super::{signed_in_as, team};
use crate::server::Server;

/// Every page of the team's board, and something that stands on it.
const PAGES: [(&str, &str); 14] = [
    ("/", "Implement the API"),
    ("/tasks", "Draw the plan"),
    ("/tasks?search=Test", "Test the API"),
    ("/tasks/2", "Half of it is done."),
    ("/boards", "global"),
    ("/boards/global", "We ship on"),
    ("/boards/global/history", "ada"),
    ("/agents", "cyd"),
    ("/agents/bob", "bob"),
    ("/workspaces", "ada"),
    ("/workspaces/ada", "src"),
    ("/workspaces/ada/file/src/main.rs", "println"),
    ("/workspaces/ada", "from the sandbox"),
    ("/events", "bob"),
];

async fn look_at_all(browser: &Browser, narrow: bool) {
    for (path, has) in PAGES {
        browser.open(path).await;
        browser.until_text("main", has).await;
        assert_eq!(browser.faults().await, Vec::<String>::new(), "{path}");
        assert_eq!(browser.complaints().await, Vec::<String>::new(), "{path}");
        if narrow {
            let fits = browser
                .js("return document.documentElement.scrollWidth <= window.innerWidth + 1")
                .await;
            assert_eq!(fits, json!(true), "{path} is wider than a phone");
        }
    }
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn every_page_is_there_and_accessible() {
    let board = team();
    let server = Server::start(&board);
    signed_in_as(&server, Setup::default(), async |browser| {
        look_at_all(browser, false).await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn every_page_is_there_in_chinese_and_in_the_dark_on_a_phone() {
    let board = team();
    let server = Server::start(&board);
    let setup = Setup {
        size: (500, 900),
        language: "zh",
        dark: true,
    };
    signed_in_as(&server, setup, async |browser| {
        look_at_all(browser, true).await;
        browser.open("/").await;
        browser.until_text("header.bar nav", "任务").await;
        let background = browser
            .js("return getComputedStyle(document.body).backgroundColor")
            .await;
        let bright: u32 = background
            .as_str()
            .unwrap()
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|n| n.parse::<u32>().ok())
            .take(3)
            .sum();
        assert!(bright < 3 * 80, "{background}");
    });
}

/// Picks one of the choices behind the reader's name.
async fn choose(browser: &Browser, value: &str) {
    browser.click("header.bar details summary").await;
    let button = format!("form[action='/taste'] button[value={value}]");
    browser.click(&button).await;
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn language_and_theme_are_chosen_and_keys_lead_everywhere() {
    let board = team();
    let server = Server::start(&board);
    signed_in_as(&server, Setup::default(), async |browser| {
        choose(browser, "zh").await;
        browser.until_text("header.bar nav", "任务").await;
        choose(browser, "en").await;
        browser.until_text("header.bar nav", "Tasks").await;
        choose(browser, "dark").await;
        browser
            .until(
                "it is dark",
                "return document.documentElement.dataset.theme === 'dark'",
            )
            .await;
        for (keys, path) in [
            ("gt", "/tasks"),
            ("gb", "/boards"),
            ("ga", "/agents"),
            ("gw", "/workspaces"),
            ("ge", "/events"),
            ("gn", "/"),
        ] {
            browser.press(keys).await;
            browser
                .until(
                    path,
                    &format!("return location.pathname === {}", json!(path)),
                )
                .await;
        }
        browser.press("?").await;
        browser.wait_for("dialog#help[open]").await;
        browser.press("\u{e00c}").await;
        browser
            .until(
                "help is closed",
                "return !document.querySelector('dialog#help[open]')",
            )
            .await;
        browser.press("gt").await;
        browser.wait_for("[data-task]").await;
        browser.press("j").await;
        browser
            .until(
                "a card has the focus",
                "return !!document.activeElement.closest('[data-task]')",
            )
            .await;
        browser.press("\u{e007}").await;
        browser
            .until(
                "it is open",
                "return /^\\/tasks\\/\\d+$/.test(location.pathname)",
            )
            .await;
    });
}
