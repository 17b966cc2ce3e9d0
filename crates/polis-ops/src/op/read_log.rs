//! Reading the commit log.

use polis_core::Event;

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

/// The events after `since`, in commit order, at most `limit`.
pub async fn read_log(polis: &Polis, since: u64, limit: u32) -> Result<Vec<Event>, OpError> {
    let query = EventQuery {
        after: since,
        limit,
        subject: None,
    };
    Ok(polis.store.events(&query).await?)
}
