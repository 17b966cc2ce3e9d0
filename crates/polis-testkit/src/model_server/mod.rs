//! A model that says what a test wants: an HTTP server on loopback that speaks chat completions.
//!
//! It runs on a thread of its own, so a test may stop its clock, and a benchmark can tell the server's time from the
//! client's. It writes HTTP itself, because most of what it is for is HTTP that goes wrong.

mod reply;
mod request;
mod wire;

pub use reply::{Break, Reply, ToolCall};
pub use request::Request;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How long a test waits for something to happen before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a server answers.
pub type Script = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server that answers by a script. Ends when it is dropped.
pub struct ModelServer {
    port: u16,
    desk: Arc<Desk>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServer")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// What all connections of a server share.
pub(crate) struct Desk {
    script: Box<Script>,
    keeps: bool,
    count: AtomicUsize,
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Default)]
struct Seen {
    requests: Vec<Arc<Request>>,
    connections: usize,
    open: usize,
    now: usize,
    most: usize,
    hung_up: usize,
}

impl ModelServer {
    /// A server that answers by this script and keeps all requests.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Box::new(script), true, 0)
    }

    /// A server for benchmarks: keeps only the number of requests. Port 0 is any that is free.
    pub fn light(port: u16, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Box::new(script), false, port)
    }

    /// A server that gives these replies one after another, and the last one from then on.
    ///
    /// # Panics
    /// If there is no reply.
    pub fn saying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        assert!(!replies.is_empty(), "a script needs a reply");
        Self::start(move |request| replies[request.number.min(replies.len() - 1)].clone())
    }

    fn with(script: Box<Script>, keeps: bool, port: u16) -> Self {
        let desk = Arc::new(Desk {
            script,
            keeps,
            count: AtomicUsize::new(0),
            seen: Mutex::default(),
            changed: Condvar::new(),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopped) = oneshot::channel::<()>();
        let shared = Arc::clone(&desk);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = accept(listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            port,
            desk,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The base address, as a configuration has it.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// All requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.desk.seen().requests.clone()
    }

    /// How many requests came.
    pub fn count(&self) -> usize {
        self.desk.count.load(Ordering::SeqCst)
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.desk.seen().connections
    }

    /// How many requests it was answering at the same time, at most.
    pub fn busiest(&self) -> usize {
        self.desk.seen().most
    }

    /// How many requests it is answering.
    pub fn busy(&self) -> usize {
        self.desk.seen().now
    }

    /// How many clients hung up before they had their answer.
    pub fn hung_up(&self) -> usize {
        self.desk.seen().hung_up
    }

    /// Waits until so many requests came. Blocks its thread.
    ///
    /// # Panics
    /// If they do not come within some seconds.
    pub fn wait_for_requests(&self, count: usize) {
        self.wait_until(&format!("{count} requests"), |seen| {
            seen.requests.len() >= count
        });
    }

    /// Waits until so many clients hung up on it before they had their answer. Blocks its thread.
    ///
    /// # Panics
    /// If they do not within some seconds.
    pub fn wait_for_hang_ups(&self, count: usize) {
        self.wait_until(&format!("{count} hang-ups"), |seen| seen.hung_up >= count);
    }

    /// Waits until nobody is connected. Blocks its thread.
    ///
    /// # Panics
    /// If somebody still is after some seconds.
    pub fn wait_until_alone(&self) {
        self.wait_until("no connection", |seen| seen.open == 0);
    }

    fn wait_until(&self, what: &str, mut done: impl FnMut(&Seen) -> bool) {
        let seen = self.desk.seen();
        let (_seen, result) = self
            .desk
            .changed
            .wait_timeout_while(seen, PATIENCE, |seen| !done(seen))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!result.timed_out(), "waited in vain for {what}");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Desk {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, how: impl FnOnce(&mut Seen)) {
        how(&mut self.seen());
        self.changed.notify_all();
    }

    /// Decides what is answered.
    fn ask(&self, mut request: Request) -> (Arc<Request>, Reply) {
        request.number = self.count.fetch_add(1, Ordering::SeqCst);
        let request = Arc::new(request);
        if self.keeps {
            let kept = Arc::clone(&request);
            self.change(|seen| {
                seen.requests.push(kept);
                seen.now += 1;
                seen.most = seen.most.max(seen.now);
            });
        }
        let reply = (self.script)(&request);
        (request, reply)
    }

    /// An answer was given, or cannot be given any more.
    fn answered(&self, hung_up: bool) {
        if self.keeps {
            self.change(|seen| {
                seen.now -= 1;
                seen.hung_up += usize::from(hung_up);
            });
        }
    }
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    while let Ok((stream, _)) = listener.accept().await {
        drop(stream.set_nodelay(true));
        desk.change(|seen| {
            seen.connections += 1;
            seen.open += 1;
        });
        let desk = Arc::clone(&desk);
        tokio::spawn(async move {
            wire::serve(stream, &desk).await;
            desk.change(|seen| seen.open -= 1);
        });
    }
}
