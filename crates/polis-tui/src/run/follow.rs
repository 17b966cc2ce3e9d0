//! Follows the log, so that changes by other processes are shown too.

use std::time::Duration;

use polis_ops::OpError;
use polis_ops::op::{self, LogPage, LogRead};
use tokio::sync::mpsc;

use super::Screen;
use crate::app::Message;

/// Timeout of one wait for events; without events there is nothing else to do.
const WAIT: Duration = Duration::from_secs(60);
/// Minimum interval between reloads of pages, regardless of the event rate.
const PAUSE: Duration = Duration::from_millis(100);
/// Retry backoff while the store is unreachable: initial and maximum.
const AWAY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Sends all events after a sequence number, until the receiver is gone.
pub(super) async fn follow(screen: Screen, since: u64, send: mpsc::Sender<Message>) {
    let mut since = since;
    // Backoff before the next retry, while the store is unreachable.
    let mut away = None;
    loop {
        // While the store is unreachable, check without waiting whether it is back.
        let wait = away.map_or(WAIT, |_| Duration::ZERO);
        let told = match news(&screen, since, wait).await {
            Ok(page) => {
                since = page.through;
                // Otherwise the wait timed out, or no event is visible to this agent.
                match away.take().is_some() || !page.events.is_empty() {
                    true => send.send(Message::News(page.events)).await,
                    false => Ok(()),
                }
            }
            Err(_) => {
                let told = match away {
                    Some(_) => Ok(()),
                    None => send.send(Message::Away(true)).await,
                };
                let rest = away.unwrap_or(AWAY.0);
                tokio::time::sleep(rest).await;
                away = Some((rest * 2).min(AWAY.1));
                told
            }
        };
        if told.is_err() {
            return;
        }
        // Also if nothing was sent: there may be many events that are not visible to this agent.
        tokio::time::sleep(PAUSE).await;
    }
}

async fn news(screen: &Screen, since: u64, wait: Duration) -> Result<LogPage, OpError> {
    screen.polis.store.wait_beyond(since, wait).await?;
    let params = LogRead {
        since,
        ..LogRead::default()
    };
    op::read_log(&screen.polis, &screen.agent, &params).await
}
