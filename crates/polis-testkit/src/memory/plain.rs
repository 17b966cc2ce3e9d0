//! Generic records of the in-memory model store.

use std::collections::BTreeMap;

use polis_core::Expect;
use polis_core::changeset::{Receipt, RecordKey};
use polis_core::record::{RecordBody, RecordKind, RecordName, Stored};
use polis_ops::PortFuture;
use polis_ops::port::Records;

use super::{MemoryStore, differs};

/// All records, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Plain(BTreeMap<RecordName, Kept>);

#[derive(Debug, Clone)]
struct Kept {
    stored: Stored,
    expires_at: Option<i64>,
}

impl Plain {
    pub(super) fn conflict(&self, expect: Expect, name: &RecordName) -> Option<RecordKey> {
        let found = self.0.get(name).map(|kept| kept.stored.revision);
        differs(expect, found).then(|| RecordKey::Record(name.clone()))
    }

    pub(super) fn put(
        &mut self,
        name: RecordName,
        expires_at: Option<i64>,
        body: &RecordBody,
        receipt: &Receipt,
    ) {
        let before = self.0.get(&name).map_or(0, |kept| kept.stored.revision);
        let stored = Stored {
            id: name.id.clone(),
            revision: before + 1,
            body: body.text(receipt),
        };
        self.0.insert(name, Kept { stored, expires_at });
    }

    pub(super) fn delete(&mut self, name: &RecordName) {
        self.0.remove(name);
    }

    pub(super) fn forget(&mut self, kind: RecordKind, until: i64) {
        self.0.retain(|name, kept| {
            name.kind != kind || kept.expires_at.is_none_or(|expires| expires > until)
        });
    }
}

impl Records for MemoryStore {
    fn record<'a>(&'a self, name: &'a RecordName) -> PortFuture<'a, Option<Stored>> {
        self.read(|state| state.plain.0.get(name).map(|kept| kept.stored.clone()))
    }

    fn records<'a>(
        &'a self,
        kind: RecordKind,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Stored>> {
        self.read(|state| {
            let of_kind = state.plain.0.iter().filter(|(name, _)| name.kind == kind);
            of_kind
                .filter(|(name, _)| after.is_none_or(|after| name.id.as_str() > after))
                .take(limit as usize)
                .map(|(_, kept)| kept.stored.clone())
                .collect()
        })
    }

    fn records_of<'a>(
        &'a self,
        kind: RecordKind,
        owner: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Stored>> {
        self.read(|state| {
            let of_owner = |name: &RecordName| {
                let rest = name.id.strip_prefix(owner);
                name.kind == kind
                    && rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
            };
            let found = state.plain.0.iter().filter(|(name, _)| of_owner(name));
            found
                .filter(|(name, _)| after.is_none_or(|after| name.id.as_str() > after))
                .take(limit as usize)
                .map(|(_, kept)| kept.stored.clone())
                .collect()
        })
    }

    fn commands_of_all<'a>(&'a self, after: &'a str, limit: u32) -> PortFuture<'a, Vec<Stored>> {
        self.read(|state| {
            let rest = |id: &str| id.split_once('/').map_or(id, |(_, rest)| rest).to_owned();
            let all = state.plain.0.iter();
            let mut found: Vec<Stored> = all
                .filter(|(name, _)| name.kind == RecordKind::Command)
                .map(|(_, kept)| kept.stored.clone())
                .filter(|stored| rest(&stored.id).as_str() > after)
                .collect();
            found.sort_by_key(|stored| (rest(&stored.id), stored.id.clone()));
            found.truncate(limit as usize);
            found
        })
    }
}
