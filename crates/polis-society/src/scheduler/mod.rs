//! Scheduler: decides which members of the runs leased by this process have work, and spawns a driver task
//! for each, up to a maximum number in memory.
//!
//! At startup the store is scanned for members at work and unread messages; from then on the log is followed.
//! A member without work is not in memory. A run is driven by one worker at a time, which holds its lease
//! (see [run lease](crate::run_lease)). What a member does is decided by its state machine
//! ([`machine`](crate::machine)) and performed by the [`driver`](crate::driver).

mod lease_manager;
mod log_follower;
mod store_scan;

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

use crate::driver::{ActiveMember, SocietyState, drive_member};
use crate::run_lease::RunLease;
use crate::society_handle::WorkerSettings;

use lease_manager::CandidateRun;
pub(crate) use store_scan::{RunCheck, check_settled, finish_if_done};

/// A signal to the scheduler from the log follower or from a driver.
#[derive(Debug)]
enum SchedulerSignal {
    /// This member may have work.
    WakeMember(MemberKey),
    /// Some member of this run may have work.
    ScanRun(RunId),
    /// This member must stop at once.
    StopMember(MemberKey),
    /// All members of this run must stop at once.
    StopRun(RunId),
    /// This member must make no further model requests.
    PauseMember(MemberKey),
    /// The members of this run must make no further model requests.
    PauseRun(RunId),
    /// Budgets of a run changed.
    BudgetChanged(RunId),
    /// There may be messages with delayed delivery.
    MailSent,
    /// The log was followed up to this position.
    LogFollowed(u64),
    /// The driver task of this member has ended.
    DriverEnded(MemberKey),
}

impl SchedulerSignal {
    /// Returns the run that the signal concerns.
    fn run(&self) -> Option<&RunId> {
        match self {
            Self::WakeMember(key)
            | Self::StopMember(key)
            | Self::PauseMember(key)
            | Self::DriverEnded(key) => Some(&key.run),
            Self::ScanRun(run)
            | Self::StopRun(run)
            | Self::PauseRun(run)
            | Self::BudgetChanged(run) => Some(run),
            Self::MailSent | Self::LogFollowed(_) => None,
        }
    }
}

/// Selects which cancellation token of a member is used.
type CancelTokenSelector = fn(&ActiveMember) -> &CancellationToken;

/// Whether this process has any work, as far as it knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IdleState {
    /// No member of this process is working.
    pub(crate) is_idle: bool,
    /// The log was followed up to this position.
    pub(crate) log_position: u64,
}

/// A member with a driver task.
#[derive(Debug)]
struct RunningMember {
    member: Arc<ActiveMember>,
    task: JoinHandle<()>,
    /// A signal arrived since the task began.
    requeue: bool,
}

/// Drop guard that signals the end of a driver task, also after a panic or an abort.
#[derive(Debug)]
struct DriverEndGuard(MemberKey, mpsc::UnboundedSender<SchedulerSignal>);

impl Drop for DriverEndGuard {
    fn drop(&mut self) {
        let _ = self.1.send(SchedulerSignal::DriverEnded(self.0.clone()));
    }
}

/// The scheduler of this process.
#[derive(Debug)]
pub(crate) struct Scheduler {
    society_state: Arc<SocietyState>,
    settings: WorkerSettings,
    stop: CancellationToken,
    idle_state: watch::Sender<IdleState>,
    signal_receiver: mpsc::UnboundedReceiver<SchedulerSignal>,
    signal_sender: mpsc::UnboundedSender<SchedulerSignal>,
    running_members: HashMap<MemberKey, RunningMember>,
    queue: VecDeque<MemberKey>,
    queued: HashSet<MemberKey>,
    leases: HashMap<RunId, RunLease>,
    /// Runs that may have work and are not leased by this worker, or have to be scanned.
    candidate_runs: HashMap<RunId, CandidateRun>,
    /// Runs without work since the last renewal.
    idle_runs: HashSet<RunId>,
    renew_at: Instant,
    /// When the next delayed message is delivered.
    next_delivery: Option<Instant>,
    /// Whether messages were sent since `next_delivery` was determined.
    has_new_mail: bool,
    /// Whether mailboxes have to be scanned.
    needs_mail_scan: bool,
    log_position: u64,
}

impl Scheduler {
    pub(crate) fn new(
        society_state: Arc<SocietyState>,
        settings: WorkerSettings,
        stop: CancellationToken,
        idle_state: watch::Sender<IdleState>,
    ) -> Self {
        let (signal_sender, signal_receiver) = mpsc::unbounded_channel();
        Self {
            renew_at: Instant::now() + settings.lease_duration / 3,
            society_state,
            settings,
            stop,
            idle_state,
            signal_receiver,
            signal_sender,
            running_members: HashMap::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            leases: HashMap::new(),
            candidate_runs: HashMap::new(),
            idle_runs: HashSet::new(),
            next_delivery: None,
            has_new_mail: false,
            needs_mail_scan: true,
            log_position: 0,
        }
    }

    /// Finds the runs that had work when the last worker ended, and adds them to the candidates.
    pub(crate) async fn find_runs_with_work(&mut self) -> Result<(), OpError> {
        let run_filter = self.settings.runs.clone();
        for run in store_scan::runs_with_work(&self.society_state.app, &run_filter).await? {
            self.add_candidate(run);
        }
        Ok(())
    }

    /// Runs until stopped; then ends all work within `grace`.
    pub(crate) async fn run(mut self, after: u64, grace: watch::Receiver<Duration>) {
        self.log_position = after;
        let log = log_follower::follow_log(
            Arc::clone(&self.society_state),
            after,
            self.signal_sender.clone(),
            self.stop.clone(),
        );
        let log = tokio::spawn(log);
        let stop = self.stop.clone();
        while !stop.is_cancelled() {
            self.run_due_work().await;
            let due = self.next_due();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                signal = self.signal_receiver.recv() => {
                    if let Some(signal) = signal {
                        self.handle_signal(signal);
                    }
                    // Receive all pending signals before acting on them.
                    while let Ok(signal) = self.signal_receiver.try_recv() {
                        self.handle_signal(signal);
                    }
                }
                () = tokio::time::sleep_until(due) => {}
            }
        }
        log.abort();
        let grace = *grace.borrow();
        self.shut_down(grace).await;
    }

    /// Does everything that is due.
    async fn run_due_work(&mut self) {
        let now = Instant::now();
        self.drop_expired_leases();
        if now >= self.renew_at {
            self.renew_and_release().await;
        }
        if self.next_candidate_due().is_some_and(|due| due <= now) {
            self.acquire_candidates().await;
        }
        if self.next_delivery.is_some_and(|due| due <= now) {
            self.next_delivery = None;
            self.needs_mail_scan = true;
        }
        // An unavailable store must not delay dropping expired leases.
        let time_limit = self.settings.lease_duration / 3;
        if self.needs_mail_scan {
            if timeout(time_limit, self.wake_members_with_mail())
                .await
                .is_err()
            {
                self.needs_mail_scan = true;
                self.next_delivery = Some(Instant::now() + time_limit);
            }
        } else if std::mem::take(&mut self.has_new_mail)
            && timeout(time_limit, self.update_next_delivery())
                .await
                .is_err()
        {
            self.has_new_mail = true;
        }
        self.spawn_drivers();
        let idle = self.running_members.is_empty()
            && self.queue.is_empty()
            && self.signal_receiver.is_empty()
            && !self.needs_mail_scan;
        let idle_state = IdleState {
            is_idle: idle,
            log_position: self.log_position,
        };
        self.idle_state.send_if_modified(|before| {
            let changed = *before != idle_state;
            *before = idle_state;
            changed
        });
    }

    /// Returns when the next action is due.
    fn next_due(&self) -> Instant {
        let next = self
            .next_candidate_due()
            .into_iter()
            .chain(self.next_delivery)
            .min();
        next.map_or(self.renew_at, |next| next.min(self.renew_at))
    }

    /// Returns when the next lease attempt or scan is due.
    fn next_candidate_due(&self) -> Option<Instant> {
        let due = self.candidate_runs.iter().map(|(run, candidate)| {
            if self.leases.contains_key(run) {
                candidate.not_before
            } else {
                self.acquire_at(candidate)
            }
        });
        due.min()
    }

    /// Handles a signal: wakes, pauses or stops members, or notes what has to be scanned.
    fn handle_signal(&mut self, signal: SchedulerSignal) {
        // A paused member finishes the calls of its response.
        let select_token: CancelTokenSelector = match signal {
            SchedulerSignal::PauseMember(_) | SchedulerSignal::PauseRun(_) => {
                |member| &member.pause
            }
            _ => |member| &member.stop,
        };
        let is_dismissal = matches!(signal, SchedulerSignal::StopMember(_));
        match signal {
            SchedulerSignal::WakeMember(key) => self.wake_member(key),
            SchedulerSignal::ScanRun(run) => {
                self.add_candidate(run.clone());
                if self.leases.contains_key(&run) {
                    // Already leased: scan again for members at work, and for messages sent while the run was
                    // paused.
                    self.needs_mail_scan = true;
                    let (since, not_before) = (Instant::now(), Instant::now());
                    self.candidate_runs
                        .insert(run, CandidateRun { since, not_before });
                }
            }
            SchedulerSignal::StopMember(key) | SchedulerSignal::PauseMember(key) => {
                if is_dismissal {
                    // A run that was open only because of this member is done without it.
                    self.add_candidate(key.run.clone());
                }
                if let Some(running) = self.running_members.get_mut(&key) {
                    // If it is resumed before its task has ended, it is queued again.
                    running.requeue = true;
                    select_token(&running.member).cancel();
                }
            }
            SchedulerSignal::StopRun(run) | SchedulerSignal::PauseRun(run) => {
                self.cancel_run(&run, true, select_token);
            }
            SchedulerSignal::BudgetChanged(run) => {
                let run_members = self
                    .running_members
                    .values()
                    .filter(|one| one.member.key.run == run);
                for running in run_members {
                    running.member.has_changed.store(true, Ordering::Relaxed);
                }
            }
            SchedulerSignal::MailSent => self.has_new_mail = true,
            SchedulerSignal::LogFollowed(position) => {
                self.log_position = self.log_position.max(position);
            }
            SchedulerSignal::DriverEnded(key) => self.handle_driver_end(&key),
        }
    }

    /// Handles the end of a driver task.
    fn handle_driver_end(&mut self, key: &MemberKey) {
        let Some(running) = self.running_members.remove(key) else {
            return;
        };
        if running.requeue && self.leases.contains_key(&key.run) {
            self.enqueue(key.clone());
        }
    }

    /// Queues a member that may have work.
    fn wake_member(&mut self, key: MemberKey) {
        if !self.leases.contains_key(&key.run) {
            self.add_candidate(key.run);
        } else if let Some(running) = self.running_members.get_mut(&key) {
            running.requeue = true;
        } else {
            self.enqueue(key);
        }
    }

    /// Adds a member to the queue, unless it is queued already.
    fn enqueue(&mut self, key: MemberKey) {
        self.idle_runs.remove(&key.run);
        if self.queued.insert(key.clone()) {
            self.queue.push_back(key);
        }
    }

    /// Spawns driver tasks up to the limit of members in memory.
    fn spawn_drivers(&mut self) {
        while self.running_members.len() < self.settings.max_members_in_memory.max(1) {
            let Some(key) = self.queue.pop_front() else {
                return;
            };
            self.queued.remove(&key);
            if !self.leases.contains_key(&key.run) {
                self.add_candidate(key.run);
                continue;
            }
            let stop = self.stop.child_token();
            let member = Arc::new(ActiveMember::new(key.clone(), stop));
            let done_guard = DriverEndGuard(key.clone(), self.signal_sender.clone());
            let driver = drive_member(Arc::clone(&self.society_state), Arc::clone(&member));
            let task = tokio::spawn(async move {
                let _done_guard = done_guard;
                driver.await;
            });
            let running = RunningMember {
                member,
                task,
                requeue: false,
            };
            self.running_members.insert(key, running);
        }
    }

    /// Cancels the work of a run; `requeue` if its members are to be queued again afterwards.
    fn cancel_run(&mut self, run: &RunId, requeue: bool, select_token: CancelTokenSelector) {
        for (key, running) in &mut self.running_members {
            if key.run == *run {
                running.requeue = requeue;
                select_token(&running.member).cancel();
            }
        }
        let mut remaining = VecDeque::new();
        for key in self.queue.drain(..) {
            if key.run == *run {
                self.queued.remove(&key);
            } else {
                remaining.push_back(key);
            }
        }
        self.queue = remaining;
    }

    /// Ends everything: waits for commits in progress until `grace` has passed, aborts the remaining tasks,
    /// and releases the leases.
    async fn shut_down(mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        for running in self.running_members.values() {
            running.member.stop.cancel();
        }
        while !self.running_members.is_empty() {
            match tokio::time::timeout_at(deadline, self.signal_receiver.recv()).await {
                Ok(Some(SchedulerSignal::DriverEnded(key))) => {
                    self.running_members.remove(&key);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        for running in self.running_members.values() {
            running.task.abort();
        }
        self.release_leases(deadline.max(Instant::now() + Duration::from_millis(500)))
            .await;
    }
}
