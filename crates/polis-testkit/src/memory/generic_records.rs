//! Generic records of the in-memory store used as the reference in tests, with revisions and expiry.

use std::collections::BTreeMap;

use polis_core::WritePrecondition;
use polis_core::changeset::{Receipt, RecordKey};
use polis_core::record::{RecordBody, RecordKind, RecordName, StoredRecord};
use polis_ops::PortFuture;
use polis_ops::port::RecordReader;

use super::{MemoryStore, violates_expectation};

/// All records, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct GenericRecords(BTreeMap<RecordName, ExpiringRecord>);

#[derive(Debug, Clone)]
struct ExpiringRecord {
    stored: StoredRecord,
    expires_at: Option<i64>,
}

impl GenericRecords {
    pub(super) fn find_conflict(
        &self,
        expect: WritePrecondition,
        name: &RecordName,
    ) -> Option<RecordKey> {
        let found = self.0.get(name).map(|entry| entry.stored.revision);
        violates_expectation(expect, found).then(|| RecordKey::Record(name.clone()))
    }

    pub(super) fn put_record(
        &mut self,
        name: RecordName,
        expires_at: Option<i64>,
        body: &RecordBody,
        receipt: &Receipt,
    ) {
        let before = self.0.get(&name).map_or(0, |entry| entry.stored.revision);
        let stored = StoredRecord {
            id: name.id.clone(),
            revision: before + 1,
            body: body.to_text(receipt),
        };
        self.0.insert(name, ExpiringRecord { stored, expires_at });
    }

    pub(super) fn delete_record(&mut self, name: &RecordName) {
        self.0.remove(name);
    }

    pub(super) fn delete_expired(&mut self, kind: RecordKind, until: i64) {
        self.0.retain(|name, entry| {
            name.kind != kind || entry.expires_at.is_none_or(|expires| expires > until)
        });
    }
}

impl RecordReader for MemoryStore {
    fn record<'a>(&'a self, name: &'a RecordName) -> PortFuture<'a, Option<StoredRecord>> {
        self.read_state(|state| {
            state
                .generic_records
                .0
                .get(name)
                .map(|entry| entry.stored.clone())
        })
    }

    fn records<'a>(
        &'a self,
        kind: RecordKind,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        self.read_state(|state| {
            let of_kind = state
                .generic_records
                .0
                .iter()
                .filter(|(name, _)| name.kind == kind);
            of_kind
                .filter(|(name, _)| after.is_none_or(|after| name.id.as_str() > after))
                .take(limit as usize)
                .map(|(_, entry)| entry.stored.clone())
                .collect()
        })
    }

    fn records_of_owner<'a>(
        &'a self,
        kind: RecordKind,
        owner: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        self.read_state(|state| {
            let of_owner = |name: &RecordName| {
                let rest = name.id.strip_prefix(owner);
                name.kind == kind
                    && rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
            };
            let found = state
                .generic_records
                .0
                .iter()
                .filter(|(name, _)| of_owner(name));
            found
                .filter(|(name, _)| after.is_none_or(|after| name.id.as_str() > after))
                .take(limit as usize)
                .map(|(_, entry)| entry.stored.clone())
                .collect()
        })
    }

    fn commands_of_all_owners<'a>(
        &'a self,
        after: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        self.read_state(|state| {
            let rest = |id: &str| id.split_once('/').map_or(id, |(_, rest)| rest).to_owned();
            let all = state.generic_records.0.iter();
            let mut found: Vec<StoredRecord> = all
                .filter(|(name, _)| name.kind == RecordKind::Command)
                .map(|(_, entry)| entry.stored.clone())
                .filter(|stored| rest(&stored.id).as_str() > after)
                .collect();
            found.sort_by_key(|stored| (rest(&stored.id), stored.id.clone()));
            found.truncate(limit as usize);
            found
        })
    }
}
