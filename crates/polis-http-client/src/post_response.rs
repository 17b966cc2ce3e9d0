//! Response to a request: its head, and its body in chunks or in one piece, with timeouts.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::request_error::RequestError;

/// Maximum number of bytes of an unwanted body that are read to keep the connection.
const MAX_DRAINED_BYTES: usize = 64 << 10;

/// A response whose head has arrived. Dropping it before the end of its body closes an HTTP/1.1 connection.
pub struct PostResponse {
    head: response::Parts,
    body: Incoming,
    timer: Pin<Box<Sleep>>,
    chunk_timeout: Duration,
    deadline: Instant,
}

/// A body that was read up to a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceivedBody {
    /// The bytes up to the limit.
    pub contents: Vec<u8>,
    /// Whether the body ended before the limit.
    pub is_complete: bool,
}

impl fmt::Debug for PostResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostResponse")
            .field("status", &self.head.status)
            .finish_non_exhaustive()
    }
}

impl PostResponse {
    pub(crate) fn new(
        response: Response<Incoming>,
        timer: Pin<Box<Sleep>>,
        chunk_timeout: Duration,
        deadline: Instant,
    ) -> Self {
        let (head, body) = response.into_parts();
        let mut response = Self {
            head,
            body,
            timer,
            chunk_timeout,
            deadline,
        };
        response.reset_timer();
        response
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Returns the protocol version of the connection.
    pub fn version(&self) -> http::Version {
        self.head.version
    }

    /// Returns the next chunk of the body; `None` at its end. Fails with `ChunkTimeout` if it does not arrive in
    /// time, and with `ConnectionClosed` or `InvalidResponse` if the response is incomplete or not valid HTTP.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, RequestError> {
        let frame = complete_before(self.timer.as_mut(), self.body.frame())
            .await
            .ok_or(RequestError::ChunkTimeout)?;
        match frame {
            Some(Ok(frame)) => {
                self.reset_timer();
                // Trailers have no data in them.
                Ok(Some(frame.into_data().unwrap_or_default()))
            }
            Some(Err(error)) => Err(RequestError::from_hyper_error(&error)),
            None => {
                // The connection returns to the pool in a task that is runnable now. A request that follows at once
                // would otherwise open another connection.
                tokio::task::yield_now().await;
                Ok(None)
            }
        }
    }

    /// Reads the body up to `limit` bytes. Fails like [`Self::next_chunk`].
    pub async fn read_body(&mut self, limit: usize) -> Result<ReceivedBody, RequestError> {
        let mut body = ReceivedBody::default();
        while let Some(bytes) = self.next_chunk().await? {
            if body.contents.len() + bytes.len() > limit {
                return Ok(body);
            }
            body.contents.extend_from_slice(&bytes);
        }
        body.is_complete = true;
        Ok(body)
    }

    /// Reads the rest of the body, so that the connection can be used again. Gives up when that takes longer than
    /// `limit`, or when the rest is long.
    pub async fn drain(mut self, limit: Duration) {
        let reading = self.read_body(MAX_DRAINED_BYTES);
        // The connection is closed if this fails; the response is not affected.
        let _ = tokio::time::timeout(limit, reading).await;
    }

    /// Starts the timeout of the next chunk.
    fn reset_timer(&mut self) {
        let next = (Instant::now() + self.chunk_timeout).min(self.deadline);
        self.timer.as_mut().reset(next);
    }
}

/// Waits for `work`; returns `None` if the timer elapses before.
pub(crate) async fn complete_before<T>(
    timer: Pin<&mut Sleep>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        result = work => Some(result),
        () = timer => None,
    }
}
