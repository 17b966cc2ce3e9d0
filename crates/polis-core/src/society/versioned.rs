//! A record of the society as it was read, and how it is written again: with the revision it was decided on.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::changeset::{Expect, Write};
use crate::record::{RecordBody, RecordName, Stored};

/// A record and the revision it was read at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept<T> {
    /// What it says.
    pub value: T,
    /// One more with every write.
    pub revision: u64,
}

impl<T: DeserializeOwned> Kept<T> {
    /// What a store has, if it can be read.
    pub fn read(stored: &Stored) -> Result<Self, serde_json::Error> {
        Ok(Self {
            value: serde_json::from_str(&stored.body)?,
            revision: stored.revision,
        })
    }
}

impl<T: Serialize> Kept<T> {
    /// The write of its new state.
    pub fn put(&self, name: RecordName, new: &T) -> Write {
        put(name, Expect::Revision(self.revision), new)
    }
}

/// The write of a record that is not there yet.
pub fn add<T: Serialize>(name: RecordName, new: &T) -> Write {
    put(name, Expect::Absent, new)
}

fn put<T: Serialize>(name: RecordName, expect: Expect, new: &T) -> Write {
    Write::PutRecord {
        name,
        expect,
        expires_at: None,
        // Our own types serialise.
        body: RecordBody::Text(serde_json::to_string(new).unwrap_or_default()),
    }
}
