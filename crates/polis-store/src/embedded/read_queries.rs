//! Read queries of the embedded (SQLite) store: tasks, comments, agents, workspaces, events, and the integrity
//! check.

use polis_core::number::saturating_cast;
use polis_core::society::RunId;
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::workspace_record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Event, RawJson, RegisteredAgent, TaskId, TaskRecord, TaskStatus, TaskType,
    Timestamp,
};
use polis_ops::PortError;
use polis_ops::port::{CandidateQuery, CommentQuery, EventLogQuery, StatusCounts, TaskQuery};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, ToSql, params, params_from_iter};

use super::error::from_sqlite;
use crate::sql::{self, SqlParam, TASK_COLUMNS};
use crate::store_failure::StoreFailure;
use crate::task_row::{TaskRow, TaskSummaryRow, parse_task_ids, to_i64};

impl ToSql for SqlParam {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Int(n) => n.to_sql(),
            Self::Text(text) => text.to_sql(),
        }
    }
}

fn read_task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: row.get(0)?,
        revision: row.get(1)?,
        version: row.get(2)?,
        status: row.get(3)?,
        owner: row.get(4)?,
        owner_role: row.get(5)?,
        required_role: row.get(6)?,
        task_type: row.get(7)?,
        priority: row.get(8)?,
        standing: row.get(9)?,
        open_blockers: row.get(10)?,
        lease_until: row.get(11)?,
        blocked_by: row.get(12)?,
        blocks: row.get(13)?,
        created_at: row.get(14)?,
        updated_at: row.get(15)?,
        subject: row.get(16)?,
        rest: row.get(17)?,
        description: row.get(18)?,
    })
}

fn select_task_records(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<TaskRecord>, PortError> {
    query_rows(connection, sql, params, read_task_row)?
        .into_iter()
        .map(TaskRow::into_record)
        .collect()
}

pub(super) fn query_rows<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, PortError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut select| select.query_map(params, read)?.collect())
        .map_err(from_sqlite)
}

pub(super) fn select_tasks_by_id(
    connection: &Connection,
    ids: &[TaskId],
) -> Result<Vec<TaskRecord>, PortError> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id = ?");
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(select_task_records(
            connection,
            &sql,
            [to_i64(id.number())?],
        )?);
    }
    Ok(found)
}

pub(super) fn scan_tasks(
    connection: &Connection,
    after: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskRecord>, PortError> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id > ? ORDER BY id LIMIT ?");
    select_task_records(
        connection,
        &sql,
        params![to_i64(after.map_or(0, TaskId::number))?, limit],
    )
}

pub(super) fn select_task_list(
    connection: &Connection,
    query: &TaskQuery,
) -> Result<Vec<TaskSummary>, PortError> {
    select_summaries(
        connection,
        &sql::task_list_query(query, &sql::SQLITE_DIALECT),
    )
}

pub(super) fn select_held_tasks(
    connection: &Connection,
    limit: u32,
) -> Result<Vec<TaskSummary>, PortError> {
    select_summaries(connection, &sql::held_tasks_query(limit))
}

fn select_summaries(
    connection: &Connection,
    query: &sql::SqlQuery,
) -> Result<Vec<TaskSummary>, PortError> {
    let read = |row: &Row<'_>| {
        Ok(TaskSummaryRow {
            id: row.get(0)?,
            version: row.get(1)?,
            status: row.get(2)?,
            owner: row.get(3)?,
            required_role: row.get(4)?,
            task_type: row.get(5)?,
            priority: row.get(6)?,
            open_blockers: row.get(7)?,
            lease_until: row.get(8)?,
            blocked_by: row.get(9)?,
            created_at: row.get(10)?,
            updated_at: row.get(11)?,
            subject: row.get(12)?,
        })
    };
    query_rows(
        connection,
        &query.text,
        params_from_iter(&query.params),
        read,
    )?
    .into_iter()
    .map(TaskSummaryRow::into_summary)
    .collect()
}

pub(super) fn select_candidates(
    connection: &Connection,
    query: &CandidateQuery,
) -> Result<Vec<TaskRecord>, PortError> {
    let mut found = select_task_records(
        connection,
        &sql::assigned_tasks_sql(),
        params![query.agent, query.per_group],
    )?;
    found.extend(select_task_records(
        connection,
        &sql::stale_tasks_sql(),
        params![query.now, query.role, query.agent, query.per_group],
    )?);
    let free = sql::free_tasks_sql();
    let limit = saturating_cast::<usize>(query.per_group);
    let fetched = limit.saturating_add(query.skip.len());
    let fetched = saturating_cast::<i64>(fetched);
    let mut select = connection.prepare_cached(&free).map_err(from_sqlite)?;
    for (required, task_type) in sql::candidate_groups(query) {
        let mut rows = select
            .query(params![required, task_type, fetched])
            .map_err(from_sqlite)?;
        let mut count = 0;
        // Skipped rows are stepped over without decoding them.
        while count < limit
            && let Some(row) = rows.next().map_err(from_sqlite)?
        {
            let id: i64 = row.get(0).map_err(from_sqlite)?;
            if query
                .skip
                .contains(&crate::task_row::task_id_from_column(id)?)
            {
                continue;
            }
            count += 1;
            found.push(read_task_row(row).map_err(from_sqlite)?.into_record()?);
        }
    }
    Ok(found)
}

pub(super) fn select_blocks(
    connection: &Connection,
    ids: &[TaskId],
) -> Result<Vec<(TaskId, Vec<TaskId>)>, PortError> {
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let column = to_i64(id.number())?;
        for blocks in query_rows(
            connection,
            "SELECT blocks FROM tasks WHERE id = ? AND status <> 'deleted'",
            [column],
            |row| row.get::<_, String>(0),
        )? {
            all.push((*id, parse_task_ids(&blocks, column)?));
        }
    }
    Ok(all)
}

pub(super) fn select_comments(
    connection: &Connection,
    query: &CommentQuery,
) -> Result<Vec<Comment>, PortError> {
    let statement = sql::comment_list_query(query);
    let mut found = select_bodies(
        connection,
        &statement.text,
        params_from_iter(&statement.params),
    )?;
    if query.newest {
        found.reverse();
    }
    Ok(found)
}

fn select_bodies<T: serde::de::DeserializeOwned>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<T>, PortError> {
    let texts = query_rows(connection, sql, params, |row| row.get::<_, String>(0))?;
    texts
        .iter()
        .map(|text| serde_json::from_str(text).map_err(|e| damaged_row_error().with_source(e)))
        .collect()
}

pub(super) fn select_completed_types(
    connection: &Connection,
    owner: &str,
    limit: u32,
) -> Result<Vec<Option<TaskType>>, PortError> {
    let names = query_rows(
        connection,
        sql::SELECT_COMPLETED_TYPES,
        params![owner, limit],
        |row| row.get::<_, String>(0),
    )?;
    Ok(names.iter().map(|name| TaskType::from_name(name)).collect())
}

pub(super) fn count_task_list(
    connection: &Connection,
    query: &TaskQuery,
) -> Result<u64, PortError> {
    let query = sql::task_count_query(query, &sql::SQLITE_DIALECT);
    let params = params_from_iter(&query.params);
    let counted = query_rows(connection, &query.text, params, |row| row.get::<_, i64>(0))?;
    Ok(counted.first().map_or(0, |n| n.unsigned_abs()))
}

pub(super) fn select_task_loads(connection: &Connection) -> Result<Vec<(String, u64)>, PortError> {
    query_rows(connection, sql::SELECT_TASK_LOADS, [], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
    })
}

pub(super) fn count_tasks_by_status(connection: &Connection) -> Result<StatusCounts, PortError> {
    let sql = "SELECT status, count(*) FROM tasks GROUP BY status";
    let counts = query_rows(connection, sql, [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    })?;
    let count_of = |status: TaskStatus| {
        counts
            .iter()
            .find(|(name, _)| name == status.as_str())
            .map_or(0, |(_, n)| n.unsigned_abs())
    };
    Ok(StatusCounts {
        pending: count_of(TaskStatus::Pending),
        in_progress: count_of(TaskStatus::InProgress),
        completed: count_of(TaskStatus::Completed),
        deleted: count_of(TaskStatus::Deleted),
    })
}

/// Returns the record with this id and its revision.
fn select_body<T: serde::de::DeserializeOwned>(
    connection: &Connection,
    sql: &str,
    id: &AgentId,
) -> Result<Option<(T, u64)>, PortError> {
    let found: Option<(String, i64)> = connection
        .prepare_cached(sql)
        .and_then(|mut select| {
            select
                .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })
        .map_err(from_sqlite)?;
    let Some((body, revision)) = found else {
        return Ok(None);
    };
    let record = serde_json::from_str(&body).map_err(|e| damaged_row_error().with_source(e))?;
    Ok(Some((record, revision.unsigned_abs())))
}

pub(super) fn select_agent(
    connection: &Connection,
    id: &AgentId,
) -> Result<Option<RegisteredAgent>, PortError> {
    let sql = "SELECT body, revision FROM agents WHERE id = ?";
    let found = select_body(connection, sql, id)?;
    Ok(found.map(|(agent, revision)| RegisteredAgent { agent, revision }))
}

pub(super) fn select_workspace(
    connection: &Connection,
    id: &AgentId,
) -> Result<Option<AssignedWorkspace>, PortError> {
    let sql = "SELECT body, revision FROM workspaces WHERE id = ?";
    let found = select_body(connection, sql, id)?;
    Ok(found.map(|(workspace, revision)| AssignedWorkspace {
        workspace,
        revision,
    }))
}

pub(super) fn select_workspaces(connection: &Connection) -> Result<Vec<Workspace>, PortError> {
    select_bodies(connection, "SELECT body FROM workspaces ORDER BY id", [])
}

pub(super) fn select_agents(connection: &Connection) -> Result<Vec<Agent>, PortError> {
    select_bodies(connection, "SELECT body FROM agents ORDER BY id", [])
}

pub(super) fn select_agents_by_id(
    connection: &Connection,
    ids: &[AgentId],
) -> Result<Vec<Agent>, PortError> {
    let mut ids: Vec<&str> = ids.iter().map(AgentId::as_str).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(select_bodies(
            connection,
            "SELECT body FROM agents WHERE id = ?",
            [id],
        )?);
    }
    Ok(found)
}

pub(super) fn select_agents_of_run(
    connection: &Connection,
    run: Option<&RunId>,
    role: Option<&str>,
) -> Result<Vec<Agent>, PortError> {
    let run = run.map_or("", RunId::as_str);
    match role {
        None => {
            let sql = "SELECT body FROM agents WHERE run = ? ORDER BY id";
            select_bodies(connection, sql, [run])
        }
        Some(role) => {
            let sql = "SELECT body FROM agents WHERE run = ? AND role = ? ORDER BY id";
            select_bodies(connection, sql, [run, role])
        }
    }
}

pub(super) fn select_events(
    connection: &Connection,
    query: &EventLogQuery,
) -> Result<Vec<Event>, PortError> {
    let read = |row: &Row<'_>| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, String>(3)?,
            row.get::<_, String>(4)?,
            row.get::<_, String>(5)?,
        ))
    };
    let newest = query.newest;
    let query = sql::event_list_query(query);
    let parameters = params_from_iter(&query.params);
    let mut found = query_rows(connection, &query.text, parameters, read)?;
    if newest {
        found.reverse();
    }
    found
        .into_iter()
        .map(|(seq, at, actor, kind, subject, data)| {
            let data = RawJson::parse(&data).map_err(|e| damaged_row_error().with_source(e))?;
            Ok(Event {
                seq: seq.unsigned_abs(),
                at: Timestamp::from_stored(at),
                actor,
                kind,
                subject,
                data,
            })
        })
        .collect()
}

pub(super) fn quick_check(connection: &Connection) -> Result<Vec<String>, PortError> {
    let found = query_rows(connection, "PRAGMA quick_check(20)", [], |row| {
        row.get::<_, String>(0)
    })?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

fn damaged_row_error() -> PortError {
    PortError::from(StoreFailure::RowDamaged)
}
