//! Versioned records: a stored value with the revision it was read at.
//!
//! [`VersionedRecord`] deserializes a stored record and creates the write of its new state, which expects the
//! same revision (optimistic concurrency control).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::changeset::{StoreWrite, WritePrecondition};
use crate::json::to_json_text;
use crate::record::{RecordBody, RecordName, StoredRecord};

/// A record and the revision it was read at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedRecord<T> {
    /// Content of the record, deserialized.
    pub value: T,
    /// Incremented by every write.
    pub revision: u64,
}

impl<T: DeserializeOwned> VersionedRecord<T> {
    /// Deserializes a stored record. Fails if its body is not a `T`.
    pub fn from_stored(stored: &StoredRecord) -> Result<Self, serde_json::Error> {
        Ok(Self {
            value: serde_json::from_str(&stored.body)?,
            revision: stored.revision,
        })
    }
}

impl<T: Serialize> VersionedRecord<T> {
    /// Returns the write of its new state, which conflicts if the record was written since it was read.
    pub fn update_write(&self, name: RecordName, new: &T) -> StoreWrite {
        record_write(name, WritePrecondition::Revision(self.revision), new)
    }
}

/// Returns the write of a new record.
pub fn new_record_write<T: Serialize>(name: RecordName, new: &T) -> StoreWrite {
    record_write(name, WritePrecondition::Absent, new)
}

fn record_write<T: Serialize>(name: RecordName, expect: WritePrecondition, new: &T) -> StoreWrite {
    StoreWrite::PutRecord {
        name,
        expect,
        expires_at: None,
        // Our own types always serialize.
        body: RecordBody::Text(to_json_text(new)),
    }
}
