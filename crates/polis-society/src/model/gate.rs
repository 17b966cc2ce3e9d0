//! Admission control of an endpoint: concurrency limit and rate limiter, shared by the whole process, first come, first
//! served.
//!
//! Few slots are open at first, and one more opens when the first caller in the queue has waited for a moment. So a
//! fast local model never gets requests from all agents at once, and a crash loses few responses.
//!
//! Rate limits (HTTP 429) come in two kinds, and the gate has to distinguish them. A limit on the endpoint's load, such
//! as a token bucket, refuses everything until load falls. A limit on single requests refuses some at random, or some
//! callers, while others are answered. In both cases the refused caller waits for as long as the endpoint demands (the
//! caller does that itself). For the others:
//! - Several refusals in a row without an answer mean that the endpoint is overloaded. The gate closes for all callers.
//! - Each refusal halves the pace at which requests are admitted, and each answer raises it a little.
//! - If halving the pace repeatedly does not make refusals rarer, they do not depend on load. The pace is then no
//!   longer limited, until there are many refusals in a row again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Number of slots that are open at first.
const FIRST: usize = 3;
/// How long the first caller in the queue waits until another slot opens.
const PATIENCE: Duration = Duration::from_millis(10);
/// Idle time after which the number of slots is reset.
const IDLE: Duration = Duration::from_secs(30);
/// Minimum interval between two admissions; a shorter one is not enforced.
const FASTEST: Duration = Duration::from_millis(10);
/// Maximum interval between two admissions.
const SLOWEST: Duration = Duration::from_secs(5);
/// How long the gate closes at first if an endpoint sends no `Retry-After`; doubled each time after that without an
/// answer in between.
pub(super) const CLOSED: Duration = Duration::from_millis(500);
/// Maximum closing time if an endpoint sends no `Retry-After`.
pub(super) const LONGEST_DOUBLED: Duration = Duration::from_secs(10);
/// Maximum closing time.
pub(super) const LONGEST_CLOSED: Duration = Duration::from_secs(300);
/// Closing time if an endpoint demands a pause that is too long to wait for: it may concern one caller only.
pub(super) const CLOSED_IN_VAIN: Duration = Duration::from_secs(60);
/// Fraction by which the interval between admissions shrinks after each answer.
const RECOVERY: f64 = 0.06;
/// How many refusals in a row, without an answer, mean that the endpoint is overloaded.
const OVERLOADED: u32 = 3;
/// The same after refusals were found not to depend on load: a random series has to be less likely then.
const OVERLOADED_AFTER_ALL: u32 = 6;
/// How many answers between two refusals show that a slower pace helps: fewer than it takes to return to the pace
/// before it was halved, and rare if every fourth request is refused at random (6 %).
const CALM: u32 = 10;
/// How often the pace is halved without that effect, before refusals are found not to depend on load.
const FUTILE: u32 = 3;

/// Position of a call in the order of all calls. A retry keeps it, unless it is refused by a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    /// Returns the next ticket.
    pub fn draw() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Admission control of one endpoint.
#[derive(Debug)]
pub struct Gate {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    open: usize,
    busy: usize,
    queue: BTreeMap<Ticket, Arc<Notify>>,
    head_since: Instant,
    last_left: Instant,
    last_in: Option<Instant>,
    /// The moving average of the interval between two admissions.
    usual: Duration,
    closed_until: Option<Instant>,
    /// The interval between two admissions while all callers are slowed down.
    pace: Option<Duration>,
    /// How often the gate was closed since the last answer.
    closings: u32,
    /// How many requests were refused since the last answer.
    refusals_in_row: u32,
    /// How many requests were answered since the pace was last halved.
    answers_in_row: u32,
    /// How often the pace was halved without making refusals rarer.
    futile: u32,
    /// Refusals were found not to depend on load.
    ignores_load: bool,
    /// The minimum interval from the configured requests per minute.
    rate: Option<Duration>,
    /// Incremented whenever all callers are slowed down: results of requests admitted before that are outdated.
    age: u64,
    /// Number of answers.
    answers: u64,
}

/// What the first caller in the queue has to wait for.
enum Next {
    In,
    At(Instant),
    Leaving,
}

impl Gate {
    /// Creates a gate with this maximum number of slots, and of requests per minute.
    pub fn new(most: usize, a_minute: Option<u32>) -> Arc<Self> {
        let now = Instant::now();
        let most = most.max(1);
        let rate = a_minute.map(|count| Duration::from_secs(60) / count.max(1));
        Arc::new(Self {
            most,
            state: Mutex::new(State {
                open: FIRST.min(most),
                busy: 0,
                queue: BTreeMap::new(),
                head_since: now,
                last_left: now,
                last_in: None,
                usual: FASTEST,
                closed_until: None,
                pace: None,
                closings: 0,
                refusals_in_row: 0,
                answers_in_row: 0,
                futile: 0,
                ignores_load: false,
                rate,
                age: 0,
                answers: 0,
            }),
        })
    }

    /// Waits for a slot. Callers are admitted in the order of their tickets.
    pub async fn enter(self: &Arc<Self>, ticket: Ticket) -> Permit {
        let mut waiting = {
            let mut state = self.state();
            let now = Instant::now();
            state.rest(now, self.most);
            if state.queue.is_empty() && matches!(state.next(now, self.most), Next::In) {
                return self.let_in(&mut state, now);
            }
            let bell = Arc::new(Notify::new());
            if state
                .queue
                .first_key_value()
                .is_none_or(|(first, _)| ticket < *first)
            {
                state.head_since = now;
            }
            state.queue.insert(ticket, Arc::clone(&bell));
            Waiting {
                gate: self,
                ticket,
                bell,
                queued: true,
            }
        };
        loop {
            let until = {
                let mut state = self.state();
                let now = Instant::now();
                let first = state.queue.first_key_value().map(|(first, _)| *first);
                if first == Some(ticket) {
                    match state.next(now, self.most) {
                        Next::In => {
                            waiting.queued = false;
                            state.step_out(ticket, now);
                            return self.let_in(&mut state, now);
                        }
                        Next::At(at) => Some(at),
                        Next::Leaving => None,
                    }
                } else {
                    None
                }
            };
            match until {
                Some(at) => tokio::select! {
                    () = waiting.bell.notified() => {}
                    () = sleep_until(at) => {}
                },
                None => waiting.bell.notified().await,
            }
        }
    }

    /// Returns how many callers are admitted or waiting.
    pub fn load(&self) -> usize {
        let state = self.state();
        state.busy + state.queue.len()
    }

    /// Returns the number of answers.
    pub fn answers(&self) -> u64 {
        self.state().answers
    }

    /// Returns how long the gate stays closed; `None` if it is open.
    pub fn closed_for(&self) -> Option<Duration> {
        let until = self.state().closed_until?;
        let rest = until.saturating_duration_since(Instant::now());
        (!rest.is_zero()).then_some(rest)
    }

    fn let_in(self: &Arc<Self>, state: &mut State, now: Instant) -> Permit {
        state.busy += 1;
        if let Some(last) = state.last_in {
            let gap = (now - last).clamp(FASTEST / 10, SLOWEST);
            state.usual = (state.usual * 7 + gap) / 8;
        }
        state.last_in = Some(now);
        Permit {
            gate: Arc::clone(self),
            age: state.age,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether the first caller may be admitted; opens a slot if it has waited long enough.
    fn next(&mut self, now: Instant, most: usize) -> Next {
        if let Some(until) = self.closed_until {
            if now < until {
                return Next::At(until);
            }
            self.closed_until = None;
        }
        if let (Some(last), Some(gap)) = (self.last_in, self.pace.max(self.rate))
            && now < last + gap
        {
            return Next::At(last + gap);
        }
        if self.busy < self.open {
            return Next::In;
        }
        if self.open >= most {
            return Next::Leaving;
        }
        if self.queue.is_empty() {
            return Next::Leaving;
        }
        let at = self.head_since + PATIENCE;
        if now < at {
            return Next::At(at);
        }
        self.open += 1;
        Next::In
    }

    /// Resets the number of slots after a long idle time.
    fn rest(&mut self, now: Instant, most: usize) {
        if self.busy == 0
            && self.queue.is_empty()
            && now.saturating_duration_since(self.last_left) > IDLE
        {
            self.open = FIRST.min(most);
            self.usual = FASTEST;
        }
    }

    /// Removes a caller from the queue, and notifies the one that is then first.
    fn step_out(&mut self, ticket: Ticket, now: Instant) {
        let was_first = self
            .queue
            .first_key_value()
            .is_some_and(|(first, _)| *first == ticket);
        self.queue.remove(&ticket);
        if was_first {
            self.head_since = now;
            self.ring();
        }
    }

    fn close(&mut self, pause: Duration) {
        let until = Instant::now() + with_jitter(pause.min(LONGEST_CLOSED));
        self.closed_until = Some(
            self.closed_until
                .map_or(until, |already| already.max(until)),
        );
        self.ring();
    }

    fn ring(&self) {
        if let Some((_, bell)) = self.queue.first_key_value() {
            bell.notify_one();
        }
    }
}

/// Returns a pause with jitter: other callers and processes got the same `Retry-After`, and not all of them should
/// retry at once.
pub(super) fn with_jitter(pause: Duration) -> Duration {
    pause + pause.mul_f64(0.05 * fastrand::f64()) + Duration::from_millis(fastrand::u64(0..50))
}

/// A caller in the queue; removed when dropped.
struct Waiting<'a> {
    gate: &'a Gate,
    ticket: Ticket,
    bell: Arc<Notify>,
    queued: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.queued {
            self.gate.state().step_out(self.ticket, Instant::now());
        }
    }
}

/// A slot at an endpoint, released when dropped.
#[derive(Debug)]
pub struct Permit {
    gate: Arc<Gate>,
    age: u64,
}

impl Permit {
    /// Reports an answer: the pace rises a little.
    pub fn went_well(&self) {
        let mut state = self.gate.state();
        state.answers += 1;
        state.closings = 0;
        state.refusals_in_row = 0;
        state.answers_in_row = state.answers_in_row.saturating_add(1);
        if self.age != state.age {
            return;
        }
        if state.answers_in_row >= CALM {
            state.futile = 0;
        }
        if let Some(pace) = state.pace {
            let pace = pace.mul_f64(1.0 - RECOVERY);
            state.pace = (pace > FASTEST).then_some(pace);
            state.ring();
        }
    }

    /// Reports a refusal by a rate limit, with the `Retry-After` duration if the endpoint sent one.
    pub fn limited(&self, pause: Option<Duration>) {
        let mut state = self.gate.state();
        state.refusals_in_row = state.refusals_in_row.saturating_add(1);
        let most = match state.ignores_load {
            true => OVERLOADED_AFTER_ALL,
            false => OVERLOADED,
        };
        let overloaded = state.refusals_in_row >= most;
        // Only one of several concurrent requests slows down: all of them report the same overload.
        if self.age == state.age {
            state.slow_down(overloaded, pause);
        } else if !overloaded || pause.is_none() {
            return;
        }
        if overloaded {
            let doubled = CLOSED * 2_u32.saturating_pow(state.closings.saturating_sub(1));
            state.close(pause.unwrap_or(doubled.min(LONGEST_DOUBLED)));
        }
    }

    /// Closes the gate for all callers.
    pub fn close(&self, pause: Duration) {
        self.gate.state().close(pause);
    }
}

impl State {
    fn slow_down(&mut self, overloaded: bool, pause: Option<Duration>) {
        if overloaded {
            self.ignores_load = false;
            self.futile = 0;
            self.closings = (self.closings + 1).min(10);
            self.open = (self.open / 2).max(1);
        } else if self.ignores_load {
            return;
        } else {
            self.futile += 1;
        }
        self.age += 1;
        self.answers_in_row = 0;
        if self.futile > FUTILE {
            self.ignores_load = true;
            self.pace = None;
            return;
        }
        let gap = self.pace.unwrap_or(self.usual).max(FASTEST);
        // The pace need not be slower than one request per `Retry-After` interval.
        let slowest = pause.map_or(SLOWEST, |pause| pause.clamp(gap, SLOWEST.max(gap)));
        self.pace = Some((gap * 2).min(slowest));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        state.busy -= 1;
        state.last_left = Instant::now();
        state.ring();
    }
}

#[cfg(test)]
mod tests;
