//! Sends one webhook its events: in order, one at a time, each until it is taken.
//!
//! Its place is in the record and is written after some deliveries or a moment's rest; a server that is
//! killed has at most those few delivered once more by the next. Several servers share the work by the
//! lease in the record (see `lease`). A receiver that fails holds up nobody but itself.

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

/// How many deliveries may be lost sight of when a server is killed.
const UNSAVED: usize = 16;
/// How long a place may go unwritten, unless a lease is so short that it would end before.
const UNSAVED_FOR: Duration = Duration::from_secs(1);
/// After how many events that are not for it the place is written all the same.
const SKIPPED: u64 = 5_000;
/// How long a delivery that is under way may take when the server stops.
const GRACE: Duration = Duration::from_secs(3);
/// How long to wait before a store that failed is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Counts of what couriers did.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) delivered: AtomicU64,
    pub(super) failed: AtomicU64,
}

/// What a courier works with.
#[derive(Debug, Clone)]
pub(super) struct Office {
    pub(super) polis: Polis,
    pub(super) hub: Hub,
    pub(super) settings: WebhookSettings,
    /// Which server this is.
    pub(super) me: String,
    pub(super) trust: Arc<Trust>,
    pub(super) counts: Arc<Counts>,
}

/// What a courier is told from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Go on.
    Work,
    /// The record may have changed: look at it before the next delivery.
    Look,
    /// Finish what is under way, write the place, give the lease back.
    Stop,
}

/// Why a courier turns to something else.
enum Turned {
    /// It is to stop, or its webhook is gone.
    Over,
    /// The record is not what it was: begin again from it.
    Again,
}

/// One webhook's courier.
pub(super) struct Courier {
    office: Office,
    orders: watch::Receiver<Order>,
    kept: Kept,
    line: Option<Line>,
    follower: Follower,
    /// Events that were read and not yet dealt with.
    ahead: VecDeque<Event>,
    /// Everything up to here was delivered or is not for it.
    done: u64,
    /// How many deliveries the record does not know of, and since when.
    unsaved: usize,
    unsaved_since: Option<Instant>,
}

impl Courier {
    /// A courier of this webhook.
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

    /// Works until it is stopped or the webhook is gone.
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

    /// Takes over what the record says.
    fn begin(&mut self) {
        let hook = &self.kept.hook;
        // Another server may be further; this one may be as well, if it could not write.
        if hook.delivered > self.done {
            self.done = hook.delivered;
            self.ahead.retain(|event| event.seq > hook.delivered);
            if self.follower.place() < hook.delivered {
                self.follower.seek(hook.delivered);
            }
        }
        if let Turn::Theirs(_) = lease::turn(hook, &self.office.me, self.now(), 0) {
            // Its place is another's to write now, who may deliver the last few once more.
            (self.unsaved, self.unsaved_since) = (0, None);
        }
        let (trust, at_most) = (&self.office.trust, self.office.settings.timeout);
        let line = |target| Line::new(target, Arc::clone(trust), at_most);
        self.line = Target::parse(&hook.url).map(line);
    }

    /// Reads the record again, and waits for a store that is away. Whether the webhook is still there, and
    /// work is wanted.
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
            // Whoever goes on after us delivers it once more.
            () = stopped => return Err(Turned::Over),
        };
        match sent {
            Ok(()) => self.delivered(event.seq).await,
            Err(failed) => self.failed(&failed).await,
        }
    }

    /// The next event that is for it; writes the place while there is none. It stays the next one until it
    /// is delivered.
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
                    // Copied, because a receiver may take long and the batch is everybody's memory.
                    Some(news) => self.ahead.extend(news.events().iter().cloned()),
                    None => return Err(Turned::Over),
                },
                () = written => self.save(|_| ()).await?,
                _ = self.orders.changed() => return Err(self.ordered()),
            }
        }
    }

    /// What an order that has come makes of what is under way.
    fn ordered(&mut self) -> Turned {
        // Without a sender nobody wants it to go on.
        let alone = self.orders.has_changed().is_err();
        match *self.orders.borrow_and_update() {
            Order::Work | Order::Look if !alone => Turned::Again,
            Order::Work | Order::Look | Order::Stop => Turned::Over,
        }
    }

    /// Sees that the lease is ours, for long enough to deliver something.
    async fn hold_lease(&mut self) -> Result<(), Turned> {
        let settings = &self.office.settings;
        let needed = millis(settings.timeout).min(millis(settings.lease) / 2);
        let now = self.now();
        match lease::turn(&self.kept.hook, &self.office.me, now, needed) {
            Turn::Ours => Ok(()),
            Turn::Free => self.save(|_| ()).await,
            Turn::Theirs(until) => {
                // A little by chance, so that not all who wait ask at once.
                let wait = u64::try_from(until - now).unwrap_or(0);
                let share = backoff::share(&self.office.polis.chance.token());
                let wait = Duration::from_millis(wait).mul_f64(1.0 + share / 10.0);
                self.rest(wait).await?;
                Err(Turned::Again)
            }
        }
    }

    /// Waits until the time after a failure is over.
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
        // Somebody else may have sent meanwhile, or the person has changed the address.
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

    /// Writes down that it failed and when to try again, and gives the lease back: whoever is there then
    /// may try.
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

    /// Writes the place while the lease is nobody's or ours; if it is another's, that one writes.
    async fn save_skipped(&mut self) -> Result<(), Turned> {
        match lease::turn(&self.kept.hook, &self.office.me, self.now(), 0) {
            Turn::Ours | Turn::Free => self.save(|_| ()).await,
            Turn::Theirs(_) => Err(Turned::Again),
        }
    }

    /// Writes the place, with the lease prolonged and nothing failed, unless `change` says otherwise. A
    /// store that is away is waited for.
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
                // What was delivered since is known here; if the lease is another's now, it is delivered
                // once more.
                Ok(Saved::Changed) => return Err(Turned::Again),
                Err(error) => {
                    complain(&error);
                    self.rest(AGAIN).await?;
                }
            }
        }
    }

    /// Waits, unless an order comes.
    async fn rest(&mut self, time: Duration) -> Result<(), Turned> {
        let clock = Arc::clone(&self.office.polis.clock);
        tokio::select! {
            () = clock.sleep(time) => Ok(()),
            _ = self.orders.changed() => Err(self.ordered()),
        }
    }

    /// Writes what the record does not know, and gives the lease back. One try: a store that is away must
    /// not hold up the end.
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
