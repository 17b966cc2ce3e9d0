//! Scheduler: decides which members of the runs leased by this process have work, and spawns a driver task for each.
//!
//! At startup the store is scanned for members at work and unread messages; from then on the log is followed. A member
//! without work is not in memory. A run is driven by one worker at a time, which holds its lease (see
//! [`lease`](crate::lease)). What a member does is decided by the [`driver`](crate::driver).

mod follow;
mod runs;
mod scan;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use polis_core::RunId;
use polis_core::society::MemberKey;
use polis_ops::OpError;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::driver::{Seat, Shared, drive};
use crate::lease::Lease;
use crate::society::SocietySettings;

use runs::Wanted;
pub(crate) use scan::{RunCheck, check_settled, finish_if_done};

/// A signal to the worker from the log follower or from a driver.
#[derive(Debug)]
enum Signal {
    /// This member may have work.
    Wake(MemberKey),
    /// Some member of this run may have work.
    Look(RunId),
    /// This member must stop at once.
    Halt(MemberKey),
    /// All members of this run must stop at once.
    HaltRun(RunId),
    /// This member must make no further model requests.
    Pause(MemberKey),
    /// The members of this run must make no further model requests.
    PauseRun(RunId),
    /// Budgets of a run changed.
    News(RunId),
    /// There may be messages with delayed delivery.
    Mail,
    /// The log was followed up to this position.
    Seen(u64),
    /// The driver task of this member has ended.
    Left(MemberKey),
}

impl Signal {
    /// Returns the run that the signal concerns.
    fn run(&self) -> Option<&RunId> {
        match self {
            Self::Wake(key) | Self::Halt(key) | Self::Pause(key) | Self::Left(key) => {
                Some(&key.run)
            }
            Self::Look(run) | Self::HaltRun(run) | Self::PauseRun(run) | Self::News(run) => {
                Some(run)
            }
            Self::Mail | Self::Seen(_) => None,
        }
    }
}

/// Selects which cancellation token of a member is used.
type How = fn(&Seat) -> &CancellationToken;

/// Whether this process has any work, as far as it knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quiet {
    /// No member of this process is working.
    pub(crate) idle: bool,
    /// The log was followed up to this position.
    pub(crate) seen: u64,
}

/// A member with a driver task.
#[derive(Debug)]
struct Sitting {
    seat: Arc<Seat>,
    task: JoinHandle<()>,
    /// A signal arrived since the task began.
    again: bool,
}

/// Drop guard that signals the end of a driver task, also after a panic or an abort.
#[derive(Debug)]
struct Leaving(MemberKey, mpsc::UnboundedSender<Signal>);

impl Drop for Leaving {
    fn drop(&mut self) {
        let _ = self.1.send(Signal::Left(self.0.clone()));
    }
}

/// The scheduler of this process.
#[derive(Debug)]
pub(crate) struct Worker {
    shared: Arc<Shared>,
    settings: SocietySettings,
    stop: CancellationToken,
    quiet: watch::Sender<Quiet>,
    signals: mpsc::UnboundedReceiver<Signal>,
    signal: mpsc::UnboundedSender<Signal>,
    seats: HashMap<MemberKey, Sitting>,
    queue: VecDeque<MemberKey>,
    queued: HashSet<MemberKey>,
    leases: HashMap<RunId, Lease>,
    /// Runs that may have work and are not leased by this worker, or have to be scanned.
    wanted: HashMap<RunId, Wanted>,
    /// Runs without work since the last renewal.
    resting: HashSet<RunId>,
    renew_at: Instant,
    /// When the next delayed message is delivered.
    delivery: Option<Instant>,
    /// Whether messages were sent since `delivery` was determined.
    mail_sent: bool,
    /// Whether mailboxes have to be scanned.
    look_for_mail: bool,
    seen: u64,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        settings: SocietySettings,
        stop: CancellationToken,
        quiet: watch::Sender<Quiet>,
    ) -> Self {
        let (signal, signals) = mpsc::unbounded_channel();
        Self {
            renew_at: Instant::now() + settings.lease / 3,
            shared,
            settings,
            stop,
            quiet,
            signals,
            signal,
            seats: HashMap::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            leases: HashMap::new(),
            wanted: HashMap::new(),
            resting: HashSet::new(),
            delivery: None,
            mail_sent: false,
            look_for_mail: true,
            seen: 0,
        }
    }

    /// Finds the runs that had work when the last worker ended.
    pub(crate) async fn look_around(&mut self) -> Result<(), OpError> {
        let only = self.settings.runs.clone();
        for run in scan::runs_at_work(&self.shared.polis, &only).await? {
            self.want(run);
        }
        Ok(())
    }

    /// Runs until stopped; then ends all work within `grace`.
    pub(crate) async fn run(mut self, after: u64, grace: watch::Receiver<Duration>) {
        self.seen = after;
        let log = follow::follow(
            Arc::clone(&self.shared),
            after,
            self.signal.clone(),
            self.stop.clone(),
        );
        let log = tokio::spawn(log);
        let stop = self.stop.clone();
        while !stop.is_cancelled() {
            self.turn().await;
            let due = self.due();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                signal = self.signals.recv() => {
                    if let Some(signal) = signal {
                        self.hear(signal);
                    }
                    // Receive all pending signals before acting on them.
                    while let Ok(signal) = self.signals.try_recv() {
                        self.hear(signal);
                    }
                }
                () = tokio::time::sleep_until(due) => {}
            }
        }
        log.abort();
        let grace = *grace.borrow();
        self.end(grace).await;
    }

    /// Does everything that is due.
    async fn turn(&mut self) {
        let now = Instant::now();
        self.drop_ended();
        if now >= self.renew_at {
            self.renew().await;
        }
        if self.next_wanted().is_some_and(|due| due <= now) {
            self.take_wanted().await;
        }
        if self.delivery.is_some_and(|due| due <= now) {
            self.delivery = None;
            self.look_for_mail = true;
        }
        // An unavailable store must not delay dropping expired leases.
        let patience = self.settings.lease / 3;
        if self.look_for_mail {
            if timeout(patience, self.scan_mail()).await.is_err() {
                self.look_for_mail = true;
                self.delivery = Some(Instant::now() + patience);
            }
        } else if std::mem::take(&mut self.mail_sent)
            && timeout(patience, self.find_delivery()).await.is_err()
        {
            self.mail_sent = true;
        }
        self.fill();
        let idle = self.seats.is_empty()
            && self.queue.is_empty()
            && self.signals.is_empty()
            && !self.look_for_mail;
        let quiet = Quiet {
            idle,
            seen: self.seen,
        };
        self.quiet.send_if_modified(|before| {
            let changed = *before != quiet;
            *before = quiet;
            changed
        });
    }

    /// Returns when the next action is due.
    fn due(&self) -> Instant {
        let next = self.next_wanted().into_iter().chain(self.delivery).min();
        next.map_or(self.renew_at, |next| next.min(self.renew_at))
    }

    /// Returns when the next lease attempt or scan is due.
    fn next_wanted(&self) -> Option<Instant> {
        let due = self
            .wanted
            .iter()
            .map(|(run, wanted)| match self.leases.contains_key(run) {
                true => wanted.not_before,
                false => self.due_of(wanted),
            });
        due.min()
    }

    fn hear(&mut self, signal: Signal) {
        // A paused member finishes the calls of its response.
        let how: How = match signal {
            Signal::Pause(_) | Signal::PauseRun(_) => |seat| &seat.pause,
            _ => |seat| &seat.stop,
        };
        let is_dismissal = matches!(signal, Signal::Halt(_));
        match signal {
            Signal::Wake(key) => self.wake(key),
            Signal::Look(run) => {
                self.want(run.clone());
                if self.leases.contains_key(&run) {
                    // Already leased: scan again for members at work, and for messages sent while the run was paused.
                    self.look_for_mail = true;
                    let (since, not_before) = (Instant::now(), Instant::now());
                    self.wanted.insert(run, Wanted { since, not_before });
                }
            }
            Signal::Halt(key) | Signal::Pause(key) => {
                if is_dismissal {
                    // A run that was open only because of this member is done without it.
                    self.want(key.run.clone());
                }
                if let Some(sitting) = self.seats.get_mut(&key) {
                    // If it is resumed before its task has ended, it is queued again.
                    sitting.again = true;
                    how(&sitting.seat).cancel();
                }
            }
            Signal::HaltRun(run) | Signal::PauseRun(run) => self.halt(&run, true, how),
            Signal::News(run) => {
                let of_run = self.seats.values().filter(|one| one.seat.key.run == run);
                for sitting in of_run {
                    sitting.seat.news.store(true, Ordering::Relaxed);
                }
            }
            Signal::Mail => self.mail_sent = true,
            Signal::Seen(seen) => self.seen = self.seen.max(seen),
            Signal::Left(key) => self.left(&key),
        }
    }

    /// Handles the end of a driver task.
    fn left(&mut self, key: &MemberKey) {
        let Some(sitting) = self.seats.remove(key) else {
            return;
        };
        if sitting.again && self.leases.contains_key(&key.run) {
            self.enqueue(key.clone());
        }
    }

    /// Queues a member that may have work.
    fn wake(&mut self, key: MemberKey) {
        if !self.leases.contains_key(&key.run) {
            self.want(key.run);
        } else if let Some(sitting) = self.seats.get_mut(&key) {
            sitting.again = true;
        } else {
            self.enqueue(key);
        }
    }

    fn enqueue(&mut self, key: MemberKey) {
        self.resting.remove(&key.run);
        if self.queued.insert(key.clone()) {
            self.queue.push_back(key);
        }
    }

    /// Spawns driver tasks up to the limit of members in memory.
    fn fill(&mut self) {
        while self.seats.len() < self.settings.in_memory.max(1) {
            let Some(key) = self.queue.pop_front() else {
                return;
            };
            self.queued.remove(&key);
            if !self.leases.contains_key(&key.run) {
                self.want(key.run);
                continue;
            }
            let stop = self.stop.child_token();
            let seat = Arc::new(Seat::new(key.clone(), stop));
            let leaving = Leaving(key.clone(), self.signal.clone());
            let driving = drive(Arc::clone(&self.shared), Arc::clone(&seat));
            let task = tokio::spawn(async move {
                let _leaving = leaving;
                driving.await;
            });
            let sitting = Sitting {
                seat,
                task,
                again: false,
            };
            self.seats.insert(key, sitting);
        }
    }

    /// Cancels the work of a run; `again` if its members are to be queued again afterwards.
    fn halt(&mut self, run: &RunId, again: bool, how: How) {
        for (key, sitting) in &mut self.seats {
            if key.run == *run {
                sitting.again = again;
                how(&sitting.seat).cancel();
            }
        }
        let mut kept = VecDeque::new();
        for key in self.queue.drain(..) {
            match key.run == *run {
                true => {
                    self.queued.remove(&key);
                }
                false => kept.push_back(key),
            }
        }
        self.queue = kept;
    }

    /// Ends everything: waits for commits in progress until `grace` has passed, aborts the remaining tasks, and
    /// releases the leases.
    async fn end(mut self, grace: Duration) {
        let until = Instant::now() + grace;
        for sitting in self.seats.values() {
            sitting.seat.stop.cancel();
        }
        while !self.seats.is_empty() {
            match tokio::time::timeout_at(until, self.signals.recv()).await {
                Ok(Some(Signal::Left(key))) => {
                    self.seats.remove(&key);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        for sitting in self.seats.values() {
            sitting.task.abort();
        }
        self.give_back(until.max(Instant::now() + Duration::from_millis(500)))
            .await;
    }
}
