//! HTTP/1.1 connections of the scripted model: reads requests and writes replies, as far as model clients
//! need it, with the faults that [`ReplyFault`] lists.

use std::fmt::Write as _;
use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::ScriptedModelState;
use super::model_http_request::ModelHttpRequest;
use super::reply::{ReplyFault, ReplyKind, ScriptedReply};

/// Serves the requests of one connection until it closes.
pub(super) async fn serve_connection(mut stream: TcpStream, state: &ScriptedModelState) {
    let mut buffer = Vec::with_capacity(16 << 10);
    while let Ok(Some(request)) = read_request(&mut stream, &mut buffer).await {
        let (request, reply) = state.record_request(request);
        let result = write_reply(&mut stream, &request, &reply).await;
        state.record_reply(result.is_err());
        if !matches!(result, Ok(true)) {
            return;
        }
    }
}

/// Reads one request; bytes beyond it stay in the buffer.
async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<ModelHttpRequest>> {
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
    let mut request = ModelHttpRequest {
        index: 0,
        method_and_path: line.trim_end_matches(" HTTP/1.1").to_owned(),
        headers: head.to_owned(),
        body: String::new(),
        received_at: Instant::now(),
        parsed_body: OnceLock::new(),
    };
    let length = request.header_value("content-length").unwrap_or("0");
    let whole = end + 4 + length.parse::<usize>().unwrap_or(0);
    buffer.reserve(whole.saturating_sub(buffer.len()));
    while buffer.len() < whole {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    request.body = String::from_utf8_lossy(&buffer[end + 4..whole]).into_owned();
    request.received_at = Instant::now();
    buffer.drain(..whole);
    Ok(Some(request))
}

/// Writes a reply. Returns whether the connection stays open; fails if the client disconnected.
async fn write_reply(
    stream: &mut TcpStream,
    request: &ModelHttpRequest,
    reply: &ScriptedReply,
) -> io::Result<bool> {
    if !reply.delay.is_zero() {
        wait_unless_disconnected(stream, tokio::time::sleep(reply.delay)).await?;
    }
    match reply.fault {
        Some(ReplyFault::ResetBeforeReply) => return reset_on_drop(stream),
        Some(ReplyFault::NoReply) => {
            wait_unless_disconnected(stream, std::future::pending::<()>()).await?;
        }
        _ => {}
    }
    let events = match &reply.kind {
        ReplyKind::RawResponse(status, kind, body) => {
            return write_full_response(stream, reply, *status, kind, body).await;
        }
        ReplyKind::Completion(completion) if !request.is_streaming() => {
            return write_full_response(
                stream,
                reply,
                200,
                "application/json",
                &completion.to_response_body(request),
            )
            .await;
        }
        ReplyKind::Completion(completion) => completion.to_stream_events(request, reply.fault),
        ReplyKind::RawEvents(events) => events.clone(),
    };
    let mut out = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{}transfer-encoding: chunked\r\n\r\n",
        reply.extra_headers
    );
    let half = matches!(
        reply.fault,
        Some(ReplyFault::ResetHalfway | ReplyFault::TruncatedBody | ReplyFault::StallHalfway)
    );
    let count = if half {
        // One more than half, so that a call's name is sent but its arguments are not.
        (events.len() / 2 + 1).min(events.len().saturating_sub(1))
    } else {
        events.len()
    };
    for event in &events[..count] {
        // `data: `, the data and two line feeds.
        let _ = write!(out, "{:x}\r\ndata: {event}\n\n\r\n", event.len() + 8);
        if let Some(between) = reply.chunk_delay {
            stream.write_all(out.as_bytes()).await?;
            out.clear();
            wait_unless_disconnected(stream, tokio::time::sleep(between)).await?;
        }
    }
    match reply.fault {
        Some(ReplyFault::ResetHalfway) => {
            stream.write_all(out.as_bytes()).await?;
            return reset_on_drop(stream);
        }
        Some(ReplyFault::CloseAfterDoneMarker) => {
            stream.write_all(out.as_bytes()).await?;
            return Ok(false);
        }
        Some(ReplyFault::StallHalfway) => {
            stream.write_all(out.as_bytes()).await?;
            wait_unless_disconnected(stream, std::future::pending::<()>()).await?;
        }
        _ => {}
    }
    out.push_str("0\r\n\r\n");
    stream.write_all(out.as_bytes()).await?;
    Ok(true)
}

async fn write_full_response(
    stream: &mut TcpStream,
    reply: &ScriptedReply,
    status: u16,
    kind: &str,
    body: &str,
) -> io::Result<bool> {
    let mut out = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{}content-length: {}\r\n\r\n",
        reply.extra_headers,
        body.len()
    );
    if reply.fault == Some(ReplyFault::ResetHalfway) {
        out.push_str(body.get(..body.len() / 2).unwrap_or_default());
        stream.write_all(out.as_bytes()).await?;
        return reset_on_drop(stream);
    }
    out.push_str(body);
    stream.write_all(out.as_bytes()).await?;
    Ok(true)
}

/// Makes the connection end with a TCP reset when it is dropped.
fn reset_on_drop(stream: &TcpStream) -> io::Result<bool> {
    stream.set_zero_linger()?;
    Ok(false)
}

/// Waits for `wait`; fails if the client disconnects first.
async fn wait_unless_disconnected(
    stream: &TcpStream,
    wait: impl Future<Output = ()>,
) -> io::Result<()> {
    let disconnected = async {
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
        () = disconnected => Err(io::ErrorKind::ConnectionReset.into()),
    }
}
