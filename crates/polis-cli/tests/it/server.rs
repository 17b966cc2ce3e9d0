//! Test harness for `polis serve` as a process, and a minimal HTTP client.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use serde_json::Value;

use crate::board::{Board, eventually, read_line, start};

/// Maximum time for a response before a test counts as hanging.
const HANGING: Duration = Duration::from_secs(60);

/// A running server.
pub(crate) struct Server {
    child: Option<Child>,
    /// Address of the server.
    pub(crate) url: String,
    /// One-time sign-in link for a browser.
    pub(crate) sign_in: String,
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Server {
    /// Starts a server on a project, at a free port.
    pub(crate) fn start(board: &Board) -> Self {
        Self::start_with(board, &["--listen", "127.0.0.1:0"])
    }

    /// Starts a server with these flags.
    pub(crate) fn start_with(board: &Board, flags: &[&str]) -> Self {
        let mut args = vec!["serve"];
        args.extend(flags);
        Self::start_by(&mut board.json_command("user", &args))
    }

    /// Starts a server by this command.
    pub(crate) fn start_by(command: &mut Command) -> Self {
        let mut child = start(command);
        let line = read_line(&mut child);
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
            sign_in: said["signIn"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Opens a connection to the server.
    pub(crate) fn connect(&self) -> Connection {
        let address = self.url.split("://").nth(1).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(HANGING)).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection::new(stream)
    }

    /// Sends one request on a new connection.
    pub(crate) fn ask(&self, token: &str, line: &str, body: Value) -> Reply {
        self.connect().ask(token, line, body, &[])
    }

    /// Sends a signal to the server.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Shuts it down gracefully. Returns its exit status and stderr.
    pub(crate) fn end(self) -> (ExitStatus, String) {
        self.signal(rustix::process::Signal::TERM);
        self.wait()
    }

    /// Waits for its exit.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut child = self.child.take().unwrap();
        eventually("the end of the server", || {
            child.try_wait().unwrap().is_some()
        });
        let output = child.wait_with_output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(!log.contains("panicked"), "{log}");
        (output.status, log)
    }

    /// Kills the server.
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Creates a token for an agent; registers the agent if necessary.
pub(crate) fn token(board: &Board, agent: &str, flags: &[&str]) -> String {
    if agent != "user" && board.run("user", &["agent", "show", agent]).exit != Some(0) {
        board.ok("user", &["agent", "add", agent, "--role", "backend-leader"]);
    }
    let mut args = vec!["agent", "token", "issue", agent];
    args.extend(flags);
    board.ok("user", &args)["token"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A keep-alive connection.
pub(crate) struct Connection {
    stream: BufReader<Box<dyn Stream>>,
}

trait Stream: Read + Write + Send {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

impl Connection {
    fn new(stream: impl Stream + 'static) -> Self {
        Self {
            stream: BufReader::new(Box::new(stream)),
        }
    }

    /// Connects to a Unix socket.
    pub(crate) fn unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(HANGING)).unwrap();
        Self::new(stream)
    }

    /// Sends `METHOD PATH` and reads the response.
    pub(crate) fn ask(
        &mut self,
        token: &str,
        line: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> Reply {
        self.send(token, line, body, headers).unwrap();
        self.read().unwrap()
    }

    /// Sends a request.
    pub(crate) fn send(
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
    pub(crate) fn read(&mut self) -> std::io::Result<Reply> {
        let mut reply = self.head()?;
        let length = reply.header("content-length").parse().unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        reply.body = String::from_utf8(body).map_err(std::io::Error::other)?;
        Ok(reply)
    }

    /// Reads the head of a response whose body is a stream.
    pub(crate) fn head(&mut self) -> std::io::Result<Reply> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|s| s.parse().ok());
        let status = status.ok_or_else(|| std::io::Error::other(format!("not HTTP: {first:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Ok(Reply {
            status,
            headers,
            body: String::new(),
        })
    }

    /// Reads a line.
    pub(crate) fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Asserts success and returns the document.
    #[track_caller]
    pub(crate) fn good(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// Asserts a refusal and returns the problem document.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        let problem = self.good(status);
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        problem
    }
}
