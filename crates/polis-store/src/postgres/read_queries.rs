//! Read queries of the PostgreSQL store: tasks, comments, agents, workspaces, events, marks and the server's
//! time.

use polis_core::society::RunId;
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::workspace_record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Event, RawJson, RegisteredAgent, TaskId, TaskRecord, TaskStatus, TaskType,
    Timestamp,
};
use polis_ops::PortError;
use polis_ops::port::{CandidateQuery, CommentQuery, EventLogQuery, StatusCounts, TaskQuery};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::batch_plan::LOG_HEAD_MARK;
use super::connection::PgParam;
use super::error::damaged_row_error;
use super::pool::ReadPool;
use crate::prepared_changeset::TASK_NUMBER_MARK;
use crate::sql::{self, SqlParam, TASK_COLUMNS};
use crate::task_row::{TaskRow, TaskSummaryRow, parse_task_ids, to_i64};

pub(super) fn read_column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, PortError> {
    row.try_get(at)
        .map_err(|e| damaged_row_error().with_source(e))
}

fn parse_task_record(row: &Row) -> Result<TaskRecord, PortError> {
    TaskRow {
        id: read_column(row, 0)?,
        revision: read_column(row, 1)?,
        version: read_column(row, 2)?,
        status: read_column(row, 3)?,
        owner: read_column(row, 4)?,
        owner_role: read_column(row, 5)?,
        required_role: read_column(row, 6)?,
        task_type: read_column(row, 7)?,
        priority: read_column(row, 8)?,
        standing: read_column(row, 9)?,
        open_blockers: read_column(row, 10)?,
        lease_until: read_column(row, 11)?,
        blocked_by: read_column(row, 12)?,
        blocks: read_column(row, 13)?,
        created_at: read_column(row, 14)?,
        updated_at: read_column(row, 15)?,
        subject: read_column(row, 16)?,
        rest: read_column(row, 17)?,
        description: read_column(row, 18)?,
    }
    .into_record()
}

async fn select_task_records(
    pool: &ReadPool,
    sql: &str,
    parameters: &[PgParam<'_>],
) -> Result<Vec<TaskRecord>, PortError> {
    let rows = pool.query(sql, parameters).await?;
    rows.iter().map(parse_task_record).collect()
}

fn task_numbers(ids: &[TaskId]) -> Result<Vec<i64>, PortError> {
    ids.iter().map(|id| to_i64(id.number())).collect()
}

pub(super) async fn select_tasks_by_id(
    pool: &ReadPool,
    ids: &[TaskId],
) -> Result<Vec<TaskRecord>, PortError> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id = ANY($1::bigint[]) ORDER BY id");
    select_task_records(pool, &sql, &[&task_numbers(ids)?]).await
}

pub(super) async fn scan_tasks(
    pool: &ReadPool,
    after: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskRecord>, PortError> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id > $1 ORDER BY id LIMIT $2");
    let after = to_i64(after.map_or(0, TaskId::number))?;
    select_task_records(pool, &sql, &[&after, &i64::from(limit)]).await
}

pub(super) async fn select_task_list(
    pool: &ReadPool,
    query: &TaskQuery,
) -> Result<Vec<TaskSummary>, PortError> {
    select_summaries(pool, &sql::task_list_query(query, &sql::POSTGRES_DIALECT)).await
}

pub(super) async fn select_held_tasks(
    pool: &ReadPool,
    limit: u32,
) -> Result<Vec<TaskSummary>, PortError> {
    select_summaries(pool, &sql::held_tasks_query(limit)).await
}

async fn select_summaries(
    pool: &ReadPool,
    query: &sql::SqlQuery,
) -> Result<Vec<TaskSummary>, PortError> {
    let rows = pool.query(&query.text, &query_params(query)).await?;
    rows.iter()
        .map(|row| {
            TaskSummaryRow {
                id: read_column(row, 0)?,
                version: read_column(row, 1)?,
                status: read_column(row, 2)?,
                owner: read_column(row, 3)?,
                required_role: read_column(row, 4)?,
                task_type: read_column(row, 5)?,
                priority: read_column(row, 6)?,
                open_blockers: read_column(row, 7)?,
                lease_until: read_column(row, 8)?,
                blocked_by: read_column(row, 9)?,
                created_at: read_column(row, 10)?,
                updated_at: read_column(row, 11)?,
                subject: read_column(row, 12)?,
            }
            .into_summary()
        })
        .collect()
}

pub(super) async fn select_candidates(
    pool: &ReadPool,
    query: &CandidateQuery,
) -> Result<Vec<TaskRecord>, PortError> {
    let (roles, types): (Vec<&str>, Vec<&str>) = sql::candidate_groups(query).into_iter().unzip();
    let free = format!(
        "SELECT t.* FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (required, kind, place) \
         CROSS JOIN LATERAL (SELECT {TASK_COLUMNS} FROM tasks WHERE free = 1 \
         AND required_role = g.required AND task_type = g.kind AND id <> ALL($4) ORDER BY standing DESC, id LIMIT $3) AS t \
         ORDER BY g.place, t.standing DESC, t.id"
    );
    let (assigned_to, stale_for) = (sql::assigned_tasks_sql(), sql::stale_tasks_sql());
    let limit = i64::from(query.per_group);
    let of_assigned: [PgParam<'_>; 2] = [&query.agent, &limit];
    let of_stale: [PgParam<'_>; 4] = [&query.now, &query.role, &query.agent, &limit];
    let skip = task_numbers(&query.skip.iter().copied().collect::<Vec<_>>())?;
    let of_free: [PgParam<'_>; 4] = [&roles, &types, &limit, &skip];
    let (assigned, stale, free) = tokio::join!(
        select_task_records(pool, &assigned_to, &of_assigned),
        select_task_records(pool, &stale_for, &of_stale),
        select_task_records(pool, &free, &of_free),
    );
    let mut found = assigned?;
    found.extend(stale?);
    found.extend(free?);
    Ok(found)
}

pub(super) async fn select_blocks(
    pool: &ReadPool,
    ids: &[TaskId],
) -> Result<Vec<(TaskId, Vec<TaskId>)>, PortError> {
    let sql = "SELECT g.place, t.id, t.blocks FROM unnest($1::bigint[]) WITH ORDINALITY AS g (id, place) \
               CROSS JOIN LATERAL (SELECT id, blocks FROM tasks WHERE tasks.id = g.id AND status <> 'deleted') AS t ORDER BY g.place";
    let rows = pool.query(sql, &[&task_numbers(ids)?]).await?;
    rows.iter()
        .map(|row| {
            let id: i64 = read_column(row, 1)?;
            Ok((
                crate::task_row::task_id_from_column(id)?,
                parse_task_ids(read_column(row, 2)?, id)?,
            ))
        })
        .collect()
}

pub(super) async fn select_comments(
    pool: &ReadPool,
    query: &CommentQuery,
) -> Result<Vec<Comment>, PortError> {
    let statement = sql::comment_list_query(query);
    let mut found = select_bodies(pool, &statement.text, &query_params(&statement)).await?;
    if query.newest {
        found.reverse();
    }
    Ok(found)
}

async fn select_bodies<T: DeserializeOwned>(
    pool: &ReadPool,
    sql: &str,
    parameters: &[PgParam<'_>],
) -> Result<Vec<T>, PortError> {
    let rows = pool.query(sql, parameters).await?;
    rows.iter()
        .map(|row| parse_body(read_column(row, 0)?))
        .collect()
}

fn parse_body<T: DeserializeOwned>(text: &str) -> Result<T, PortError> {
    serde_json::from_str(text).map_err(|e| damaged_row_error().with_source(e))
}

pub(super) async fn select_completed_types(
    pool: &ReadPool,
    owner: &str,
    limit: u32,
) -> Result<Vec<Option<TaskType>>, PortError> {
    let rows = pool
        .query(sql::SELECT_COMPLETED_TYPES, &[&owner, &i64::from(limit)])
        .await?;
    rows.iter()
        .map(|row| Ok(TaskType::from_name(read_column(row, 0)?)))
        .collect()
}

pub(super) async fn last_task_number(pool: &ReadPool) -> Result<u64, PortError> {
    let sql = "SELECT greatest((SELECT max(id) FROM tasks), (SELECT value FROM marks WHERE name = $1), 0)";
    select_number(pool, sql, &[&TASK_NUMBER_MARK]).await
}

/// Returns the value of a mark, 0 if it was never set.
pub(super) async fn read_mark(pool: &ReadPool, name: &str) -> Result<u64, PortError> {
    select_number(pool, "SELECT value FROM marks WHERE name = $1", &[&name]).await
}

/// Returns the server's time, in milliseconds since 1970.
pub(super) async fn server_millis(pool: &ReadPool) -> Result<i64, PortError> {
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let rows = pool.query(sql, &[]).await?;
    rows.first().map_or(Ok(0), |row| read_column(row, 0))
}

/// Returns the sequence number of the newest event.
pub(super) async fn last_sequence(pool: &ReadPool) -> Result<u64, PortError> {
    read_mark(pool, LOG_HEAD_MARK).await
}

async fn select_number(
    pool: &ReadPool,
    sql: &str,
    parameters: &[PgParam<'_>],
) -> Result<u64, PortError> {
    let rows = pool.query(sql, parameters).await?;
    let value: i64 = rows.first().map_or(Ok(0), |row| read_column(row, 0))?;
    Ok(value.unsigned_abs())
}

pub(super) fn query_params(query: &sql::SqlQuery) -> Vec<PgParam<'_>> {
    let params = query.params.iter();
    params
        .map(|param| -> PgParam<'_> {
            match param {
                SqlParam::Int(n) => n,
                SqlParam::Text(text) => text,
            }
        })
        .collect()
}

pub(super) async fn count_task_list(pool: &ReadPool, query: &TaskQuery) -> Result<u64, PortError> {
    let query = sql::task_count_query(query, &sql::POSTGRES_DIALECT);
    let rows = pool.query(&query.text, &query_params(&query)).await?;
    let row = rows.first().ok_or_else(damaged_row_error)?;
    Ok(read_column::<i64>(row, 0)?.unsigned_abs())
}

pub(super) async fn select_task_loads(pool: &ReadPool) -> Result<Vec<(String, u64)>, PortError> {
    let rows = pool.query(sql::SELECT_TASK_LOADS, &[]).await?;
    let load = |row| {
        Ok((
            read_column(row, 0)?,
            read_column::<i64>(row, 1)?.unsigned_abs(),
        ))
    };
    rows.iter().map(load).collect()
}

pub(super) async fn count_tasks_by_status(pool: &ReadPool) -> Result<StatusCounts, PortError> {
    let rows = pool
        .query("SELECT status, count(*) FROM tasks GROUP BY status", &[])
        .await?;
    let mut counts = StatusCounts::default();
    for row in &rows {
        let n = read_column::<i64>(row, 1)?.unsigned_abs();
        match TaskStatus::from_name(read_column(row, 0)?).ok_or_else(damaged_row_error)? {
            TaskStatus::Pending => counts.pending = n,
            TaskStatus::InProgress => counts.in_progress = n,
            TaskStatus::Completed => counts.completed = n,
            TaskStatus::Deleted => counts.deleted = n,
        }
    }
    Ok(counts)
}

/// Returns the record with this id and its revision.
async fn select_body<T: DeserializeOwned>(
    pool: &ReadPool,
    sql: &str,
    id: &AgentId,
) -> Result<Option<(T, u64)>, PortError> {
    let rows = pool.query(sql, &[&id.as_str()]).await?;
    rows.first()
        .map(|row| {
            Ok((
                parse_body(read_column(row, 0)?)?,
                read_column::<i64>(row, 1)?.unsigned_abs(),
            ))
        })
        .transpose()
}

pub(super) async fn select_agent(
    pool: &ReadPool,
    id: &AgentId,
) -> Result<Option<RegisteredAgent>, PortError> {
    let sql = "SELECT body, revision FROM agents WHERE id = $1";
    let found = select_body(pool, sql, id).await?;
    Ok(found.map(|(agent, revision)| RegisteredAgent { agent, revision }))
}

pub(super) async fn select_workspace(
    pool: &ReadPool,
    id: &AgentId,
) -> Result<Option<AssignedWorkspace>, PortError> {
    let sql = "SELECT body, revision FROM workspaces WHERE id = $1";
    let found = select_body(pool, sql, id).await?;
    Ok(found.map(|(workspace, revision)| AssignedWorkspace {
        workspace,
        revision,
    }))
}

pub(super) async fn select_workspaces(pool: &ReadPool) -> Result<Vec<Workspace>, PortError> {
    select_bodies(pool, "SELECT body FROM workspaces ORDER BY id", &[]).await
}

pub(super) async fn select_agents(pool: &ReadPool) -> Result<Vec<Agent>, PortError> {
    select_bodies(pool, "SELECT body FROM agents ORDER BY id", &[]).await
}

pub(super) async fn select_agents_by_id(
    pool: &ReadPool,
    ids: &[AgentId],
) -> Result<Vec<Agent>, PortError> {
    let ids: Vec<&str> = ids.iter().map(AgentId::as_str).collect();
    let sql = "SELECT body FROM agents WHERE id = ANY($1::text[]) ORDER BY id";
    select_bodies(pool, sql, &[&ids]).await
}

pub(super) async fn select_agents_of_run(
    pool: &ReadPool,
    run: Option<&RunId>,
    role: Option<&str>,
) -> Result<Vec<Agent>, PortError> {
    let run = run.map_or("", RunId::as_str);
    match role {
        None => {
            let sql = "SELECT body FROM agents WHERE run = $1 ORDER BY id";
            select_bodies(pool, sql, &[&run]).await
        }
        Some(role) => {
            let sql = "SELECT body FROM agents WHERE run = $1 AND role = $2 ORDER BY id";
            select_bodies(pool, sql, &[&run, &role]).await
        }
    }
}

pub(super) async fn select_events(
    pool: &ReadPool,
    query: &EventLogQuery,
) -> Result<Vec<Event>, PortError> {
    let statement = sql::event_list_query(query);
    let mut rows = pool
        .query(&statement.text, &query_params(&statement))
        .await?;
    if query.newest {
        rows.reverse();
    }
    rows.iter()
        .map(|row| {
            Ok(Event {
                seq: read_column::<i64>(row, 0)?.unsigned_abs(),
                at: Timestamp::from_stored(read_column::<String>(row, 1)?),
                actor: read_column(row, 2)?,
                kind: read_column(row, 3)?,
                subject: read_column(row, 4)?,
                data: RawJson::parse(read_column(row, 5)?)
                    .map_err(|e| damaged_row_error().with_source(e))?,
            })
        })
        .collect()
}
