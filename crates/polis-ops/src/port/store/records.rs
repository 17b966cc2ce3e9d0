//! Store port [`RecordReader`]: reads generic records (id, revision and JSON body), grouped by kind.

use polis_core::record::{RecordKind, RecordName, StoredRecord};

use crate::port::PortFuture;

/// Read access to generic records.
pub trait RecordReader {
    /// Returns a record. An expired record may still be returned.
    fn record<'a>(&'a self, name: &'a RecordName) -> PortFuture<'a, Option<StoredRecord>>;

    /// Returns the records of a kind, ordered by id (bytewise), after `after`, at most `limit`.
    fn records<'a>(
        &'a self,
        kind: RecordKind,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>>;

    /// Returns the records of a kind whose id is `OWNER/…`, ordered by id (bytewise), after the id `after`,
    /// at most `limit`.
    fn records_of_owner<'a>(
        &'a self,
        kind: RecordKind,
        owner: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>>;

    /// Returns commands of all owners, ordered by the part of the id after `OWNER/` (bytewise), after
    /// `after`, at most `limit`. The cost depends only on the size of the result, not on the number of
    /// owners.
    fn commands_of_all_owners<'a>(
        &'a self,
        after: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>>;
}
