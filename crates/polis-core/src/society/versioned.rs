//! Records of the society with the revision they were read at.
//!
//! [`Kept`] deserializes a stored record and creates the write of its new state, which expects the same
//! revision (optimistic concurrency control).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::changeset::{Expect, Write};
use crate::record::{RecordBody, RecordName, Stored};

/// A record and the revision it was read at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept<T> {
    /// The content.
    pub value: T,
    /// Incremented by every write.
    pub revision: u64,
}

impl<T: DeserializeOwned> Kept<T> {
    /// Deserializes a stored record.
    pub fn read(stored: &Stored) -> Result<Self, serde_json::Error> {
        Ok(Self {
            value: serde_json::from_str(&stored.body)?,
            revision: stored.revision,
        })
    }
}

impl<T: Serialize> Kept<T> {
    /// Returns the write of its new state.
    pub fn put(&self, name: RecordName, new: &T) -> Write {
        put(name, Expect::Revision(self.revision), new)
    }
}

/// Returns the write of a new record.
pub fn add<T: Serialize>(name: RecordName, new: &T) -> Write {
    put(name, Expect::Absent, new)
}

fn put<T: Serialize>(name: RecordName, expect: Expect, new: &T) -> Write {
    Write::PutRecord {
        name,
        expect,
        expires_at: None,
        // Our own types always serialize.
        body: RecordBody::Text(serde_json::to_string(new).unwrap_or_default()),
    }
}
