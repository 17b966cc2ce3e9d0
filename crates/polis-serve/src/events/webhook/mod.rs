//! Sending events to webhooks. Which there are is the operations' matter.
//!
//! One courier for each webhook; this looks which there are, starts couriers and stops them.

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

/// How many webhooks are read at a time.
const PAGE: u32 = 100;

/// What may be set about sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// How long a receiver may take for an event.
    pub timeout: Duration,
    /// For how long a server is the one that sends. Another takes over when it is silent for so long.
    pub lease: Duration,
    /// How often to look for the first webhook. Once there is one, the log tells of more.
    pub look: Duration,
    /// Certificates to trust beside the system's (DER).
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

/// Figures about sending, for whoever watches the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookFigures {
    /// How many webhooks there are.
    pub webhooks: usize,
    /// How many deliveries this server made.
    pub delivered: u64,
    /// How many attempts failed.
    pub failed: u64,
}

/// Sends events to webhooks until it is stopped.
#[derive(Debug)]
pub struct WebhookSender {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    watch: WebhookWatch,
}

/// Looks on while events are sent; clones see the same.
#[derive(Debug, Clone)]
pub struct WebhookWatch {
    counts: Arc<Counts>,
    webhooks: Arc<AtomicUsize>,
}

impl WebhookWatch {
    /// Figures about it.
    pub fn figures(&self) -> WebhookFigures {
        WebhookFigures {
            webhooks: self.webhooks.load(Ordering::Relaxed),
            delivered: self.counts.delivered.load(Ordering::Relaxed),
            failed: self.counts.failed.load(Ordering::Relaxed),
        }
    }
}

impl WebhookSender {
    /// Starts sending, in the background. Called inside a tokio runtime.
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

    /// Figures about it.
    pub fn figures(&self) -> WebhookFigures {
        self.watch.figures()
    }

    /// Somebody who asks for its figures later.
    pub fn watch(&self) -> WebhookWatch {
        self.watch.clone()
    }

    /// Finishes what is under way, writes down how far each webhook has come, and gives the leases back.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }
}

/// The couriers there are.
struct Rounds {
    office: Office,
    stopped: watch::Receiver<bool>,
    webhooks: Arc<AtomicUsize>,
    couriers: HashMap<String, Busy>,
}

/// A courier at work.
struct Busy {
    orders: watch::Sender<Order>,
    task: JoinHandle<()>,
}

impl Rounds {
    async fn work(mut self) {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            () = self.look_again_and_again() => {}
            // Also when nobody holds the sender any more.
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
        for busy in self.couriers.values() {
            busy.orders.send_replace(Order::Stop);
        }
        for (_, busy) in self.couriers.drain() {
            let _ = busy.task.await;
        }
    }

    /// Looks which webhooks there are: every few seconds while there is none, and after that whenever the
    /// log tells of a change. So nothing follows the log where nothing is to be sent.
    async fn look_again_and_again(&mut self) {
        let mut follower: Option<Follower> = None;
        loop {
            // The place first: what is changed after the look is told of.
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

/// Waits until the log tells that a webhook came, changed or went; `false` if nothing will.
async fn told_of_change(follower: &mut Follower) -> bool {
    while let Some(news) = follower.next().await {
        let about_one = |event: &polis_core::Event| event.kind.starts_with("webhook.");
        if news.events().iter().any(about_one) {
            return true;
        }
    }
    false
}
