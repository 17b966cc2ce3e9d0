//! Tests of every page, in both languages, light and dark, wide and narrow: it exists, it is complete, and it is
//! accessible.

use polis_testkit::browser::{Browser, Setup};
use polis_testkit::model_server::{Reply, ToolCall};
use serde_json::json;

use super::{signed_in, signed_in_as, team};
use crate::board::Board;
use crate::server::Server;
use crate::society::{Running, saying, with_model};

/// Every kind of page, and a text on it; `{run}` is the run's name.
const PAGES: [(&str, &str); 29] = [
    ("/", "Implement the API"),
    ("/tasks", "Draw the plan"),
    ("/tasks?q=Test", "Test the API"),
    ("/tasks/new", ""),
    ("/tasks/2", "Half of it is done."),
    ("/tasks/2/edit", ""),
    ("/tasks/2/delete", "#2"),
    ("/boards", "global"),
    ("/boards?q=nothing", ""),
    ("/boards/global", "We ship on"),
    ("/boards/global/edit", "We ship on"),
    ("/boards/global/edit?section=Goals&nth=1", "a plan"),
    ("/boards/global/history", "ada"),
    ("/boards/global/history?from=1&to=2", "Ship it"),
    ("/boards/global/restore?version=1", "Ship it"),
    ("/agents", "cyd"),
    ("/agents?all=1", "{run}"),
    ("/agents/bob", "bob"),
    ("/agents/bob/retire", "bob"),
    ("/agents/runs/{run}", "Paint the door"),
    ("/agents/runs/{run}/stop", "{run}"),
    ("/agents/runs/{run}/of/root", "It is painted."),
    ("/workspaces", "ada"),
    ("/workspaces/ada", "src"),
    ("/workspaces/ada", "from the sandbox"),
    ("/workspaces/ada/file/src/main.rs", "println"),
    ("/workspaces/ada/file/notes.md", "Notes"),
    ("/workspaces/ada/file/nothing.txt", "nothing.txt"),
    ("/events", "bob"),
];

/// Pages that are reached by a link on another page.
const BEHIND: [(&str, &str, &str); 4] = [
    (
        "/workspaces/ada",
        "a[href*='/command?id=']",
        "from the sandbox",
    ),
    ("/", "a[href*='/decide?id=']", "Ship it"),
    (
        "/boards/global",
        "[data-decision] button[value=veto]",
        "Ship it",
    ),
    ("/", "a[href^='/agents/letters/']", "word"),
];

/// Creates the team with data for every page. Returns the project and the name of a run.
fn everything() -> (Board, String) {
    let board = team();
    let decide = ["board", "decision", "propose", "--content", "Ship it"];
    board.ok("ada", &decide);
    let milestone = [
        "board",
        "milestone",
        "add",
        "Alpha",
        "--description",
        "soon",
    ];
    board.ok("ada", &milestone);
    let long = "word ".repeat(2_000);
    board.ok("bob", &["message", "send", "user", "--content", &long]);
    let data = r#"{"plan":["draw","build"],"done":false}"#;
    let send = ["message", "send", "user", "--as-json", "--content", data];
    board.ok("bob", &send);
    let notes = "# Notes\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n";
    board.ok("ada", &["ws", "write", "notes.md", "--content", notes]);
    let role = json!({"name": "painter", "rolePrompt": "You paint."});
    let hire = json!({"role": "painter", "taskBrief": {"objective": "Paint the door"}});
    let model = saying(move |step| match step {
        0 => Reply::calls([
            ToolCall::new("c1", "create_role", &role),
            ToolCall::new("c2", "spawn_agent", &hire),
            ToolCall::new(
                "c3",
                "write_file",
                &json!({"path": "door.rs", "content": "fn door() {}\n"}),
            ),
            ToolCall::new("c4", "run_command", &json!({"command": "echo painted"})),
        ]),
        1 => crate::society::to_user("c5", "It is painted."),
        _ => Reply::text("It is **painted**."),
    });
    let mut run = Running::start(&mut with_model(&board, &model, &["run", "Paint the door"]));
    let started = run.until("started");
    run.end();
    let run = started["taskId"].as_str().unwrap().to_owned();
    (board, run)
}

/// Returns the faults of the open page.
async fn wrong(browser: &Browser, narrow: bool) -> Vec<String> {
    let mut found = browser.faults().await;
    if narrow {
        let fits = browser
            .js("return document.documentElement.scrollWidth <= window.innerWidth + 1")
            .await;
        found.extend((fits != json!(true)).then(|| "is wider than a phone".to_owned()));
    }
    found.extend(browser.complaints().await);
    found
}

/// Visits every page, and reports all faults together.
async fn look_at_all(browser: &Browser, run: &str, narrow: bool) {
    let mut found = Vec::new();
    for (path, has) in PAGES {
        let (path, has) = (path.replace("{run}", run), has.replace("{run}", run));
        browser.open(&path).await;
        browser.until_text("main", &has).await;
        let faults = wrong(browser, narrow).await;
        found.extend(faults.iter().map(|fault| format!("{path}: {fault}")));
    }
    for (path, way, has) in BEHIND {
        browser.open(path).await;
        browser.click(way).await;
        browser
            .until(
                way,
                &format!("return location.pathname !== {}", json!(path)),
            )
            .await;
        browser.until_text("main", has).await;
        let faults = wrong(browser, narrow).await;
        found.extend(faults.iter().map(|fault| format!("{way}: {fault}")));
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Returns the brightness of a page, from 0 to 765.
async fn brightness(browser: &Browser) -> u32 {
    let background = browser
        .js("return getComputedStyle(document.documentElement).backgroundColor")
        .await;
    let numbers = background.as_str().unwrap();
    let numbers = numbers.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|n| n.parse::<u32>().ok()).take(3).sum()
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn every_page_is_there_and_accessible() {
    let (board, run) = everything();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        look_at_all(browser, &run, false).await;
        assert!(brightness(browser).await > 3 * 200, "the system is light");
        let project = board.path().file_name().unwrap().to_str().unwrap();
        browser.until_text("header.bar", project).await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn every_page_is_there_in_chinese_and_in_the_dark_on_a_phone() {
    let (board, run) = everything();
    let server = Server::start(&board);
    let setup = Setup {
        size: (500, 900),
        language: "zh",
        dark: true,
    };
    signed_in_as(&server, setup, async |browser| {
        look_at_all(browser, &run, true).await;
        browser.open("/").await;
        browser.until_text("header.bar nav", "任务").await;
        assert!(brightness(browser).await < 3 * 80, "the system is dark");
    });
}

/// Selects a preference in the user menu.
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
    signed_in(&server, async |browser| {
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
        assert!(brightness(browser).await < 3 * 80);
        choose(browser, "light").await;
        browser
            .until(
                "it is light",
                "return document.documentElement.dataset.theme === 'light'",
            )
            .await;
        assert!(brightness(browser).await > 3 * 200);
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

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn days_begin_at_the_midnight_of_who_reads() {
    let board = team();
    let server = Server::start(&board);
    signed_in(&server, async |browser| {
        // At any moment the date in one of these time zones differs from UTC.
        for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
            browser.live_in(zone).await;
            browser.open("/events").await;
            browser
                .until(
                    "every event stands below its own day",
                    "const two = n => String(n).padStart(2, '0');
                     let day = '', right = 0;
                     for (const item of document.querySelectorAll('ol.timeline > li')) {
                       const head = item.querySelector('.day');
                       if (head) { day = head.textContent; continue; }
                       const at = new Date(item.querySelector('time').dateTime);
                       const its = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
                       if (its !== day) return false;
                       right += 1;
                     }
                     return right > 5",
                )
                .await;
        }
    });
}
