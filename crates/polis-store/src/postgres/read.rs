//! Read queries of the PostgreSQL store: tasks, comments, agents, workspaces, events and marks.

use polis_core::society::RunId;
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Event, Raw, Registered, TaskId, TaskRecord, TaskStatus, TaskType, Timestamp,
};
use polis_ops::PortError;
use polis_ops::port::{CandidateQuery, CommentQuery, EventQuery, StatusCounts, TaskQuery};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::connection::Parameter;
use super::error::damaged;
use super::plan::LOG_HEAD;
use super::pool::Pool;
use crate::prepared::TASK_NUMBER;
use crate::row::{SummaryRow, TaskRow, number, parse_ids};
use crate::sql::{self, Param, TASK_COLUMNS};

pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, PortError> {
    row.try_get(at).map_err(|e| damaged().because(e))
}

fn record(row: &Row) -> Result<TaskRecord, PortError> {
    TaskRow {
        id: column(row, 0)?,
        revision: column(row, 1)?,
        version: column(row, 2)?,
        status: column(row, 3)?,
        owner: column(row, 4)?,
        owner_role: column(row, 5)?,
        required_role: column(row, 6)?,
        task_type: column(row, 7)?,
        standing: column(row, 8)?,
        open_blockers: column(row, 9)?,
        lease_until: column(row, 10)?,
        blocked_by: column(row, 11)?,
        blocks: column(row, 12)?,
        created_at: column(row, 13)?,
        updated_at: column(row, 14)?,
        subject: column(row, 15)?,
        rest: column(row, 16)?,
        description: column(row, 17)?,
    }
    .record()
}

async fn records(
    pool: &Pool,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Result<Vec<TaskRecord>, PortError> {
    let rows = pool.query(sql, parameters).await?;
    rows.iter().map(record).collect()
}

fn numbers(ids: &[TaskId]) -> Result<Vec<i64>, PortError> {
    ids.iter().map(|id| number(id.number())).collect()
}

pub(super) async fn tasks(pool: &Pool, ids: &[TaskId]) -> Result<Vec<TaskRecord>, PortError> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id = ANY($1::bigint[]) ORDER BY id");
    records(pool, &sql, &[&numbers(ids)?]).await
}

pub(super) async fn scan(
    pool: &Pool,
    after: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskRecord>, PortError> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id > $1 ORDER BY id LIMIT $2");
    let after = number(after.map_or(0, TaskId::number))?;
    records(pool, &sql, &[&after, &i64::from(limit)]).await
}

pub(super) async fn list(pool: &Pool, query: &TaskQuery) -> Result<Vec<TaskSummary>, PortError> {
    summaries(pool, &sql::list(query, &sql::POSTGRES)).await
}

pub(super) async fn held(pool: &Pool, limit: u32) -> Result<Vec<TaskSummary>, PortError> {
    summaries(pool, &sql::held(limit)).await
}

async fn summaries(pool: &Pool, query: &sql::Query) -> Result<Vec<TaskSummary>, PortError> {
    let rows = pool.query(&query.text, &parameters(query)).await?;
    rows.iter()
        .map(|row| {
            SummaryRow {
                id: column(row, 0)?,
                version: column(row, 1)?,
                status: column(row, 2)?,
                owner: column(row, 3)?,
                required_role: column(row, 4)?,
                task_type: column(row, 5)?,
                open_blockers: column(row, 6)?,
                lease_until: column(row, 7)?,
                blocked_by: column(row, 8)?,
                created_at: column(row, 9)?,
                updated_at: column(row, 10)?,
                subject: column(row, 11)?,
            }
            .summary()
        })
        .collect()
}

pub(super) async fn candidates(
    pool: &Pool,
    query: &CandidateQuery,
) -> Result<Vec<TaskRecord>, PortError> {
    let (roles, types): (Vec<&str>, Vec<&str>) = sql::groups(query).into_iter().unzip();
    let free = format!(
        "SELECT t.* FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (required, kind, place) \
         CROSS JOIN LATERAL (SELECT {TASK_COLUMNS} FROM tasks WHERE free = 1 \
         AND required_role = g.required AND task_type = g.kind AND id <> ALL($4) ORDER BY standing DESC, id LIMIT $3) AS t \
         ORDER BY g.place, t.standing DESC, t.id"
    );
    let (assigned_to, stale_for) = (sql::assigned_to(), sql::stale_for());
    let most = i64::from(query.per_group);
    let of_assigned: [Parameter<'_>; 2] = [&query.agent, &most];
    let of_stale: [Parameter<'_>; 4] = [&query.now, &query.role, &query.agent, &most];
    let skip = numbers(&query.skip.iter().copied().collect::<Vec<_>>())?;
    let of_free: [Parameter<'_>; 4] = [&roles, &types, &most, &skip];
    let (assigned, stale, free) = tokio::join!(
        records(pool, &assigned_to, &of_assigned),
        records(pool, &stale_for, &of_stale),
        records(pool, &free, &of_free),
    );
    let mut found = assigned?;
    found.extend(stale?);
    found.extend(free?);
    Ok(found)
}

pub(super) async fn blocks_of(
    pool: &Pool,
    ids: &[TaskId],
) -> Result<Vec<(TaskId, Vec<TaskId>)>, PortError> {
    let sql = "SELECT g.place, t.id, t.blocks FROM unnest($1::bigint[]) WITH ORDINALITY AS g (id, place) \
               CROSS JOIN LATERAL (SELECT id, blocks FROM tasks WHERE tasks.id = g.id AND status <> 'deleted') AS t ORDER BY g.place";
    let rows = pool.query(sql, &[&numbers(ids)?]).await?;
    rows.iter()
        .map(|row| {
            let id: i64 = column(row, 1)?;
            Ok((crate::row::task_id(id)?, parse_ids(column(row, 2)?, id)?))
        })
        .collect()
}

pub(super) async fn comments(pool: &Pool, query: &CommentQuery) -> Result<Vec<Comment>, PortError> {
    let asked = sql::comments(query);
    let mut found = bodies(pool, &asked.text, &parameters(&asked)).await?;
    if query.newest {
        found.reverse();
    }
    Ok(found)
}

async fn bodies<T: DeserializeOwned>(
    pool: &Pool,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Result<Vec<T>, PortError> {
    let rows = pool.query(sql, parameters).await?;
    rows.iter().map(|row| parsed(column(row, 0)?)).collect()
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, PortError> {
    serde_json::from_str(text).map_err(|e| damaged().because(e))
}

pub(super) async fn completed_types(
    pool: &Pool,
    owner: &str,
    limit: u32,
) -> Result<Vec<Option<TaskType>>, PortError> {
    let rows = pool
        .query(sql::COMPLETED_TYPES, &[&owner, &i64::from(limit)])
        .await?;
    rows.iter()
        .map(|row| Ok(TaskType::from_name(column(row, 0)?)))
        .collect()
}

pub(super) async fn last_task_number(pool: &Pool) -> Result<u64, PortError> {
    let sql = "SELECT greatest((SELECT max(id) FROM tasks), (SELECT value FROM marks WHERE name = $1), 0)";
    one(pool, sql, &[&TASK_NUMBER]).await
}

/// Returns the value of a mark, 0 if it was never set.
pub(super) async fn mark(pool: &Pool, name: &str) -> Result<u64, PortError> {
    one(pool, "SELECT value FROM marks WHERE name = $1", &[&name]).await
}

/// Returns the server's time, in milliseconds since 1970.
pub(super) async fn server_millis(pool: &Pool) -> Result<i64, PortError> {
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let rows = pool.query(sql, &[]).await?;
    rows.first().map_or(Ok(0), |row| column(row, 0))
}

/// Returns the sequence number of the newest event.
pub(super) async fn last_sequence(pool: &Pool) -> Result<u64, PortError> {
    mark(pool, LOG_HEAD).await
}

async fn one(pool: &Pool, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64, PortError> {
    let rows = pool.query(sql, parameters).await?;
    let value: i64 = rows.first().map_or(Ok(0), |row| column(row, 0))?;
    Ok(value.unsigned_abs())
}

pub(super) fn parameters(query: &sql::Query) -> Vec<Parameter<'_>> {
    let params = query.params.iter();
    params
        .map(|param| -> Parameter<'_> {
            match param {
                Param::Int(n) => n,
                Param::Text(text) => text,
            }
        })
        .collect()
}

pub(super) async fn count_list(pool: &Pool, query: &TaskQuery) -> Result<u64, PortError> {
    let query = sql::count_of_list(query, &sql::POSTGRES);
    let rows = pool.query(&query.text, &parameters(&query)).await?;
    let row = rows.first().ok_or_else(damaged)?;
    Ok(column::<i64>(row, 0)?.unsigned_abs())
}

pub(super) async fn loads(pool: &Pool) -> Result<Vec<(String, u64)>, PortError> {
    let rows = pool.query(sql::LOADS, &[]).await?;
    let load = |row| Ok((column(row, 0)?, column::<i64>(row, 1)?.unsigned_abs()));
    rows.iter().map(load).collect()
}

pub(super) async fn count(pool: &Pool) -> Result<StatusCounts, PortError> {
    let rows = pool
        .query("SELECT status, count(*) FROM tasks GROUP BY status", &[])
        .await?;
    let mut counts = StatusCounts::default();
    for row in &rows {
        let n = column::<i64>(row, 1)?.unsigned_abs();
        match TaskStatus::from_name(column(row, 0)?).ok_or_else(damaged)? {
            TaskStatus::Pending => counts.pending = n,
            TaskStatus::InProgress => counts.in_progress = n,
            TaskStatus::Completed => counts.completed = n,
            TaskStatus::Deleted => counts.deleted = n,
        }
    }
    Ok(counts)
}

/// Returns the record with this id and its revision.
async fn body_of<T: DeserializeOwned>(
    pool: &Pool,
    sql: &str,
    id: &AgentId,
) -> Result<Option<(T, u64)>, PortError> {
    let rows = pool.query(sql, &[&id.as_str()]).await?;
    rows.first()
        .map(|row| {
            Ok((
                parsed(column(row, 0)?)?,
                column::<i64>(row, 1)?.unsigned_abs(),
            ))
        })
        .transpose()
}

pub(super) async fn agent(pool: &Pool, id: &AgentId) -> Result<Option<Registered>, PortError> {
    let sql = "SELECT body, revision FROM agents WHERE id = $1";
    let found = body_of(pool, sql, id).await?;
    Ok(found.map(|(agent, revision)| Registered { agent, revision }))
}

pub(super) async fn workspace(
    pool: &Pool,
    id: &AgentId,
) -> Result<Option<AssignedWorkspace>, PortError> {
    let sql = "SELECT body, revision FROM workspaces WHERE id = $1";
    let found = body_of(pool, sql, id).await?;
    Ok(found.map(|(workspace, revision)| AssignedWorkspace {
        workspace,
        revision,
    }))
}

pub(super) async fn workspaces(pool: &Pool) -> Result<Vec<Workspace>, PortError> {
    bodies(pool, "SELECT body FROM workspaces ORDER BY id", &[]).await
}

pub(super) async fn agents(pool: &Pool) -> Result<Vec<Agent>, PortError> {
    bodies(pool, "SELECT body FROM agents ORDER BY id", &[]).await
}

pub(super) async fn named(pool: &Pool, ids: &[AgentId]) -> Result<Vec<Agent>, PortError> {
    let ids: Vec<&str> = ids.iter().map(AgentId::as_str).collect();
    let sql = "SELECT body FROM agents WHERE id = ANY($1::text[]) ORDER BY id";
    bodies(pool, sql, &[&ids]).await
}

pub(super) async fn agents_of_run(
    pool: &Pool,
    run: Option<&RunId>,
    role: Option<&str>,
) -> Result<Vec<Agent>, PortError> {
    let run = run.map_or("", RunId::as_str);
    match role {
        None => {
            let sql = "SELECT body FROM agents WHERE run = $1 ORDER BY id";
            bodies(pool, sql, &[&run]).await
        }
        Some(role) => {
            let sql = "SELECT body FROM agents WHERE run = $1 AND role = $2 ORDER BY id";
            bodies(pool, sql, &[&run, &role]).await
        }
    }
}

pub(super) async fn events(pool: &Pool, query: &EventQuery) -> Result<Vec<Event>, PortError> {
    let asked = sql::events(query);
    let mut rows = pool.query(&asked.text, &parameters(&asked)).await?;
    if query.newest {
        rows.reverse();
    }
    rows.iter()
        .map(|row| {
            Ok(Event {
                seq: column::<i64>(row, 0)?.unsigned_abs(),
                at: Timestamp::from_stored(column::<String>(row, 1)?),
                actor: column(row, 2)?,
                kind: column(row, 3)?,
                subject: column(row, 4)?,
                data: Raw::parse(column(row, 5)?).map_err(|e| damaged().because(e))?,
            })
        })
        .collect()
}
