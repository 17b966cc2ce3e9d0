//! Webhook delivery: supervises one courier task per webhook.
//!
//! Reads the webhooks from the store, starts a courier for each and stops it when its webhook is deleted.
//! Webhooks are created and removed by the operations.

mod courier;
mod delivery;
mod delivery_backoff;
mod delivery_lease;
mod signature;
mod webhook_record;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polis_core::record::RecordKind;
use polis_ops::{App, PortError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use self::courier::{Courier, CourierCommand, DeliveryContext, DeliveryCounters};
use self::delivery::DeliveryClient;
use self::webhook_record::WebhookRecord;
use super::follower::LogFollower;
use super::hub::Hub;

/// Number of webhook records read per page.
const WEBHOOKS_PER_PAGE: u32 = 100;

/// Settings of webhook delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Timeout of one delivery.
    pub delivery_timeout: Duration,
    /// Duration of a lease. If a server is silent for this long, another one takes over.
    pub lease_duration: Duration,
    /// Polling interval until the first webhook exists. After that, changes are seen in the log.
    pub poll_interval: Duration,
    /// Additional trusted root certificates (DER), besides those of the system.
    pub extra_roots: Vec<Vec<u8>>,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            delivery_timeout: Duration::from_secs(15),
            lease_duration: Duration::from_secs(30),
            poll_interval: Duration::from_secs(5),
            extra_roots: Vec::new(),
        }
    }
}

/// Metrics of webhook delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookMetrics {
    /// Number of webhooks.
    pub webhooks: usize,
    /// Number of successful deliveries by this server.
    pub delivered: u64,
    /// Number of failed attempts.
    pub failed: u64,
}

/// Handle of the background task that delivers events to webhooks. [`WebhookSender::stop`] ends it.
#[derive(Debug)]
pub struct WebhookSender {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    metrics_handle: WebhookMetricsHandle,
}

/// Handle to read the metrics of webhook delivery. Clones read the same counters.
#[derive(Debug, Clone)]
pub struct WebhookMetricsHandle {
    counters: Arc<DeliveryCounters>,
    webhooks: Arc<AtomicUsize>,
}

impl WebhookMetricsHandle {
    /// Returns the metrics.
    pub fn metrics(&self) -> WebhookMetrics {
        WebhookMetrics {
            webhooks: self.webhooks.load(Ordering::Relaxed),
            delivered: self.counters.delivered.load(Ordering::Relaxed),
            failed: self.counters.failed.load(Ordering::Relaxed),
        }
    }
}

impl WebhookSender {
    /// Starts delivery in the background. Must be called within a tokio runtime.
    pub fn start(app: App, hub: Hub, settings: WebhookSettings) -> Self {
        let (stop, stopped) = watch::channel(false);
        let counts = Arc::new(DeliveryCounters::default());
        let webhooks = Arc::new(AtomicUsize::new(0));
        let context = DeliveryContext {
            server_id: app.random.random_token(),
            client: DeliveryClient::new(&settings),
            counters: Arc::clone(&counts),
            app,
            hub,
            settings,
        };
        let supervisor = CourierSupervisor {
            context,
            stop_requested: stopped,
            webhooks: Arc::clone(&webhooks),
            couriers: HashMap::new(),
        };
        Self {
            stop,
            task: tokio::spawn(supervisor.run()),
            metrics_handle: WebhookMetricsHandle {
                counters: counts,
                webhooks,
            },
        }
    }

    /// Returns the metrics.
    pub fn metrics(&self) -> WebhookMetrics {
        self.metrics_handle.metrics()
    }

    /// Returns a handle to read the metrics later.
    pub fn metrics_handle(&self) -> WebhookMetricsHandle {
        self.metrics_handle.clone()
    }

    /// Finishes the deliveries in progress, saves the position of each webhook and releases the leases.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }
}

/// Supervisor of all couriers.
struct CourierSupervisor {
    context: DeliveryContext,
    stop_requested: watch::Receiver<bool>,
    webhooks: Arc<AtomicUsize>,
    couriers: HashMap<String, RunningCourier>,
}

/// A running courier.
struct RunningCourier {
    commands: watch::Sender<CourierCommand>,
    task: JoinHandle<()>,
}

impl CourierSupervisor {
    async fn run(mut self) {
        let mut stopped = self.stop_requested.clone();
        tokio::select! {
            () = self.supervise() => {}
            // Also resolves when the sender is dropped.
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
        for busy in self.couriers.values() {
            busy.commands.send_replace(CourierCommand::Stop);
        }
        for (_, busy) in self.couriers.drain() {
            let _ = busy.task.await;
        }
    }

    /// Updates the couriers: polls every few seconds while there is no webhook, and afterwards whenever the
    /// log reports a change. So the log is not followed while there is nothing to deliver.
    async fn supervise(&mut self) {
        let mut follower: Option<LogFollower> = None;
        loop {
            // Read the log position first, so that a change made after reading the records is seen in the
            // log.
            let result = match self.context.hub.last_sequence().await {
                Ok(position) => self.update_couriers().await.map(|()| position),
                Err(error) => {
                    tracing::warn!("reading the webhooks failed: {error}");
                    sleep(self.context.settings.poll_interval).await;
                    continue;
                }
            };
            match result {
                Ok(position) if !self.couriers.is_empty() => {
                    let current = follower.get_or_insert_with(|| self.context.hub.follow(position));
                    if !wait_for_webhook_change(current).await {
                        return;
                    }
                }
                Ok(_) => {
                    follower = None;
                    sleep(self.context.settings.poll_interval).await;
                }
                Err(error) => {
                    tracing::warn!(code = %error.code, "reading the webhooks failed: {error}");
                    sleep(self.context.settings.poll_interval).await;
                }
            }
        }
    }

    async fn update_couriers(&mut self) -> Result<(), PortError> {
        let mut current: HashMap<String, WebhookRecord> = HashMap::new();
        let mut after: Option<String> = None;
        loop {
            let store = &self.context.app.store;
            let page = store.records(RecordKind::Webhook, after.as_deref(), WEBHOOKS_PER_PAGE);
            let page = page.await?;
            let full = page.len() >= WEBHOOKS_PER_PAGE as usize;
            after = page.last().map(|stored| stored.id.clone());
            let records = page.into_iter().filter_map(WebhookRecord::from_stored);
            current.extend(records.map(|record| (record.webhook.id.clone(), record)));
            if !full {
                break;
            }
        }
        self.webhooks.store(current.len(), Ordering::Relaxed);
        self.couriers.retain(|id, busy| {
            let order = if current.contains_key(id) {
                CourierCommand::Reload
            } else {
                CourierCommand::Stop
            };
            busy.commands.send_replace(order);
            order != CourierCommand::Stop && !busy.task.is_finished()
        });
        for (id, record) in current {
            if !self.couriers.contains_key(&id) {
                let (orders, receiver) = watch::channel(CourierCommand::Continue);
                let courier = Courier::new(self.context.clone(), record, receiver);
                let task = tokio::spawn(courier.run());
                self.couriers.insert(
                    id,
                    RunningCourier {
                        commands: orders,
                        task,
                    },
                );
            }
        }
        Ok(())
    }
}

/// Waits until the log reports that a webhook was created, changed or deleted. Returns `false` if the log is
/// closed.
async fn wait_for_webhook_change(follower: &mut LogFollower) -> bool {
    while let Some(slice) = follower.next().await {
        let about_one = |event: &polis_core::Event| event.kind.starts_with("webhook.");
        if slice.events().iter().any(about_one) {
            return true;
        }
    }
    false
}
