//! Tests of the web pages in a real browser, against a real server.

mod all_pages;
mod live_page_updates;
mod page_actions;
mod partial_refresh;
mod screenshots;
mod script_injection;
mod sign_in;

use polis_testkit::test_browser::{self, BrowserOptions, TestBrowser};

use crate::harness::test_project::TestProject;
use crate::harness::test_server::TestServer;

/// Runs a test with a browser that is signed in.
fn with_signed_in_browser(server: &TestServer, test: impl AsyncFnOnce(&TestBrowser)) {
    with_signed_in_browser_setup(server, BrowserOptions::default(), test);
}

/// Like [`with_signed_in_browser`], with another browser setup.
fn with_signed_in_browser_setup(
    server: &TestServer,
    setup: BrowserOptions,
    test: impl AsyncFnOnce(&TestBrowser),
) {
    test_browser::with_browser(&server.url, setup, async |browser| {
        browser.sign_in(&server.sign_in_url).await;
        test(browser).await;
    });
}

/// Creates a project with a small team at work: agents, tasks, a board, a workspace file and a command.
fn project_with_team() -> TestProject {
    let project = TestProject::embedded();
    project.run_ok(
        "user",
        &[
            "agent",
            "add",
            "ada",
            "--role",
            "architect",
            "--layer",
            "top",
        ],
    );
    let below = ["--layer", "mid", "--supervisor", "ada"];
    project.run_ok(
        "user",
        &[
            &["agent", "add", "bob", "--role", "backend-leader"],
            &below[..],
        ]
        .concat(),
    );
    project.run_ok(
        "user",
        &[
            &["agent", "add", "cyd", "--role", "test-leader"],
            &below[..],
        ]
        .concat(),
    );
    for (subject, role) in [
        ("Draw the plan", "architect"),
        ("Implement the API 实现接口", "backend-leader"),
        ("Test the API", "test-leader"),
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
            ],
        );
    }
    project.run_ok("ada", &["task", "update", "3", "--add-blocked-by", "2"]);
    project.run_ok("bob", &["task", "claim", "2"]);
    project.run_ok(
        "bob",
        &["task", "comment", "2", "--body", "Half of it is done."],
    );
    let text = "# Plan 计划\n\nWe ship on **Friday**.\n\n## Goals\n\n- [x] a plan\n- [ ] a shop\n\n## Code\n\n```rust\nfn main() {}\n```\n";
    project.run_ok("ada", &["board", "write", "global", "--content", text]);
    project.run_ok(
        "ada",
        &[
            "ws",
            "write",
            "src/main.rs",
            "--content",
            "fn main() { println!(\"hello\"); }\n",
        ],
    );
    project.run_ok("ada", &["exec", "--", "echo from the sandbox"]);
    project
}
