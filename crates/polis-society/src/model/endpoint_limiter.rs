//! Limiter of a model endpoint (admission control): concurrency limit and adaptive rate limiter, shared by
//! the whole process, first come, first served.
//!
//! A caller waits in [`EndpointLimiter::acquire_slot`] and reports the outcome of its request on the
//! [`SlotPermit`]. Few slots are open at first, and one more opens when the first caller in the queue has
//! waited for a moment. So a fast local model never gets requests from all agents at once, and a crash loses
//! few responses. A configured maximum of requests per minute is kept as well.
//!
//! Rate limits (HTTP 429) come in two kinds, and the limiter has to distinguish them. A limit on the
//! endpoint's load, such as a token bucket, refuses everything until load falls. A limit on single requests
//! refuses some at random, or some callers, while others succeed. In both cases the refused caller waits for
//! as long as the endpoint demands (the caller does that itself). For the others:
//! - Several refusals in a row without a success mean that the endpoint is overloaded. The limiter closes for
//!   all callers, and half of the slots are closed.
//! - A refusal halves the rate at which requests are admitted, and each success raises it a little. Requests
//!   that were in flight at the refusal do not halve it again.
//! - If halving the rate repeatedly does not make refusals rarer, they do not depend on load. The rate is
//!   then no longer limited, until there are many refusals in a row again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Number of slots that are open at first.
const INITIAL_SLOTS: usize = 3;
/// How long the first caller in the queue waits until another slot opens.
const SLOT_OPENING_DELAY: Duration = Duration::from_millis(10);
/// Idle time after which the number of slots is reset.
const IDLE_RESET_TIMEOUT: Duration = Duration::from_secs(30);
/// Minimum interval between two admissions; a shorter one is not enforced.
const MIN_ADMISSION_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum interval between two admissions.
const MAX_ADMISSION_INTERVAL: Duration = Duration::from_secs(5);
/// How long the limiter closes at first if an endpoint sends no `Retry-After`; doubled each time after that
/// without a success in between.
pub(super) const INITIAL_CLOSE_BACKOFF: Duration = Duration::from_millis(500);
/// Maximum closing time if an endpoint sends no `Retry-After`.
pub(super) const MAX_CLOSE_BACKOFF: Duration = Duration::from_secs(10);
/// Maximum closing time if an endpoint sends `Retry-After`.
pub(super) const MAX_CLOSE_DURATION: Duration = Duration::from_secs(300);
/// Closing time if an endpoint demands a pause that is too long to wait for: it may concern one caller only.
pub(super) const CLOSE_DURATION_AFTER_GIVING_UP: Duration = Duration::from_secs(60);
/// Fraction by which the interval between admissions shrinks after each success.
const PACE_RECOVERY_FACTOR: f64 = 0.06;
/// How many refusals in a row, without a success, mean that the endpoint is overloaded.
const OVERLOAD_REFUSALS: u32 = 3;
/// The same after refusals were found not to depend on load: a random series has to be less likely then.
const OVERLOAD_REFUSALS_IF_RANDOM: u32 = 6;
/// How many successes between two refusals show that a lower rate helps: fewer than it takes to return to the
/// rate before it was halved, and rare if every fourth request is refused at random (6 %).
const ANSWERS_OF_EFFECTIVE_SLOWDOWN: u32 = 10;
/// How often the rate is halved without that effect, before refusals are found not to depend on load.
const MAX_FUTILE_SLOWDOWNS: u32 = 3;

/// Position of a call in the order of all calls. A retry keeps it, unless it is refused by a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueTicket(u64);

impl QueueTicket {
    /// Returns the next ticket.
    pub fn draw() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Limiter of one endpoint: admits requests within its slots and its rate.
#[derive(Debug)]
pub struct EndpointLimiter {
    max_slots: usize,
    state: Mutex<LimiterState>,
}

/// State of the limiter, behind its mutex.
#[derive(Debug)]
struct LimiterState {
    open_slots: usize,
    busy_slots: usize,
    queue: BTreeMap<QueueTicket, Arc<Notify>>,
    first_waiting_since: Instant,
    last_release: Instant,
    last_admission: Option<Instant>,
    /// The moving average of the interval between two admissions.
    average_interval: Duration,
    closed_until: Option<Instant>,
    /// The interval between two admissions while all callers are slowed down.
    admission_interval: Option<Duration>,
    /// How often the limiter was closed since the last success.
    closings_in_row: u32,
    /// How many requests were refused since the last success.
    refusals_in_row: u32,
    /// How many requests succeeded since the rate was last halved.
    responses_in_row: u32,
    /// How often the rate was halved without making refusals rarer.
    futile_slowdowns: u32,
    /// Refusals were found not to depend on load.
    ignores_load: bool,
    /// The minimum interval from the configured requests per minute.
    configured_interval: Option<Duration>,
    /// Incremented whenever all callers are slowed down: results of requests admitted before that are
    /// outdated.
    slowdown_epoch: u64,
    /// Number of successful requests since the start.
    answer_count: u64,
}

/// What the first caller in the queue has to wait for.
enum AdmissionDecision {
    Admit,
    WaitUntil(Instant),
    WaitForRelease,
}

impl EndpointLimiter {
    /// Creates a limiter with this maximum number of slots, and of requests per minute.
    pub fn new(max_slots: usize, per_minute: Option<u32>) -> Arc<Self> {
        let now = Instant::now();
        let max_slots = max_slots.max(1);
        let rate = per_minute.map(|count| Duration::from_secs(60) / count.max(1));
        Arc::new(Self {
            max_slots,
            state: Mutex::new(LimiterState {
                open_slots: INITIAL_SLOTS.min(max_slots),
                busy_slots: 0,
                queue: BTreeMap::new(),
                first_waiting_since: now,
                last_release: now,
                last_admission: None,
                average_interval: MIN_ADMISSION_INTERVAL,
                closed_until: None,
                admission_interval: None,
                closings_in_row: 0,
                refusals_in_row: 0,
                responses_in_row: 0,
                futile_slowdowns: 0,
                ignores_load: false,
                configured_interval: rate,
                slowdown_epoch: 0,
                answer_count: 0,
            }),
        })
    }

    /// Waits for a slot, and until the rate allows another request. Callers are admitted in the order of
    /// their tickets. Cancel safe: a caller that is dropped leaves the queue.
    pub async fn acquire_slot(self: &Arc<Self>, ticket: QueueTicket) -> SlotPermit {
        let mut queued = {
            let mut state = self.state.lock();
            let now = Instant::now();
            state.reset_after_idle(now, self.max_slots);
            if state.queue.is_empty()
                && matches!(
                    state.next_admission(now, self.max_slots),
                    AdmissionDecision::Admit
                )
            {
                return self.admit_caller(&mut state, now);
            }
            let notify = Arc::new(Notify::new());
            if state
                .queue
                .first_key_value()
                .is_none_or(|(first, _)| ticket < *first)
            {
                state.first_waiting_since = now;
            }
            state.queue.insert(ticket, Arc::clone(&notify));
            QueuedCaller {
                limiter: self,
                ticket,
                notify,
                is_queued: true,
            }
        };
        loop {
            let until = {
                let mut state = self.state.lock();
                let now = Instant::now();
                let first = state.queue.first_key_value().map(|(first, _)| *first);
                if first == Some(ticket) {
                    match state.next_admission(now, self.max_slots) {
                        AdmissionDecision::Admit => {
                            queued.is_queued = false;
                            state.remove_from_queue(ticket, now);
                            return self.admit_caller(&mut state, now);
                        }
                        AdmissionDecision::WaitUntil(at) => Some(at),
                        AdmissionDecision::WaitForRelease => None,
                    }
                } else {
                    None
                }
            };
            match until {
                Some(at) => tokio::select! {
                    () = queued.notify.notified() => {}
                    () = sleep_until(at) => {}
                },
                None => queued.notify.notified().await,
            }
        }
    }

    /// Returns how many callers are admitted or waiting.
    pub fn request_count(&self) -> usize {
        let state = self.state.lock();
        state.busy_slots + state.queue.len()
    }

    /// Returns the number of successful requests since the start.
    pub fn answer_count(&self) -> u64 {
        self.state.lock().answer_count
    }

    /// Returns how long the limiter stays closed; `None` if it is open.
    pub fn closed_for(&self) -> Option<Duration> {
        let until = self.state.lock().closed_until?;
        let rest = until.saturating_duration_since(Instant::now());
        (!rest.is_zero()).then_some(rest)
    }

    /// Takes a slot, and updates the average interval between admissions.
    fn admit_caller(self: &Arc<Self>, state: &mut LimiterState, now: Instant) -> SlotPermit {
        state.busy_slots += 1;
        if let Some(last) = state.last_admission {
            let interval = (now - last).clamp(MIN_ADMISSION_INTERVAL / 10, MAX_ADMISSION_INTERVAL);
            state.average_interval = (state.average_interval * 7 + interval) / 8;
        }
        state.last_admission = Some(now);
        SlotPermit {
            limiter: Arc::clone(self),
            slowdown_epoch: state.slowdown_epoch,
        }
    }
}

impl LimiterState {
    /// Returns whether the first caller may be admitted; opens a slot if it has waited long enough.
    fn next_admission(&mut self, now: Instant, max_slots: usize) -> AdmissionDecision {
        if let Some(until) = self.closed_until {
            if now < until {
                return AdmissionDecision::WaitUntil(until);
            }
            self.closed_until = None;
        }
        if let (Some(last), Some(interval)) = (
            self.last_admission,
            self.admission_interval.max(self.configured_interval),
        ) && now < last + interval
        {
            return AdmissionDecision::WaitUntil(last + interval);
        }
        if self.busy_slots < self.open_slots {
            return AdmissionDecision::Admit;
        }
        if self.open_slots >= max_slots {
            return AdmissionDecision::WaitForRelease;
        }
        if self.queue.is_empty() {
            return AdmissionDecision::WaitForRelease;
        }
        let at = self.first_waiting_since + SLOT_OPENING_DELAY;
        if now < at {
            return AdmissionDecision::WaitUntil(at);
        }
        self.open_slots += 1;
        AdmissionDecision::Admit
    }

    /// Resets the number of slots after a long idle time.
    fn reset_after_idle(&mut self, now: Instant, max_slots: usize) {
        if self.busy_slots == 0
            && self.queue.is_empty()
            && now.saturating_duration_since(self.last_release) > IDLE_RESET_TIMEOUT
        {
            self.open_slots = INITIAL_SLOTS.min(max_slots);
            self.average_interval = MIN_ADMISSION_INTERVAL;
        }
    }

    /// Removes a caller from the queue, and notifies the one that is then first.
    fn remove_from_queue(&mut self, ticket: QueueTicket, now: Instant) {
        let was_first = self
            .queue
            .first_key_value()
            .is_some_and(|(first, _)| *first == ticket);
        self.queue.remove(&ticket);
        if was_first {
            self.first_waiting_since = now;
            self.notify_first();
        }
    }

    /// Closes the limiter for this time, with jitter.
    fn close_for(&mut self, pause: Duration) {
        let until = Instant::now() + with_jitter(pause.min(MAX_CLOSE_DURATION));
        self.closed_until = Some(
            self.closed_until
                .map_or(until, |existing| existing.max(until)),
        );
        self.notify_first();
    }

    /// Notifies the first caller in the queue.
    fn notify_first(&self) {
        if let Some((_, notify)) = self.queue.first_key_value() {
            notify.notify_one();
        }
    }
}

/// Returns a pause with jitter: other callers and processes got the same `Retry-After`, and not all of them
/// should retry at once.
pub(super) fn with_jitter(pause: Duration) -> Duration {
    pause + pause.mul_f64(0.05 * fastrand::f64()) + Duration::from_millis(fastrand::u64(0..50))
}

/// A caller in the queue; removed when dropped.
struct QueuedCaller<'a> {
    limiter: &'a EndpointLimiter,
    ticket: QueueTicket,
    notify: Arc<Notify>,
    is_queued: bool,
}

impl Drop for QueuedCaller<'_> {
    fn drop(&mut self) {
        if self.is_queued {
            self.limiter
                .state
                .lock()
                .remove_from_queue(self.ticket, Instant::now());
        }
    }
}

/// A slot at an endpoint, released when dropped.
#[derive(Debug)]
pub struct SlotPermit {
    limiter: Arc<EndpointLimiter>,
    slowdown_epoch: u64,
}

impl SlotPermit {
    /// Reports a successful request: the admission rate rises a little.
    pub fn report_response(&self) {
        let mut state = self.limiter.state.lock();
        state.answer_count += 1;
        state.closings_in_row = 0;
        state.refusals_in_row = 0;
        state.responses_in_row = state.responses_in_row.saturating_add(1);
        if self.slowdown_epoch != state.slowdown_epoch {
            return;
        }
        if state.responses_in_row >= ANSWERS_OF_EFFECTIVE_SLOWDOWN {
            state.futile_slowdowns = 0;
        }
        if let Some(pace) = state.admission_interval {
            let pace = pace.mul_f64(1.0 - PACE_RECOVERY_FACTOR);
            state.admission_interval = (pace > MIN_ADMISSION_INTERVAL).then_some(pace);
            state.notify_first();
        }
    }

    /// Reports a refusal by a rate limit, with the `Retry-After` duration if the endpoint sent one. Lowers
    /// the admission rate, or closes the limiter if the endpoint is overloaded.
    pub fn report_rate_limit(&self, pause: Option<Duration>) {
        let mut state = self.limiter.state.lock();
        state.refusals_in_row = state.refusals_in_row.saturating_add(1);
        let limit = if state.ignores_load {
            OVERLOAD_REFUSALS_IF_RANDOM
        } else {
            OVERLOAD_REFUSALS
        };
        let overloaded = state.refusals_in_row >= limit;
        // Only one of several concurrent requests slows down: all of them report the same overload.
        if self.slowdown_epoch == state.slowdown_epoch {
            state.slow_down(overloaded, pause);
        } else if !overloaded || pause.is_none() {
            return;
        }
        if overloaded {
            let backoff = INITIAL_CLOSE_BACKOFF
                * 2_u32.saturating_pow(state.closings_in_row.saturating_sub(1));
            state.close_for(pause.unwrap_or(backoff.min(MAX_CLOSE_BACKOFF)));
        }
    }

    /// Closes the limiter for all callers, for about this long.
    pub fn close_limiter(&self, pause: Duration) {
        self.limiter.state.lock().close_for(pause);
    }
}

impl LimiterState {
    /// Halves the admission rate after a refusal, or stops limiting it if that proved useless.
    fn slow_down(&mut self, overloaded: bool, pause: Option<Duration>) {
        if overloaded {
            self.ignores_load = false;
            self.futile_slowdowns = 0;
            self.closings_in_row = (self.closings_in_row + 1).min(10);
            self.open_slots = (self.open_slots / 2).max(1);
        } else if self.ignores_load {
            return;
        } else {
            self.futile_slowdowns += 1;
        }
        self.slowdown_epoch += 1;
        self.responses_in_row = 0;
        if self.futile_slowdowns > MAX_FUTILE_SLOWDOWNS {
            self.ignores_load = true;
            self.admission_interval = None;
            return;
        }
        let interval = self
            .admission_interval
            .unwrap_or(self.average_interval)
            .max(MIN_ADMISSION_INTERVAL);
        // The pace need not be slower than one request per `Retry-After` interval.
        let max_interval = pause.map_or(MAX_ADMISSION_INTERVAL, |pause| {
            pause.clamp(interval, MAX_ADMISSION_INTERVAL.max(interval))
        });
        self.admission_interval = Some((interval * 2).min(max_interval));
    }
}

impl Drop for SlotPermit {
    fn drop(&mut self) {
        let mut state = self.limiter.state.lock();
        state.busy_slots -= 1;
        state.last_release = Instant::now();
        state.notify_first();
    }
}

#[cfg(test)]
mod tests;
