//! One HTTP request to an endpoint: sends it, reads the response (streamed or in one piece) with timeouts, and
//! classifies errors. Retries are decided in `endpoints`.

use std::pin::{Pin, pin};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};

use super::assembly::{Assembly, Draft, Flaw};
use super::endpoint::{Endpoint, Patience};
use super::line::{Broken, Open};
use super::refusal::{Failure, judge, judge_within};
use super::sse;
use super::{Ask, Watch};

/// Maximum size of an error body that is read.
const MOST_OF_ERROR: usize = 64 << 10;
/// Maximum size of a response that is not streamed.
const MOST_OF_ANSWER: usize = 32 << 20;
/// Maximum number of chunks that are read after the end marker, to reuse the connection.
const AFTER_MARK: usize = 4;

/// Makes one request.
pub(super) async fn attempt(
    endpoint: &Endpoint,
    patience: &Patience,
    ask: &Ask<'_>,
    body: Bytes,
) -> Result<Draft, Failure> {
    let began = Instant::now();
    let end = began + patience.whole;
    let mut late = pin!(sleep_until((began + patience.first).min(end)));
    let name = &endpoint.settings.name;
    let broken = |broken: Broken| match broken {
        Broken::Now(what) | Broken::Late(what) => Failure::passing(format!(
            "The model's endpoint {name} gave no answer: {what}."
        )),
        Broken::Never(what) => Failure::Permanent(format!(
            "The model's endpoint {name} cannot be asked: {what}."
        )),
    };
    let mut open = endpoint.lines.open().await.map_err(broken)?;
    let mut sent = open
        .send(request(endpoint, body.clone()), late.as_mut())
        .await;
    if open.reused() && matches!(sent, Err(Broken::Now(_))) {
        // The server closed the idle connection; that is not a failure.
        open = endpoint.lines.fresh().await.map_err(broken)?;
        sent = open.send(request(endpoint, body), late.as_mut()).await;
    }
    let response = sent.map_err(broken)?;
    let mut reading = Reading {
        open,
        late,
        patience,
        end,
    };
    let status = response.status();
    if !status.is_success() {
        let headers = response.headers().clone();
        let text = reading.all(response, MOST_OF_ERROR).await;
        let (text, whole) = text.unwrap_or_default();
        if whole {
            endpoint.lines.keep(reading.open);
        }
        return Err(judge(name, &endpoint.settings.key, status, &headers, &text));
    }
    let watch = ask.watch.as_deref();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_stream = match kind.and_then(|kind| kind.to_str().ok()) {
        Some(kind) => !kind.starts_with("application/json"),
        None => endpoint.settings.stream,
    };
    let mut assembly = Assembly::default();
    let read = if is_stream {
        reading.stream(response, &mut assembly, watch).await
    } else {
        match reading.all(response, MOST_OF_ANSWER).await {
            Err(error) => Err(Bad::Broken(error)),
            Ok((_, false)) => Err(Bad::Flaw(Flaw::Garbage)),
            Ok((text, true)) => assembly
                .whole(&text, watch)
                .map(|()| true)
                .map_err(Bad::Flaw),
        }
    };
    let flawed = |flaw: Flaw| match flaw {
        Flaw::Failed(error) => judge_within(name, &endpoint.settings.key, &error),
        flaw => Failure::passing(format!("The model's endpoint {name} {}.", words(&flaw))),
    };
    let clean = read.map_err(|bad| match bad {
        Bad::Broken(error) => broken(error),
        Bad::Flaw(flaw) => flawed(flaw),
    })?;
    let draft = assembly
        .end(ask.number, endpoint.settings.keep_reasoning)
        .map_err(flawed)?;
    if clean {
        endpoint.lines.keep(reading.open);
    }
    Ok(draft)
}

fn words(flaw: &Flaw) -> &'static str {
    match flaw {
        Flaw::BrokeOff => "broke off in the middle of its answer",
        Flaw::NoChoice => "answered without a choice",
        Flaw::Empty => "announced calls and sent none",
        Flaw::Garbage | Flaw::Failed(_) => "answered with what is not an answer",
    }
}

fn request(endpoint: &Endpoint, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = endpoint.uri.clone();
    *request.headers_mut() = endpoint.headers.clone();
    request
}

/// Why reading a response failed.
enum Bad {
    Broken(Broken),
    Flaw(Flaw),
}

impl From<Flaw> for Bad {
    fn from(flaw: Flaw) -> Self {
        Self::Flaw(flaw)
    }
}

impl From<sse::TooLongALine> for Bad {
    fn from(line: sse::TooLongALine) -> Self {
        Self::Flaw(line.into())
    }
}

/// A response being read.
struct Reading<'a> {
    open: Open,
    late: Pin<&'a mut Sleep>,
    patience: &'a Patience,
    end: Instant,
}

impl Reading<'_> {
    async fn next(&mut self, body: &mut Incoming) -> Result<Option<Bytes>, Broken> {
        self.open.next(body, self.late.as_mut()).await
    }

    /// Resets the timeout after a chunk.
    fn came(&mut self) {
        let until = (Instant::now() + self.patience.between).min(self.end);
        self.late.as_mut().reset(until);
    }

    /// Reads a body up to `most` bytes; the flag is whether it is complete.
    async fn all(
        &mut self,
        response: Response<Incoming>,
        most: usize,
    ) -> Result<(Vec<u8>, bool), Broken> {
        let mut body = response.into_body();
        let mut all = Vec::new();
        while let Some(bytes) = self.next(&mut body).await? {
            if all.len() + bytes.len() > most {
                return Ok((all, false));
            }
            all.extend_from_slice(&bytes);
            self.came();
        }
        Ok((all, true))
    }

    /// Reads a stream to its end; returns whether the connection can be reused.
    async fn stream(
        &mut self,
        response: Response<Incoming>,
        assembly: &mut Assembly,
        watch: Option<&dyn Watch>,
    ) -> Result<bool, Bad> {
        let mut body = response.into_body();
        let mut lines = sse::Lines::default();
        while let Some(bytes) = self.next(&mut body).await.map_err(Bad::Broken)? {
            lines.feed(&bytes, |data| assembly.data(data, watch).map_err(Bad::Flaw))?;
            if assembly.marked() {
                return Ok(self.drain(&mut body).await);
            }
            self.came();
        }
        lines.end(|data| assembly.data(data, watch))?;
        Ok(true)
    }

    /// Reads the chunks that have already arrived after the end marker; returns whether the body ended.
    async fn drain(&mut self, body: &mut Incoming) -> bool {
        // The end comes with the marker or right after it. A server that takes longer loses the connection, not the
        // response.
        self.late
            .as_mut()
            .reset(Instant::now() + std::time::Duration::from_millis(20));
        for _ in 0..AFTER_MARK {
            match self.next(body).await {
                Ok(None) => return true,
                Ok(Some(_)) => {}
                Err(_) => return false,
            }
        }
        false
    }
}
