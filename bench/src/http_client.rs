//! A running `polis serve` and a minimal HTTP client for it.
//!
//! The client does as little as possible, because it shares the machine's cores with the server: requests are
//! built beforehand, and responses are only split into head and body.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::bench_env::{BenchEnv, BenchResult, run_timed};

/// Returns a request with a bearer token and a JSON body.
pub(crate) fn json_request(what: &str, token: &str, body: &str) -> String {
    format!(
        "{what} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Registers an agent and issues a token for it. Returns the token.
pub(crate) fn register_agent(env: &BenchEnv, board: &Path, name: &str) -> BenchResult<String> {
    run_timed(env.polis_command(board, &["agent", "add", name, "--role", "backend-leader"]))?;
    issue_token(env, board, name)
}

/// Issues a token for an agent.
pub(crate) fn issue_token(env: &BenchEnv, board: &Path, name: &str) -> BenchResult<String> {
    let issued = env
        .polis_command(board, &["agent", "token", "issue", name, "--json"])
        .output()?;
    let issued: Value = serde_json::from_slice(&issued.stdout)?;
    Ok(issued["token"].as_str().ok_or("no token")?.to_owned())
}

/// A running `polis serve`.
pub(crate) struct PolisServer {
    child: Child,
    /// Address and port.
    pub(crate) address: String,
    /// Sign-in link for a browser.
    pub(crate) sign_in_url: String,
}

impl PolisServer {
    pub(crate) fn start(env: &BenchEnv, board: &Path) -> BenchResult<Self> {
        let mut child = env
            .polis_command(board, &["serve", "--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let document: Value = serde_json::from_str(&line)?;
        let url = document["listening"]
            .as_str()
            .ok_or("the server printed no listening address")?;
        let address = url.trim_start_matches("http://").to_owned();
        let sign_in = document["signIn"].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            child,
            address,
            sign_in_url: sign_in,
        })
    }
}

impl Drop for PolisServer {
    fn drop(&mut self) {
        // The benchmark started this server, and no more requests follow.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response: its head in lower case, and its body.
pub(crate) struct HttpResponse {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// A keep-alive connection.
pub(crate) struct HttpConnection {
    pub(crate) stream: TcpStream,
    pub(crate) buffer: Vec<u8>,
}

impl HttpConnection {
    pub(crate) async fn connect(address: &str) -> BenchResult<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(4_096),
        })
    }

    pub(crate) async fn read_more(&mut self) -> BenchResult<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(())
    }

    /// Sends a request and waits for the complete response. Fails if its status is not 2xx.
    pub(crate) async fn send_expecting_success(&mut self, request: &[u8]) -> BenchResult<()> {
        let (text, _) = self.send_and_receive(request).await?;
        if !text.starts_with("http/1.1 2") {
            return Err(String::from_utf8_lossy(&self.buffer).into_owned().into());
        }
        Ok(())
    }

    /// Sends a request. Returns the response, whatever its status.
    pub(crate) async fn send_request(&mut self, request: &[u8]) -> BenchResult<HttpResponse> {
        let (head, begin) = self.send_and_receive(request).await?;
        let body = self.buffer.get(begin..).unwrap_or_default().to_vec();
        Ok(HttpResponse { head, body })
    }

    /// Sends a request and waits for the complete response. Returns its head in lower case and the offset of
    /// its body.
    async fn send_and_receive(&mut self, request: &[u8]) -> BenchResult<(String, usize)> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            self.read_more().await?;
            let Some(head) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let text =
                String::from_utf8_lossy(self.buffer.get(..head).unwrap_or_default()).to_lowercase();
            let length = text
                .split("content-length:")
                .nth(1)
                .and_then(|rest| rest.split('\r').next());
            let length: usize = length.ok_or("no length")?.trim().parse()?;
            if self.buffer.len() >= head + 4 + length {
                return Ok((text, head + 4));
            }
        }
    }
}
