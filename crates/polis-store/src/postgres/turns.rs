//! Conversations in PostgreSQL: plans which turns a batch of changesets appends, and reads the turns of a
//! member.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use polis_core::RecordKey;
use polis_core::changeset::Receipt;
use polis_core::society::MemberKey;
use polis_ops::PortError;
use polis_ops::port::StoredTurn;
use tokio_postgres::{Error, Row};

use super::connection::PgParam;
use super::pool::ReadPool;
use super::read_queries::read_column;
use crate::prepared_changeset::{TurnInsert, render_record_body};
use crate::task_row::clamp_to_i64;

/// Selects which of these turns exist.
pub(super) const SELECT_EXISTING_TURNS: &str = "SELECT n.place FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS n (member, turn, place) \
     JOIN turns AS t ON t.member = n.member AND t.turn = n.turn";
pub(super) const INSERT_TURNS: &str = "INSERT INTO turns (member, turn, body) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])";

/// Key of a turn: member and turn number.
pub(super) type TurnKey<'a> = (&'a str, i64);

/// Decodes the result of [`SELECT_EXISTING_TURNS`] for these keys, in this order.
pub(super) fn decode_existing_turns<'a>(
    names: &[TurnKey<'a>],
    rows: &[Row],
) -> Result<HashSet<TurnKey<'a>>, Error> {
    let mut found = HashSet::with_capacity(rows.len());
    for row in rows {
        let ordinal = usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or(0);
        found.extend(ordinal.checked_sub(1).and_then(|at| names.get(at)));
    }
    Ok(found)
}

/// The turns that a batch appends.
#[derive(Debug, Default)]
pub(super) struct TurnPlan<'a> {
    existing: HashSet<TurnKey<'a>>,
    appended: BTreeMap<TurnKey<'a>, Cow<'a, str>>,
}

impl<'a> TurnPlan<'a> {
    pub(super) fn new(existing: HashSet<TurnKey<'a>>) -> Self {
        Self {
            existing,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.appended.is_empty()
    }

    pub(super) fn find_conflict(&self, insert: &TurnInsert) -> Option<RecordKey> {
        let name = (insert.member.as_str(), insert.turn);
        let exists = self.existing.contains(&name) || self.appended.contains_key(&name);
        exists.then(|| insert.conflict_key())
    }

    pub(super) fn plan_append(&mut self, insert: &'a TurnInsert, receipt: &Receipt) {
        let body = render_record_body(&insert.body, receipt);
        self.appended
            .insert((insert.member.as_str(), insert.turn), body);
    }

    /// Returns the last of the appended turns.
    pub(super) fn last_appended(&self) -> Option<(TurnKey<'a>, &str)> {
        let (name, body) = self.appended.last_key_value()?;
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
    pub(super) fn from_plan(plan: &'a TurnPlan<'_>) -> Self {
        let mut all = Self::default();
        for ((member, turn), body) in &plan.appended {
            all.member.push(member);
            all.turn.push(*turn);
            all.body.push(body);
        }
        all
    }

    pub(super) fn as_params(&self) -> [PgParam<'_>; 3] {
        [&self.member, &self.turn, &self.body]
    }
}

fn parse_stored_turn(row: &Row) -> Result<StoredTurn, PortError> {
    Ok(StoredTurn {
        turn: read_column::<i64>(row, 0)?.unsigned_abs(),
        body: read_column(row, 1)?,
    })
}

pub(super) async fn select_turns_from(
    pool: &ReadPool,
    member: &MemberKey,
    from: u64,
    limit: u32,
) -> Result<Vec<StoredTurn>, PortError> {
    let sql =
        "SELECT turn, body FROM turns WHERE member = $1 AND turn >= $2 ORDER BY turn LIMIT $3";
    let rows = pool
        .query(
            sql,
            &[&member.to_string(), &clamp_to_i64(from), &i64::from(limit)],
        )
        .await?;
    rows.iter().map(parse_stored_turn).collect()
}

pub(super) async fn select_last_turns(
    pool: &ReadPool,
    member: &MemberKey,
    limit: u32,
) -> Result<Vec<StoredTurn>, PortError> {
    let sql = "SELECT turn, body FROM turns WHERE member = $1 ORDER BY turn DESC LIMIT $2";
    let rows = pool
        .query(sql, &[&member.to_string(), &i64::from(limit)])
        .await?;
    rows.iter().rev().map(parse_stored_turn).collect()
}
