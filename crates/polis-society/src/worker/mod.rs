//! Who of the runs that this process drives has something to do, and letting them do it.
//!
//! At the start the store says who was at work and who has mail; from then on the log does. A member that has
//! nothing to do is not in memory. A run is driven by one worker at a time, by its lease (see
//! [`lease`](crate::lease)); what a member does is the [`driver`](crate::driver)'s.

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

/// What the log, the clock or a driver tells the worker.
#[derive(Debug)]
enum Signal {
    /// Something happened that this member may want to do something about.
    Wake(MemberKey),
    /// A run may have something to do, nobody knows who.
    Look(RunId),
    /// This member must not do anything more.
    Halt(MemberKey),
    /// Nobody of this run must do anything more.
    HaltRun(RunId),
    /// This member must not think any more.
    Pause(MemberKey),
    /// Nobody of this run must think any more.
    PauseRun(RunId),
    /// Budgets of a run changed.
    News(RunId),
    /// Messages may be under way that are delivered later.
    Mail,
    /// The log was followed up to here.
    Seen(u64),
    /// A driver is done with this member.
    Left(MemberKey),
}

impl Signal {
    /// The run it is about.
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

/// Which of a member's tokens ends what it does.
type How = fn(&Seat) -> &CancellationToken;

/// Whether there is something to do in this process, as far as it knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quiet {
    /// Nobody does anything.
    pub(crate) idle: bool,
    /// The log was followed up to here.
    pub(crate) seen: u64,
}

/// A member that is driven.
#[derive(Debug)]
struct Sitting {
    seat: Arc<Seat>,
    task: JoinHandle<()>,
    /// Something happened since it began.
    again: bool,
}

/// Tells the worker that a driver is done, however it ended.
#[derive(Debug)]
struct Leaving(MemberKey, mpsc::UnboundedSender<Signal>);

impl Drop for Leaving {
    fn drop(&mut self) {
        let _ = self.1.send(Signal::Left(self.0.clone()));
    }
}

/// The worker.
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
    /// Runs that may have something to do and are not ours, or are to be looked at.
    wanted: HashMap<RunId, Wanted>,
    /// Runs in which nobody did anything since the last renewal.
    resting: HashSet<RunId>,
    renew_at: Instant,
    /// When the next delayed message comes.
    delivery: Option<Instant>,
    /// Whether messages were sent since that was looked up.
    mail_sent: bool,
    /// Whether mailboxes have to be looked through.
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

    /// Looks who was at work when the last worker ended.
    pub(crate) async fn look_around(&mut self) -> Result<(), OpError> {
        let only = self.settings.runs.clone();
        for run in scan::runs_at_work(&self.shared.polis, &only).await? {
            self.want(run);
        }
        Ok(())
    }

    /// Works until it is stopped; then ends what is under way, within `grace`.
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
                    // All that came meanwhile, before anything is done about it.
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

    /// Everything that is due.
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
        // A store that is away must not keep this from ending what has to end.
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

    /// When something is due next.
    fn due(&self) -> Instant {
        let next = self.next_wanted().into_iter().chain(self.delivery).min();
        next.map_or(self.renew_at, |next| next.min(self.renew_at))
    }

    /// When the next run is tried.
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
        // Who is paused finishes what it does.
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
                    // It is ours already; look again who of it works, and who was written to while it was paused.
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
                    // Should it be resumed before it has left, it is looked at again.
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

    /// A driver is done with a member.
    fn left(&mut self, key: &MemberKey) {
        let Some(sitting) = self.seats.remove(key) else {
            return;
        };
        if sitting.again && self.leases.contains_key(&key.run) {
            self.enqueue(key.clone());
        }
    }

    /// Somebody may have something to do.
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

    /// Lets as many begin as there is room for.
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

    /// Ends what is done for a run; `again` if it may go on later.
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

    /// Ends everything: what is being committed is waited for, as long as that may take.
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
