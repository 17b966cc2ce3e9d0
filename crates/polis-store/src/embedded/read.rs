//! Read queries of the embedded store: tasks, comments, agents, workspaces, events and the integrity check.

use polis_core::society::RunId;
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Code, Event, Raw, Registered, TaskId, TaskRecord, TaskStatus, TaskType,
    Timestamp,
};
use polis_ops::PortError;
use polis_ops::port::{CandidateQuery, CommentQuery, EventQuery, StatusCounts, TaskQuery};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, ToSql, params, params_from_iter};

use super::error::from_sqlite;
use crate::row::{SummaryRow, TaskRow, number, parse_ids};
use crate::sql::{self, Param, TASK_COLUMNS};

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Int(n) => n.to_sql(),
            Self::Text(text) => text.to_sql(),
        }
    }
}

fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: row.get(0)?,
        revision: row.get(1)?,
        version: row.get(2)?,
        status: row.get(3)?,
        owner: row.get(4)?,
        owner_role: row.get(5)?,
        required_role: row.get(6)?,
        task_type: row.get(7)?,
        standing: row.get(8)?,
        open_blockers: row.get(9)?,
        lease_until: row.get(10)?,
        blocked_by: row.get(11)?,
        blocks: row.get(12)?,
        created_at: row.get(13)?,
        updated_at: row.get(14)?,
        subject: row.get(15)?,
        rest: row.get(16)?,
        description: row.get(17)?,
    })
}

fn records(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<TaskRecord>, PortError> {
    rows(connection, sql, params, task_row)?
        .into_iter()
        .map(TaskRow::record)
        .collect()
}

pub(super) fn rows<T>(
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

pub(super) fn tasks(connection: &Connection, ids: &[TaskId]) -> Result<Vec<TaskRecord>, PortError> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id = ?");
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(records(connection, &sql, [number(id.number())?])?);
    }
    Ok(found)
}

pub(super) fn scan(
    connection: &Connection,
    after: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskRecord>, PortError> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE id > ? ORDER BY id LIMIT ?");
    records(
        connection,
        &sql,
        params![number(after.map_or(0, TaskId::number))?, limit],
    )
}

pub(super) fn list(
    connection: &Connection,
    query: &TaskQuery,
) -> Result<Vec<TaskSummary>, PortError> {
    summaries(connection, &sql::list(query, &sql::EMBEDDED))
}

pub(super) fn held(connection: &Connection, limit: u32) -> Result<Vec<TaskSummary>, PortError> {
    summaries(connection, &sql::held(limit))
}

fn summaries(connection: &Connection, query: &sql::Query) -> Result<Vec<TaskSummary>, PortError> {
    let read = |row: &Row<'_>| {
        Ok(SummaryRow {
            id: row.get(0)?,
            version: row.get(1)?,
            status: row.get(2)?,
            owner: row.get(3)?,
            required_role: row.get(4)?,
            task_type: row.get(5)?,
            open_blockers: row.get(6)?,
            lease_until: row.get(7)?,
            blocked_by: row.get(8)?,
            created_at: row.get(9)?,
            updated_at: row.get(10)?,
            subject: row.get(11)?,
        })
    };
    rows(
        connection,
        &query.text,
        params_from_iter(&query.params),
        read,
    )?
    .into_iter()
    .map(SummaryRow::summary)
    .collect()
}

pub(super) fn candidates(
    connection: &Connection,
    query: &CandidateQuery,
) -> Result<Vec<TaskRecord>, PortError> {
    let mut found = records(
        connection,
        &sql::assigned_to(),
        params![query.agent, query.per_group],
    )?;
    found.extend(records(
        connection,
        &sql::stale_for(),
        params![query.now, query.role, query.agent, query.per_group],
    )?);
    let free = sql::free_of_group();
    let most = usize::try_from(query.per_group).unwrap_or(usize::MAX);
    let fetched = most.saturating_add(query.skip.len());
    let fetched = i64::try_from(fetched).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(&free).map_err(from_sqlite)?;
    for (required, task_type) in sql::groups(query) {
        let mut rows = select
            .query(params![required, task_type, fetched])
            .map_err(from_sqlite)?;
        let mut taken = 0;
        // Skipped rows are stepped over without decoding them.
        while taken < most
            && let Some(row) = rows.next().map_err(from_sqlite)?
        {
            let id: i64 = row.get(0).map_err(from_sqlite)?;
            if query.skip.contains(&crate::row::task_id(id)?) {
                continue;
            }
            taken += 1;
            found.push(task_row(row).map_err(from_sqlite)?.record()?);
        }
    }
    Ok(found)
}

pub(super) fn blocks_of(
    connection: &Connection,
    ids: &[TaskId],
) -> Result<Vec<(TaskId, Vec<TaskId>)>, PortError> {
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let column = number(id.number())?;
        for blocks in rows(
            connection,
            "SELECT blocks FROM tasks WHERE id = ? AND status <> 'deleted'",
            [column],
            |row| row.get::<_, String>(0),
        )? {
            all.push((*id, parse_ids(&blocks, column)?));
        }
    }
    Ok(all)
}

pub(super) fn comments(
    connection: &Connection,
    query: &CommentQuery,
) -> Result<Vec<Comment>, PortError> {
    let asked = sql::comments(query);
    let mut found = bodies(connection, &asked.text, params_from_iter(&asked.params))?;
    if query.newest {
        found.reverse();
    }
    Ok(found)
}

fn bodies<T: serde::de::DeserializeOwned>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<T>, PortError> {
    let texts = rows(connection, sql, params, |row| row.get::<_, String>(0))?;
    texts
        .iter()
        .map(|text| serde_json::from_str(text).map_err(|e| damaged().because(e)))
        .collect()
}

pub(super) fn completed_types(
    connection: &Connection,
    owner: &str,
    limit: u32,
) -> Result<Vec<Option<TaskType>>, PortError> {
    let names = rows(
        connection,
        sql::COMPLETED_TYPES,
        params![owner, limit],
        |row| row.get::<_, String>(0),
    )?;
    Ok(names.iter().map(|name| TaskType::from_name(name)).collect())
}

pub(super) fn count_list(connection: &Connection, query: &TaskQuery) -> Result<u64, PortError> {
    let query = sql::count_of_list(query, &sql::EMBEDDED);
    let params = params_from_iter(&query.params);
    let counted = rows(connection, &query.text, params, |row| row.get::<_, i64>(0))?;
    Ok(counted.first().map_or(0, |n| n.unsigned_abs()))
}

pub(super) fn loads(connection: &Connection) -> Result<Vec<(String, u64)>, PortError> {
    rows(connection, sql::LOADS, [], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
    })
}

pub(super) fn count(connection: &Connection) -> Result<StatusCounts, PortError> {
    let sql = "SELECT status, count(*) FROM tasks GROUP BY status";
    let counted = rows(connection, sql, [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    })?;
    let of = |status: TaskStatus| {
        counted
            .iter()
            .find(|(name, _)| name == status.as_str())
            .map_or(0, |(_, n)| n.unsigned_abs())
    };
    Ok(StatusCounts {
        pending: of(TaskStatus::Pending),
        in_progress: of(TaskStatus::InProgress),
        completed: of(TaskStatus::Completed),
        deleted: of(TaskStatus::Deleted),
    })
}

/// Returns the record with this id and its revision.
fn body_of<T: serde::de::DeserializeOwned>(
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
    let record = serde_json::from_str(&body).map_err(|e| damaged().because(e))?;
    Ok(Some((record, revision.unsigned_abs())))
}

pub(super) fn agent(
    connection: &Connection,
    id: &AgentId,
) -> Result<Option<Registered>, PortError> {
    let sql = "SELECT body, revision FROM agents WHERE id = ?";
    let found = body_of(connection, sql, id)?;
    Ok(found.map(|(agent, revision)| Registered { agent, revision }))
}

pub(super) fn workspace(
    connection: &Connection,
    id: &AgentId,
) -> Result<Option<AssignedWorkspace>, PortError> {
    let sql = "SELECT body, revision FROM workspaces WHERE id = ?";
    let found = body_of(connection, sql, id)?;
    Ok(found.map(|(workspace, revision)| AssignedWorkspace {
        workspace,
        revision,
    }))
}

pub(super) fn workspaces(connection: &Connection) -> Result<Vec<Workspace>, PortError> {
    bodies(connection, "SELECT body FROM workspaces ORDER BY id", [])
}

pub(super) fn agents(connection: &Connection) -> Result<Vec<Agent>, PortError> {
    bodies(connection, "SELECT body FROM agents ORDER BY id", [])
}

pub(super) fn named(connection: &Connection, ids: &[AgentId]) -> Result<Vec<Agent>, PortError> {
    let mut ids: Vec<&str> = ids.iter().map(AgentId::as_str).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(bodies(
            connection,
            "SELECT body FROM agents WHERE id = ?",
            [id],
        )?);
    }
    Ok(found)
}

pub(super) fn agents_of_run(
    connection: &Connection,
    run: Option<&RunId>,
    role: Option<&str>,
) -> Result<Vec<Agent>, PortError> {
    let run = run.map_or("", RunId::as_str);
    match role {
        None => {
            let sql = "SELECT body FROM agents WHERE run = ? ORDER BY id";
            bodies(connection, sql, [run])
        }
        Some(role) => {
            let sql = "SELECT body FROM agents WHERE run = ? AND role = ? ORDER BY id";
            bodies(connection, sql, [run, role])
        }
    }
}

pub(super) fn events(connection: &Connection, query: &EventQuery) -> Result<Vec<Event>, PortError> {
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
    let query = sql::events(query);
    let parameters = params_from_iter(&query.params);
    let mut found = rows(connection, &query.text, parameters, read)?;
    if newest {
        found.reverse();
    }
    found
        .into_iter()
        .map(|(seq, at, actor, kind, subject, data)| {
            let data = Raw::parse(&data).map_err(|e| damaged().because(e))?;
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

pub(super) fn integrity(connection: &Connection) -> Result<Vec<String>, PortError> {
    let found = rows(connection, "PRAGMA quick_check(20)", [], |row| {
        row.get::<_, String>(0)
    })?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

fn damaged() -> PortError {
    PortError::new(
        Code::StoreCorrupt,
        "A row of the store is damaged.",
        "restore .agent-workspace/polis.db from a backup; `polis doctor` checks it",
    )
}
