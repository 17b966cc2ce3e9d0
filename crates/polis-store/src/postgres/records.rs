//! Generic records (the `records` table): plans the record writes of a batch, and reads records.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use polis_core::changeset::Receipt;
use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::{Expect, RecordKey};
use polis_ops::PortError;
use tokio_postgres::{Error, Row};

use super::connection::Parameter;
use super::pool::Pool;
use super::read::column;
use crate::prepared::{RecordPut, holds, text_of};
use crate::row::ids_of;

/// Selects revision and expiry of records by name.
pub(super) const RECORDS: &str = "SELECT n.place, r.revision, r.expires_at \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n (kind, id, place) \
     JOIN records AS r ON r.kind = n.kind AND r.id = n.id";
// The delete statements run before the insert: a record deleted by expiry may be written again by the same
// batch.
pub(super) const FORGET_RECORDS: &str = "DELETE FROM records \
     USING unnest($1::text[], $2::bigint[]) AS n (kind, until) \
     WHERE records.kind = n.kind AND records.expires_at <= n.until";
pub(super) const DELETE_RECORDS: &str = "DELETE FROM records USING unnest($1::text[], $2::text[]) AS n (kind, id) \
     WHERE records.kind = n.kind AND records.id = n.id";
pub(super) const PUT_RECORDS: &str = "INSERT INTO records (kind, id, revision, expires_at, body) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) \
     ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, \
     expires_at = excluded.expires_at, body = excluded.body";

/// The part of a record that the decision needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenRecord {
    revision: i64,
    expires_at: Option<i64>,
}

impl SeenRecord {
    fn is_over(self, until: i64) -> bool {
        self.expires_at.is_some_and(|end| end <= until)
    }
}

/// Decodes the result of [`RECORDS`] for these names, in this order.
pub(super) fn found(
    names: &[&RecordName],
    rows: &[Row],
) -> Result<HashMap<RecordName, SeenRecord>, Error> {
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let place = usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or(0);
        let seen = SeenRecord {
            revision: row.try_get(1)?,
            expires_at: row.try_get(2)?,
        };
        if let Some(name) = place.checked_sub(1).and_then(|at| names.get(at)) {
            found.insert((*name).clone(), seen);
        }
    }
    Ok(found)
}

/// The record writes of a batch.
#[derive(Debug, Default)]
pub(super) struct RecordPlan<'a> {
    found: HashMap<RecordName, SeenRecord>,
    /// The new state of a record; `None` deletes it.
    changes: BTreeMap<&'a RecordName, Option<(SeenRecord, Cow<'a, str>)>>,
    /// By kind, the time up to which expired records are deleted.
    forgotten: BTreeMap<RecordKind, i64>,
}

impl<'a> RecordPlan<'a> {
    pub(super) fn on(found: HashMap<RecordName, SeenRecord>) -> Self {
        Self {
            found,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.forgotten.is_empty()
    }

    pub(super) fn conflict(&self, expect: Expect, name: &RecordName) -> Option<RecordKey> {
        let revision = self.found.get(name).map(|seen| seen.revision);
        (!holds(expect, revision)).then(|| RecordKey::Record(name.clone()))
    }

    pub(super) fn put(&mut self, put: &'a RecordPut, receipt: &Receipt) {
        let before = self.found.get(&put.name).map_or(0, |seen| seen.revision);
        let seen = SeenRecord {
            revision: before + 1,
            expires_at: put.expires_at,
        };
        self.found.insert(put.name.clone(), seen);
        self.changes
            .insert(&put.name, Some((seen, text_of(&put.body, receipt))));
    }

    pub(super) fn delete(&mut self, name: &'a RecordName) {
        self.found.remove(name);
        self.changes.insert(name, None);
    }

    pub(super) fn forget(&mut self, kind: RecordKind, until: i64) {
        self.found
            .retain(|name, seen| name.kind != kind || !seen.is_over(until));
        for (_, change) in self.changes.iter_mut().filter(|(n, _)| n.kind == kind) {
            if change.as_ref().is_some_and(|(seen, _)| seen.is_over(until)) {
                *change = None;
            }
        }
        let furthest = self.forgotten.entry(kind).or_insert(until);
        *furthest = until.max(*furthest);
    }
}

/// The record writes as one array per column.
#[derive(Debug, Default)]
pub(super) struct RecordColumns<'a> {
    forgotten: (Vec<&'a str>, Vec<i64>),
    deleted: (Vec<&'a str>, Vec<&'a str>),
    kind: Vec<&'a str>,
    id: Vec<&'a str>,
    revision: Vec<i64>,
    expires_at: Vec<Option<i64>>,
    body: Vec<&'a str>,
}

impl<'a> RecordColumns<'a> {
    pub(super) fn of(plan: &'a RecordPlan<'_>) -> Self {
        let mut all = Self {
            forgotten: plan.forgotten.iter().map(|(k, t)| (k.as_str(), *t)).unzip(),
            ..Self::default()
        };
        for (name, change) in &plan.changes {
            let (kind, id) = (name.kind.as_str(), name.id.as_str());
            let Some((seen, body)) = change else {
                all.deleted.0.push(kind);
                all.deleted.1.push(id);
                continue;
            };
            all.kind.push(kind);
            all.id.push(id);
            all.revision.push(seen.revision);
            all.expires_at.push(seen.expires_at);
            all.body.push(body);
        }
        all
    }

    pub(super) fn forgets(&self) -> bool {
        !self.forgotten.0.is_empty()
    }

    pub(super) fn deletes(&self) -> bool {
        !self.deleted.0.is_empty()
    }

    pub(super) fn puts(&self) -> bool {
        !self.id.is_empty()
    }

    pub(super) fn forgotten(&self) -> [Parameter<'_>; 2] {
        [&self.forgotten.0, &self.forgotten.1]
    }

    pub(super) fn deleted(&self) -> [Parameter<'_>; 2] {
        [&self.deleted.0, &self.deleted.1]
    }

    pub(super) fn put(&self) -> [Parameter<'_>; 5] {
        [
            &self.kind,
            &self.id,
            &self.revision,
            &self.expires_at,
            &self.body,
        ]
    }
}

fn stored(row: &Row) -> Result<Stored, PortError> {
    Ok(Stored {
        id: column(row, 0)?,
        revision: column::<i64>(row, 1)?.unsigned_abs(),
        body: column(row, 2)?,
    })
}

pub(super) async fn one(pool: &Pool, name: &RecordName) -> Result<Option<Stored>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = $1 AND id = $2";
    let rows = pool.query(sql, &[&name.kind.as_str(), &name.id]).await?;
    rows.first().map(stored).transpose()
}

pub(super) async fn page(
    pool: &Pool,
    kind: RecordKind,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Stored>, PortError> {
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
    rows.iter().map(stored).collect()
}

/// Returns commands of all owners. The index is on exactly this expression and kind.
pub(super) async fn commands_of_all(
    pool: &Pool,
    after: &str,
    limit: u32,
) -> Result<Vec<Stored>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = 'command' AND substr(id, strpos(id, '/') + 1) > $1 \
               ORDER BY substr(id, strpos(id, '/') + 1), id LIMIT $2";
    let rows = pool.query(sql, &[&after, &i64::from(limit)]).await?;
    rows.iter().map(stored).collect()
}

/// Returns the records of a kind whose id is `OWNER/…`.
pub(super) async fn page_of(
    pool: &Pool,
    kind: RecordKind,
    owner: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Stored>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT $4";
    let (from, end) = ids_of(owner, after);
    let rows = pool
        .query(sql, &[&kind.as_str(), &from, &end, &i64::from(limit)])
        .await?;
    rows.iter().map(stored).collect()
}
