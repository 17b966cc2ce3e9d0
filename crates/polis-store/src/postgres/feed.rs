//! Notifies waiters of new events, regardless of which process committed them.
//!
//! Every committer sends a NOTIFY in its transaction; each process that has waiters runs a task that LISTENs.
//! Other schemas in the same database use the same channel, so a notification only means "check". The task
//! also polls once per interval, in case a notification is lost.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;

use super::connection::{Address, Purpose};
use super::plan::LOG_HEAD;

/// Polling interval when no notification arrives.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Delay before reconnecting.
const CONNECT_AGAIN: Duration = Duration::from_millis(250);

/// Publishes the newest event's sequence number; its task ends when there are no subscribers left.
#[derive(Debug)]
pub(super) struct Feed {
    receiver: watch::Receiver<u64>,
}

impl Feed {
    pub(super) fn start(address: Arc<Address>) -> Self {
        let (sender, receiver) = watch::channel(0);
        tokio::spawn(async move {
            tokio::select! {
                () = sender.closed() => {}
                () = follow(&address, &sender) => {}
            }
        });
        Self { receiver }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.receiver.clone()
    }
}

/// Listens, and reconnects when the connection ends. While it cannot connect, waiters poll for themselves.
async fn follow(address: &Address, sender: &watch::Sender<u64>) {
    loop {
        // Any failure is handled by reconnecting.
        let _ = listen(address, sender).await;
        sleep(CONNECT_AGAIN).await;
    }
}

async fn listen(
    address: &Address,
    sender: &watch::Sender<u64>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (client, mut connection) = address.dial(Purpose::Read, address.deadline()).await?;
    let news = Arc::new(Notify::new());
    let told = Arc::clone(&news);
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                told.notify_one();
            }
        }
        told.notify_one();
    });
    timeout(
        address.patience,
        client.batch_execute("LISTEN polis_events"),
    )
    .await??;
    let look = client.prepare("SELECT value FROM marks WHERE name = $1");
    let look = timeout(address.patience, look).await??;
    loop {
        let row = timeout(address.patience, client.query_one(&look, &[&LOG_HEAD])).await??;
        let last = row.try_get::<_, i64>(0)?.unsigned_abs();
        sender.send_if_modified(|seen| std::mem::replace(seen, last) != last);
        let _ = timeout(LOOK_EVERY, news.notified()).await;
    }
}
