//! Reading records of the plain kinds.

use polis_core::record::{RecordKind, RecordName, Stored};

use super::PortFuture;

/// Records of the plain kinds.
pub trait Records {
    /// A record. One whose time is up may be there still.
    fn record<'a>(&'a self, name: &'a RecordName) -> PortFuture<'a, Option<Stored>>;

    /// The records of a kind, by id (as bytes), those after `after`, at most `limit`.
    fn records<'a>(
        &'a self,
        kind: RecordKind,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Stored>>;

    /// The records of a kind whose id is `OWNER/…`, by id (as bytes), those after the id `after`, at most
    /// `limit`.
    fn records_of<'a>(
        &'a self,
        kind: RecordKind,
        owner: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Stored>>;

    /// Commands of all owners, by what follows `OWNER/` in their ids (as bytes), those after `after`, at most
    /// `limit`. Takes as long as the answer is, however many owners there are.
    fn commands_of_all<'a>(&'a self, after: &'a str, limit: u32) -> PortFuture<'a, Vec<Stored>>;
}
