//! Courier: delivers events to one webhook, in order, one at a time, and retries each until it is accepted.
//!
//! The delivery position is stored in the webhook's record. It is saved after several deliveries or after a
//! short idle time, so when a server is killed its successor repeats only those few deliveries. Several
//! servers share the work through the lease in the record (see `lease`). A failing receiver delays no other
//! webhook.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use polis_core::Event;
use polis_core::webhook::Webhook;
use polis_ops::{Polis, PortError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::delivery::{Failed, Line, Trust};
use super::lease::{self, Turn};
use super::record::{Kept, Saved};
use super::target::Target;
use super::{WebhookSettings, backoff, signature};
use crate::events::follower::Follower;
use crate::events::hub::Hub;

/// Maximum number of deliveries not yet saved, which are repeated after a crash.
const UNSAVED: usize = 16;
/// Maximum time before the position is saved; shorter if the lease would expire earlier.
const UNSAVED_FOR: Duration = Duration::from_secs(1);
/// Number of skipped events (not wanted by the webhook) after which the position is saved as well.
const SKIPPED: u64 = 5_000;
/// How long a delivery in progress may still take when the server stops.
const GRACE: Duration = Duration::from_secs(3);
/// Delay before a failed store operation is retried.
const AGAIN: Duration = Duration::from_secs(1);

/// Delivery counters of all couriers.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) delivered: AtomicU64,
    pub(super) failed: AtomicU64,
}

/// Dependencies of a courier.
#[derive(Debug, Clone)]
pub(super) struct Office {
    pub(super) polis: Polis,
    pub(super) hub: Hub,
    pub(super) settings: WebhookSettings,
    /// Random identifier of this server, used in leases.
    pub(super) me: String,
    pub(super) trust: Arc<Trust>,
    pub(super) counts: Arc<Counts>,
}

/// Command from the supervisor to a courier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Continue.
    Work,
    /// The record may have changed: reload it before the next delivery.
    Look,
    /// Finish the delivery in progress, save the position and release the lease.
    Stop,
}

/// Why a courier interrupts its current step.
enum Turned {
    /// It was stopped, or the webhook was deleted.
    Over,
    /// The record changed: reload it and start over.
    Again,
}

/// Delivery task of one webhook.
pub(super) struct Courier {
    office: Office,
    orders: watch::Receiver<Order>,
    kept: Kept,
    line: Option<Line>,
    follower: Follower,
    /// Events that were read but not yet delivered or skipped.
    ahead: VecDeque<Event>,
    /// Every event up to this sequence number was delivered or skipped.
    done: u64,
    /// Number of deliveries not yet saved in the record, and since when.
    unsaved: usize,
    unsaved_since: Option<Instant>,
}

impl Courier {
    /// Creates a courier for this webhook.
    pub(super) fn new(office: Office, kept: Kept, orders: watch::Receiver<Order>) -> Self {
        let done = kept.hook.delivered;
        let follower = office.hub.follow(done);
        let mut courier = Self {
            office,
            orders,
            line: None,
            follower,
            ahead: VecDeque::new(),
            done,
            unsaved: 0,
            unsaved_since: None,
            kept,
        };
        courier.begin();
        courier
    }

    /// Delivers until it is stopped or the webhook is deleted.
    pub(super) async fn work(mut self) {
        loop {
            match self.deliver_next().await {
                Ok(()) => {}
                Err(Turned::Again) => {
                    if !self.look().await {
                        break;
                    }
                }
                Err(Turned::Over) => break,
            }
        }
        self.leave().await;
    }

    /// Adopts the state of the record.
    fn begin(&mut self) {
        let hook = &self.kept.hook;
        // Another server may have advanced further; so may this one, if it could not save.
        if hook.delivered > self.done {
            self.done = hook.delivered;
            self.ahead.retain(|event| event.seq > hook.delivered);
            if self.follower.place() < hook.delivered {
                self.follower.seek(hook.delivered);
            }
        }
        if let Turn::Theirs(_) = lease::turn(hook, &self.office.me, self.now(), 0) {
            // The position now belongs to the other server, which may repeat the last deliveries.
            (self.unsaved, self.unsaved_since) = (0, None);
        }
        let (trust, at_most) = (&self.office.trust, self.office.settings.timeout);
        let line = |target| Line::new(target, Arc::clone(trust), at_most);
        self.line = Target::parse(&hook.url).map(line);
    }

    /// Reloads the record, retrying while the store is unavailable. Returns `false` if the webhook was
    /// deleted or the courier is to stop.
    async fn look(&mut self) -> bool {
        loop {
            match Kept::read(&self.office.polis, &self.kept.hook.id).await {
                Ok(Some(kept)) => {
                    self.kept = kept;
                    self.begin();
                    return true;
                }
                Ok(None) => return false,
                Err(error) => {
                    complain(&error);
                    if let Err(Turned::Over) = self.rest(AGAIN).await {
                        return false;
                    }
                }
            }
        }
    }

    async fn deliver_next(&mut self) -> Result<(), Turned> {
        let event = self.next_wanted().await?;
        self.wait_out_failure().await?;
        self.hold_lease().await?;
        let mut orders = self.orders.clone();
        let stopped = async {
            let _ = orders.wait_for(|order| *order == Order::Stop).await;
            sleep(GRACE).await;
        };
        let sent = tokio::select! {
            sent = self.send(&event) => sent,
            // The next lease holder repeats this delivery.
            () = stopped => return Err(Turned::Over),
        };
        match sent {
            Ok(()) => self.delivered(event.seq).await,
            Err(failed) => self.failed(&failed).await,
        }
    }

    /// Returns the next event the webhook wants and saves the position while waiting for one. The event
    /// remains the next one until it is delivered.
    async fn next_wanted(&mut self) -> Result<Event, Turned> {
        loop {
            if self.orders.has_changed().unwrap_or(true) {
                return Err(self.ordered());
            }
            while let Some(event) = self.ahead.front() {
                if event.seq > self.done && self.kept.hook.wants(event) {
                    return Ok(event.clone());
                }
                self.done = self.done.max(event.seq);
                self.ahead.pop_front();
            }
            if self.done - self.kept.hook.delivered > SKIPPED && self.unsaved == 0 {
                self.save_skipped().await?;
            }
            let rest = self.unsaved_since.map(|since| since + self.unsaved_for());
            let written = async {
                match rest {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                news = self.follower.next() => match news {
                    // Cloned because a receiver may be slow and the batch is memory shared by all readers.
                    Some(news) => self.ahead.extend(news.events().iter().cloned()),
                    None => return Err(Turned::Over),
                },
                () = written => self.save(|_| ()).await?,
                _ = self.orders.changed() => return Err(self.ordered()),
            }
        }
    }

    /// Translates a received command into a reason to interrupt.
    fn ordered(&mut self) -> Turned {
        // A dropped sender means stop.
        let alone = self.orders.has_changed().is_err();
        match *self.orders.borrow_and_update() {
            Order::Work | Order::Look if !alone => Turned::Again,
            Order::Work | Order::Look | Order::Stop => Turned::Over,
        }
    }

    /// Acquires or renews the lease for long enough to make one delivery.
    async fn hold_lease(&mut self) -> Result<(), Turned> {
        let settings = &self.office.settings;
        let needed = millis(settings.timeout).min(millis(settings.lease) / 2);
        let now = self.now();
        match lease::turn(&self.kept.hook, &self.office.me, now, needed) {
            Turn::Ours => Ok(()),
            Turn::Free => self.save(|_| ()).await,
            Turn::Theirs(until) => {
                // Jitter, so that waiting servers do not retry at the same time.
                let wait = u64::try_from(until - now).unwrap_or(0);
                let share = backoff::share(&self.office.polis.chance.token());
                let wait = Duration::from_millis(wait).mul_f64(1.0 + share / 10.0);
                self.rest(wait).await?;
                Err(Turned::Again)
            }
        }
    }

    /// Waits until the backoff after a failure has passed.
    async fn wait_out_failure(&mut self) -> Result<(), Turned> {
        let Some(at) = self.kept.hook.retry_at else {
            return Ok(());
        };
        let left = at.saturating_sub(self.now());
        let Ok(left) = u64::try_from(left) else {
            return Ok(());
        };
        if left == 0 {
            return Ok(());
        }
        self.rest(Duration::from_millis(left)).await?;
        // Another server may have delivered in the meantime, or the user may have changed the URL.
        Err(Turned::Again)
    }

    async fn send(&mut self, event: &Event) -> Result<(), Failed> {
        let hook = &self.kept.hook;
        let body = serde_json::to_vec(event).unwrap_or_default();
        let headers = headers(hook, event.seq, self.now() / 1_000, &body);
        match &mut self.line {
            Some(line) => line.post(headers, Bytes::from(body)).await,
            None => Err(Failed {
                what: "The address cannot be sent to.".to_owned(),
                retry_after: None,
                gone: false,
            }),
        }
    }

    async fn delivered(&mut self, seq: u64) -> Result<(), Turned> {
        self.done = seq;
        self.unsaved += 1;
        self.office.counts.delivered.fetch_add(1, Ordering::Relaxed);
        let since = *self.unsaved_since.get_or_insert_with(Instant::now);
        let failed_before = self.kept.hook.failures > 0;
        if failed_before || self.unsaved >= UNSAVED || since.elapsed() >= self.unsaved_for() {
            return self.save(|_| ()).await;
        }
        Ok(())
    }

    /// Records the failure and the time of the next attempt, and releases the lease so that any server can
    /// make that attempt.
    async fn failed(&mut self, failed: &Failed) -> Result<(), Turned> {
        self.office.counts.failed.fetch_add(1, Ordering::Relaxed);
        let failures = self.kept.hook.failures.saturating_add(1);
        let now = self.now();
        let asked = failed.retry_after.as_deref();
        let asked = asked.and_then(|header| backoff::asked(header, now));
        let share = backoff::share(&self.office.polis.chance.token());
        let mut wait = backoff::wait(failures, share, asked);
        if failed.gone {
            wait = wait.max(backoff::longest());
        }
        tracing::warn!(
            webhook = self.kept.hook.id,
            failures,
            again_in_ms = millis(wait),
            "a webhook's delivery failed: {}",
            failed.what
        );
        let (what, me) = (failed.what.clone(), self.office.me.clone());
        self.save(move |hook| {
            hook.failures = failures;
            hook.retry_at = Some(now.saturating_add(millis(wait)));
            hook.last_error = Some(what);
            lease::release(hook, &me);
        })
        .await
    }

    /// Saves the position if the lease is free or ours; otherwise its holder saves.
    async fn save_skipped(&mut self) -> Result<(), Turned> {
        match lease::turn(&self.kept.hook, &self.office.me, self.now(), 0) {
            Turn::Ours | Turn::Free => self.save(|_| ()).await,
            Turn::Theirs(_) => Err(Turned::Again),
        }
    }

    /// Saves the position, renews the lease and clears the failure state after a delivery; `change` is
    /// applied last. Retries while the store is unavailable.
    async fn save(&mut self, change: impl FnOnce(&mut Webhook)) -> Result<(), Turned> {
        let mut hook = self.kept.hook.clone();
        hook.delivered = hook.delivered.max(self.done);
        let delivered = self.unsaved > 0;
        if delivered {
            (hook.failures, hook.retry_at, hook.last_error) = (0, None, None);
        }
        let until = self
            .now()
            .saturating_add(millis(self.office.settings.lease));
        lease::take(&mut hook, &self.office.me, until);
        change(&mut hook);
        loop {
            match self.kept.save(&self.office.polis, hook.clone()).await {
                Ok(Saved::Done(kept)) => {
                    self.kept = *kept;
                    (self.unsaved, self.unsaved_since) = (0, None);
                    return Ok(());
                }
                // The deliveries made since are known only here. If another server holds the lease now, it
                // repeats them.
                Ok(Saved::Changed) => return Err(Turned::Again),
                Err(error) => {
                    complain(&error);
                    self.rest(AGAIN).await?;
                }
            }
        }
    }

    /// Sleeps, unless a command arrives.
    async fn rest(&mut self, time: Duration) -> Result<(), Turned> {
        let clock = Arc::clone(&self.office.polis.clock);
        tokio::select! {
            () = clock.sleep(time) => Ok(()),
            _ = self.orders.changed() => Err(self.ordered()),
        }
    }

    /// Saves the unsaved position and releases the lease. Makes one attempt only: an unavailable store must
    /// not delay shutdown.
    async fn leave(&mut self) {
        let ours = self.kept.hook.sender.as_deref() == Some(self.office.me.as_str());
        if !ours {
            return;
        }
        let mut hook = self.kept.hook.clone();
        hook.delivered = hook.delivered.max(self.done);
        lease::release(&mut hook, &self.office.me);
        tokio::select! {
            saved = self.kept.save(&self.office.polis, hook) => {
                if let Err(error) = saved {
                    complain(&error);
                }
            }
            () = sleep(self.office.settings.timeout) => {}
        }
    }

    fn unsaved_for(&self) -> Duration {
        UNSAVED_FOR.min(self.office.settings.lease / 4)
    }

    fn now(&self) -> i64 {
        self.office.polis.clock.now_millis()
    }
}

fn headers(hook: &Webhook, seq: u64, timestamp: i64, body: &[u8]) -> HeaderMap {
    let id = format!("{}.{seq}", hook.id);
    let signature = signature::signature(&hook.secret, &id, timestamp, body);
    let all = [
        ("webhook-id", id),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-signature", signature),
    ];
    let all = all.into_iter().filter_map(|(name, value)| {
        let value = HeaderValue::from_str(&value).ok()?;
        Some((HeaderName::from_static(name), value))
    });
    all.collect()
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn complain(error: &PortError) {
    tracing::warn!(code = %error.code, "a webhook's place could not be written or read: {error}");
}
