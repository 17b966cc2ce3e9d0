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
/// How long a store that is away is left alone, at first and at most.
const AWAY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Tells of everything that happens after a place in the log, until nobody listens.
pub(super) async fn follow(screen: Screen, since: u64, send: mpsc::Sender<Message>) {
    let mut since = since;
    // How long a store that is away is left alone next.
    let mut away = None;
    loop {
        // Whether it is back is to be known at once.
        let wait = away.map_or(WAIT, |_| Duration::ZERO);
        let told = match news(&screen, since, wait).await {
            Ok(page) => {
                since = page.through;
                // Else only the time was up, or nothing was for these eyes.
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
        // Also where nothing was told: much may happen that is for others.
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
