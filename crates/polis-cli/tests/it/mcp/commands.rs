//! Tests of commands over MCP: progress notifications, and cancellation that ends the whole process tree.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{ALL, Client, Era, LATER, refusal_text};
use crate::board::{Board, eventually};
use crate::workspaces::add;

fn board() -> Board {
    let board = Board::embedded();
    add(&board, "ada", "");
    board
}

fn run(client: &mut Client, line: &str, token: Option<Value>) -> i64 {
    let mut params = json!({"name": "run_command", "arguments": {"command": line}});
    if let Some(token) = token {
        params["_meta"] = json!({"progressToken": token});
    }
    client.send("tools/call", params)
}

/// A command that starts two more processes and keeps running; it writes a file when both are started.
struct Tree {
    /// Durations of the two `sleep` processes, unique across all concurrent tests.
    seconds: [String; 2],
}

impl Tree {
    fn new(test: u32) -> Self {
        let own = std::process::id();
        Self {
            seconds: [987, 988].map(|seconds| format!("{seconds}.{own}{test}")),
        }
    }

    fn line(&self) -> String {
        let [one, two] = &self.seconds;
        format!("sleep {one} & setsid sleep {two} & touch started; wait")
    }

    /// Returns the number of live processes of the tree.
    fn lives(&self) -> usize {
        let wanted = self.seconds.each_ref().map(|s| format!("sleep\0{s}\0"));
        let entries = std::fs::read_dir("/proc").unwrap();
        let of_tree = |entry: &std::fs::DirEntry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            wanted.iter().any(|wanted| line == wanted.as_bytes())
        };
        entries.filter_map(Result::ok).filter(of_tree).count()
    }

    /// Waits until the whole tree is running.
    fn wait(&self, board: &Board) {
        wait_for(&started(board));
        eventually("the tree", || self.lives() == 2);
    }

    fn wait_for_end(&self) {
        eventually("the tree's end", || self.lives() == 0);
    }
}

fn started(board: &Board) -> std::path::PathBuf {
    board.workspace("workspaces/ada/started")
}

fn wait_for(path: &Path) {
    eventually("the command's start", || path.exists());
}

#[test]
fn what_a_command_writes_is_told_as_it_comes() {
    let board = board();
    // Each line is written only after the progress of the previous one was received, and the command ends only after
    // the last: however busy the machine is, each line has its own notification.
    let gate = |n: u32| board.workspace(&format!("workspaces/ada/go.{n}"));
    for era in ALL {
        let mut client = Client::begin(&board, "ada", era);
        let line = "touch started
            may() { until [ -e go.$1 ]; do sleep 0.02; done; }
            for n in 1 2 3; do may $n; echo line $n; done; may 4";
        let id = run(&mut client, line, Some(json!("t-1")));
        wait_for(&started(&board));
        let mut last = 0.0;
        for n in 1..=3 {
            std::fs::write(gate(n), "").unwrap();
            let told = client.notification("notifications/progress");
            let params = &told["params"];
            assert_eq!(params["progressToken"], "t-1", "{told}");
            let progress = params["progress"].as_f64().unwrap();
            assert!(progress > last, "{told}");
            last = progress;
            let message = params["message"].as_str().unwrap();
            assert!(message.ends_with(&format!("line {n}")), "{told}");
        }
        std::fs::write(gate(4), "").unwrap();
        let answer = client.answer(id);
        let result = &answer["result"]["structuredContent"];
        assert_eq!(result["stdout"], "line 1\nline 2\nline 3\n", "{answer}");
        (1..=4).for_each(|n| std::fs::remove_file(gate(n)).unwrap());
        // Without a progress token there are no notifications.
        let id = run(&mut client, "echo quiet", None);
        client.answer(id);
        assert!(client.kept().is_empty());
    }
}

#[test]
fn a_flood_is_told_now_and_then() {
    let board = board();
    let mut client = Client::begin(&board, "ada", LATER);
    let id = run(&mut client, "seq 1 200000", Some(json!(7)));
    let answer = client.answer(id);
    assert_eq!(
        answer["result"]["structuredContent"]["exitCode"], 0,
        "{answer}"
    );
    let told = client.kept().len();
    assert!((1..200).contains(&told), "{told}");
}

#[test]
fn cancelling_ends_the_whole_tree_and_nothing_is_answered() {
    let (board, tree) = (board(), Tree::new(1));
    for era in ALL {
        let mut client = Client::begin(&board, "ada", era);
        let id = run(&mut client, &tree.line(), None);
        tree.wait(&board);
        // Other requests are answered in the meantime.
        client.call("TaskList", json!({}));
        client.notify(
            "notifications/cancelled",
            json!({"requestId": id, "reason": "enough"}),
        );
        tree.wait_for_end();
        client.call("TaskList", json!({}));
        eventually("the log", || {
            board.log().last().unwrap()["data"]["cancelled"] == true
        });
        let answered = client.kept().iter().any(|message| message["id"] == id);
        assert!(!answered, "{:?}", client.kept());
        std::fs::remove_file(started(&board)).unwrap();
    }
}

#[test]
fn the_end_of_the_client_ends_its_commands_at_once() {
    let (board, tree) = (board(), Tree::new(2));
    for end in ["close", "signal", "kill"] {
        let mut client = Client::begin(&board, "ada", Era::Stateless);
        run(&mut client, &tree.line(), None);
        tree.wait(&board);
        let begun = Instant::now();
        match end {
            "close" => client.close(),
            "signal" => {
                let pid = client.child.id().to_string();
                let kill = std::process::Command::new("kill").arg(pid).status();
                assert!(kill.unwrap().success());
            }
            _ => client.child.kill().unwrap(),
        }
        client.child.wait().unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{end}: {:?}",
            begun.elapsed()
        );
        tree.wait_for_end();
        std::fs::remove_file(started(&board)).unwrap();
    }
}

#[test]
fn commands_run_side_by_side_up_to_a_bound() {
    let board = board();
    let mut client = Client::begin(&board, "ada", LATER);
    let gate = board.workspace("workspaces/ada/go");
    let line = "touch up.$$; until [ -e go ]; do sleep 0.05; done";
    let ids: Vec<i64> = (0..33).map(|_| run(&mut client, line, None)).collect();
    // One command is over the limit, and is refused immediately.
    let refused = client.wait("a refusal", |message| message["result"]["isError"] == true);
    refusal_text(&refused["result"], "rate_limited");
    std::fs::create_dir_all(gate.parent().unwrap()).unwrap();
    std::fs::write(&gate, "").unwrap();
    for id in ids.into_iter().filter(|id| refused["id"] != *id) {
        let answer = client.answer(id);
        assert_eq!(
            answer["result"]["structuredContent"]["exitCode"], 0,
            "{answer}"
        );
    }
}
