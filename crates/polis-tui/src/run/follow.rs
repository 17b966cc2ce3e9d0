//! Following the log: what other processes do is seen here, too.

use std::time::Duration;

use polis_ops::OpError;
use polis_ops::op::{self, LogPage, LogRead};
use tokio::sync::mpsc;

use super::Screen;
use crate::app::Message;

/// How long one wait for news lasts; without any there is nothing else to do.
const WAIT: Duration = Duration::from_secs(60);
/// However much happens, pages are read again no more often than this.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a store that is away is left alone.
const AWAY: Duration = Duration::from_secs(1);

/// Tells of everything that happens after a place in the log, until nobody listens.
pub(super) async fn follow(screen: Screen, since: u64, send: mpsc::Sender<Message>) {
    let mut since = since;
    let mut away = false;
    loop {
        let told = match news(&screen, since).await {
            Ok(page) => {
                since = page.through;
                if page.events.is_empty() && !away {
                    // Only the time was up, or nothing was for these eyes.
                    continue;
                }
                away = false;
                send.send(Message::News(page.events)).await
            }
            Err(_) => {
                let told = match away {
                    true => Ok(()),
                    false => send.send(Message::Away(true)).await,
                };
                away = true;
                tokio::time::sleep(AWAY).await;
                told
            }
        };
        if told.is_err() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn news(screen: &Screen, since: u64) -> Result<LogPage, OpError> {
    screen.polis.store.wait_beyond(since, WAIT).await?;
    let params = LogRead {
        since,
        ..LogRead::default()
    };
    op::read_log(&screen.polis, &screen.agent, &params).await
}
