//! Tests of the MCP stdio transport: invalid messages, oversized lines, backpressure, and how a server ends.

use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::json;

use super::test_mcp_client::{
    ALL_PROTOCOL_MODES, ProtocolMode, SESSION_2025_11, TestMcpClient, initialize_params,
};
use crate::harness::test_project::{TestProject, wait_until};
use crate::workspace::workspace_access::register_bottom_agent;

fn project_with_ada() -> TestProject {
    let project = TestProject::embedded();
    register_bottom_agent(&project, "ada", "");
    project
}

#[test]
fn invalid_messages_are_answered_and_the_session_continues() {
    let project = project_with_ada();
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(&project, "ada", era);
        for (line, code) in [
            ("{", -32700),
            ("nonsense", -32700),
            ("\u{1}\u{2}", -32700),
            ("[]", -32600),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#,
                -32600,
            ),
            ("\"text\"", -32600),
        ] {
            client.send_line(line);
            let answer =
                client.wait_for_message("an error", |message| message.get("error").is_some());
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            assert!(answer.get("id").is_none(), "{answer}");
        }
        client.send_line(r#"{"jsonrpc":"1.0","id":77,"method":"tools/list"}"#);
        assert_eq!(client.wait_for_response(77)["error"]["code"], -32600);
        // These get no response.
        for line in [
            "",
            "{}",
            r#"{"jsonrpc":"2.0","method":"notifications/none"}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
        ] {
            client.send_line(line);
        }
        client.call_tool("TaskList", json!({}));
        assert_eq!(client.pending_messages(), [] as [serde_json::Value; 0]);
        assert_eq!(client.close_and_wait().exit_code, Some(0));
    }
}

#[test]
fn messages_before_initialize_do_not_end_the_server() {
    let project = project_with_ada();
    let mut client = TestMcpClient::spawn_server(project.command().args(["mcp", "--agent", "ada"]));
    client.notify("notifications/initialized", json!({}));
    client.send_line(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    client.request_error("tools/list", json!({}), -32602);
    let answer = client.request("initialize", initialize_params("2025-11-25"));
    assert!(answer.get("result").is_some(), "{answer}");
    client.call_tool("TaskList", json!({}));
}

#[test]
fn oversized_line_is_refused_without_buffering() {
    let project = project_with_ada();
    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    let piece = "x".repeat(1 << 20);
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"{}\"}}",
        piece.repeat(40)
    );
    client.send_line(&line);
    let answer = client.wait_for_message("an error", |message| message.get("error").is_some());
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let memory = peak_memory_kib(client.child.id());
    assert!(memory < 120 << 10, "{memory} KiB");
    client.call_tool("TaskList", json!({}));
}

/// Returns the peak memory of a process, in KiB.
fn peak_memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn concurrent_requests_are_all_answered() {
    let project = project_with_ada();
    for era in [SESSION_2025_11, ProtocolMode::Stateless] {
        let mut client = TestMcpClient::connect(&project, "ada", era);
        let ids: Vec<i64> = (0..500)
            .map(|n| {
                let arguments = json!({"subject": format!("task {n}"), "description": ""});
                client.send_request(
                    "tools/call",
                    json!({"name": "TaskCreate", "arguments": arguments}),
                )
            })
            .collect();
        let mut created: Vec<u64> = ids
            .into_iter()
            .map(|id| {
                let answer = client.wait_for_response(id);
                let id = answer["result"]["structuredContent"]["id"].as_str();
                id.unwrap_or_else(|| panic!("{answer}")).parse().unwrap()
            })
            .collect();
        created.sort_unstable();
        created.dedup();
        assert_eq!(created.len(), 500);
    }
}

/// Backpressure: the server stops reading from a client that does not read its responses, so its memory stays
/// bounded.
#[test]
fn server_stops_reading_when_responses_are_not_read() {
    let project = project_with_ada();
    project.write_board("global", &"a line of the board\n".repeat(1_000));
    let mut command = project.command();
    command.args(["mcp", "--agent", "ada"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params("2025-11-25")});
    let read = |id: u32| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "whiteboard_read", "arguments": {"board": "global"}}})
    };
    let reads: Vec<String> = (1..=3_000).map(|id| read(id).to_string()).collect();
    let many = format!("{begin}\n{}\n", reads.join("\n"));
    // More than the pipe buffer holds: writing blocks when the server stops reading.
    let writer = std::thread::spawn(move || {
        use std::io::Write as _;
        let _ = stdin.write_all(many.as_bytes());
    });
    let mut last = 0;
    let mut same = 0;
    wait_until("memory becoming constant", || {
        std::thread::sleep(Duration::from_millis(50));
        let now = peak_memory_kib(child.id());
        same = if now == last { same + 1 } else { 0 };
        last = now;
        same > 10
    });
    assert!(last < 100 << 10, "{last} KiB");
    // A client that starts to read later receives every response.
    let mut output = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .unwrap();
    writer.join().unwrap();
    assert_eq!(output.lines().count(), 3_001);
    assert!(child.wait().unwrap().success());
}

#[test]
fn end_of_stdin_ends_the_server() {
    let project = project_with_ada();
    for era in ALL_PROTOCOL_MODES {
        let mut client = TestMcpClient::connect(&project, "ada", era);
        client.call_tool("TaskList", json!({}));
        let answer = client.close_and_wait();
        assert_eq!((answer.exit_code, answer.stderr.as_str()), (Some(0), ""));
    }
    // Also before the first request.
    let client = TestMcpClient::spawn_server(project.command().args(["mcp", "--agent", "ada"]));
    assert_eq!(client.close_and_wait().exit_code, Some(0));
}

#[test]
fn requests_before_end_of_stdin_are_answered() {
    let project = project_with_ada();
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params("2025-11-25")});
    let create = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "TaskCreate", "arguments": {"subject": "last", "description": ""}}});
    let mut command = project.command();
    command.args(["mcp", "--agent", "ada"]);
    let answer = crate::harness::test_project::run_with_stdin(
        &mut command,
        format!("{begin}\n{create}\n").as_bytes(),
    );
    assert_eq!(answer.exit_code, Some(0), "{answer:?}");
    assert_eq!(answer.stdout.lines().count(), 2, "{answer:?}");
    assert_eq!(project.get_task("1")["subject"], "last");
}

#[test]
fn signal_ends_the_server_promptly() {
    let project = project_with_ada();
    let mut client = TestMcpClient::connect(&project, "ada", SESSION_2025_11);
    client.call_tool("TaskList", json!({}));
    let pid = client.child.id();
    let begun = Instant::now();
    let kill = std::process::Command::new("kill")
        .arg(pid.to_string())
        .status();
    assert!(kill.unwrap().success());
    let status = client.child.wait().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(status.success(), "{status}");
}

/// Some clients use sockets as stdio, and a person may use a file.
#[test]
fn stdio_may_be_sockets_or_files() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let project = project_with_ada();
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params("2025-11-25")});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "TaskList", "arguments": {}}});
    let (mut to, stdin) = UnixStream::pair().unwrap();
    let (from, stdout) = UnixStream::pair().unwrap();
    let mut command = project.command();
    command.args(["mcp", "--agent", "ada"]);
    let mut child = command
        .stdin(OwnedFd::from(stdin))
        .stdout(OwnedFd::from(stdout))
        .spawn()
        .unwrap();
    drop(command);
    let mut lines = BufReader::new(from).lines();
    for request in [&begin, &list] {
        writeln!(to, "{request}").unwrap();
        let answer: serde_json::Value =
            serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], request["id"], "{answer}");
        assert!(answer.get("result").is_some(), "{answer}");
    }
    drop(to);
    assert!(child.wait().unwrap().success());
    assert!(lines.next().is_none());

    let (input, output) = (
        project.project_path("input"),
        project.project_path("output"),
    );
    std::fs::write(&input, format!("{begin}\n{list}\n")).unwrap();
    let mut command = project.command();
    command.args(["mcp", "--agent", "ada"]);
    command.stdin(std::fs::File::open(&input).unwrap());
    command.stdout(std::fs::File::create(&output).unwrap());
    assert!(command.status().unwrap().success());
    assert_eq!(std::fs::read_to_string(&output).unwrap().lines().count(), 2);
}
