//! Event loop of the terminal UI ([`run_tui`]): passes input, results and new events to the update function,
//! executes the effects it returns, and draws the new state.
//!
//! Loading and actions run in separate tasks and reply with messages, so the loop never waits for them. It
//! wakes up only for input, these messages, new events, signals, and ticks: when a displayed time changes, or
//! when a page that failed to load or shows running commands may have to be reloaded. While the external
//! editor is open or the process is suspended, only signals that end the program are handled. On exit,
//! actions in progress are finished (with a timeout) and the paths of the files of unsaved drafts are
//! printed.

mod action_runner;
mod blocking_render;
mod draft_saver;
mod external_editor;
mod keyboard_watcher;
mod log_follower;
mod page_loader;
mod terminal_guard;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{self, Event as Input};
use polis_core::{AgentId, Refusal};
use polis_i18n::msg;
use polis_ops::op::TaskStatsCache;
use polis_ops::{App, OpError, PortError, Request};
use polis_view::UiLanguage;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use self::action_runner::execute_action;
use self::external_editor::ExternalEditor;
use self::keyboard_watcher::KeyboardWatcher;
pub use self::page_loader::{compute_stats, load_page};
use self::terminal_guard::TerminalGuard;
use crate::app::{
    AppEffect, AppMessage, LoadRequest, StatusNotice, Tab, TuiApp, draft_file_notice, update_app,
};
use crate::draw::draw_app;
use crate::refusal_tables::TerminalRefusal;

/// Timeout when polling for another key; a zero timeout would not poll at all.
const KEY_POLL_TIMEOUT: Duration = Duration::from_millis(1);
/// How long to wait on exit for actions in progress.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for this process to be stopped by SIGTSTP.
const SUSPEND_TIMEOUT: Duration = Duration::from_millis(250);
/// Capacity of the message queue; senders wait when it is full.
const MESSAGE_QUEUE_CAPACITY: usize = 256;

/// Configuration of the terminal interface.
#[derive(Debug, Clone)]
pub struct TuiConfig {
    /// Store, clock and the other ports of the operations.
    pub app: App,
    /// The agent as which all operations are called.
    pub agent: AgentId,
    /// Display language.
    pub lang: UiLanguage,
    /// Whether colours are enabled.
    pub colour: bool,
    /// The tab that is shown first.
    pub tab: Tab,
    /// The editor command, as shell input.
    pub editor: String,
    /// Cache of the success figures.
    pub stats_cache: Arc<TaskStatsCache>,
}

impl TuiConfig {
    /// Returns a request to the operations that starts now.
    pub(crate) fn request(&self) -> Request {
        self.app.request(&self.agent)
    }
}

/// Runs the terminal interface until it is closed. Fails with `invalid_input` if standard input or output is
/// not a terminal, and if the agent is unknown, the store is unreachable or the terminal fails.
pub async fn run_tui(screen: TuiConfig) -> Result<(), OpError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Refusal::from(TerminalRefusal::NoTerminal).into());
    }
    let failed = |error| OpError::from(PortError::internal("Terminal access", error));
    let since = screen.app.store.last_sequence().await?;
    // Checked before entering the alternate screen, so that an invalid agent is refused visibly.
    screen.request().resolve_caller().await?;
    let mut terminal = TerminalGuard::enter().map_err(failed)?;
    let mut event_loop = EventLoop::new(&screen, &mut terminal, since).map_err(failed)?;
    let result = event_loop.run_until_closed().await;
    // In any case actions in progress are finished, and the files of unsaved drafts are printed.
    let draft_files = event_loop.shut_down().await;
    drop(terminal);
    for file in draft_files {
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr(),
            "{}",
            draft_file_notice(&file, screen.lang)
        );
    }
    result.map_err(failed)
}

/// The signals that are handled.
#[derive(Debug)]
struct SignalStreams {
    window_change: Signal,
    continued: Signal,
    interrupted: Signal,
    terminated: Signal,
    quit: Signal,
    hung_up: Signal,
}

impl SignalStreams {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            window_change: signal(SignalKind::window_change())?,
            continued: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hung_up: signal(SignalKind::hangup())?,
        })
    }
}

/// The running terminal interface.
struct EventLoop<'a> {
    config: &'a TuiConfig,
    terminal: &'a mut TerminalGuard,
    app: TuiApp,
    signals: SignalStreams,
    keys: KeyboardWatcher,
    send: mpsc::Sender<AppMessage>,
    receive: mpsc::Receiver<AppMessage>,
    /// Tasks that only read.
    tasks: JoinSet<()>,
    /// Actions that change something: they are finished before exit.
    actions: JoinSet<()>,
    since: u64,
    last_tick: Instant,
    /// The file of a draft that was open in an editor on exit.
    open_draft_file: Option<PathBuf>,
}

/// Reason for waking up.
enum WakeReason {
    Message(Box<AppMessage>),
    KeyboardInput,
    Resized,
    Continued,
    Ended,
    TaskPanicked,
}

impl<'a> EventLoop<'a> {
    fn new(
        screen: &'a TuiConfig,
        terminal: &'a mut TerminalGuard,
        since: u64,
    ) -> std::io::Result<Self> {
        let (send, receive) = mpsc::channel(MESSAGE_QUEUE_CAPACITY);
        let size = terminal.size()?;
        Ok(Self {
            app: TuiApp::new(
                screen.agent.to_string(),
                screen.lang,
                screen.colour,
                size,
                screen.tab,
            ),
            config: screen,
            terminal,
            signals: SignalStreams::new()?,
            keys: KeyboardWatcher::start()?,
            send,
            receive,
            tasks: JoinSet::new(),
            actions: JoinSet::new(),
            since,
            last_tick: Instant::now(),
            open_draft_file: None,
        })
    }

    /// Runs the event loop until the interface is closed.
    async fn run_until_closed(&mut self) -> std::io::Result<()> {
        let follower = log_follower::follow_log(self.config.clone(), self.since, self.send.clone());
        self.tasks.spawn(follower);
        self.app.now = self.config.app.clock.now_millis();
        let effects = self.app.initial_effects();
        let mut open = self.run_effects(effects).await?;
        while open {
            self.terminal.draw(|frame| draw_app(&self.app, frame))?;
            if self.app.has_undrawn_overlay() {
                open = self.activate_drawn_overlay().await?;
                continue;
            }
            let wake = self.next_wake().await;
            open = match wake {
                WakeReason::Message(message) => self.handle_message(*message).await?,
                WakeReason::KeyboardInput => self.read_keys().await?,
                WakeReason::Resized => {
                    let (columns, rows) = self.terminal.size()?;
                    self.handle_message(AppMessage::Resize(columns, rows))
                        .await?
                }
                WakeReason::Continued => {
                    self.terminal.reenter()?;
                    let (columns, rows) = self.terminal.size()?;
                    self.handle_message(AppMessage::Resize(columns, rows))
                        .await?
                }
                WakeReason::Ended => false,
                WakeReason::TaskPanicked => {
                    return Err(std::io::Error::other(
                        "a background task of the terminal interface panicked",
                    ));
                }
            };
        }
        Ok(())
    }

    /// Waits, with a timeout, for actions in progress. Returns those files of unsaved drafts that still
    /// exist.
    async fn shut_down(mut self) -> Vec<PathBuf> {
        self.tasks.abort_all();
        if !self.actions.is_empty() {
            let notice = msg::tui_finishing_actions(self.config.lang);
            self.app.notice = Some(StatusNotice::Done(notice.to_owned()));
            let _ = self.terminal.draw(|frame| draw_app(&self.app, frame));
        }
        let deadline = Instant::now() + EXIT_TIMEOUT;
        loop {
            // Finished actions send their message before their task ends.
            let message = tokio::select! {
                biased;
                Some(message) = self.receive.recv() => message,
                joined = self.actions.join_next() => match joined {
                    Some(_) => continue,
                    None => break,
                },
                () = tokio::time::sleep_until(deadline) => break,
            };
            let now = self.config.app.clock.now_millis();
            for effect in update_app(&mut self.app, now, message) {
                self.remove_draft_file(effect);
            }
        }
        let mut files = self.app.draft_files;
        files.extend(self.open_draft_file.filter(|file| !files.contains(file)));
        // An editor or another program may have deleted a file.
        files.retain(|file| file.exists());
        files
    }

    /// Executes the effect that removes a draft's file, the only one that is needed on exit too; ignores all
    /// others.
    fn remove_draft_file(&self, effect: AppEffect) {
        if let AppEffect::RemoveDraftFile(file) = effect {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Waits until there is something to do.
    async fn next_wake(&mut self) -> WakeReason {
        loop {
            let interval = self.app.next_tick().map(Duration::from_millis);
            let tick = interval.map(|interval| self.last_tick + interval);
            let sleep = async {
                match tick {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            return tokio::select! {
                Some(message) = self.receive.recv() => WakeReason::Message(Box::new(message)),
                typed = self.keys.wait_for_input() => if typed { WakeReason::KeyboardInput } else { WakeReason::Ended },
                _ = self.signals.window_change.recv() => WakeReason::Resized,
                _ = self.signals.continued.recv() => WakeReason::Continued,
                _ = self.signals.interrupted.recv() => WakeReason::Ended,
                _ = self.signals.terminated.recv() => WakeReason::Ended,
                _ = self.signals.quit.recv() => WakeReason::Ended,
                _ = self.signals.hung_up.recv() => WakeReason::Ended,
                Some(joined) = self.tasks.join_next() => match joined {
                    Ok(()) => continue,
                    Err(_) => WakeReason::TaskPanicked,
                },
                Some(joined) = self.actions.join_next() => match joined {
                    Ok(()) => continue,
                    Err(_) => WakeReason::TaskPanicked,
                },
                () = sleep => {
                    self.last_tick = Instant::now();
                    WakeReason::Message(Box::new(AppMessage::Tick))
                }
            };
        }
    }

    /// Handles an overlay that opened by itself and has been drawn: earlier key presses were not meant for
    /// it, so they are consumed before it accepts input.
    async fn activate_drawn_overlay(&mut self) -> std::io::Result<bool> {
        Ok(self.handle_pending_keys().await?
            && self.handle_message(AppMessage::OverlayDrawn).await?)
    }

    /// Processes all pending keys, and resumes watching.
    async fn read_keys(&mut self) -> std::io::Result<bool> {
        let open = self.handle_pending_keys().await?;
        self.keys.resume();
        Ok(open)
    }

    async fn handle_pending_keys(&mut self) -> std::io::Result<bool> {
        while event::poll(KEY_POLL_TIMEOUT)? {
            let message = match event::read()? {
                Input::Key(key) => AppMessage::Key(key),
                Input::Mouse(mouse) => AppMessage::Mouse(mouse),
                Input::Paste(text) => AppMessage::Paste(text),
                Input::Resize(columns, rows) => AppMessage::Resize(columns, rows),
                Input::FocusGained | Input::FocusLost => continue,
            };
            if !self.handle_message(message).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Processes a message. Returns whether the interface stays open.
    async fn handle_message(&mut self, message: AppMessage) -> std::io::Result<bool> {
        let now = self.config.app.clock.now_millis();
        let effects = update_app(&mut self.app, now, message);
        self.run_effects(effects).await
    }

    async fn run_effects(&mut self, effects: Vec<AppEffect>) -> std::io::Result<bool> {
        let mut waiting = effects;
        while !waiting.is_empty() {
            for effect in std::mem::take(&mut waiting) {
                match effect {
                    AppEffect::Load(request) => self.start_load(request),
                    AppEffect::ComputeStats => {
                        let (screen, send) = (self.config.clone(), self.send.clone());
                        self.tasks.spawn(async move {
                            let answer = compute_stats(&screen).await;
                            let _ = send.send(AppMessage::StatsComputed(answer)).await;
                        });
                    }
                    AppEffect::RunAction(action) => {
                        let (screen, send) = (self.config.clone(), self.send.clone());
                        self.actions.spawn(async move {
                            let message = execute_action(&screen, action).await;
                            let _ = send.send(message).await;
                        });
                    }
                    AppEffect::Edit(draft) => {
                        let Some(message) = self.run_editor(draft).await? else {
                            return Ok(false);
                        };
                        let now = self.config.app.clock.now_millis();
                        waiting.extend(update_app(&mut self.app, now, message));
                    }
                    AppEffect::RemoveDraftFile(_) => self.remove_draft_file(effect),
                    AppEffect::Suspend => {
                        let Some(message) = self.suspend_process().await? else {
                            return Ok(false);
                        };
                        let now = self.config.app.clock.now_millis();
                        waiting.extend(update_app(&mut self.app, now, message));
                    }
                    AppEffect::Quit => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    fn start_load(&mut self, request: LoadRequest) {
        let (screen, send) = (self.config.clone(), self.send.clone());
        self.tasks.spawn(async move {
            let answer = load_page(&screen, &request).await;
            let _ = send.send(AppMessage::Loaded(request, answer)).await;
        });
    }

    /// Suspends the process until it is continued. Returns `None` if it should end.
    async fn suspend_process(&mut self) -> std::io::Result<Option<AppMessage>> {
        self.terminal.restore();
        // Stops the whole process group, as the terminal does on Ctrl-Z.
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        // The kernel does not stop an orphaned process group, which no shell could resume. A stop takes
        // effect immediately, and ends only with SIGCONT: if SIGCONT does not arrive within the timeout, the
        // process was never stopped. The timeout may have expired during the stop, so SIGCONT is checked
        // first.
        let stopped = tokio::select! {
            biased;
            _ = self.signals.interrupted.recv() => return Ok(None),
            _ = self.signals.terminated.recv() => return Ok(None),
            _ = self.signals.quit.recv() => return Ok(None),
            _ = self.signals.hung_up.recv() => return Ok(None),
            _ = self.signals.continued.recv() => true,
            () = tokio::time::sleep(SUSPEND_TIMEOUT) => false,
        };
        self.terminal.reenter()?;
        if !stopped {
            let message = msg::tui_not_suspended(self.config.lang);
            self.app.notice = Some(StatusNotice::Done(message.to_owned()));
        }
        let (columns, rows) = self.terminal.size()?;
        Ok(Some(AppMessage::Resize(columns, rows)))
    }

    /// Hands the terminal to an editor until it exits. Returns `None` if the interface should end.
    async fn run_editor(
        &mut self,
        draft: crate::app::EditDraft,
    ) -> std::io::Result<Option<AppMessage>> {
        self.terminal.restore();
        let message = match ExternalEditor::open(draft, &self.config.editor, self.config.lang) {
            Ok(mut editor) => {
                let exit_result = tokio::select! {
                    exit_result = editor.wait_for_exit() => Some(exit_result),
                    _ = self.signals.terminated.recv() => None,
                    _ = self.signals.hung_up.recv() => None,
                };
                match exit_result {
                    Some(exit_result) => editor.into_message(exit_result),
                    None => {
                        self.open_draft_file = Some(editor.terminate().await);
                        terminal_guard::leave_alternate_screen();
                        return Ok(None);
                    }
                }
            }
            Err(message) => *message,
        };
        // Discard signals that were meant for the editor.
        self.signals.interrupted = signal(SignalKind::interrupt())?;
        self.signals.quit = signal(SignalKind::quit())?;
        self.terminal.reenter()?;
        let (columns, rows) = self.terminal.size()?;
        let now = self.config.app.clock.now_millis();
        let resized = update_app(&mut self.app, now, AppMessage::Resize(columns, rows));
        for effect in resized {
            if let AppEffect::Load(request) = effect {
                self.start_load(request);
            }
        }
        Ok(Some(message))
    }
}
