//! Test harness: `TestServer`, a running `polis serve` process, and a minimal HTTP client.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use serde_json::Value;

use crate::harness::test_project::{TestProject, read_stdout_line, spawn_captured, wait_until};

/// Maximum time for a response before a test counts as hanging.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// A running `polis serve` process; killed when dropped.
pub(crate) struct TestServer {
    child: Option<Child>,
    /// Address of the server.
    pub(crate) url: String,
    /// One-time sign-in link for a browser.
    pub(crate) sign_in_url: String,
}

/// A complete HTTP response: status, headers and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl TestServer {
    /// Starts a server on a project, at a free port.
    pub(crate) fn start(board: &TestProject) -> Self {
        Self::start_with_flags(board, &["--listen", "127.0.0.1:0"])
    }

    /// Starts a server with these flags.
    pub(crate) fn start_with_flags(board: &TestProject, flags: &[&str]) -> Self {
        let mut args = vec!["serve"];
        args.extend(flags);
        Self::start_with_command(&mut board.json_command("user", &args))
    }

    /// Starts a server with this command.
    pub(crate) fn start_with_command(command: &mut Command) -> Self {
        let mut child = spawn_captured(command);
        let line = read_stdout_line(&mut child);
        let Ok(said) = serde_json::from_str::<Value>(&line) else {
            let mut error = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut error)
                .unwrap();
            panic!("the server does not start: {error}");
        };
        Self {
            child: Some(child),
            url: said["listening"].as_str().unwrap().to_owned(),
            sign_in_url: said["signIn"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Returns its process id.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Opens a connection to the server.
    pub(crate) fn connect(&self) -> HttpConnection {
        let address = self.url.split("://").nth(1).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(RESPONSE_TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        HttpConnection::new(stream)
    }

    /// Sends one request on a new connection.
    pub(crate) fn request(&self, token: &str, line: &str, body: Value) -> HttpResponse {
        self.connect().request(token, line, body, &[])
    }

    /// Sends a signal to the server.
    pub(crate) fn send_signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_raw(i32::try_from(self.process_id()).unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Shuts it down gracefully. Returns its exit status and stderr.
    pub(crate) fn stop(self) -> (ExitStatus, String) {
        self.send_signal(rustix::process::Signal::TERM);
        self.wait_for_exit()
    }

    /// Waits for its exit. Returns its exit status and stderr.
    pub(crate) fn wait_for_exit(mut self) -> (ExitStatus, String) {
        let mut child = self.child.take().unwrap();
        wait_until("the end of the server", || {
            child.try_wait().unwrap().is_some()
        });
        let output = child.wait_with_output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(!log.contains("panicked"), "{log}");
        (output.status, log)
    }

    /// Kills the server (SIGKILL).
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Creates a token for an agent; registers the agent if necessary.
pub(crate) fn issue_token(project: &TestProject, agent: &str, flags: &[&str]) -> String {
    if agent != "user"
        && project
            .run_json("user", &["agent", "show", agent])
            .exit_code
            != Some(0)
    {
        project.run_ok("user", &["agent", "add", agent, "--role", "backend-leader"]);
    }
    let mut args = vec!["agent", "token", "issue", agent];
    args.extend(flags);
    project.run_ok("user", &args)["token"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A keep-alive connection over TCP or a Unix socket.
pub(crate) struct HttpConnection {
    stream: BufReader<Box<dyn ByteStream>>,
}

trait ByteStream: Read + Write + Send {}
impl ByteStream for TcpStream {}
impl ByteStream for UnixStream {}

impl HttpConnection {
    fn new(stream: impl ByteStream + 'static) -> Self {
        Self {
            stream: BufReader::new(Box::new(stream)),
        }
    }

    /// Connects to a Unix socket.
    pub(crate) fn connect_unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(RESPONSE_TIMEOUT)).unwrap();
        Self::new(stream)
    }

    /// Sends `METHOD PATH` and reads the response.
    pub(crate) fn request(
        &mut self,
        token: &str,
        line: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> HttpResponse {
        self.send_request(token, line, body, headers).unwrap();
        self.read_response().unwrap()
    }

    /// Sends a request without reading the response. An empty token and a null body are left out.
    pub(crate) fn send_request(
        &mut self,
        token: &str,
        line: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> std::io::Result<()> {
        let mut text = format!("{line} HTTP/1.1\r\nHost: localhost\r\n");
        if !token.is_empty() {
            text.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if body.is_null() {
            text.push_str("\r\n");
        } else {
            let body = body.to_string();
            let length = body.len();
            text.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            ));
        }
        self.stream.get_mut().write_all(text.as_bytes())
    }

    /// Reads a response; fails if the connection ends before it is complete.
    pub(crate) fn read_response(&mut self) -> std::io::Result<HttpResponse> {
        let mut reply = self.read_response_head()?;
        let length = reply.header("content-length").parse().unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        reply.body = String::from_utf8(body).map_err(std::io::Error::other)?;
        Ok(reply)
    }

    /// Reads the head of a response whose body is a stream.
    pub(crate) fn read_response_head(&mut self) -> std::io::Result<HttpResponse> {
        let first = self.read_line()?;
        let status = first.split(' ').nth(1).and_then(|s| s.parse().ok());
        let status = status.ok_or_else(|| std::io::Error::other(format!("not HTTP: {first:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.read_line()?;
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Ok(HttpResponse {
            status,
            headers,
            body: String::new(),
        })
    }

    /// Reads a line; fails at the end of the stream.
    pub(crate) fn read_line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl HttpResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Asserts success and returns the document.
    #[track_caller]
    pub(crate) fn expect_json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// Asserts a refusal and returns the problem document.
    #[track_caller]
    pub(crate) fn expect_problem(&self, status: u16, code: &str) -> Value {
        let problem = self.expect_json(status);
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        problem
    }
}
