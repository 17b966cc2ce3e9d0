//! Event feed (LISTEN/NOTIFY): wakes waiters when this or any other process has committed events.
//!
//! Every transaction that appends events sends a NOTIFY; each process that has waiters runs a task that
//! LISTENs on a connection of its own, and reconnects if it is lost. Other schemas in the same database use
//! the same channel, so a notification only means "check". The task also polls once a second, in case a
//! notification is lost.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;

use super::batch_plan::LOG_HEAD_MARK;
use super::connection::{ConnectionPurpose, ServerAddress};

/// Maximum time between two reads of the newest sequence number.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Delay before reconnecting after the connection was lost.
const RECONNECT_BACKOFF: Duration = Duration::from_millis(250);

/// Publishes the newest event's sequence number; its task ends when there are no subscribers left.
#[derive(Debug)]
pub(super) struct NotifyEventFeed {
    receiver: watch::Receiver<u64>,
}

impl NotifyEventFeed {
    pub(super) fn start(address: Arc<ServerAddress>) -> Self {
        let (sender, receiver) = watch::channel(0);
        tokio::spawn(async move {
            tokio::select! {
                () = sender.closed() => {}
                () = listen_forever(&address, &sender) => {}
            }
        });
        Self { receiver }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.receiver.clone()
    }
}

/// Listens, and reconnects when the connection ends. While it cannot connect, waiters poll for themselves.
async fn listen_forever(address: &ServerAddress, sender: &watch::Sender<u64>) {
    loop {
        // Any failure is handled by reconnecting.
        let _ = listen_until_disconnect(address, sender).await;
        sleep(RECONNECT_BACKOFF).await;
    }
}

async fn listen_until_disconnect(
    address: &ServerAddress,
    sender: &watch::Sender<u64>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (client, mut connection) = address
        .connect(ConnectionPurpose::Read, address.deadline())
        .await?;
    let notify = Arc::new(Notify::new());
    let notifier = Arc::clone(&notify);
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                notifier.notify_one();
            }
        }
        notifier.notify_one();
    });
    timeout(address.timeout, client.batch_execute("LISTEN polis_events")).await??;
    let statement = client.prepare("SELECT value FROM marks WHERE name = $1");
    let statement = timeout(address.timeout, statement).await??;
    loop {
        let row = timeout(
            address.timeout,
            client.query_one(&statement, &[&LOG_HEAD_MARK]),
        )
        .await??;
        let last = row.try_get::<_, i64>(0)?.unsigned_abs();
        sender.send_if_modified(|current| std::mem::replace(current, last) != last);
        let _ = timeout(POLL_INTERVAL, notify.notified()).await;
    }
}
