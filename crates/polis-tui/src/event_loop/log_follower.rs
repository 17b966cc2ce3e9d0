//! Log follower: waits for events, also those written by other processes, and sends the visible ones to the event
//! loop, throttled. While the store is unreachable it retries with backoff: it sends `StoreUnreachable` once, and
//! `EventsArrived`, possibly without events, when the store is back.

use std::time::Duration;

use polis_ops::OpError;
use polis_ops::op::{self, LogPage, LogReadParams};
use tokio::sync::mpsc;

use super::TuiConfig;
use crate::app::AppMessage;

/// Timeout of one wait for events; without events there is nothing else to do.
const EVENT_WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// Minimum interval between reloads of pages, regardless of the event rate.
const MIN_RELOAD_INTERVAL: Duration = Duration::from_millis(100);
/// Retry backoff while the store is unreachable: initial and maximum.
const RETRY_BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Sends the visible events after the sequence number `since`, until the receiver is gone.
pub(super) async fn follow_log(screen: TuiConfig, since: u64, send: mpsc::Sender<AppMessage>) {
    let mut since = since;
    // Backoff before the next retry, while the store is unreachable.
    let mut retry_delay = None;
    loop {
        // While the store is unreachable, check without waiting whether it is back.
        let wait = retry_delay.map_or(EVENT_WAIT_TIMEOUT, |_| Duration::ZERO);
        let sent = match wait_for_events(&screen, since, wait).await {
            Ok(page) => {
                since = page.through;
                // Otherwise the wait timed out, or no event is visible to this agent.
                if retry_delay.take().is_some() || !page.events.is_empty() {
                    send.send(AppMessage::EventsArrived(page.events)).await
                } else {
                    Ok(())
                }
            }
            Err(_) => {
                let sent = match retry_delay {
                    Some(_) => Ok(()),
                    None => send.send(AppMessage::StoreUnreachable(true)).await,
                };
                let delay = retry_delay.unwrap_or(RETRY_BACKOFF.0);
                tokio::time::sleep(delay).await;
                retry_delay = Some((delay * 2).min(RETRY_BACKOFF.1));
                sent
            }
        };
        if sent.is_err() {
            return;
        }
        // Also if nothing was sent: there may be many events that are not visible to this agent.
        tokio::time::sleep(MIN_RELOAD_INTERVAL).await;
    }
}

async fn wait_for_events(
    screen: &TuiConfig,
    since: u64,
    wait: Duration,
) -> Result<LogPage, OpError> {
    screen.app.store.wait_for_event_after(since, wait).await?;
    let params = LogReadParams {
        since,
        ..LogReadParams::default()
    };
    op::read_log(&screen.request(), &params).await
}
