//! Tests of the web pages in a real browser, against a real server.

mod door;
mod hostile;
mod live;
mod pages;
mod parts;
mod pictures;
mod work;

use polis_testkit::browser::{self, Browser, Setup};

use crate::board::Board;
use crate::server::Server;

/// Runs a test with a browser that is signed in.
fn signed_in(server: &Server, test: impl AsyncFnOnce(&Browser)) {
    signed_in_as(server, Setup::default(), test);
}

/// Like [`signed_in`], with another browser setup.
fn signed_in_as(server: &Server, setup: Setup, test: impl AsyncFnOnce(&Browser)) {
    browser::with(&server.url, setup, async |browser| {
        browser.sign_in(&server.sign_in).await;
        test(browser).await;
    });
}

/// Creates a project with a small team at work: agents, tasks, a board, a workspace file and a command.
fn team() -> Board {
    let board = Board::embedded();
    board.ok(
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
    board.ok(
        "user",
        &[
            &["agent", "add", "bob", "--role", "backend-leader"],
            &below[..],
        ]
        .concat(),
    );
    board.ok(
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
        board.ok(
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
    board.ok("ada", &["task", "update", "3", "--add-blocked-by", "2"]);
    board.ok("bob", &["task", "claim", "2"]);
    board.ok(
        "bob",
        &["task", "comment", "2", "--body", "Half of it is done."],
    );
    let text = "# Plan 计划\n\nWe ship on **Friday**.\n\n## Goals\n\n- [x] a plan\n- [ ] a shop\n\n## Code\n\n```rust\nfn main() {}\n```\n";
    board.ok("ada", &["board", "write", "global", "--content", text]);
    board.ok(
        "ada",
        &[
            "ws",
            "write",
            "src/main.rs",
            "--content",
            "fn main() { println!(\"hello\"); }\n",
        ],
    );
    board.ok("ada", &["exec", "--", "echo from the sandbox"]);
    board
}
