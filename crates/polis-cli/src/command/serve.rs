//! `polis serve`: runs the server for the HTTP API, live events, MCP and the web page at one address, and drives the
//! societies of the store.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use polis_core::{Code, Kind};
use polis_ops::{Polis, PortError, idempotency, op};
use polis_serve::http::log::{self, LogFormat};
use polis_serve::http::tls::{self, TlsAcceptor};
use polis_serve::http::{App, Listen, Listener, Live, Options, Server};
use polis_society::process_identity::LocalProcesses;
use polis_web::Web;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::Globals;
use crate::config::{Config, ServeConfig};
use crate::context::{Context, Place};
use crate::error::{Failure, invalid};
use crate::model_selection::{self, Here};
use crate::output::{Output, clean};
use crate::port_owner::PortOwner;
use crate::run_worker::{Drive, Driven};
use crate::server_lock::{self, Running};

/// Interval of deleting expired responses of idempotency keys.
const FORGET: Duration = Duration::from_secs(3_600);
/// Number of ports tried after a port that is in use.
const NEXT_PORTS: usize = 100;
/// Exit code after a second signal.
const AT_ONCE: u8 = 130;

/// Serve the HTTP API until a signal ends it.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen: an address and a port (0: any free one), or unix:PATH; default: 127.0.0.1:7707
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The certificate chain for TLS, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Listen without TLS where other machines can connect: something in front of it encrypts
    #[arg(long)]
    allow_plaintext: bool,
    /// How the log on standard error looks
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    log_format: Format,
    /// Log every request, not only failures and slow ones
    #[arg(long)]
    access_log: bool,
    /// What the societies of the store think with: an endpoint of the configuration, a model's name, or replay:FILE
    #[arg(
        long,
        value_name = "MODEL",
        env = "POLIS_MODEL",
        hide_env_values = true
    )]
    model: Option<String>,
    /// Drive no societies, even if there is a model
    #[arg(long, conflicts_with = "model")]
    no_society: bool,
}

/// How the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document a line
    Json,
}

/// JSON document with the server's address.
#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listening {
    /// The address.
    pub(super) listening: String,
    /// A link that signs a browser in, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sign_in: Option<String>,
}

/// Behaviour if the address is already in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenTaken {
    /// Refuse, naming the program that listens there.
    Refuse,
    /// Use the next free port, unless an address was named on the command line.
    NextPort,
}

impl Serve {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        self.run_and(globals, out, WhenTaken::Refuse, |_| {})
    }

    /// Like [`Self::run`]; calls `listening` as soon as the server listens.
    pub(super) fn run_and(
        self,
        globals: &Globals,
        out: &Output,
        when_taken: WhenTaken,
        listening: impl FnOnce(&Listening),
    ) -> Result<(), Failure> {
        let place = Place::find(globals)?;
        let whole = place.config()?;
        let config = &whole.serve;
        let listen = self.listen.as_deref().unwrap_or(&config.listen);
        let listen = Listen::parse(listen)?;
        let tls = match self.certificate(config)? {
            Some((chain, key)) => Some(tls::acceptor(&chain, &key)?),
            None => None,
        };
        listen.check(tls.is_some(), self.allow_plaintext)?;
        let mut options = config.options();
        options.access_log |= self.access_log;
        let grace = options.grace;
        let drive = self.drive(&place, &whole)?;
        let context = Context::open_serving(globals)?;
        let _log = log::start(match self.log_format {
            Format::Text => LogFormat::Text,
            Format::Json => LogFormat::Json,
        });
        context.run(async {
            let when_taken = match self.listen {
                Some(_) => WhenTaken::Refuse,
                None => when_taken,
            };
            let listener = bind(&listen, when_taken, out).await?;
            let polis = (context.polis.clone()).with_processes(Arc::new(LocalProcesses));
            let server = server(&polis, options, listener, tls)?;
            let signals = Signals::new()?;
            let driven = match drive {
                Some(drive) => Some(drive.start(&context).await?),
                None => {
                    tracing::info!(target: "polis", "no model is configured: runs of societies wait");
                    None
                }
            };
            let running = match &place.workspace {
                Some(workspace) => Running::announce(workspace, &server.url()).await,
                None => None,
            };
            let told = Listening {
                sign_in: link(&context, &server.url()).await?,
                listening: server.url(),
            };
            tell(out, &told)?;
            listening(&told);
            let served = serve(context.polis.clone(), server, (driven, grace), signals).await;
            drop(running);
            served
        })
    }

    /// Returns the settings of the society worker; `None` if no model is configured.
    fn drive(&self, place: &Place, config: &Config) -> Result<Option<Drive>, Failure> {
        if self.no_society {
            return Ok(None);
        }
        let here = Here(place.directory());
        let chosen = match model_selection::choose(config, self.model.as_deref(), &here) {
            // A server without any model configuration is valid: it serves boards and drives no societies.
            Err(refusal)
                if refusal.code == Code::ModelNotConfigured
                    && self.model.is_none()
                    && config.models.endpoints.is_empty() =>
            {
                return Ok(None);
            }
            chosen => chosen?,
        };
        let model = chosen.model(config, &here)?;
        Ok(Some(Drive::new("serve", model, config, Vec::new(), &here)))
    }

    /// Returns the certificate and key files, from the flags or the configuration.
    fn certificate(&self, config: &ServeConfig) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
        if let (Some(chain), Some(key)) = (&self.tls_cert, &self.tls_key) {
            return Ok(Some((chain.clone(), key.clone())));
        }
        let file = |name: &str| Path::new(name).to_owned();
        match (config.tls_cert.as_str(), config.tls_key.as_str()) {
            ("", "") => Ok(None),
            ("", _) | (_, "") => Err(invalid(
                "Of serve.tls_cert and serve.tls_key only one is set.",
                "set both, or neither",
            )),
            (chain, key) => Ok(Some((file(chain), file(key)))),
        }
    }
}

/// Creates the server with its background services.
fn server(
    polis: &Polis,
    options: Options,
    listener: Listener,
    tls: Option<TlsAcceptor>,
) -> Result<Server, Failure> {
    let mut live = None;
    let app = App::with(polis.clone(), options, |router, metrics| {
        let (started, router) = Live::start(polis, router, metrics);
        let router = Web::new(polis.clone(), started.hub().clone()).mount(router);
        live = Some(started);
        router
    })?;
    let server = Server::new(Arc::new(app), listener, tls);
    Ok(match live {
        Some(live) => server.with_live(live),
        None => server,
    })
}

/// Serves until the first signal, then shuts down gracefully; a second signal exits immediately.
async fn serve(
    polis: Polis,
    server: Server,
    (driven, grace): (Option<Driven>, Duration),
    mut signals: Signals,
) -> Result<(), Failure> {
    let forgetting = tokio::spawn(forget(polis));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = server.run(async {
        let _ = stopped.await;
    });
    let mut running = std::pin::pin!(running);
    tokio::select! {
        _ = running.as_mut() => {}
        () = signals.next() => {
            tracing::info!(target: "polis", "a signal came: what was accepted is finished");
            let _ = stop.send(());
            let society = async {
                if let Some(driven) = driven {
                    driven.stop(grace).await;
                }
            };
            tokio::select! {
                (finished, ()) = async { tokio::join!(running.as_mut(), society) } => {
                    if !finished {
                        tracing::warn!(target: "polis", "the time was up before everything was finished");
                    }
                }
                () = signals.next() => return Err(Failure::Exit(AT_ONCE)),
            }
        }
    }
    forgetting.abort();
    Ok(())
}

/// Periodically deletes expired responses of idempotency keys.
async fn forget(polis: Polis) {
    loop {
        if let Err(error) = idempotency::forget_replies(&polis).await {
            tracing::warn!(target: "polis", %error, "old answers could not be forgotten");
        }
        tokio::time::sleep(FORGET).await;
    }
}

/// The signals that end a server: SIGTERM and SIGINT.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Creates a sign-in link for a browser. `None` if a browser cannot reach the server, or if the caller is not the human
/// user.
pub(super) async fn link(context: &Context, url: &str) -> Result<Option<String>, Failure> {
    let Some(page) = server_lock::page(url) else {
        return Ok(None);
    };
    match op::offer_sign_in(&context.polis, &context.agent).await {
        Ok(offer) => Ok(Some(format!("{page}/signin?key={}", offer.key))),
        Err(error) if error.kind() == Kind::Forbidden => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn tell(out: &Output, told: &Listening) -> Result<(), Failure> {
    out.answer(told, |told| {
        let url = &told.listening;
        let page = told.sign_in.as_ref().map_or_else(String::new, |link| {
            format!("Look in (this link is good once, for ten minutes; `polis open` makes another):\n  {link}\n")
        });
        format!(
            "Listening on {url}\n\
             {page}\
             Programs need a token: polis agent token issue AGENT (or `user` for yourself)\n\
             What there is for them: {url}/v1/openapi.json"
        )
    })
}

/// Listens on an address, or on the next free port after it.
async fn bind(listen: &Listen, when_taken: WhenTaken, out: &Output) -> Result<Listener, Failure> {
    let taken = match listen.bind().await {
        Ok(listener) => return Ok(listener),
        Err(error) => error,
    };
    let next = match listen {
        Listen::Tcp(address)
            if taken.kind() == ErrorKind::AddrInUse && when_taken == WhenTaken::NextPort =>
        {
            *address
        }
        _ => return Err(cannot_listen(listen, &taken)),
    };
    for port in (next.port()..u16::MAX).skip(1).take(NEXT_PORTS) {
        let other = Listen::Tcp(SocketAddr::new(next.ip(), port));
        if let Ok(listener) = other.bind().await {
            if !out.is_json() {
                out.warn(&format!("{} Using port {port} instead.", tcp_in_use(next)));
            }
            return Ok(listener);
        }
    }
    Err(cannot_listen(listen, &taken))
}

/// Returns the message that an address is in use, with the owning program if it can be determined.
fn in_use(address: &str, owner: Option<PortOwner>) -> String {
    match owner {
        Some(PortOwner { program, pid }) => {
            let program = clean(&program);
            format!("{address} is already in use by {program} (process {pid}).")
        }
        None => format!("{address} is already in use by another program."),
    }
}

fn tcp_in_use(address: SocketAddr) -> String {
    in_use(&address.to_string(), PortOwner::find(address))
}

fn cannot_listen(listen: &Listen, error: &std::io::Error) -> Failure {
    let (message, hint) = match (listen, error.kind()) {
        (Listen::Tcp(address), ErrorKind::AddrInUse) => (
            tcp_in_use(*address),
            format!(
                "use `--listen {}` to take any free port, or stop the other program",
                SocketAddr::new(address.ip(), 0)
            ),
        ),
        (Listen::Unix(path), ErrorKind::AddrInUse) => (
            in_use("That socket", PortOwner::find_unix(path)),
            "choose another path with --listen, or stop the other program".to_owned(),
        ),
        (_, kind) => {
            let why = match kind {
                ErrorKind::AddrInUse => "another program listens there",
                ErrorKind::PermissionDenied => "this user is not allowed to",
                ErrorKind::AddrNotAvailable => "this machine has no such address",
                ErrorKind::AlreadyExists => "a file that is not a socket is in its place",
                ErrorKind::NotFound => "the directory does not exist",
                _ => "the system refuses",
            };
            let place = match listen {
                Listen::Tcp(address) => address.to_string(),
                Listen::Unix(_) => "that socket".to_owned(),
            };
            (
                format!("Cannot listen on {place}: {why}."),
                "choose another address with --listen".to_owned(),
            )
        }
    };
    let failure = PortError::new(Code::InvalidInput, message, hint);
    Failure::Op(failure.because(error.to_string()).into())
}
