//! Scripted model: an HTTP server on loopback that implements the chat-completions API.
//!
//! It runs on a separate thread, so that a test may pause its clock and a benchmark can separate the server's
//! time from the client's. It implements HTTP itself, because its main purpose is to produce faulty HTTP.

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

/// How long a test waits for an event before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Function that decides the reply to a request.
pub type Script = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server that replies according to a script. Stops when it is dropped.
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

/// State shared by all connections of a server.
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
    /// Starts a server that replies by this script and records all requests.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Box::new(script), true, 0)
    }

    /// Starts a server for benchmarks, which records only the number of requests. Port 0 picks a free port.
    pub fn light(port: u16, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Box::new(script), false, port)
    }

    /// Starts a server that gives these replies one after another, and then repeats the last one.
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

    /// Returns the port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the base URL, as it appears in a configuration.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Returns all requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.desk.seen().requests.clone()
    }

    /// Returns the number of requests received.
    pub fn count(&self) -> usize {
        self.desk.count.load(Ordering::SeqCst)
    }

    /// Returns the number of connections accepted.
    pub fn connections(&self) -> usize {
        self.desk.seen().connections
    }

    /// Returns the maximum number of requests that were in progress at the same time.
    pub fn busiest(&self) -> usize {
        self.desk.seen().most
    }

    /// Returns the number of requests in progress.
    pub fn busy(&self) -> usize {
        self.desk.seen().now
    }

    /// Returns the number of clients that disconnected before they had their reply.
    pub fn hung_up(&self) -> usize {
        self.desk.seen().hung_up
    }

    /// Waits until this many requests have arrived. Blocks the calling thread.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_for_requests(&self, count: usize) {
        self.wait_until(&format!("{count} requests"), |seen| {
            seen.requests.len() >= count
        });
    }

    /// Waits until this many clients have disconnected before they had their reply. Blocks the calling
    /// thread.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_for_hang_ups(&self, count: usize) {
        self.wait_until(&format!("{count} hang-ups"), |seen| seen.hung_up >= count);
    }

    /// Waits until there are no open connections. Blocks the calling thread.
    ///
    /// # Panics
    /// On timeout.
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

    /// Records a request and decides the reply.
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

    /// Records that a reply was sent or can no longer be sent.
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
