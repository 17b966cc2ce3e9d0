//! Scripted model: an HTTP server on loopback that implements the chat-completions API.
//!
//! It runs on a separate thread, so that a test may pause its clock and a benchmark can separate the server's
//! time from the client's. It implements HTTP itself, because its main purpose is to produce faulty HTTP.

mod http_connection;
mod model_http_request;
mod reply;

pub use model_http_request::ModelHttpRequest;
use parking_lot::{Condvar, Mutex};
pub use reply::{ReplyFault, ScriptedReply, ScriptedToolCall};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How long a test waits for an event before it fails.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Function that decides the reply to a request.
pub type ReplyScript = dyn Fn(&ModelHttpRequest) -> ScriptedReply + Send + Sync;

/// A server that replies according to a script. Stops when it is dropped.
pub struct ScriptedModel {
    port: u16,
    state: Arc<ScriptedModelState>,
    stop_sender: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// State shared by all connections of a server.
pub(crate) struct ScriptedModelState {
    script: Box<ReplyScript>,
    records_requests: bool,
    request_count: AtomicUsize,
    traffic: Mutex<RecordedTraffic>,
    changed: Condvar,
}

#[derive(Default)]
struct RecordedTraffic {
    requests: Vec<Arc<ModelHttpRequest>>,
    connections: usize,
    open_connections: usize,
    active_requests: usize,
    max_active_requests: usize,
    disconnected_clients: usize,
}

impl ScriptedModel {
    /// Starts a server that replies by this script and records all requests.
    pub fn start(
        script: impl Fn(&ModelHttpRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        Self::start_on_port(Box::new(script), true, 0)
    }

    /// Starts a server for benchmarks, which records only the number of requests. Port 0 picks a free port.
    pub fn start_counting_only(
        port: u16,
        script: impl Fn(&ModelHttpRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        Self::start_on_port(Box::new(script), false, port)
    }

    /// Starts a server that gives these replies one after another, and then repeats the last one.
    ///
    /// # Panics
    /// If there is no reply.
    pub fn start_with_replies(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let replies: Vec<ScriptedReply> = replies.into_iter().collect();
        assert!(!replies.is_empty(), "a script needs a reply");
        Self::start(move |request| replies[request.index.min(replies.len() - 1)].clone())
    }

    fn start_on_port(script: Box<ReplyScript>, keeps: bool, port: u16) -> Self {
        let state = Arc::new(ScriptedModelState {
            script,
            records_requests: keeps,
            request_count: AtomicUsize::new(0),
            traffic: Mutex::default(),
            changed: Condvar::new(),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopped) = oneshot::channel::<()>();
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = accept_connections(listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            port,
            state,
            stop_sender: Some(stop),
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
    pub fn requests(&self) -> Vec<Arc<ModelHttpRequest>> {
        self.state.traffic.lock().requests.clone()
    }

    /// Returns the number of requests received.
    pub fn request_count(&self) -> usize {
        self.state.request_count.load(Ordering::SeqCst)
    }

    /// Returns the number of connections accepted.
    pub fn connection_count(&self) -> usize {
        self.state.traffic.lock().connections
    }

    /// Returns the maximum number of requests that were in progress at the same time.
    pub fn max_concurrent_requests(&self) -> usize {
        self.state.traffic.lock().max_active_requests
    }

    /// Returns the number of requests in progress.
    pub fn active_requests(&self) -> usize {
        self.state.traffic.lock().active_requests
    }

    /// Returns the number of clients that disconnected before they had their reply.
    pub fn disconnected_clients(&self) -> usize {
        self.state.traffic.lock().disconnected_clients
    }

    /// Waits until this many requests have arrived. Blocks the calling thread.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_for_requests(&self, count: usize) {
        self.wait_until(&format!("{count} requests"), |traffic| {
            traffic.requests.len() >= count
        });
    }

    /// Waits until this many clients have disconnected before they had their reply. Blocks the calling
    /// thread.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_for_disconnects(&self, count: usize) {
        self.wait_until(&format!("{count} disconnects"), |traffic| {
            traffic.disconnected_clients >= count
        });
    }

    /// Waits until there are no open connections. Blocks the calling thread.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_until_no_connections(&self) {
        self.wait_until("no connection", |traffic| traffic.open_connections == 0);
    }

    fn wait_until(&self, description: &str, mut done: impl FnMut(&RecordedTraffic) -> bool) {
        let mut traffic = self.state.traffic.lock();
        let changed = &self.state.changed;
        let result = changed.wait_while_for(&mut traffic, |traffic| !done(traffic), WAIT_TIMEOUT);
        assert!(!result.timed_out(), "timed out waiting for {description}");
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop_sender.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl ScriptedModelState {
    fn update_traffic(&self, update: impl FnOnce(&mut RecordedTraffic)) {
        update(&mut self.traffic.lock());
        self.changed.notify_all();
    }

    /// Records a request and decides the reply.
    fn record_request(
        &self,
        mut request: ModelHttpRequest,
    ) -> (Arc<ModelHttpRequest>, ScriptedReply) {
        request.index = self.request_count.fetch_add(1, Ordering::SeqCst);
        let request = Arc::new(request);
        if self.records_requests {
            let recorded_request = Arc::clone(&request);
            self.update_traffic(|traffic| {
                traffic.requests.push(recorded_request);
                traffic.active_requests += 1;
                traffic.max_active_requests =
                    traffic.max_active_requests.max(traffic.active_requests);
            });
        }
        let reply = (self.script)(&request);
        (request, reply)
    }

    /// Records that a reply was sent or can no longer be sent.
    fn record_reply(&self, hung_up: bool) {
        if self.records_requests {
            self.update_traffic(|traffic| {
                traffic.active_requests -= 1;
                traffic.disconnected_clients += usize::from(hung_up);
            });
        }
    }
}

async fn accept_connections(listener: TcpListener, state: Arc<ScriptedModelState>) {
    while let Ok((stream, _)) = listener.accept().await {
        drop(stream.set_nodelay(true));
        state.update_traffic(|traffic| {
            traffic.connections += 1;
            traffic.open_connections += 1;
        });
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            http_connection::serve_connection(stream, &state).await;
            state.update_traffic(|traffic| traffic.open_connections -= 1);
        });
    }
}
