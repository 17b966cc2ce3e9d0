//! Waking those who wait for events, whichever process committed them.
//!
//! Every committer notifies a channel in its transaction; a task of each process that has somebody
//! waiting listens to it. Other boards in the same database use the same channel, so a notification
//! says no more than "look". In case one is lost it looks once a while anyway.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;

use super::connection::{Address, Purpose};
use super::plan::LOG_HEAD;

/// How long to sleep when nothing tells of changes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long to wait before connecting again.
const CONNECT_AGAIN: Duration = Duration::from_millis(250);

/// The news; its task ends when nobody listens any more.
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

/// Listens, and connects again when that ends. While it cannot, those who wait look for themselves.
async fn follow(address: &Address, sender: &watch::Sender<u64>) {
    loop {
        // Whatever broke it, the answer is to connect again.
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
