//! The gate of an endpoint: one for the whole process, first come first served.
//!
//! Few places are open at first, and one more opens when the first in the queue has waited a moment: a fast local
//! model is then never asked by all agents at once, and a crash loses few answers.
//!
//! Rate limits (HTTP 429) come in two kinds, and the gate has to tell them apart. A limit on the endpoint's load, such
//! as a token bucket, refuses everything until load falls. A limit on single requests refuses some at random, or some
//! callers, while others are answered. In both, the refused caller waits for as long as the endpoint says (the caller
//! does that itself). For the others:
//! - Several refusals in a row without an answer mean that the endpoint is overloaded. The gate closes for all callers.
//! - Each refusal halves the pace at which requests are let in, and each answer raises it a little.
//! - If halving the pace again and again does not make refusals rarer, they do not depend on load. The pace is then no
//!   longer limited, until there are many refusals in a row again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How many places are open at first.
const FIRST: usize = 3;
/// How long the first in the queue waits until another place opens.
const PATIENCE: Duration = Duration::from_millis(10);
/// How long nobody comes until there are few places again.
const IDLE: Duration = Duration::from_secs(30);
/// The shortest time between two that are let in one after another; below it nobody is held up.
const FASTEST: Duration = Duration::from_millis(10);
/// The longest time between two.
const SLOWEST: Duration = Duration::from_secs(5);
/// How long the gate is closed first when an endpoint does not say how long; twice as long each time after
/// that nobody was answered in between.
pub(super) const CLOSED: Duration = Duration::from_millis(500);
/// The longest that it is closed when an endpoint does not say how long.
pub(super) const LONGEST_DOUBLED: Duration = Duration::from_secs(10);
/// The longest that the gate is closed at a time.
pub(super) const LONGEST_CLOSED: Duration = Duration::from_secs(300);
/// How long it is closed when an endpoint names a time that nobody waits for: it may mean one caller only.
pub(super) const CLOSED_IN_VAIN: Duration = Duration::from_secs(60);
/// By how much of itself the time between two shrinks after each answer.
const RECOVERY: f64 = 0.06;
/// How many refusals in a row, without an answer, mean that the endpoint is overloaded.
const OVERLOADED: u32 = 3;
/// The same once refusals were found not to depend on load: chance has to be unlikelier then.
const OVERLOADED_AFTER_ALL: u32 = 6;
/// How many answers between two refusals show that a slower pace helps: fewer than it takes to get back to the pace
/// before it was halved, and rare if every fourth request is refused by chance (6 %).
const CALM: u32 = 10;
/// How often the pace is halved without that, before refusals are found not to depend on load.
const FUTILE: u32 = 3;

/// A place in the order of all who ever asked. Who asks again keeps it, unless it asked too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    /// The next one.
    pub fn draw() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A gate.
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
    /// The usual time between two that came in.
    usual: Duration,
    closed_until: Option<Instant>,
    /// The time between two, while all are slowed down.
    pace: Option<Duration>,
    /// How often the gate was closed since the last answer.
    closings: u32,
    /// How many were refused since the last answer.
    refusals_in_row: u32,
    /// How many were answered since the pace was last halved.
    answers_in_row: u32,
    /// How often the pace was halved without making refusals rarer.
    futile: u32,
    /// Refusals were found not to depend on load.
    ignores_load: bool,
    /// The same from the settings: requests a minute.
    rate: Option<Duration>,
    /// Counts how often all were slowed down: who came in before that is no news.
    age: u64,
    /// Counts the answers.
    answers: u64,
}

/// What the first in the queue has to wait for.
enum Next {
    In,
    At(Instant),
    Leaving,
}

impl Gate {
    /// A gate with at most so many places, and so many requests a minute.
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

    /// Waits for a place. Whoever drew its ticket first comes in first.
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

    /// How many are in or wait.
    pub fn load(&self) -> usize {
        let state = self.state();
        state.busy + state.queue.len()
    }

    /// How many were answered so far.
    pub fn answers(&self) -> u64 {
        self.state().answers
    }

    /// How long the gate is closed from now on; nothing if it is open.
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
    /// Whether the first may come in; opens a place if it waited long enough.
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

    /// Few places are open again after a long rest.
    fn rest(&mut self, now: Instant, most: usize) {
        if self.busy == 0
            && self.queue.is_empty()
            && now.saturating_duration_since(self.last_left) > IDLE
        {
            self.open = FIRST.min(most);
            self.usual = FASTEST;
        }
    }

    /// Takes somebody out of the queue, and rings for whoever is first then.
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

/// A pause with a random part: other callers and processes were told the same time, and not all of them should come
/// back at once.
pub(super) fn with_jitter(pause: Duration) -> Duration {
    pause + pause.mul_f64(0.05 * fastrand::f64()) + Duration::from_millis(fastrand::u64(0..50))
}

/// Somebody in the queue; steps out when it goes away.
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

/// A place at an endpoint. Free again when it is dropped.
#[derive(Debug)]
pub struct Permit {
    gate: Arc<Gate>,
    age: u64,
}

impl Permit {
    /// The endpoint answered: the pace rises a little.
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

    /// The endpoint refused the request because of a rate limit, and perhaps said for how long to leave it alone.
    pub fn limited(&self, pause: Option<Duration>) {
        let mut state = self.gate.state();
        state.refusals_in_row = state.refusals_in_row.saturating_add(1);
        let most = match state.ignores_load {
            true => OVERLOADED_AFTER_ALL,
            false => OVERLOADED,
        };
        let overloaded = state.refusals_in_row >= most;
        // Of all requests that were under way together, one slows down: what they report is the same overload.
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
        // No pace need be slower than one request in the time that the endpoint itself names.
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
