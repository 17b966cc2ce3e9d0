//! Tests of every web page, in both languages, light and dark, wide and narrow: it is complete and
//! accessible.

use polis_testkit::scripted_model::{ScriptedReply, ScriptedToolCall};
use polis_testkit::test_browser::{BrowserOptions, TestBrowser};
use serde_json::json;

use super::{project_with_team, with_signed_in_browser, with_signed_in_browser_setup};
use crate::harness::test_project::TestProject;
use crate::harness::test_server::TestServer;
use crate::society::{RunProcess, command_with_model, scripted_model_by_step};

/// Every kind of page, and a text on it; `{run}` is the run's name.
const PAGE_TEXTS: [(&str, &str); 29] = [
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
    ("/agents/runs/{run}/members/root", "It is painted."),
    ("/workspaces", "ada"),
    ("/workspaces/ada", "src"),
    ("/workspaces/ada", "from the sandbox"),
    ("/workspaces/ada/file/src/main.rs", "println"),
    ("/workspaces/ada/file/notes.md", "Notes"),
    ("/workspaces/ada/file/nothing.txt", "nothing.txt"),
    ("/events", "bob"),
];

/// Pages that are reached by a link on another page.
const LINKED_PAGES: [(&str, &str, &str); 4] = [
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
    ("/", "a[href^='/agents/messages/']", "word"),
];

/// Creates the team with data for every page. Returns the project and the name of a run.
fn project_with_data_for_every_page() -> (TestProject, String) {
    let project = project_with_team();
    let decide = ["board", "decision", "propose", "--content", "Ship it"];
    project.run_ok("ada", &decide);
    let milestone = [
        "board",
        "milestone",
        "add",
        "Alpha",
        "--description",
        "soon",
    ];
    project.run_ok("ada", &milestone);
    let long = "word ".repeat(2_000);
    project.run_ok("bob", &["message", "send", "user", "--content", &long]);
    let data = r#"{"plan":["draw","build"],"done":false}"#;
    let send = ["message", "send", "user", "--as-json", "--content", data];
    project.run_ok("bob", &send);
    let notes = "# Notes\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n";
    project.run_ok("ada", &["ws", "write", "notes.md", "--content", notes]);
    let role = json!({"name": "painter", "rolePrompt": "You paint."});
    let hire = json!({"role": "painter", "taskBrief": {"objective": "Paint the door"}});
    let model = scripted_model_by_step(move |step| match step {
        0 => ScriptedReply::tool_calls([
            ScriptedToolCall::new("c1", "create_role", &role),
            ScriptedToolCall::new("c2", "spawn_agent", &hire),
            ScriptedToolCall::new(
                "c3",
                "write_file",
                &json!({"path": "door.rs", "content": "fn door() {}\n"}),
            ),
            ScriptedToolCall::new("c4", "run_command", &json!({"command": "echo painted"})),
        ]),
        1 => crate::society::message_user_reply("c5", "It is painted."),
        _ => ScriptedReply::text("It is **painted**."),
    });
    let mut run = RunProcess::start(&mut command_with_model(
        &project,
        &model,
        &["run", "Paint the door"],
    ));
    let started = run.read_until("started");
    run.wait_for_end();
    let run = started["taskId"].as_str().unwrap().to_owned();
    (project, run)
}

/// Returns accessibility violations, console errors and overflow of the open page.
async fn page_faults(browser: &TestBrowser, narrow: bool) -> Vec<String> {
    let mut found = browser.accessibility_violations().await;
    if narrow {
        let fits = browser
            .run_script("return document.documentElement.scrollWidth <= window.innerWidth + 1")
            .await;
        found.extend((fits != json!(true)).then(|| "is wider than a phone".to_owned()));
    }
    found.extend(browser.console_errors().await);
    found
}

/// Visits every page, and reports the faults of all pages together.
async fn check_all_pages(browser: &TestBrowser, run: &str, narrow: bool) {
    let mut found = Vec::new();
    for (path, has) in PAGE_TEXTS {
        let (path, has) = (path.replace("{run}", run), has.replace("{run}", run));
        browser.open_page(&path).await;
        browser.wait_for_text("main", &has).await;
        let faults = page_faults(browser, narrow).await;
        found.extend(faults.iter().map(|fault| format!("{path}: {fault}")));
    }
    for (path, way, has) in LINKED_PAGES {
        browser.open_page(path).await;
        browser.click_element(way).await;
        browser
            .wait_until_true(
                way,
                &format!("return location.pathname !== {}", json!(path)),
            )
            .await;
        browser.wait_for_text("main", has).await;
        let faults = page_faults(browser, narrow).await;
        found.extend(faults.iter().map(|fault| format!("{way}: {fault}")));
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Returns the brightness of a page, from 0 to 765.
async fn page_brightness(browser: &TestBrowser) -> u32 {
    let background = browser
        .run_script("return getComputedStyle(document.documentElement).backgroundColor")
        .await;
    let numbers = background.as_str().unwrap();
    let numbers = numbers.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|n| n.parse::<u32>().ok()).take(3).sum()
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn every_page_is_complete_and_accessible() {
    let (board, run) = project_with_data_for_every_page();
    let server = TestServer::start(&board);
    with_signed_in_browser(&server, async |browser| {
        check_all_pages(browser, &run, false).await;
        assert!(
            page_brightness(browser).await > 3 * 200,
            "the system is light"
        );
        let project = board.path().file_name().unwrap().to_str().unwrap();
        browser.wait_for_text("header.bar", project).await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn every_page_is_complete_in_chinese_dark_mode_on_a_phone() {
    let (project, run) = project_with_data_for_every_page();
    let server = TestServer::start(&project);
    let setup = BrowserOptions {
        window_size: (500, 900),
        language: "zh",
        dark_mode: true,
    };
    with_signed_in_browser_setup(&server, setup, async |browser| {
        check_all_pages(browser, &run, true).await;
        browser.open_page("/").await;
        browser.wait_for_text("header.bar nav", "任务").await;
        assert!(
            page_brightness(browser).await < 3 * 80,
            "the system is dark"
        );
    });
}

/// Selects a preference in the user menu.
async fn choose_preference(browser: &TestBrowser, value: &str) {
    browser.click_element("header.bar details summary").await;
    let button = format!("form[action='/preferences'] button[value={value}]");
    browser.click_element(&button).await;
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn preferences_and_keyboard_navigation_work() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        choose_preference(browser, "zh").await;
        browser.wait_for_text("header.bar nav", "任务").await;
        choose_preference(browser, "en").await;
        browser.wait_for_text("header.bar nav", "Tasks").await;
        choose_preference(browser, "dark").await;
        browser
            .wait_until_true(
                "it is dark",
                "return document.documentElement.dataset.theme === 'dark'",
            )
            .await;
        assert!(page_brightness(browser).await < 3 * 80);
        choose_preference(browser, "light").await;
        browser
            .wait_until_true(
                "it is light",
                "return document.documentElement.dataset.theme === 'light'",
            )
            .await;
        assert!(page_brightness(browser).await > 3 * 200);
        for (keys, path) in [
            ("gt", "/tasks"),
            ("gb", "/boards"),
            ("ga", "/agents"),
            ("gw", "/workspaces"),
            ("ge", "/events"),
            ("gn", "/"),
        ] {
            browser.press_keys(keys).await;
            browser
                .wait_until_true(
                    path,
                    &format!("return location.pathname === {}", json!(path)),
                )
                .await;
        }
        browser.press_keys("?").await;
        browser.wait_for_element("dialog#help[open]").await;
        browser.press_keys("\u{e00c}").await;
        browser
            .wait_until_true(
                "help is closed",
                "return !document.querySelector('dialog#help[open]')",
            )
            .await;
        browser.press_keys("gt").await;
        browser.wait_for_element("[data-task]").await;
        browser.press_keys("j").await;
        browser
            .wait_until_true(
                "a card has the focus",
                "return !!document.activeElement.closest('[data-task]')",
            )
            .await;
        browser.press_keys("\u{e007}").await;
        browser
            .wait_until_true(
                "it is open",
                "return /^\\/tasks\\/\\d+$/.test(location.pathname)",
            )
            .await;
    });
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn event_days_start_at_midnight_of_the_browser_time_zone() {
    let project = project_with_team();
    let server = TestServer::start(&project);
    with_signed_in_browser(&server, async |browser| {
        // At any moment the date in one of these time zones differs from UTC.
        for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
            browser.set_time_zone(zone).await;
            browser.open_page("/events").await;
            browser
                .wait_until_true(
                    "every event is listed under its own day",
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
