//! Webhook delivery: supervises one courier task per webhook.
//!
//! Reads the webhooks from the store, starts a courier for each and stops it when its webhook is deleted.
//! Creating and changing webhooks is done by the operations.

mod backoff;
mod courier;
mod delivery;
mod lease;
mod record;
mod signature;
mod target;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polis_core::record::RecordKind;
use polis_ops::{Polis, PortError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use self::courier::{Counts, Courier, Office, Order};
use self::delivery::Trust;
use self::record::Kept;
use super::follower::Follower;
use super::hub::Hub;

/// Number of webhook records read per page.
const PAGE: u32 = 100;

/// Settings of webhook delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Timeout of one delivery.
    pub timeout: Duration,
    /// Duration of a lease. If a server is silent for this long, another one takes over.
    pub lease: Duration,
    /// Polling interval until the first webhook exists. After that, changes are seen in the log.
    pub look: Duration,
    /// Additional trusted root certificates (DER), besides those of the system.
    pub trust: Vec<Vec<u8>>,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(15),
            lease: Duration::from_secs(30),
            look: Duration::from_secs(5),
            trust: Vec::new(),
        }
    }
}

/// Metrics of webhook delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookFigures {
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
    watch: WebhookWatch,
}

/// Handle to read the metrics of webhook delivery. Clones read the same counters.
#[derive(Debug, Clone)]
pub struct WebhookWatch {
    counts: Arc<Counts>,
    webhooks: Arc<AtomicUsize>,
}

impl WebhookWatch {
    /// Returns the metrics.
    pub fn figures(&self) -> WebhookFigures {
        WebhookFigures {
            webhooks: self.webhooks.load(Ordering::Relaxed),
            delivered: self.counts.delivered.load(Ordering::Relaxed),
            failed: self.counts.failed.load(Ordering::Relaxed),
        }
    }
}

impl WebhookSender {
    /// Starts delivery in the background. Must be called within a tokio runtime.
    pub fn start(polis: Polis, hub: Hub, settings: WebhookSettings) -> Self {
        let (stop, stopped) = watch::channel(false);
        let counts = Arc::new(Counts::default());
        let webhooks = Arc::new(AtomicUsize::new(0));
        let office = Office {
            me: polis.chance.token(),
            trust: Arc::new(Trust::with(settings.trust.clone())),
            counts: Arc::clone(&counts),
            polis,
            hub,
            settings,
        };
        let rounds = Rounds {
            office,
            stopped,
            webhooks: Arc::clone(&webhooks),
            couriers: HashMap::new(),
        };
        Self {
            stop,
            task: tokio::spawn(rounds.work()),
            watch: WebhookWatch { counts, webhooks },
        }
    }

    /// Returns the metrics.
    pub fn figures(&self) -> WebhookFigures {
        self.watch.figures()
    }

    /// Returns a handle to read the metrics later.
    pub fn watch(&self) -> WebhookWatch {
        self.watch.clone()
    }

    /// Finishes the deliveries in progress, saves the position of each webhook and releases the leases.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }
}

/// Supervisor of all couriers.
struct Rounds {
    office: Office,
    stopped: watch::Receiver<bool>,
    webhooks: Arc<AtomicUsize>,
    couriers: HashMap<String, Busy>,
}

/// A running courier.
struct Busy {
    orders: watch::Sender<Order>,
    task: JoinHandle<()>,
}

impl Rounds {
    async fn work(mut self) {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            () = self.look_again_and_again() => {}
            // Also resolves when the sender is dropped.
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
        for busy in self.couriers.values() {
            busy.orders.send_replace(Order::Stop);
        }
        for (_, busy) in self.couriers.drain() {
            let _ = busy.task.await;
        }
    }

    /// Updates the couriers: polls every few seconds while there is no webhook, and afterwards whenever the
    /// log reports a change. So the log is not followed while there is nothing to deliver.
    async fn look_again_and_again(&mut self) {
        let mut follower: Option<Follower> = None;
        loop {
            // Read the log position first, so that a change made after reading the records is seen in the
            // log.
            let looked = match self.office.hub.now().await {
                Ok(place) => self.look().await.map(|()| place),
                Err(error) => {
                    tracing::warn!("looking for webhooks failed: {error}");
                    sleep(self.office.settings.look).await;
                    continue;
                }
            };
            match looked {
                Ok(place) if !self.couriers.is_empty() => {
                    let known = follower.get_or_insert_with(|| self.office.hub.follow(place));
                    if !told_of_change(known).await {
                        return;
                    }
                }
                Ok(_) => {
                    follower = None;
                    sleep(self.office.settings.look).await;
                }
                Err(error) => {
                    tracing::warn!(code = %error.code, "looking for webhooks failed: {error}");
                    sleep(self.office.settings.look).await;
                }
            }
        }
    }

    async fn look(&mut self) -> Result<(), PortError> {
        let mut there: HashMap<String, Kept> = HashMap::new();
        let mut after: Option<String> = None;
        loop {
            let store = &self.office.polis.store;
            let page = store.records(RecordKind::Webhook, after.as_deref(), PAGE);
            let page = page.await?;
            let full = page.len() >= PAGE as usize;
            after = page.last().map(|stored| stored.id.clone());
            let kept = page.into_iter().filter_map(Kept::of);
            there.extend(kept.map(|kept| (kept.hook.id.clone(), kept)));
            if !full {
                break;
            }
        }
        self.webhooks.store(there.len(), Ordering::Relaxed);
        self.couriers.retain(|id, busy| {
            let order = if there.contains_key(id) {
                Order::Look
            } else {
                Order::Stop
            };
            busy.orders.send_replace(order);
            order != Order::Stop && !busy.task.is_finished()
        });
        for (id, kept) in there {
            if !self.couriers.contains_key(&id) {
                let (orders, told) = watch::channel(Order::Work);
                let courier = Courier::new(self.office.clone(), kept, told);
                let task = tokio::spawn(courier.work());
                self.couriers.insert(id, Busy { orders, task });
            }
        }
        Ok(())
    }
}

/// Waits until the log reports that a webhook was created, changed or deleted. Returns `false` if the log is
/// closed.
async fn told_of_change(follower: &mut Follower) -> bool {
    while let Some(news) = follower.next().await {
        let about_one = |event: &polis_core::Event| event.kind.starts_with("webhook.");
        if news.events().iter().any(about_one) {
            return true;
        }
    }
    false
}
