//! HTTP/1.1 server side, as far as model clients need it, with every kind of protocol fault.

use std::fmt::Write as _;
use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Desk;
use super::reply::{Break, Kind, Reply};
use super::request::Request;

/// Serves the requests of one connection until it closes.
pub(super) async fn serve(mut stream: TcpStream, desk: &Desk) {
    let mut buffer = Vec::with_capacity(16 << 10);
    while let Ok(Some(request)) = read(&mut stream, &mut buffer).await {
        let (request, reply) = desk.ask(request);
        let goes_on = answer(&mut stream, &request, &reply).await;
        desk.answered(goes_on.is_err());
        if !matches!(goes_on, Ok(true)) {
            return;
        }
    }
}

/// Reads one request; bytes beyond it stay in the buffer.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let (line, head) = head.split_once("\r\n").unwrap_or((&head, ""));
    let mut request = Request {
        number: 0,
        line: line.trim_end_matches(" HTTP/1.1").to_owned(),
        head: head.to_owned(),
        body: String::new(),
        at: Instant::now(),
        parsed: OnceLock::new(),
    };
    let length = request.header("content-length").unwrap_or("0");
    let whole = end + 4 + length.parse::<usize>().unwrap_or(0);
    buffer.reserve(whole.saturating_sub(buffer.len()));
    while buffer.len() < whole {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    request.body = String::from_utf8_lossy(&buffer[end + 4..whole]).into_owned();
    request.at = Instant::now();
    buffer.drain(..whole);
    Ok(Some(request))
}

/// Writes a reply. Returns whether the connection stays open; fails if the client disconnected.
async fn answer(stream: &mut TcpStream, request: &Request, reply: &Reply) -> io::Result<bool> {
    if !reply.after.is_zero() {
        unless_gone(stream, tokio::time::sleep(reply.after)).await?;
    }
    match reply.broken {
        Some(Break::Before) => return reset(stream),
        Some(Break::Never) => {
            unless_gone(stream, std::future::pending::<()>()).await?;
        }
        _ => {}
    }
    let events = match &reply.kind {
        Kind::Raw(status, kind, body) => {
            return whole(stream, reply, *status, kind, body).await;
        }
        Kind::Answer(said) if !request.streams() => {
            return whole(stream, reply, 200, "application/json", &said.whole(request)).await;
        }
        Kind::Answer(said) => said.pieces(request, reply.broken),
        Kind::Events(events) => events.clone(),
    };
    let mut out = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{}transfer-encoding: chunked\r\n\r\n",
        reply.headers
    );
    let half = matches!(reply.broken, Some(Break::Half | Break::Cut | Break::Stall));
    let count = if half {
        // One more than half, so that a call's name is sent but its arguments are not.
        (events.len() / 2 + 1).min(events.len().saturating_sub(1))
    } else {
        events.len()
    };
    for event in &events[..count] {
        // `data: `, the data and two line feeds.
        let _ = write!(out, "{:x}\r\ndata: {event}\n\n\r\n", event.len() + 8);
        if let Some(between) = reply.between {
            stream.write_all(out.as_bytes()).await?;
            out.clear();
            unless_gone(stream, tokio::time::sleep(between)).await?;
        }
    }
    match reply.broken {
        Some(Break::Half) => {
            stream.write_all(out.as_bytes()).await?;
            return reset(stream);
        }
        Some(Break::AfterMark) => {
            stream.write_all(out.as_bytes()).await?;
            return Ok(false);
        }
        Some(Break::Stall) => {
            stream.write_all(out.as_bytes()).await?;
            unless_gone(stream, std::future::pending::<()>()).await?;
        }
        _ => {}
    }
    out.push_str("0\r\n\r\n");
    stream.write_all(out.as_bytes()).await?;
    Ok(true)
}

async fn whole(
    stream: &mut TcpStream,
    reply: &Reply,
    status: u16,
    kind: &str,
    body: &str,
) -> io::Result<bool> {
    let mut out = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{}content-length: {}\r\n\r\n",
        reply.headers,
        body.len()
    );
    if reply.broken == Some(Break::Half) {
        out.push_str(body.get(..body.len() / 2).unwrap_or_default());
        stream.write_all(out.as_bytes()).await?;
        return reset(stream);
    }
    out.push_str(body);
    stream.write_all(out.as_bytes()).await?;
    Ok(true)
}

/// Makes the connection end with a TCP reset when it is dropped.
fn reset(stream: &TcpStream) -> io::Result<bool> {
    stream.set_zero_linger()?;
    Ok(false)
}

/// Waits for `wait`; fails if the client disconnects first.
async fn unless_gone(stream: &TcpStream, wait: impl Future<Output = ()>) -> io::Result<()> {
    let gone = async {
        let mut byte = [0];
        loop {
            match stream.peek(&mut byte).await {
                Ok(0) | Err(_) => return,
                // Pipelined data; clients do not send any while waiting for a reply.
                Ok(_) => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        () = wait => Ok(()),
        () = gone => Err(io::ErrorKind::ConnectionReset.into()),
    }
}
