//! Generates the screenshots in the documentation from real pages: `scripts/pictures`.
//!
//! The team is the demo's: agents that really hired, wrote and tested, played back from a recording.

use std::path::{Path, PathBuf};

use polis_testkit::test_browser::{BrowserOptions, TestBrowser};

use super::with_signed_in_browser_setup;
use crate::harness::test_project::TestProject;
use crate::harness::test_server::TestServer;

/// Environment variable with the output directory; without it no screenshots are made.
const OUTPUT_DIR_VARIABLE: &str = "POLIS_WRITE_PICTURES";

/// A screenshot: its name, and the page.
type ScreenshotPage<'a> = (&'static str, &'a str);

const LIGHT_PAGES: [ScreenshotPage<'_>; 4] = [
    ("now", "/"),
    ("tasks", "/tasks"),
    ("board", "/boards/global"),
    ("events", "/events"),
];
const FILE_PAGE: ScreenshotPage<'_> = ("file", "/workspaces/architect/file/lib/lexer.sh");
const DARK_PAGES: [ScreenshotPage<'_>; 2] = [("now-dark-zh", "/"), ("tasks-dark-zh", "/tasks")];
const PHONE_PAGES: [ScreenshotPage<'_>; 1] = [("tasks-phone", "/tasks")];

/// Creates a project with the demo's team and typical data.
fn demo_project() -> TestProject {
    let project = TestProject::embedded();
    let shop = project.project_path("shop").display().to_string();
    let played = project.run_json("user", &["demo", "dev-team", "--fast", &shop]);
    assert_eq!(played.exit_code, Some(0), "{}", played.stderr);
    for (id, role, layer) in [
        ("ada", "architect", "top"),
        ("bob", "backend-leader", "mid"),
        ("cyd", "frontend-leader", "mid"),
        ("eve", "test-leader", "mid"),
    ] {
        project.run_ok(
            "user",
            &["agent", "add", id, "--role", role, "--layer", layer],
        );
    }
    for (subject, role, kind) in [
        (
            "Draw the plan of the shop",
            "architect",
            "architecture_design",
        ),
        (
            "Orders: create, pay, cancel",
            "backend-leader",
            "backend_implementation",
        ),
        (
            "实现购物车页面",
            "frontend-leader",
            "frontend_implementation",
        ),
        (
            "Search over products",
            "backend-leader",
            "backend_implementation",
        ),
        ("Test the orders end to end", "test-leader", "testing"),
        ("Write the installation guide", "architect", "documentation"),
    ] {
        project.run_ok(
            "ada",
            &[
                "task",
                "create",
                "--subject",
                subject,
                "--required-role",
                role,
                "--type",
                kind,
            ],
        );
    }
    project.run_ok("ada", &["task", "update", "5", "--add-blocked-by", "2"]);
    project.run_ok("ada", &["task", "claim", "1"]);
    project.run_ok("ada", &["task", "update", "1", "--status", "completed"]);
    project.run_ok("bob", &["task", "claim", "2"]);
    project.run_ok("cyd", &["task", "claim", "3"]);
    project.run_json("eve", &["task", "claim", "5"]);
    project.run_ok(
        "bob",
        &[
            "task",
            "comment",
            "2",
            "--body",
            "Paying works, @eve can begin with it.",
        ],
    );
    let text = "# The shop\n\n## Goals\n\n1. Orders that are never lost\n2. 中文与英文界面\n\n## Plan\n\n| part | who | state |\n| --- | --- | --- |\n| orders | bob | in work |\n| 购物车 | cyd | in work |\n\n```rust\npub fn pay(order: &Order) -> Result<Receipt, Refusal> {\n    order.check()?; // nothing half-done behind a refusal\n    Ok(Receipt::of(order))\n}\n```\n";
    project.run_ok("ada", &["board", "write", "global", "--content", text]);
    project.run_ok(
        "ada",
        &[
            "board",
            "decision",
            "propose",
            "--content",
            "Ship on Friday, without search",
        ],
    );
    project.run_ok(
        "ada",
        &[
            "board",
            "milestone",
            "add",
            "First order",
            "--description",
            "paid by card",
        ],
    );
    project.run_ok(
        "bob",
        &[
            "message",
            "send",
            "user",
            "--content",
            "Which bank do we use?",
        ],
    );
    project
}

async fn take_screenshots(browser: &TestBrowser, into: &Path, pictures: &[ScreenshotPage<'_>]) {
    for (name, path) in pictures {
        browser.open_page(path).await;
        browser.wait_for_element("main h1").await;
        browser
            .wait_until_true(
                "the page is loaded",
                "return document.readyState === 'complete' && !document.querySelector('.htmx-request')",
            )
            .await;
        let picture = browser.client.screenshot().await.unwrap();
        assert!(picture.len() > 10_000, "{name} is empty");
        std::fs::write(into.join(format!("{name}.png")), picture).unwrap();
    }
}

/// Returns the target of a link on the page.
async fn link_target(browser: &TestBrowser, css: &str) -> String {
    browser.wait_for_element(css).await;
    let script = format!("return document.querySelector({css:?}).getAttribute('href')");
    browser
        .run_script(&script)
        .await
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn documentation_screenshots_are_generated() {
    let kept = tempfile::tempdir().unwrap();
    let into =
        std::env::var_os(OUTPUT_DIR_VARIABLE).map_or_else(|| kept.path().to_owned(), PathBuf::from);
    let project = demo_project();
    let home = project.project_path("polis-demo").display().to_string();
    let demo = ["--dir", &home, "serve", "--listen", "127.0.0.1:0"];
    let server = TestServer::start_with_command(&mut project.json_command("user", &demo));
    with_signed_in_browser_setup(&server, BrowserOptions::default(), async |browser| {
        browser.open_page("/agents?all=1").await;
        let run = link_target(browser, "main a[href^='/agents/runs/']").await;
        browser.open_page(&run).await;
        let member = link_target(browser, "main a[href$='/members/architect']").await;
        let pictures = [
            ("agents", run.as_str()),
            ("conversation", &member),
            FILE_PAGE,
        ];
        take_screenshots(browser, &into, &pictures).await;
    });
    for (pictures, size, language, dark) in [
        (&LIGHT_PAGES[..], (1200, 820), "en", false),
        (&DARK_PAGES[..], (1200, 820), "zh", true),
        (&PHONE_PAGES[..], (500, 820), "en", false),
    ] {
        // A sign-in link works once, so every browser gets its own server.
        let server = TestServer::start(&project);
        let setup = BrowserOptions {
            window_size: size,
            language,
            dark_mode: dark,
        };
        with_signed_in_browser_setup(&server, setup, async |browser| {
            take_screenshots(browser, &into, pictures).await;
        });
    }
}
