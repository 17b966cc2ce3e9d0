//! Conversations: plans the turns that a batch appends, and reads them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use polis_core::RecordKey;
use polis_core::changeset::Receipt;
use polis_core::society::MemberKey;
use polis_ops::PortError;
use polis_ops::port::StoredTurn;
use tokio_postgres::{Error, Row};

use super::connection::Parameter;
use super::pool::Pool;
use super::read::column;
use crate::prepared::{TurnPut, text_of};
use crate::row::bound;

/// Selects which of these turns exist.
pub(super) const TURNS: &str = "SELECT n.place FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS n (member, turn, place) \
     JOIN turns AS t ON t.member = n.member AND t.turn = n.turn";
pub(super) const INSERT_TURNS: &str = "INSERT INTO turns (member, turn, body) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])";

/// Key of a turn: member and turn number.
pub(super) type TurnName<'a> = (&'a str, i64);

/// Decodes the result of [`TURNS`] for these keys, in this order.
pub(super) fn found<'a>(
    names: &[TurnName<'a>],
    rows: &[Row],
) -> Result<HashSet<TurnName<'a>>, Error> {
    let mut found = HashSet::with_capacity(rows.len());
    for row in rows {
        let place = usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or(0);
        found.extend(place.checked_sub(1).and_then(|at| names.get(at)));
    }
    Ok(found)
}

/// The turns that a batch appends.
#[derive(Debug, Default)]
pub(super) struct TurnPlan<'a> {
    found: HashSet<TurnName<'a>>,
    added: BTreeMap<TurnName<'a>, Cow<'a, str>>,
}

impl<'a> TurnPlan<'a> {
    pub(super) fn on(found: HashSet<TurnName<'a>>) -> Self {
        Self {
            found,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty()
    }

    pub(super) fn conflict(&self, put: &TurnPut) -> Option<RecordKey> {
        let name = (put.member.as_str(), put.turn);
        let there = self.found.contains(&name) || self.added.contains_key(&name);
        there.then(|| put.key())
    }

    pub(super) fn append(&mut self, put: &'a TurnPut, receipt: &Receipt) {
        let body = text_of(&put.body, receipt);
        self.added.insert((put.member.as_str(), put.turn), body);
    }

    /// Returns the last of the appended turns.
    pub(super) fn last(&self) -> Option<(TurnName<'a>, &str)> {
        let (name, body) = self.added.last_key_value()?;
        Some((*name, body))
    }
}

/// The appended turns as one array per column.
#[derive(Debug, Default)]
pub(super) struct TurnColumns<'a> {
    member: Vec<&'a str>,
    turn: Vec<i64>,
    body: Vec<&'a str>,
}

impl<'a> TurnColumns<'a> {
    pub(super) fn of(plan: &'a TurnPlan<'_>) -> Self {
        let mut all = Self::default();
        for ((member, turn), body) in &plan.added {
            all.member.push(member);
            all.turn.push(*turn);
            all.body.push(body);
        }
        all
    }

    pub(super) fn all(&self) -> [Parameter<'_>; 3] {
        [&self.member, &self.turn, &self.body]
    }
}

fn stored(row: &Row) -> Result<StoredTurn, PortError> {
    Ok(StoredTurn {
        turn: column::<i64>(row, 0)?.unsigned_abs(),
        body: column(row, 1)?,
    })
}

pub(super) async fn from(
    pool: &Pool,
    member: &MemberKey,
    from: u64,
    limit: u32,
) -> Result<Vec<StoredTurn>, PortError> {
    let sql =
        "SELECT turn, body FROM turns WHERE member = $1 AND turn >= $2 ORDER BY turn LIMIT $3";
    let rows = pool
        .query(sql, &[&member.to_string(), &bound(from), &i64::from(limit)])
        .await?;
    rows.iter().map(stored).collect()
}

pub(super) async fn last(
    pool: &Pool,
    member: &MemberKey,
    limit: u32,
) -> Result<Vec<StoredTurn>, PortError> {
    let sql = "SELECT turn, body FROM turns WHERE member = $1 ORDER BY turn DESC LIMIT $2";
    let rows = pool
        .query(sql, &[&member.to_string(), &i64::from(limit)])
        .await?;
    rows.iter().rev().map(stored).collect()
}
