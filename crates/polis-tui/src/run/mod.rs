//! Event loop of the terminal interface: keys and signals in, operations out, frames on the terminal.
//!
//! The loop never blocks: operations run in separate tasks and reply with messages. It wakes up only for
//! keys, log events, signals, or when a displayed time changes.

mod editor;
mod follow;
mod keys;
mod load;
mod operations;
mod save;
mod terminal;
mod text_rendering;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{self, Event as Input};
use polis_core::{AgentId, Code, Refusal};
use polis_ops::op::StatsKeeper;
use polis_ops::{OpError, Polis, PortError};
use polis_view::Lang;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::editor::Editor;
use self::keys::Keys;
pub use self::load::{figures, load};
pub use self::operations::carry_out as act;
use self::terminal::Stage;
use crate::app::{App, Effect, Message, Notice, Tab, Wish, kept_in, update};
use crate::draw::draw;

/// Timeout when polling for another key; a zero timeout would not poll at all.
const LOOK: Duration = Duration::from_millis(1);
/// How long to wait on exit for actions in progress.
const FINISHING: Duration = Duration::from_secs(5);
/// Maximum time for this process to be stopped by SIGTSTP.
const STOPPING: Duration = Duration::from_millis(250);
/// Capacity of the message queue; senders wait when it is full.
const WAITING: usize = 256;

/// Configuration of the terminal interface.
#[derive(Debug, Clone)]
pub struct Screen {
    /// The application.
    pub polis: Polis,
    /// The acting agent.
    pub agent: AgentId,
    /// The language.
    pub lang: Lang,
    /// Whether colours are enabled.
    pub colour: bool,
    /// The initial tab.
    pub tab: Tab,
    /// The editor command, as shell input.
    pub editor: String,
    /// Cache of the success figures.
    pub keeper: Arc<StatsKeeper>,
}

/// Runs the terminal interface until it is closed.
pub async fn run(screen: Screen) -> Result<(), OpError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Refusal::new(
            Code::InvalidInput,
            "The screen needs a terminal for its input and its output.",
            "run `polis tui` in a terminal; for programs there are `polis task list --json`, `polis watch` and others",
        )
        .into());
    }
    let failed = |error| OpError::from(PortError::internal("Using the terminal", error));
    let since = screen.polis.store.last_sequence().await?;
    // Checked before entering the alternate screen, so that an invalid agent is refused visibly.
    screen.polis.caller(&screen.agent).await?;
    let mut stage = Stage::enter().map_err(failed)?;
    let mut play = Play::new(&screen, &mut stage, since).map_err(failed)?;
    let ended = play.go().await;
    // In any case actions in progress are finished, and the files of unsaved drafts are printed.
    let kept = play.close().await;
    drop(stage);
    for file in kept {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "{}", kept_in(&file, screen.lang));
    }
    ended.map_err(failed)
}

/// The signals that are handled.
#[derive(Debug)]
struct Signals {
    resized: Signal,
    continued: Signal,
    interrupted: Signal,
    ended: Signal,
    quit: Signal,
    hung_up: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            resized: signal(SignalKind::window_change())?,
            continued: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            interrupted: signal(SignalKind::interrupt())?,
            ended: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hung_up: signal(SignalKind::hangup())?,
        })
    }
}

/// The running terminal interface.
struct Play<'a> {
    screen: &'a Screen,
    stage: &'a mut Stage,
    app: App,
    signals: Signals,
    keys: Keys,
    send: mpsc::Sender<Message>,
    receive: mpsc::Receiver<Message>,
    /// Tasks that only read.
    tasks: JoinSet<()>,
    /// Actions that change something: they are finished before exit.
    deeds: JoinSet<()>,
    since: u64,
    last_tick: Instant,
    /// The file of a draft that was open in an editor on exit.
    kept: Option<PathBuf>,
}

/// Reason for waking up.
enum Woken {
    Message(Box<Message>),
    Keys,
    Resized,
    Continued,
    Ended,
    Broken,
}

impl<'a> Play<'a> {
    fn new(screen: &'a Screen, stage: &'a mut Stage, since: u64) -> std::io::Result<Self> {
        let (send, receive) = mpsc::channel(WAITING);
        let size = stage.size()?;
        Ok(Self {
            app: App::new(
                screen.agent.to_string(),
                screen.lang,
                screen.colour,
                size,
                screen.tab,
            ),
            screen,
            stage,
            signals: Signals::new()?,
            keys: Keys::watch()?,
            send,
            receive,
            tasks: JoinSet::new(),
            deeds: JoinSet::new(),
            since,
            last_tick: Instant::now(),
            kept: None,
        })
    }

    /// Runs the event loop until the interface is closed.
    async fn go(&mut self) -> std::io::Result<()> {
        let follower = follow::follow(self.screen.clone(), self.since, self.send.clone());
        self.tasks.spawn(follower);
        self.app.now = self.screen.polis.clock.now_millis();
        let effects = self.app.begin();
        let mut open = self.carry_out(effects).await?;
        while open {
            self.stage.draw(|frame| draw(&self.app, frame))?;
            if self.app.is_unseen() {
                open = self.see().await?;
                continue;
            }
            let woken = self.woken().await;
            open = match woken {
                Woken::Message(message) => self.take(*message).await?,
                Woken::Keys => self.read_keys().await?,
                Woken::Resized => {
                    let (columns, rows) = self.stage.size()?;
                    self.take(Message::Resize(columns, rows)).await?
                }
                Woken::Continued => {
                    self.stage.come_back()?;
                    let (columns, rows) = self.stage.size()?;
                    self.take(Message::Resize(columns, rows)).await?
                }
                Woken::Ended => false,
                Woken::Broken => return Err(std::io::Error::other("a part of the screen broke")),
            };
        }
        Ok(())
    }

    /// Waits, with a timeout, for actions in progress. Returns the files of unsaved drafts.
    async fn close(mut self) -> Vec<PathBuf> {
        self.tasks.abort_all();
        if !self.deeds.is_empty() {
            let waits = self.screen.lang.say(
                "What was begun is being finished…",
                "正在完成已开始的操作……",
            );
            self.app.notice = Some(Notice::Done(waits.to_owned()));
            let _ = self.stage.draw(|frame| draw(&self.app, frame));
        }
        let bound = Instant::now() + FINISHING;
        loop {
            // Finished actions send their message before their task ends.
            let message = tokio::select! {
                biased;
                Some(message) = self.receive.recv() => message,
                ended = self.deeds.join_next() => match ended {
                    Some(_) => continue,
                    None => break,
                },
                () = tokio::time::sleep_until(bound) => break,
            };
            let now = self.screen.polis.clock.now_millis();
            for effect in update(&mut self.app, now, message) {
                self.forget(effect);
            }
        }
        let mut files = self.app.files;
        files.extend(self.kept.filter(|file| !files.contains(file)));
        // An editor or another program may have deleted a file.
        files.retain(|file| file.exists());
        files
    }

    /// Executes the effects that are also needed on exit.
    fn forget(&self, effect: Effect) {
        if let Effect::Forget(file) = effect {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Waits until there is something to do.
    async fn woken(&mut self) -> Woken {
        loop {
            let every = self.app.next_tick().map(Duration::from_millis);
            let tick = every.map(|every| self.last_tick + every);
            let sleep = async {
                match tick {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            return tokio::select! {
                Some(message) = self.receive.recv() => Woken::Message(Box::new(message)),
                typed = self.keys.typed() => match typed {
                    true => Woken::Keys,
                    false => Woken::Ended,
                },
                _ = self.signals.resized.recv() => Woken::Resized,
                _ = self.signals.continued.recv() => Woken::Continued,
                _ = self.signals.interrupted.recv() => Woken::Ended,
                _ = self.signals.ended.recv() => Woken::Ended,
                _ = self.signals.quit.recv() => Woken::Ended,
                _ = self.signals.hung_up.recv() => Woken::Ended,
                Some(ended) = self.tasks.join_next() => match ended {
                    Ok(()) => continue,
                    Err(_) => Woken::Broken,
                },
                Some(ended) = self.deeds.join_next() => match ended {
                    Ok(()) => continue,
                    Err(_) => Woken::Broken,
                },
                () = sleep => {
                    self.last_tick = Instant::now();
                    Woken::Message(Box::new(Message::Tick))
                }
            };
        }
    }

    /// Handles an overlay that opened by itself and has been drawn: earlier key presses were not meant for
    /// it, so they are consumed before it accepts input.
    async fn see(&mut self) -> std::io::Result<bool> {
        Ok(self.take_typed().await? && self.take(Message::Seen).await?)
    }

    /// Processes all pending keys, and resumes watching.
    async fn read_keys(&mut self) -> std::io::Result<bool> {
        let open = self.take_typed().await?;
        self.keys.go_on();
        Ok(open)
    }

    async fn take_typed(&mut self) -> std::io::Result<bool> {
        while event::poll(LOOK)? {
            let message = match event::read()? {
                Input::Key(key) => Message::Key(key),
                Input::Mouse(mouse) => Message::Mouse(mouse),
                Input::Paste(text) => Message::Paste(text),
                Input::Resize(columns, rows) => Message::Resize(columns, rows),
                Input::FocusGained | Input::FocusLost => continue,
            };
            if !self.take(message).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Processes a message. Returns whether the interface stays open.
    async fn take(&mut self, message: Message) -> std::io::Result<bool> {
        let now = self.screen.polis.clock.now_millis();
        let effects = update(&mut self.app, now, message);
        self.carry_out(effects).await
    }

    async fn carry_out(&mut self, effects: Vec<Effect>) -> std::io::Result<bool> {
        let mut waiting = effects;
        while !waiting.is_empty() {
            for effect in std::mem::take(&mut waiting) {
                match effect {
                    Effect::Load(wish) => self.load(wish),
                    Effect::Figures => {
                        let (screen, send) = (self.screen.clone(), self.send.clone());
                        self.tasks.spawn(async move {
                            let answer = figures(&screen).await;
                            let _ = send.send(Message::Figures(answer)).await;
                        });
                    }
                    Effect::Act(deed) => {
                        let (screen, send) = (self.screen.clone(), self.send.clone());
                        self.deeds.spawn(async move {
                            let message = act(&screen, deed).await;
                            let _ = send.send(message).await;
                        });
                    }
                    Effect::Edit(draft) => {
                        let Some(message) = self.edit(draft).await? else {
                            return Ok(false);
                        };
                        let now = self.screen.polis.clock.now_millis();
                        waiting.extend(update(&mut self.app, now, message));
                    }
                    Effect::Forget(_) => self.forget(effect),
                    Effect::Suspend => {
                        let Some(message) = self.suspend().await? else {
                            return Ok(false);
                        };
                        let now = self.screen.polis.clock.now_millis();
                        waiting.extend(update(&mut self.app, now, message));
                    }
                    Effect::Quit => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    fn load(&mut self, wish: Wish) {
        let (screen, send) = (self.screen.clone(), self.send.clone());
        self.tasks.spawn(async move {
            let answer = load(&screen, &wish).await;
            let _ = send.send(Message::Loaded(wish, answer)).await;
        });
    }

    /// Suspends the process until it is continued. Returns `None` if it should end.
    async fn suspend(&mut self) -> std::io::Result<Option<Message>> {
        self.stage.leave();
        // Stops the whole process group, as the terminal does on Ctrl-Z.
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        // The kernel does not stop an orphaned process group, which no shell could resume. A stop takes
        // effect immediately, and ends only with SIGCONT: if SIGCONT does not arrive within the timeout, the
        // process was never stopped. The timeout may have expired during the stop, so SIGCONT is checked
        // first.
        let stopped = tokio::select! {
            biased;
            _ = self.signals.interrupted.recv() => return Ok(None),
            _ = self.signals.ended.recv() => return Ok(None),
            _ = self.signals.quit.recv() => return Ok(None),
            _ = self.signals.hung_up.recv() => return Ok(None),
            _ = self.signals.continued.recv() => true,
            () = tokio::time::sleep(STOPPING) => false,
        };
        self.stage.come_back()?;
        if !stopped {
            let stays = self.screen.lang.say(
                "Nothing here could bring the screen back, so it stays.",
                "此处没有可恢复的 shell，界面未挂起。",
            );
            self.app.notice = Some(Notice::Done(stays.to_owned()));
        }
        let (columns, rows) = self.stage.size()?;
        Ok(Some(Message::Resize(columns, rows)))
    }

    /// Hands the terminal to an editor until it exits. Returns `None` if the interface should end.
    async fn edit(&mut self, draft: crate::app::Draft) -> std::io::Result<Option<Message>> {
        self.stage.leave();
        let message = match Editor::open(draft, &self.screen.editor, self.screen.lang) {
            Ok(mut editor) => {
                let ended = tokio::select! {
                    ended = editor.closed() => Some(ended),
                    _ = self.signals.ended.recv() => None,
                    _ = self.signals.hung_up.recv() => None,
                };
                match ended {
                    Some(ended) => editor.told(ended),
                    None => {
                        self.kept = Some(editor.end().await);
                        terminal::leave();
                        return Ok(None);
                    }
                }
            }
            Err(message) => *message,
        };
        // Discard signals that were meant for the editor.
        self.signals.interrupted = signal(SignalKind::interrupt())?;
        self.signals.quit = signal(SignalKind::quit())?;
        self.stage.come_back()?;
        let (columns, rows) = self.stage.size()?;
        let now = self.screen.polis.clock.now_millis();
        let resized = update(&mut self.app, now, Message::Resize(columns, rows));
        for effect in resized {
            if let Effect::Load(wish) = effect {
                self.load(wish);
            }
        }
        Ok(Some(message))
    }
}
