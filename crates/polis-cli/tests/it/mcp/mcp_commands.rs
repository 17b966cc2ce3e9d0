//! Tests of `run_command` over MCP: progress notifications, the concurrency limit, and cancellation of the
//! whole process tree.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::test_mcp_client::{
    ALL_PROTOCOL_MODES, ProtocolMode, SESSION_2025_11, TestMcpClient, expect_refusal_text,
};
use crate::harness::test_project::{TestProject, wait_until};
use crate::workspace::workspace_access::register_bottom_agent;

fn project_with_ada() -> TestProject {
    let project = TestProject::embedded();
    register_bottom_agent(&project, "ada", "");
    project
}

fn send_run_command(client: &mut TestMcpClient, line: &str, token: Option<Value>) -> i64 {
    let mut params = json!({"name": "run_command", "arguments": {"command": line}});
    if let Some(token) = token {
        params["_meta"] = json!({"progressToken": token});
    }
    client.send_request("tools/call", params)
}

/// A command that starts two more processes and keeps running; it writes a file when both are started.
struct ProcessTree {
    /// Durations of the two `sleep` processes, unique across all concurrent tests.
    sleep_seconds: [String; 2],
}

impl ProcessTree {
    fn new(test: u32) -> Self {
        let own = std::process::id();
        Self {
            sleep_seconds: [987, 988].map(|seconds| format!("{seconds}.{own}{test}")),
        }
    }

    fn shell_line(&self) -> String {
        let [one, two] = &self.sleep_seconds;
        format!("sleep {one} & setsid sleep {two} & touch started; wait")
    }

    /// Returns the number of live processes of the tree.
    fn live_process_count(&self) -> usize {
        let wanted = self
            .sleep_seconds
            .each_ref()
            .map(|s| format!("sleep\0{s}\0"));
        let entries = std::fs::read_dir("/proc").unwrap();
        let of_tree = |entry: &std::fs::DirEntry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            wanted.iter().any(|wanted| line == wanted.as_bytes())
        };
        entries.filter_map(Result::ok).filter(of_tree).count()
    }

    /// Waits until the whole tree is running.
    fn wait_until_running(&self, board: &TestProject) {
        wait_for_file(&started_marker(board));
        wait_until("the process tree", || self.live_process_count() == 2);
    }

    fn wait_until_ended(&self) {
        wait_until("the end of the process tree", || {
            self.live_process_count() == 0
        });
    }
}

fn started_marker(project: &TestProject) -> std::path::PathBuf {
    project.data_path("workspaces/ada/started")
}

fn wait_for_file(path: &Path) {
    wait_until("the command's start", || path.exists());
}

#[test]
fn command_output_is_reported_as_progress() {
    let project = project_with_ada();
    // Each line is written only after the progress of the previous one was received, and the command ends
    // only after the last: however busy the machine is, each line has its own notification.
    let gate = |n: u32| project.data_path(&format!("workspaces/ada/go.{n}"));
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(&project, "ada", era);
        let line = "touch started
            may() { until [ -e go.$1 ]; do sleep 0.02; done; }
            for n in 1 2 3; do may $n; echo line $n; done; may 4";
        let id = send_run_command(&mut client, line, Some(json!("t-1")));
        wait_for_file(&started_marker(&project));
        let mut last = 0.0;
        for n in 1..=3 {
            std::fs::write(gate(n), "").unwrap();
            let told = client.wait_for_notification("notifications/progress");
            let params = &told["params"];
            assert_eq!(params["progressToken"], "t-1", "{told}");
            let progress = params["progress"].as_f64().unwrap();
            assert!(progress > last, "{told}");
            last = progress;
            let message = params["message"].as_str().unwrap();
            assert!(message.ends_with(&format!("line {n}")), "{told}");
        }
        std::fs::write(gate(4), "").unwrap();
        let answer = client.wait_for_response(id);
        let result = &answer["result"]["structuredContent"];
        assert_eq!(result["stdout"], "line 1\nline 2\nline 3\n", "{answer}");
        (1..=4).for_each(|n| std::fs::remove_file(gate(n)).unwrap());
        // Without a progress token there are no notifications.
        let id = send_run_command(&mut client, "echo quiet", None);
        client.wait_for_response(id);
        assert!(client.pending_messages().is_empty());
    }
}

#[test]
fn progress_of_large_output_is_throttled() {
    let project = project_with_ada();
    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    let id = send_run_command(&mut client, "seq 1 200000", Some(json!(7)));
    let answer = client.wait_for_response(id);
    assert_eq!(
        answer["result"]["structuredContent"]["exitCode"], 0,
        "{answer}"
    );
    let told = client.pending_messages().len();
    assert!((1..200).contains(&told), "{told}");
}

#[test]
fn cancelled_command_ends_its_process_tree_without_a_response() {
    let (project, tree) = (project_with_ada(), ProcessTree::new(1));
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(&project, "ada", era);
        let id = send_run_command(&mut client, &tree.shell_line(), None);
        tree.wait_until_running(&project);
        // Other requests are answered in the meantime.
        client.call_tool("TaskList", json!({}));
        client.notify(
            "notifications/cancelled",
            json!({"requestId": id, "reason": "enough"}),
        );
        tree.wait_until_ended();
        client.call_tool("TaskList", json!({}));
        wait_until("the log", || {
            project.read_log().last().unwrap()["data"]["cancelled"] == true
        });
        let answered = client
            .pending_messages()
            .iter()
            .any(|message| message["id"] == id);
        assert!(!answered, "{:?}", client.pending_messages());
        std::fs::remove_file(started_marker(&project)).unwrap();
    }
}

#[test]
fn client_exit_ends_its_commands() {
    let (project, tree) = (project_with_ada(), ProcessTree::new(2));
    for end in ["close", "signal", "kill"] {
        let mut client = TestMcpClient::connect(&project, "ada", ProtocolMode::Stateless);
        send_run_command(&mut client, &tree.shell_line(), None);
        tree.wait_until_running(&project);
        let begun = Instant::now();
        match end {
            "close" => client.close_stdin(),
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
        tree.wait_until_ended();
        std::fs::remove_file(started_marker(&project)).unwrap();
    }
}

#[test]
fn concurrent_commands_above_the_limit_are_refused() {
    let project = project_with_ada();
    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    let gate = project.data_path("workspaces/ada/go");
    let line = "touch up.$$; until [ -e go ]; do sleep 0.05; done";
    let ids: Vec<i64> = (0..33)
        .map(|_| send_run_command(&mut client, line, None))
        .collect();
    // One command is over the limit, and is refused immediately.
    let refused =
        client.wait_for_message("a refusal", |message| message["result"]["isError"] == true);
    expect_refusal_text(&refused["result"], "rate_limited");
    std::fs::create_dir_all(gate.parent().unwrap()).unwrap();
    std::fs::write(&gate, "").unwrap();
    for id in ids.into_iter().filter(|id| refused["id"] != *id) {
        let answer = client.wait_for_response(id);
        assert_eq!(
            answer["result"]["structuredContent"]["exitCode"], 0,
            "{answer}"
        );
    }
}
