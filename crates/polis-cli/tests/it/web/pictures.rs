//! Generates the screenshots in the documentation from real pages: `scripts/pictures`.
//!
//! The team is the demo's: agents that really hired, wrote and tested, played back from a recording.

use std::path::{Path, PathBuf};

use polis_testkit::browser::{Browser, Setup};

use super::signed_in_as;
use crate::board::Board;
use crate::server::Server;

/// Environment variable with the output directory; without it no screenshots are made.
const WRITE: &str = "POLIS_WRITE_PICTURES";

/// A screenshot: its name, and the page.
type Picture<'a> = (&'static str, &'a str);

const BRIGHT: [Picture<'_>; 4] = [
    ("now", "/"),
    ("tasks", "/tasks"),
    ("board", "/boards/global"),
    ("events", "/events"),
];
const FILE: Picture<'_> = ("file", "/workspaces/architect/file/lib/lexer.sh");
const DARK: [Picture<'_>; 2] = [("now-dark-zh", "/"), ("tasks-dark-zh", "/tasks")];
const NARROW: [Picture<'_>; 1] = [("tasks-phone", "/tasks")];

/// Creates a project with the demo's team and typical data.
fn project() -> Board {
    let board = Board::embedded();
    let shop = board.file("shop").display().to_string();
    let played = board.run("user", &["demo", "dev-team", "--fast", &shop]);
    assert_eq!(played.exit, Some(0), "{}", played.stderr);
    for (id, role, layer) in [
        ("ada", "architect", "top"),
        ("bob", "backend-leader", "mid"),
        ("cyd", "frontend-leader", "mid"),
        ("eve", "test-leader", "mid"),
    ] {
        board.ok(
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
        board.ok(
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
    board.ok("ada", &["task", "update", "5", "--add-blocked-by", "2"]);
    board.ok("ada", &["task", "claim", "1"]);
    board.ok("ada", &["task", "update", "1", "--status", "completed"]);
    board.ok("bob", &["task", "claim", "2"]);
    board.ok("cyd", &["task", "claim", "3"]);
    board.run("eve", &["task", "claim", "5"]);
    board.ok(
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
    board.ok("ada", &["board", "write", "global", "--content", text]);
    board.ok(
        "ada",
        &[
            "board",
            "decision",
            "propose",
            "--content",
            "Ship on Friday, without search",
        ],
    );
    board.ok(
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
    board.ok(
        "bob",
        &[
            "message",
            "send",
            "user",
            "--content",
            "Which bank do we use?",
        ],
    );
    board
}

async fn take(browser: &Browser, into: &Path, pictures: &[Picture<'_>]) {
    for (name, path) in pictures {
        browser.open(path).await;
        browser.wait_for("main h1").await;
        browser
            .until(
                "everything is there",
                "return document.readyState === 'complete' && !document.querySelector('.htmx-request')",
            )
            .await;
        let picture = browser.client.screenshot().await.unwrap();
        assert!(picture.len() > 10_000, "{name} is empty");
        std::fs::write(into.join(format!("{name}.png")), picture).unwrap();
    }
}

/// Returns the target of a link on the page.
async fn link(browser: &Browser, css: &str) -> String {
    browser.wait_for(css).await;
    let script = format!("return document.querySelector({css:?}).getAttribute('href')");
    browser.js(&script).await.as_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs a browser: scripts/test installs one"]
fn pictures_of_the_pages() {
    let kept = tempfile::tempdir().unwrap();
    let into = std::env::var_os(WRITE).map_or_else(|| kept.path().to_owned(), PathBuf::from);
    let board = project();
    let home = board.file("polis-demo").display().to_string();
    let demo = ["--dir", &home, "serve", "--listen", "127.0.0.1:0"];
    let server = Server::start_by(&mut board.json_command("user", &demo));
    signed_in_as(&server, Setup::default(), async |browser| {
        browser.open("/agents?all=1").await;
        let run = link(browser, "main a[href^='/agents/runs/']").await;
        browser.open(&run).await;
        let member = link(browser, "main a[href$='/of/architect']").await;
        let pictures = [("agents", run.as_str()), ("conversation", &member), FILE];
        take(browser, &into, &pictures).await;
    });
    for (pictures, size, language, dark) in [
        (&BRIGHT[..], (1200, 820), "en", false),
        (&DARK[..], (1200, 820), "zh", true),
        (&NARROW[..], (500, 820), "en", false),
    ] {
        // A sign-in link works once, so every browser gets its own server.
        let server = Server::start(&board);
        let setup = Setup {
            size,
            language,
            dark,
        };
        signed_in_as(&server, setup, async |browser| {
            take(browser, &into, pictures).await;
        });
    }
}
