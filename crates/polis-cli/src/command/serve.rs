//! `polis serve`: runs the server for the HTTP API, live events, MCP and the web page at one address, and
//! drives the runs of the store if a model is configured. The first signal (SIGTERM or SIGINT) shuts it down
//! gracefully, a second one ends it at once.
//!
//! [`ServeArgs::run_with_callback`] is also used by `polis open`.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use polis_core::RefusalKind;
use polis_i18n::{UiLanguage, msg};
use polis_ops::{App, PortError, idempotency, op};
use polis_serve::http::server_log::{self, LogFormat};
use polis_serve::http::tls::{self, TlsAcceptor};
use polis_serve::http::{
    BackgroundServices, BoundListener, HttpApp, HttpServer, ListenAddress, ServerOptions,
};
use polis_society::process_identity::LocalProcesses;
use polis_web::WebInterface;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::GlobalArgs;
use crate::config::{Config, ServeConfig};
use crate::context::{CommandContext, ProjectLocation};
use crate::error::CliError;
use crate::model_selection::{self, ProcessEnvironment};
use crate::output::{CliOutput, sanitize_line};
use crate::port_owner::PortOwner;
use crate::refusal_tables::{CliCode, CommandRefusal};
use crate::run_worker::{RunWorker, RunWorkerSettings};
use crate::server_lock::{self, ServerLock};

/// Interval of deleting expired responses of idempotency keys.
const IDEMPOTENCY_CLEANUP_INTERVAL: Duration = Duration::from_secs(3_600);
/// Number of ports tried after a port that is in use.
const MAX_PORT_ATTEMPTS: usize = 100;
/// Exit code when a second signal forces the exit.
const FORCED_EXIT_CODE: u8 = 130;

/// Serve the HTTP API, MCP and the web page until a signal arrives.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Listen address: IP address and port (0: any free port), or unix:PATH; default: 127.0.0.1:7707
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// TLS certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Allow listening without TLS where other machines can connect, for use behind a TLS proxy
    #[arg(long)]
    allow_plaintext: bool,
    /// Format of the log on standard error
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormatArg::Text)]
    log_format: LogFormatArg,
    /// Log every request, not only failed and slow ones
    #[arg(long)]
    access_log: bool,
    /// Model that drives the runs of the store: a configured endpoint, a model name, or replay:FILE
    #[arg(
        long,
        value_name = "MODEL",
        env = "POLIS_MODEL",
        hide_env_values = true
    )]
    model: Option<String>,
    /// Do not drive runs, even if a model is configured
    #[arg(long, conflicts_with = "model")]
    no_society: bool,
}

/// Format of the server log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormatArg {
    /// Text for people
    Text,
    /// One JSON document per line
    Json,
}

/// JSON document with the server's address.
#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListeningInfo {
    /// The URL that the server listens on.
    pub(super) listening: String,
    /// A link that signs a browser in, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sign_in: Option<String>,
}

/// Behaviour if the address is already in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortConflict {
    /// Refuse, naming the program that listens there.
    Refuse,
    /// Use the next free port, unless an address was named on the command line.
    NextPort,
}

impl ServeArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        self.run_with_callback(globals, out, PortConflict::Refuse, |_| {})
    }

    /// Like [`Self::run`]; calls `listening` as soon as the server listens.
    pub(super) fn run_with_callback(
        self,
        globals: &GlobalArgs,
        out: &CliOutput,
        on_conflict: PortConflict,
        listening: impl FnOnce(&ListeningInfo),
    ) -> Result<(), CliError> {
        let location = ProjectLocation::find(globals)?;
        let full_config = location.load_config()?;
        let config = &full_config.serve;
        let listen = self.listen.as_deref().unwrap_or(&config.listen);
        let listen = ListenAddress::parse(listen)?;
        let tls = match self.certificate_files(config)? {
            Some((chain, key)) => Some(tls::load_tls_acceptor(&chain, &key)?),
            None => None,
        };
        listen.check_encryption(tls.is_some(), self.allow_plaintext)?;
        let mut options = config.server_options();
        options.access_log |= self.access_log;
        let grace = options.grace_period;
        let settings = self.worker_settings(&location, &full_config)?;
        let context = CommandContext::open_serving(globals)?;
        let _log = server_log::start_logging(match self.log_format {
            LogFormatArg::Text => LogFormat::Text,
            LogFormatArg::Json => LogFormat::Json,
        });
        context.block_on(async {
            let on_conflict = match self.listen {
                Some(_) => PortConflict::Refuse,
                None => on_conflict,
            };
            let listener = bind_listener(&listen, on_conflict, out).await?;
            let app = (context.app.clone()).with_processes(Arc::new(LocalProcesses));
            let server = build_server(&app, options, listener, tls)?;
            let signals = ShutdownSignals::new()?;
            let worker = match settings {
                Some(settings) => Some(settings.start_worker(&context).await?),
                None => {
                    tracing::info!(target: "polis", "no model is configured: runs are not driven");
                    None
                }
            };
            let running = match &location.data_dir {
                Some(data_dir) => ServerLock::acquire(data_dir, &server.url()).await,
                None => None,
            };
            let info = ListeningInfo {
                sign_in: create_sign_in_link(&context, &server.url()).await?,
                listening: server.url(),
            };
            print_listening(out, &info)?;
            listening(&info);
            let served =
                serve_until_signal(context.app.clone(), server, (worker, grace), signals).await;
            drop(running);
            served
        })
    }

    /// Returns the settings of the society worker; `None` if no model is configured.
    fn worker_settings(
        &self,
        location: &ProjectLocation,
        config: &Config,
    ) -> Result<Option<RunWorkerSettings>, CliError> {
        if self.no_society {
            return Ok(None);
        }
        let environment = ProcessEnvironment(location.project_dir());
        let chosen =
            match model_selection::select_model(config, self.model.as_deref(), &environment) {
                // A server without any model configuration is valid: it serves boards and drives no runs.
                Err(refusal)
                    if refusal.code == CliCode::MODEL_NOT_CONFIGURED
                        && self.model.is_none()
                        && config.models.endpoints.is_empty() =>
                {
                    return Ok(None);
                }
                chosen => chosen?,
            };
        let model = chosen.into_model(config, &environment)?;
        Ok(Some(RunWorkerSettings::new(
            "serve",
            model,
            config,
            Vec::new(),
            &environment,
        )))
    }

    /// Returns the certificate and key files, from the flags or the configuration.
    fn certificate_files(
        &self,
        config: &ServeConfig,
    ) -> Result<Option<(PathBuf, PathBuf)>, CliError> {
        if let (Some(chain), Some(key)) = (&self.tls_cert, &self.tls_key) {
            return Ok(Some((chain.clone(), key.clone())));
        }
        let file = |name: &str| Path::new(name).to_owned();
        match (config.tls_cert.as_str(), config.tls_key.as_str()) {
            ("", "") => Ok(None),
            ("", _) | (_, "") => Err(CliError::from(CommandRefusal::LonelyTlsSetting)),
            (chain, key) => Ok(Some((file(chain), file(key)))),
        }
    }
}

/// Creates the server with its background services.
fn build_server(
    app: &App,
    options: ServerOptions,
    listener: BoundListener,
    tls: Option<TlsAcceptor>,
) -> Result<HttpServer, CliError> {
    let mut live = None;
    let app = HttpApp::with_routes(app.clone(), options, |router, metrics| {
        let (started, router) = BackgroundServices::start(app, router, metrics);
        let router = WebInterface::new(app.clone(), started.hub().clone()).mount(router);
        live = Some(started);
        router
    })?;
    let server = HttpServer::new(Arc::new(app), listener, tls);
    Ok(match live {
        Some(live) => server.with_background_services(live),
        None => server,
    })
}

/// Serves until the first signal, then shuts down gracefully; a second signal exits immediately.
async fn serve_until_signal(
    app: App,
    server: HttpServer,
    (worker, grace): (Option<RunWorker>, Duration),
    mut signals: ShutdownSignals,
) -> Result<(), CliError> {
    let cleanup = tokio::spawn(delete_expired_responses(app));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = server.run(async {
        let _ = stopped.await;
    });
    let mut running = std::pin::pin!(running);
    tokio::select! {
        _ = running.as_mut() => {}
        () = signals.wait() => {
            tracing::info!(target: "polis", "signal received: finishing accepted requests");
            let _ = stop.send(());
            let society = async {
                if let Some(worker) = worker {
                    worker.stop(grace).await;
                }
            };
            tokio::select! {
                (finished, ()) = async { tokio::join!(running.as_mut(), society) } => {
                    if !finished {
                        tracing::warn!(target: "polis", "grace period expired before all requests were finished");
                    }
                }
                () = signals.wait() => return Err(CliError::Exit(FORCED_EXIT_CODE)),
            }
        }
    }
    cleanup.abort();
    Ok(())
}

/// Periodically deletes expired responses of idempotency keys.
async fn delete_expired_responses(app: App) {
    loop {
        if let Err(error) = idempotency::delete_expired_responses(&app).await {
            tracing::warn!(target: "polis", %error, "expired idempotency responses could not be deleted");
        }
        tokio::time::sleep(IDEMPOTENCY_CLEANUP_INTERVAL).await;
    }
}

/// The signals that end a server: SIGTERM and SIGINT.
#[derive(Debug)]
pub(crate) struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl ShutdownSignals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Creates a sign-in link for a browser. `None` if a browser cannot reach the server, or if the caller is not
/// the person.
pub(super) async fn create_sign_in_link(
    context: &CommandContext,
    url: &str,
) -> Result<Option<String>, CliError> {
    let Some(page) = server_lock::browser_url(url) else {
        return Ok(None);
    };
    match op::issue_sign_in_key(&context.request()).await {
        Ok(offer) => Ok(Some(format!("{page}/signin?key={}", offer.key))),
        Err(error) if error.kind() == RefusalKind::Forbidden => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn print_listening(out: &CliOutput, info: &ListeningInfo) -> Result<(), CliError> {
    out.print_result(info, |info| {
        let (lang, url) = (out.lang(), &info.listening);
        let page = info.sign_in.as_ref().map_or_else(String::new, |link| {
            format!("{}\n  {link}\n", msg::cli_project_sign_in_link(lang))
        });
        format!(
            "{}\n{page}{}\n{}",
            msg::cli_project_listening(lang, url),
            msg::cli_project_token_needed(lang),
            msg::cli_project_api_description(lang, format!("{url}/v1/openapi.json"))
        )
    })
}

/// Listens on an address, or on the next free port after it.
async fn bind_listener(
    listen: &ListenAddress,
    on_conflict: PortConflict,
    out: &CliOutput,
) -> Result<BoundListener, CliError> {
    let bind_error = match listen.bind().await {
        Ok(listener) => return Ok(listener),
        Err(error) => error,
    };
    let next = match listen {
        ListenAddress::Tcp(address)
            if bind_error.kind() == ErrorKind::AddrInUse
                && on_conflict == PortConflict::NextPort =>
        {
            *address
        }
        _ => return Err(listen_error(listen, &bind_error)),
    };
    for port in (next.port()..u16::MAX).skip(1).take(MAX_PORT_ATTEMPTS) {
        let other = ListenAddress::Tcp(SocketAddr::new(next.ip(), port));
        if let Ok(listener) = other.bind().await {
            if !out.is_json() {
                out.print_stderr(&other_port_message(next, port, out.lang()));
            }
            return Ok(listener);
        }
    }
    Err(listen_error(listen, &bind_error))
}

/// Returns the message that an address is in use, with the owning program if it can be determined, and that
/// another port is used.
fn other_port_message(address: SocketAddr, port: u16, lang: UiLanguage) -> String {
    match PortOwner::find(address) {
        Some(PortOwner { program, pid }) => {
            let program = sanitize_line(&program);
            msg::cli_project_port_in_use_by(lang, address, program, pid, port)
        }
        None => msg::cli_project_port_in_use(lang, address, port),
    }
}

fn printable_path(path: &Path) -> String {
    sanitize_line(&path.to_string_lossy())
}

fn listen_error(listen: &ListenAddress, error: &std::io::Error) -> CliError {
    let refusal = match (listen, error.kind()) {
        (ListenAddress::Tcp(address), ErrorKind::AddrInUse) => {
            let free = SocketAddr::new(address.ip(), 0).to_string();
            match PortOwner::find(*address) {
                Some(PortOwner { program, pid }) => CommandRefusal::AddressInUseBy {
                    address: address.to_string(),
                    program: sanitize_line(&program),
                    pid: pid.to_string(),
                    free,
                },
                None => CommandRefusal::AddressInUse {
                    address: address.to_string(),
                    free,
                },
            }
        }
        (ListenAddress::Unix(path), ErrorKind::AddrInUse) => {
            let owner = PortOwner::find_unix(path);
            let path = printable_path(path);
            match owner {
                Some(PortOwner { program, pid }) => CommandRefusal::SocketInUseBy {
                    path,
                    program: sanitize_line(&program),
                    pid: pid.to_string(),
                },
                None => CommandRefusal::SocketInUse { path },
            }
        }
        (_, kind) => {
            let problem = match kind {
                ErrorKind::AddrInUse => "in-use",
                ErrorKind::PermissionDenied => "denied",
                ErrorKind::AddrNotAvailable => "not-available",
                ErrorKind::AlreadyExists => "exists",
                ErrorKind::NotFound => "not-found",
                _ => "refused",
            };
            CommandRefusal::CannotListen {
                target: match listen {
                    ListenAddress::Tcp(address) => address.to_string(),
                    ListenAddress::Unix(path) => printable_path(path),
                },
                problem: problem.to_owned(),
            }
        }
    };
    let failure = PortError::from(refusal);
    CliError::Op(failure.with_source(error.to_string()).into())
}
