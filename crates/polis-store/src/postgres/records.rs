//! Generic records in PostgreSQL (the `records` table): plans the record writes of a batch of changesets, and
//! reads records.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use polis_core::changeset::Receipt;
use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_core::{RecordKey, WritePrecondition};
use polis_ops::PortError;
use tokio_postgres::{Error, Row};

use super::connection::PgParam;
use super::pool::ReadPool;
use super::read_queries::read_column;
use crate::prepared_changeset::{RecordUpsert, matches_expected_revision, render_record_body};
use crate::task_row::owner_id_range;

/// Selects revision and expiry of records by name.
pub(super) const SELECT_RECORD_REVISIONS: &str = "SELECT n.place, r.revision, r.expires_at \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n (kind, id, place) \
     JOIN records AS r ON r.kind = n.kind AND r.id = n.id";
// The delete statements run before the insert: a record deleted by expiry may be written again by the same
// batch.
pub(super) const DELETE_EXPIRED_RECORDS: &str = "DELETE FROM records \
     USING unnest($1::text[], $2::bigint[]) AS n (kind, until) \
     WHERE records.kind = n.kind AND records.expires_at <= n.until";
pub(super) const DELETE_RECORDS: &str = "DELETE FROM records USING unnest($1::text[], $2::text[]) AS n (kind, id) \
     WHERE records.kind = n.kind AND records.id = n.id";
pub(super) const UPSERT_RECORDS: &str = "INSERT INTO records (kind, id, revision, expires_at, body) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) \
     ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, \
     expires_at = excluded.expires_at, body = excluded.body";

/// The part of a record that planning needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordSnapshot {
    revision: i64,
    expires_at: Option<i64>,
}

impl RecordSnapshot {
    fn is_expired(self, until: i64) -> bool {
        self.expires_at.is_some_and(|end| end <= until)
    }
}

/// Decodes the result of [`SELECT_RECORD_REVISIONS`] for these names, in this order.
pub(super) fn decode_record_snapshots(
    names: &[&RecordName],
    rows: &[Row],
) -> Result<HashMap<RecordName, RecordSnapshot>, Error> {
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let ordinal = usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or(0);
        let snapshot = RecordSnapshot {
            revision: row.try_get(1)?,
            expires_at: row.try_get(2)?,
        };
        if let Some(name) = ordinal.checked_sub(1).and_then(|at| names.get(at)) {
            found.insert((*name).clone(), snapshot);
        }
    }
    Ok(found)
}

/// The record writes of a batch.
#[derive(Debug, Default)]
pub(super) struct RecordPlan<'a> {
    current: HashMap<RecordName, RecordSnapshot>,
    /// The new state of a record; `None` deletes it.
    changes: BTreeMap<&'a RecordName, Option<(RecordSnapshot, Cow<'a, str>)>>,
    /// By kind, the time up to which expired records are deleted.
    expired_until: BTreeMap<RecordKind, i64>,
}

impl<'a> RecordPlan<'a> {
    pub(super) fn new(current: HashMap<RecordName, RecordSnapshot>) -> Self {
        Self {
            current,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.expired_until.is_empty()
    }

    pub(super) fn find_conflict(
        &self,
        expect: WritePrecondition,
        name: &RecordName,
    ) -> Option<RecordKey> {
        let revision = self.current.get(name).map(|snapshot| snapshot.revision);
        (!matches_expected_revision(expect, revision)).then(|| RecordKey::Record(name.clone()))
    }

    pub(super) fn plan_upsert(&mut self, upsert: &'a RecordUpsert, receipt: &Receipt) {
        let previous_revision = self
            .current
            .get(&upsert.name)
            .map_or(0, |snapshot| snapshot.revision);
        let snapshot = RecordSnapshot {
            revision: previous_revision + 1,
            expires_at: upsert.expires_at,
        };
        self.current.insert(upsert.name.clone(), snapshot);
        self.changes.insert(
            &upsert.name,
            Some((snapshot, render_record_body(&upsert.body, receipt))),
        );
    }

    pub(super) fn plan_delete(&mut self, name: &'a RecordName) {
        self.current.remove(name);
        self.changes.insert(name, None);
    }

    pub(super) fn plan_delete_expired(&mut self, kind: RecordKind, until: i64) {
        self.current
            .retain(|name, snapshot| name.kind != kind || !snapshot.is_expired(until));
        for (_, change) in self.changes.iter_mut().filter(|(n, _)| n.kind == kind) {
            if change
                .as_ref()
                .is_some_and(|(snapshot, _)| snapshot.is_expired(until))
            {
                *change = None;
            }
        }
        let furthest = self.expired_until.entry(kind).or_insert(until);
        *furthest = until.max(*furthest);
    }
}

/// The record writes as one array per column.
#[derive(Debug, Default)]
pub(super) struct RecordColumns<'a> {
    expired_until: (Vec<&'a str>, Vec<i64>),
    deleted: (Vec<&'a str>, Vec<&'a str>),
    kind: Vec<&'a str>,
    id: Vec<&'a str>,
    revision: Vec<i64>,
    expires_at: Vec<Option<i64>>,
    body: Vec<&'a str>,
}

impl<'a> RecordColumns<'a> {
    pub(super) fn from_plan(plan: &'a RecordPlan<'_>) -> Self {
        let mut all = Self {
            expired_until: plan
                .expired_until
                .iter()
                .map(|(k, t)| (k.as_str(), *t))
                .unzip(),
            ..Self::default()
        };
        for (name, change) in &plan.changes {
            let (kind, id) = (name.kind.as_str(), name.id.as_str());
            let Some((snapshot, body)) = change else {
                all.deleted.0.push(kind);
                all.deleted.1.push(id);
                continue;
            };
            all.kind.push(kind);
            all.id.push(id);
            all.revision.push(snapshot.revision);
            all.expires_at.push(snapshot.expires_at);
            all.body.push(body);
        }
        all
    }

    pub(super) fn has_expiries(&self) -> bool {
        !self.expired_until.0.is_empty()
    }

    pub(super) fn has_deletes(&self) -> bool {
        !self.deleted.0.is_empty()
    }

    pub(super) fn has_upserts(&self) -> bool {
        !self.id.is_empty()
    }

    pub(super) fn delete_expired_params(&self) -> [PgParam<'_>; 2] {
        [&self.expired_until.0, &self.expired_until.1]
    }

    pub(super) fn delete_params(&self) -> [PgParam<'_>; 2] {
        [&self.deleted.0, &self.deleted.1]
    }

    pub(super) fn upsert_params(&self) -> [PgParam<'_>; 5] {
        [
            &self.kind,
            &self.id,
            &self.revision,
            &self.expires_at,
            &self.body,
        ]
    }
}

fn parse_stored_record(row: &Row) -> Result<StoredRecord, PortError> {
    Ok(StoredRecord {
        id: read_column(row, 0)?,
        revision: read_column::<i64>(row, 1)?.unsigned_abs(),
        body: read_column(row, 2)?,
    })
}

pub(super) async fn select_record(
    pool: &ReadPool,
    name: &RecordName,
) -> Result<Option<StoredRecord>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = $1 AND id = $2";
    let rows = pool.query(sql, &[&name.kind.as_str(), &name.id]).await?;
    rows.first().map(parse_stored_record).transpose()
}

pub(super) async fn select_record_page(
    pool: &ReadPool,
    kind: RecordKind,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<StoredRecord>, PortError> {
    let (kind, limit) = (kind.as_str(), i64::from(limit));
    let rows = match after {
        None => {
            let sql = "SELECT id, revision, body FROM records WHERE kind = $1 ORDER BY id LIMIT $2";
            pool.query(sql, &[&kind, &limit]).await?
        }
        Some(after) => {
            let sql = "SELECT id, revision, body FROM records WHERE kind = $1 AND id > $2 ORDER BY id LIMIT $3";
            pool.query(sql, &[&kind, &after, &limit]).await?
        }
    };
    rows.iter().map(parse_stored_record).collect()
}

/// Returns records of commands of all owners, in the order of the id's part after the owner. The index is on
/// exactly this expression and kind.
pub(super) async fn select_commands_of_all_owners(
    pool: &ReadPool,
    after: &str,
    limit: u32,
) -> Result<Vec<StoredRecord>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = 'command' AND substr(id, strpos(id, '/') + 1) > $1 \
               ORDER BY substr(id, strpos(id, '/') + 1), id LIMIT $2";
    let rows = pool.query(sql, &[&after, &i64::from(limit)]).await?;
    rows.iter().map(parse_stored_record).collect()
}

/// Returns the records of a kind whose id is `OWNER/…`.
pub(super) async fn select_owner_record_page(
    pool: &ReadPool,
    kind: RecordKind,
    owner: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<StoredRecord>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT $4";
    let (from, end) = owner_id_range(owner, after);
    let rows = pool
        .query(sql, &[&kind.as_str(), &from, &end, &i64::from(limit)])
        .await?;
    rows.iter().map(parse_stored_record).collect()
}
