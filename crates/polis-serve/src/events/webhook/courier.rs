//! Courier: delivers events to one webhook, in order, one at a time, with retry until each is accepted.
//!
//! The delivery position is stored in the webhook's record. It is saved after several deliveries or after a
//! short idle time, so when a server is killed its successor repeats only those few deliveries. Several
//! servers share the work through the lease in the record (see `delivery_lease`). A failing receiver delays
//! no other webhook.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use polis_core::Event;
use polis_core::number::saturating_cast;
use polis_core::webhook::Webhook;
use polis_http_client::PostTarget;
use polis_i18n::{Surface, UiLanguage, render_reason};
use polis_ops::{App, PortError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::delivery::{DeliveryClient, DeliveryError};
use super::delivery_lease::{self, DeliveryLeaseStatus};
use super::webhook_record::{WebhookRecord, WebhookSaveResult};
use super::{WebhookSettings, delivery_backoff, signature};
use crate::events::follower::LogFollower;
use crate::events::hub::Hub;
use crate::refusal_tables::DeliveryProblem;

/// Maximum number of deliveries not yet saved, which are repeated after a crash.
const MAX_UNSAVED_DELIVERIES: usize = 16;
/// Maximum time before the position is saved; shorter if the lease would expire earlier.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// Number of skipped events (not wanted by the webhook) after which the position is saved as well.
const MAX_UNSAVED_SKIPS: u64 = 5_000;
/// How long a delivery in progress may still take when the server stops.
const STOP_GRACE_PERIOD: Duration = Duration::from_secs(3);
/// Delay before a failed store operation is retried.
const STORE_RETRY_BACKOFF: Duration = Duration::from_secs(1);

/// Delivery counters of all couriers.
#[derive(Debug, Default)]
pub(super) struct DeliveryCounters {
    pub(super) delivered: AtomicU64,
    pub(super) failed: AtomicU64,
}

/// Dependencies shared by all couriers of a server.
#[derive(Debug, Clone)]
pub(super) struct DeliveryContext {
    pub(super) app: App,
    pub(super) hub: Hub,
    pub(super) settings: WebhookSettings,
    /// Random identifier of this server, used in leases.
    pub(super) server_id: String,
    pub(super) client: DeliveryClient,
    pub(super) counters: Arc<DeliveryCounters>,
}

/// Command from the supervisor to a courier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CourierCommand {
    /// Continue delivering.
    Continue,
    /// The record may have changed: reload it before the next delivery.
    Reload,
    /// Finish the delivery in progress, save the position and release the lease.
    Stop,
}

/// Why a courier interrupts its current step.
enum CourierInterrupt {
    /// It was stopped, or the webhook was deleted.
    Stop,
    /// The record changed: reload it and start over.
    Reload,
}

/// Delivery task of one webhook.
pub(super) struct Courier {
    context: DeliveryContext,
    commands: watch::Receiver<CourierCommand>,
    record: WebhookRecord,
    /// The receiver; `None` if the URL is invalid.
    target: Option<PostTarget>,
    follower: LogFollower,
    /// Events that were read but not yet delivered or skipped.
    pending_events: VecDeque<Event>,
    /// Every event up to this sequence number was delivered or skipped.
    position: u64,
    /// Number of deliveries not yet saved in the record, and since when.
    unsaved: usize,
    unsaved_since: Option<Instant>,
}

impl Courier {
    /// Creates a courier for this webhook.
    pub(super) fn new(
        context: DeliveryContext,
        record: WebhookRecord,
        orders: watch::Receiver<CourierCommand>,
    ) -> Self {
        let done = record.webhook.delivered;
        let follower = context.hub.follow(done);
        let mut courier = Self {
            context,
            commands: orders,
            target: None,
            follower,
            pending_events: VecDeque::new(),
            position: done,
            unsaved: 0,
            unsaved_since: None,
            record,
        };
        courier.adopt_record();
        courier
    }

    /// Delivers until it is stopped or the webhook is deleted.
    pub(super) async fn run(mut self) {
        loop {
            match self.deliver_next().await {
                Ok(()) => {}
                Err(CourierInterrupt::Reload) => {
                    if !self.reload_record().await {
                        break;
                    }
                }
                Err(CourierInterrupt::Stop) => break,
            }
        }
        self.save_and_release_lease().await;
    }

    /// Adopts the state of the record.
    fn adopt_record(&mut self) {
        let hook = &self.record.webhook;
        // Another server may have advanced further; so may this one, if it could not save.
        if hook.delivered > self.position {
            self.position = hook.delivered;
            self.pending_events
                .retain(|event| event.seq > hook.delivered);
            if self.follower.position() < hook.delivered {
                self.follower.seek(hook.delivered);
            }
        }
        if let DeliveryLeaseStatus::Theirs(_) =
            delivery_lease::lease_status(hook, &self.context.server_id, self.now_millis(), 0)
        {
            // The position now belongs to the other server, which may repeat the last deliveries.
            (self.unsaved, self.unsaved_since) = (0, None);
        }
        self.target = self.context.client.prepare(&hook.url);
    }

    /// Reloads the record, retrying while the store is unavailable. Returns `false` if the webhook was
    /// deleted or the courier is to stop.
    async fn reload_record(&mut self) -> bool {
        loop {
            match WebhookRecord::load(&self.context.app, &self.record.webhook.id).await {
                Ok(Some(record)) => {
                    self.record = record;
                    self.adopt_record();
                    return true;
                }
                Ok(None) => return false,
                Err(error) => {
                    log_store_error(&error);
                    if let Err(CourierInterrupt::Stop) =
                        self.sleep_unless_commanded(STORE_RETRY_BACKOFF).await
                    {
                        return false;
                    }
                }
            }
        }
    }

    async fn deliver_next(&mut self) -> Result<(), CourierInterrupt> {
        let event = self.next_matching_event().await?;
        self.wait_for_retry().await?;
        self.ensure_lease().await?;
        let mut orders = self.commands.clone();
        let stopped = async {
            let _ = orders
                .wait_for(|order| *order == CourierCommand::Stop)
                .await;
            sleep(STOP_GRACE_PERIOD).await;
        };
        let sent = tokio::select! {
            sent = self.send_event(&event) => sent,
            // The next lease holder repeats this delivery.
            () = stopped => return Err(CourierInterrupt::Stop),
        };
        match sent {
            Ok(()) => self.record_delivery(event.seq).await,
            Err(failed) => self.record_failure(&failed).await,
        }
    }

    /// Returns the next event the webhook wants and saves the position while waiting for one. The event
    /// remains the next one until it is delivered.
    async fn next_matching_event(&mut self) -> Result<Event, CourierInterrupt> {
        loop {
            if self.commands.has_changed().unwrap_or(true) {
                return Err(self.take_command());
            }
            while let Some(event) = self.pending_events.front() {
                if event.seq > self.position && self.record.webhook.matches_event(event) {
                    return Ok(event.clone());
                }
                self.position = self.position.max(event.seq);
                self.pending_events.pop_front();
            }
            if self.position - self.record.webhook.delivered > MAX_UNSAVED_SKIPS
                && self.unsaved == 0
            {
                self.save_skipped_position().await?;
            }
            let rest = self.unsaved_since.map(|since| since + self.save_interval());
            let written = async {
                match rest {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                slice = self.follower.next() => match slice {
                    // Cloned because a receiver may be slow and the batch is memory shared by all readers.
                    Some(slice) => self.pending_events.extend(slice.events().iter().cloned()),
                    None => return Err(CourierInterrupt::Stop),
                },
                () = written => self.save_position(|_| ()).await?,
                _ = self.commands.changed() => return Err(self.take_command()),
            }
        }
    }

    /// Translates a received command into a reason to interrupt.
    fn take_command(&mut self) -> CourierInterrupt {
        // A dropped sender means stop.
        let sender_dropped = self.commands.has_changed().is_err();
        match *self.commands.borrow_and_update() {
            CourierCommand::Continue | CourierCommand::Reload if !sender_dropped => {
                CourierInterrupt::Reload
            }
            CourierCommand::Continue | CourierCommand::Reload | CourierCommand::Stop => {
                CourierInterrupt::Stop
            }
        }
    }

    /// Acquires or renews the lease for long enough to make one delivery.
    async fn ensure_lease(&mut self) -> Result<(), CourierInterrupt> {
        let settings = &self.context.settings;
        let needed = duration_millis(settings.delivery_timeout)
            .min(duration_millis(settings.lease_duration) / 2);
        let now = self.now_millis();
        match delivery_lease::lease_status(
            &self.record.webhook,
            &self.context.server_id,
            now,
            needed,
        ) {
            DeliveryLeaseStatus::Ours => Ok(()),
            DeliveryLeaseStatus::Free => self.save_position(|_| ()).await,
            DeliveryLeaseStatus::Theirs(until) => {
                // Jitter, so that waiting servers do not retry at the same time.
                let wait = u64::try_from(until - now).unwrap_or(0);
                let share =
                    delivery_backoff::jitter_from_digits(&self.context.app.random.random_token());
                let wait = Duration::from_millis(wait).mul_f64(1.0 + share / 10.0);
                self.sleep_unless_commanded(wait).await?;
                Err(CourierInterrupt::Reload)
            }
        }
    }

    /// Waits until the backoff after a failure has passed.
    async fn wait_for_retry(&mut self) -> Result<(), CourierInterrupt> {
        let Some(at) = self.record.webhook.retry_at else {
            return Ok(());
        };
        let left = at.saturating_sub(self.now_millis());
        let Ok(left) = u64::try_from(left) else {
            return Ok(());
        };
        if left == 0 {
            return Ok(());
        }
        self.sleep_unless_commanded(Duration::from_millis(left))
            .await?;
        // Another server may have delivered in the meantime, or the user may have changed the URL.
        Err(CourierInterrupt::Reload)
    }

    async fn send_event(&self, event: &Event) -> Result<(), DeliveryError> {
        let hook = &self.record.webhook;
        let body = serde_json::to_vec(event).unwrap_or_default();
        let headers = signed_headers(hook, event.seq, self.now_millis() / 1_000, &body);
        let Some(target) = &self.target else {
            return Err(DeliveryError::without_response(DeliveryProblem::InvalidUrl));
        };
        let client = &self.context.client;
        client.post(target, headers, Bytes::from(body)).await
    }

    async fn record_delivery(&mut self, seq: u64) -> Result<(), CourierInterrupt> {
        self.position = seq;
        self.unsaved += 1;
        self.context
            .counters
            .delivered
            .fetch_add(1, Ordering::Relaxed);
        let since = *self.unsaved_since.get_or_insert_with(Instant::now);
        let failed_before = self.record.webhook.failures > 0;
        if failed_before
            || self.unsaved >= MAX_UNSAVED_DELIVERIES
            || since.elapsed() >= self.save_interval()
        {
            return self.save_position(|_| ()).await;
        }
        Ok(())
    }

    /// Records the failure and the time of the next attempt, and releases the lease so that any server can
    /// make that attempt.
    async fn record_failure(&mut self, failed: &DeliveryError) -> Result<(), CourierInterrupt> {
        self.context.counters.failed.fetch_add(1, Ordering::Relaxed);
        let failures = self.record.webhook.failures.saturating_add(1);
        let now = self.now_millis();
        let requested = failed.retry_after.as_deref();
        let requested =
            requested.and_then(|header| delivery_backoff::parse_retry_after(header, now));
        let share = delivery_backoff::jitter_from_digits(&self.context.app.random.random_token());
        let mut wait = delivery_backoff::retry_backoff(failures, share, requested);
        if failed.is_gone {
            wait = wait.max(delivery_backoff::gone_backoff());
        }
        let problem = failed.problem.clone();
        // Records and logs have English sentences.
        let message = render_reason(&problem, Surface::Http, UiLanguage::En).message;
        tracing::warn!(
            webhook = self.record.webhook.id,
            failures,
            again_in_ms = duration_millis(wait),
            "webhook delivery failed: {message}"
        );
        let me = self.context.server_id.clone();
        self.save_position(move |hook| {
            hook.failures = failures;
            hook.retry_at = Some(now.saturating_add(duration_millis(wait)));
            hook.last_error = Some(message);
            hook.last_failure = Some(problem);
            delivery_lease::release_lease(hook, &me);
        })
        .await
    }

    /// Saves the position if the lease is free or ours; otherwise its holder saves.
    async fn save_skipped_position(&mut self) -> Result<(), CourierInterrupt> {
        match delivery_lease::lease_status(
            &self.record.webhook,
            &self.context.server_id,
            self.now_millis(),
            0,
        ) {
            DeliveryLeaseStatus::Ours | DeliveryLeaseStatus::Free => {
                self.save_position(|_| ()).await
            }
            DeliveryLeaseStatus::Theirs(_) => Err(CourierInterrupt::Reload),
        }
    }

    /// Saves the position, renews the lease and clears the failure state after a delivery; `change` is
    /// applied last. Retries while the store is unavailable.
    async fn save_position(
        &mut self,
        change: impl FnOnce(&mut Webhook),
    ) -> Result<(), CourierInterrupt> {
        let mut hook = self.record.webhook.clone();
        hook.delivered = hook.delivered.max(self.position);
        let delivered = self.unsaved > 0;
        if delivered {
            (hook.failures, hook.retry_at) = (0, None);
            (hook.last_error, hook.last_failure) = (None, None);
        }
        let until = self
            .now_millis()
            .saturating_add(duration_millis(self.context.settings.lease_duration));
        delivery_lease::acquire_lease(&mut hook, &self.context.server_id, until);
        change(&mut hook);
        loop {
            match self.record.save(&self.context.app, hook.clone()).await {
                Ok(WebhookSaveResult::Saved(record)) => {
                    self.record = *record;
                    (self.unsaved, self.unsaved_since) = (0, None);
                    return Ok(());
                }
                // The deliveries made since are known only here. If another server holds the lease now, it
                // repeats them.
                Ok(WebhookSaveResult::Conflict) => return Err(CourierInterrupt::Reload),
                Err(error) => {
                    log_store_error(&error);
                    self.sleep_unless_commanded(STORE_RETRY_BACKOFF).await?;
                }
            }
        }
    }

    /// Sleeps, unless a command arrives.
    async fn sleep_unless_commanded(&mut self, time: Duration) -> Result<(), CourierInterrupt> {
        let clock = Arc::clone(&self.context.app.clock);
        tokio::select! {
            () = clock.sleep(time) => Ok(()),
            _ = self.commands.changed() => Err(self.take_command()),
        }
    }

    /// Saves the unsaved position and releases the lease. Makes one attempt only: an unavailable store must
    /// not delay shutdown.
    async fn save_and_release_lease(&mut self) {
        let ours = self.record.webhook.sender.as_deref() == Some(self.context.server_id.as_str());
        if !ours {
            return;
        }
        let mut hook = self.record.webhook.clone();
        hook.delivered = hook.delivered.max(self.position);
        delivery_lease::release_lease(&mut hook, &self.context.server_id);
        tokio::select! {
            saved = self.record.save(&self.context.app, hook) => {
                if let Err(error) = saved {
                    log_store_error(&error);
                }
            }
            () = sleep(self.context.settings.delivery_timeout) => {}
        }
    }

    fn save_interval(&self) -> Duration {
        SAVE_INTERVAL.min(self.context.settings.lease_duration / 4)
    }

    fn now_millis(&self) -> i64 {
        self.context.app.clock.now_millis()
    }
}

fn signed_headers(hook: &Webhook, seq: u64, timestamp: i64, body: &[u8]) -> HeaderMap {
    let id = format!("{}.{seq}", hook.id);
    let signature = signature::sign_delivery(&hook.secret, &id, timestamp, body);
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

fn duration_millis(time: Duration) -> i64 {
    saturating_cast::<i64>(time.as_millis())
}

fn log_store_error(error: &PortError) {
    tracing::warn!(code = %error.code, "loading or saving a webhook's position failed: {error}");
}
