//! Executes a batch of changesets in two pipelined round trips: the first locks the head of the log and reads
//! the state that the batch needs, the second writes the rows of the [`BatchPlan`] and commits. In between the
//! caller (`writer`) makes the plan. The transaction of a stream of changesets spans several batches: it
//! begins before the first one ([`begin_transaction`]) and is committed with the last one.
//!
//! A failed [`write_batch`] reports whether nothing was committed, or whether COMMIT was sent and not
//! answered.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use polis_core::record::RecordName;
use polis_ops::PortError;
use tokio_postgres::{Error, Row};

use super::batch_plan::{BatchPlan, BatchReadResult, BatchReadSet, LOG_HEAD_MARK, TaskSnapshot};
use super::board_columns::{
    BoardHeadColumns, BoardLogColumns, INSERT_BOARD_LOG, PRUNE_BOARD_LOG, PruneColumns,
    SELECT_BOARDS, UPSERT_BOARDS,
};
use super::board_read::read_head_row;
use super::connection::{PgParam, PgSession};
use super::error::{damaged_row_error, is_connection_lost};
use super::messages::{self, INSERT_MESSAGES, MARK_MESSAGES_READ, MessageColumns, SELECT_UNREAD};
use super::records::{
    self, DELETE_EXPIRED_RECORDS, DELETE_RECORDS, RecordColumns, SELECT_RECORD_REVISIONS,
    UPSERT_RECORDS,
};
use super::task_columns::TaskColumns;
use super::turns::{self, INSERT_TURNS, SELECT_EXISTING_TURNS, TurnColumns, TurnKey};
use crate::prepared_changeset::AgentUpsert;

/// Locks the head of the log: the committers of all processes queue here.
const LOCK_LOG_HEAD: &str =
    "SELECT value, pg_current_xact_id()::text FROM marks WHERE name = 'log-head' FOR UPDATE";
// In READ COMMITTED each statement has its own snapshot, so the statements after the lock see everything that
// was committed before the lock was granted.
const SELECT_MARKS: &str = "SELECT name, value FROM marks";
const SELECT_TASKS: &str = "SELECT id, revision, open_blockers, status = 'pending' FROM tasks WHERE id = ANY($1::bigint[])";
const SELECT_AGENT_REVISIONS: &str = "SELECT id, revision FROM agents WHERE id = ANY($1::text[])";
const SELECT_WORKSPACE_REVISIONS: &str =
    "SELECT id, revision FROM workspaces WHERE id = ANY($1::text[])";
const SELECT_LAST_COMMENT_IDS: &str = "SELECT t.id, coalesce((SELECT max(c.id) FROM comments AS c WHERE c.task_id = t.id), 0) \
     FROM unnest($1::bigint[]) AS t (id)";
const SELECT_LAST_TASK_NUMBER: &str = "SELECT coalesce(max(id), 0) FROM tasks";

const INSERT_TASKS: &str = "INSERT INTO tasks (id, revision, version, status, owner, owner_role, required_role, \
     task_type, priority, standing, open_blockers, lease_until, blocked_by, blocks, created_at, updated_at, subject, \
     rest, description) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], \
     $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::text[], \
     $16::text[], $17::text[], $18::text[], $19::text[])";
const UPDATE_TASKS: &str = "UPDATE tasks SET revision = n.revision, version = n.version, status = n.status, \
     owner = n.owner, owner_role = n.owner_role, required_role = n.required_role, task_type = n.task_type, \
     priority = n.priority, standing = n.standing, open_blockers = tasks.open_blockers + n.open_blockers, lease_until = n.lease_until, \
     blocked_by = n.blocked_by, blocks = n.blocks, updated_at = n.updated_at, subject = n.subject, rest = n.rest, \
     description = n.description \
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], \
     $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], \
     $15::text[], $16::text[], $17::text[], $18::text[]) AS n (id, revision, version, status, owner, owner_role, required_role, \
     task_type, priority, standing, open_blockers, lease_until, blocked_by, blocks, updated_at, subject, rest, \
     description) WHERE tasks.id = n.id";
const CLOSE_BLOCKERS: &str = "UPDATE tasks SET open_blockers = tasks.open_blockers + n.change \
     FROM unnest($1::bigint[], $2::bigint[]) AS n (id, change) WHERE tasks.id = n.id";
const INSERT_COMMENTS: &str = "INSERT INTO comments (task_id, id, body) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])";
const UPSERT_AGENTS: &str = "INSERT INTO agents (id, revision, run, role, body) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]) \
     ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, run = excluded.run, \
     role = excluded.role, body = excluded.body";
const UPSERT_WORKSPACES: &str = "INSERT INTO workspaces (id, revision, body) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) \
     ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, body = excluded.body";
const UPSERT_MARKS: &str = "INSERT INTO marks (name, value) SELECT * FROM unnest($1::text[], $2::bigint[]) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const INSERT_EVENTS: &str = "INSERT INTO events (seq, at, actor, kind, subject, data) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])";
const NOTIFY_EVENTS: &str = "SELECT pg_notify('polis_events', $1::text)";

const CORE_STATEMENTS: [&str; 20] = [
    LOCK_LOG_HEAD,
    SELECT_MARKS,
    SELECT_TASKS,
    SELECT_AGENT_REVISIONS,
    SELECT_WORKSPACE_REVISIONS,
    SELECT_BOARDS,
    SELECT_LAST_COMMENT_IDS,
    SELECT_LAST_TASK_NUMBER,
    INSERT_TASKS,
    UPDATE_TASKS,
    CLOSE_BLOCKERS,
    INSERT_COMMENTS,
    UPSERT_AGENTS,
    UPSERT_WORKSPACES,
    UPSERT_BOARDS,
    INSERT_BOARD_LOG,
    PRUNE_BOARD_LOG,
    UPSERT_MARKS,
    INSERT_EVENTS,
    NOTIFY_EVENTS,
];

/// Statements for records, messages and turns; a command that writes none of them does not prepare them.
const DOCUMENT_STATEMENTS: [&str; 9] = [
    SELECT_RECORD_REVISIONS,
    DELETE_EXPIRED_RECORDS,
    DELETE_RECORDS,
    UPSERT_RECORDS,
    SELECT_UNREAD,
    INSERT_MESSAGES,
    MARK_MESSAGES_READ,
    SELECT_EXISTING_TURNS,
    INSERT_TURNS,
];

/// Ensures that an acknowledged commit is durable, regardless of the server's default.
const ENABLE_SYNCHRONOUS_COMMIT: &str = "SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') = 'off'";

/// A statement of a pipeline: sent on its first poll, ready when its result has arrived.
type PipelinedStatement<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send + 'a>>;

/// Results of a pipeline: those of its steps, and that of its final statement if it was sent.
type PipelineResults = (
    Vec<Result<Vec<Row>, Error>>,
    Option<Result<Vec<Row>, Error>>,
);

/// Sends steps in order without waiting in between, followed by the final statement, unless a step could not
/// be sent: PostgreSQL turns a COMMIT into a rollback if a step failed, but it knows nothing of a step that
/// it never received.
async fn run_pipeline(
    mut steps: Vec<PipelinedStatement<'_>>,
    mut end: Option<PipelinedStatement<'_>>,
) -> PipelineResults {
    let mut answers: Vec<Option<Result<Vec<Row>, Error>>> = steps.iter().map(|_| None).collect();
    let mut ended = None;
    let mut sent = false;
    poll_fn(|cx| {
        for (step, answer) in steps.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(done) = step.as_mut().poll(cx)
            {
                *answer = Some(done);
            }
        }
        if !sent && answers.iter().flatten().any(Result::is_err) {
            end = None;
        }
        sent = true;
        if ended.is_none()
            && let Some(step) = &mut end
            && let Poll::Ready(done) = step.as_mut().poll(cx)
        {
            ended = Some(done);
        }
        if answers.iter().all(Option::is_some) && (end.is_none() || ended.is_some()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    (answers.into_iter().flatten().collect(), ended)
}

/// Prepares the statements of a fresh connection in one round trip; those for records, messages and turns
/// only if the last argument is true.
pub(super) async fn prepare_statements(session: &PgSession, plain: bool) -> Result<(), Error> {
    let mut steps: Vec<PipelinedStatement<'_>> =
        vec![Box::pin(session.execute_batch(ENABLE_SYNCHRONOUS_COMMIT))];
    steps.extend(
        CORE_STATEMENTS
            .into_iter()
            .map(|sql| prepare_step(session, sql)),
    );
    if plain {
        steps.extend(
            DOCUMENT_STATEMENTS
                .into_iter()
                .map(|sql| prepare_step(session, sql)),
        );
    }
    run_all(steps).await
}

/// Prepares the statements for records, messages and turns on a connection that has all others; costs a round
/// trip the first time. A statement that is not prepared would be sent after the end of its transaction.
pub(super) async fn prepare_document_statements(session: &PgSession) -> Result<(), Error> {
    if DOCUMENT_STATEMENTS
        .iter()
        .all(|sql| session.is_prepared(sql))
    {
        return Ok(());
    }
    run_all(
        DOCUMENT_STATEMENTS
            .map(|sql| prepare_step(session, sql))
            .into(),
    )
    .await
}

fn prepare_step<'a>(session: &'a PgSession, sql: &'a str) -> PipelinedStatement<'a> {
    Box::pin(async move { session.prepare_statement(sql).await.map(|_| Vec::new()) })
}

async fn run_all(steps: Vec<PipelinedStatement<'_>>) -> Result<(), Error> {
    let (answers, _) = run_pipeline(steps, None).await;
    answers
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map(|_| ())
}

/// Begins a transaction and takes the commit lock. Returns the transaction id.
pub(super) async fn begin_transaction(session: &PgSession) -> Result<String, Error> {
    let (answers, _) = run_pipeline(begin_steps(session), None).await;
    let mut rows = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    transaction_id(&rows.pop().unwrap_or_default())
}

fn begin_steps(session: &PgSession) -> Vec<PipelinedStatement<'_>> {
    vec![
        Box::pin(session.execute_batch("BEGIN ISOLATION LEVEL READ COMMITTED")),
        Box::pin(session.query(LOCK_LOG_HEAD, &[])),
    ]
}

fn transaction_id(lock: &[Row]) -> Result<String, Error> {
    lock.first()
        .map_or_else(|| Ok(String::new()), |row| row.try_get(1))
}

/// Reads the state that a batch needs. With `begin`, begins the transaction in the same round trip and
/// returns its id; otherwise the id is empty.
pub(super) async fn read_batch_state<'a>(
    session: &PgSession,
    begin: bool,
    needs: &BatchReadSet<'a>,
) -> Result<(String, BatchReadResult<'a>), Error> {
    let tasks: Vec<i64> = needs.tasks.iter().copied().collect();
    let agents: Vec<&str> = needs.agents.iter().copied().collect();
    let comments: Vec<i64> = needs.comments.iter().copied().collect();
    let boards: Vec<&str> = needs.boards.iter().map(String::as_str).collect();
    let of_tasks: [PgParam<'_>; 1] = [&tasks];
    let of_agents: [PgParam<'_>; 1] = [&agents];
    let workspaces: Vec<&str> = needs.workspaces.iter().copied().collect();
    let of_workspaces: [PgParam<'_>; 1] = [&workspaces];
    let of_comments: [PgParam<'_>; 1] = [&comments];
    let of_boards: [PgParam<'_>; 1] = [&boards];
    let names: Vec<&RecordName> = needs.records.iter().copied().collect();
    let (kinds, ids): (Vec<&str>, Vec<&str>) = names
        .iter()
        .map(|name| (name.kind.as_str(), name.id.as_str()))
        .unzip();
    let of_records: [PgParam<'_>; 2] = [&kinds, &ids];
    let (readers, unread): (Vec<&str>, Vec<i64>) = needs.messages.iter().copied().unzip();
    let of_unread: [PgParam<'_>; 2] = [&readers, &unread];
    let turns: Vec<TurnKey<'a>> = needs.turns.iter().copied().collect();
    let (members, numbers): (Vec<&str>, Vec<i64>) = turns.iter().copied().unzip();
    let of_turns: [PgParam<'_>; 2] = [&members, &numbers];
    let mut steps = if begin {
        begin_steps(session)
    } else {
        Vec::new()
    };
    let before = steps.len();
    steps.push(Box::pin(session.query(SELECT_MARKS, &[])));
    let queries: [(bool, &str, &[PgParam<'_>]); 9] = [
        (!tasks.is_empty(), SELECT_TASKS, &of_tasks),
        (!agents.is_empty(), SELECT_AGENT_REVISIONS, &of_agents),
        (
            !workspaces.is_empty(),
            SELECT_WORKSPACE_REVISIONS,
            &of_workspaces,
        ),
        (!comments.is_empty(), SELECT_LAST_COMMENT_IDS, &of_comments),
        (needs.last_task, SELECT_LAST_TASK_NUMBER, &[]),
        (!boards.is_empty(), SELECT_BOARDS, &of_boards),
        (!names.is_empty(), SELECT_RECORD_REVISIONS, &of_records),
        (!unread.is_empty(), SELECT_UNREAD, &of_unread),
        (!turns.is_empty(), SELECT_EXISTING_TURNS, &of_turns),
    ];
    for (_, sql, parameters) in queries.iter().filter(|(needed, _, _)| *needed) {
        steps.push(Box::pin(session.query(sql, parameters)));
    }
    let (answers, _) = run_pipeline(steps, None).await;
    let mut answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut read = answers.split_off(before).into_iter();
    let xid = transaction_id(&answers.pop().unwrap_or_default())?;
    let marks = decode_pairs(&read.next().unwrap_or_default())?;
    let mut next = |needed: bool| needed.then(|| read.next()).flatten().unwrap_or_default();
    let found = BatchReadResult {
        marks,
        tasks: next(!tasks.is_empty())
            .iter()
            .map(|row| {
                let snapshot = TaskSnapshot {
                    revision: row.try_get(1)?,
                    open_blockers: row.try_get(2)?,
                    is_pending: row.try_get(3)?,
                };
                Ok((row.try_get(0)?, snapshot))
            })
            .collect::<Result<_, Error>>()?,
        agents: decode_pairs(&next(!agents.is_empty()))?,
        workspaces: decode_pairs(&next(!workspaces.is_empty()))?,
        comments: decode_pairs(&next(!comments.is_empty()))?,
        last_task: next(needs.last_task)
            .first()
            .map_or(Ok(0), |row| row.try_get(0))?,
        boards: next(!boards.is_empty())
            .iter()
            .map(|row| Ok((row.try_get(0)?, read_head_row(row)?)))
            .collect::<Result<_, Error>>()?,
        records: records::decode_record_snapshots(&names, &next(!names.is_empty()))?,
        messages: messages::decode_unread(&next(!unread.is_empty()))?,
        turns: turns::decode_existing_turns(&turns, &next(!turns.is_empty()))?,
    };
    Ok((xid, found))
}

fn decode_pairs<K>(rows: &[Row]) -> Result<HashMap<K, i64>, Error>
where
    K: Eq + std::hash::Hash + for<'r> tokio_postgres::types::FromSql<'r>,
{
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// Checks that the row which every committer locks was read. Fails with `StoreCorrupt` if it is missing:
/// without it, commits would not be serialized.
pub(super) fn check_log_head(found: &BatchReadResult<'_>) -> Result<(), PortError> {
    if found.marks.contains_key(LOG_HEAD_MARK) {
        return Ok(());
    }
    Err(damaged_row_error())
}

/// Why a batch was not written.
#[derive(Debug)]
pub(super) enum BatchWriteError {
    /// Nothing of it was committed.
    NotCommitted(Error),
    /// COMMIT was sent, but no answer arrived.
    CommitUnanswered(Error),
}

/// Writes the rows of a batch; with `commit`, commits in the same round trip.
pub(super) async fn write_batch(
    session: &PgSession,
    plan: &BatchPlan<'_>,
    commit: bool,
) -> Result<(), BatchWriteError> {
    let inserted = TaskColumns::from_plan(plan, |change| change.is_new);
    let updated = TaskColumns::from_plan(plan, |change| !change.is_new && change.row.is_some());
    let (settled, settled_by): (Vec<i64>, Vec<i64>) = plan
        .tasks
        .iter()
        .filter(|(_, change)| change.row.is_none())
        .map(|(id, change)| (*id, change.blocker_change))
        .unzip();
    let (on_tasks, comments): (Vec<i64>, Vec<i64>) =
        plan.comments.iter().map(|c| (c.task, c.id)).unzip();
    let bodies: Vec<&str> = plan.comments.iter().map(|c| c.body.as_str()).collect();
    let agents: Vec<&str> = plan.agents.keys().copied().collect();
    let revisions: Vec<i64> = plan.agents.values().map(|(r, _)| *r).collect();
    let of_agents = |column: fn(&AgentUpsert) -> &str| -> Vec<&str> {
        plan.agents
            .values()
            .map(|(_, upsert)| column(upsert))
            .collect()
    };
    let runs = of_agents(|upsert| &upsert.run);
    let roles = of_agents(|upsert| &upsert.role);
    let entries = of_agents(|upsert| &upsert.body);
    let workspaces: Vec<&str> = plan.workspaces.keys().copied().collect();
    let (workspace_revisions, workspace_bodies): (Vec<i64>, Vec<&str>) =
        plan.workspaces.values().copied().unzip();
    let (marks, values): (Vec<&str>, Vec<i64>) = plan.marks.iter().map(|(k, v)| (*k, *v)).unzip();
    let seqs: Vec<i64> = plan.events.iter().map(|e| e.seq).collect();
    let ats: Vec<&str> = plan.events.iter().map(|e| e.at).collect();
    let actors: Vec<&str> = plan.events.iter().map(|e| e.actor).collect();
    let kinds: Vec<&str> = plan.events.iter().map(|e| e.kind.as_str()).collect();
    let subjects: Vec<&str> = plan.events.iter().map(|e| e.subject.as_str()).collect();
    let data: Vec<&str> = plan.events.iter().map(|e| e.data).collect();
    let news = seqs.last().map(ToString::to_string);

    let heads = BoardHeadColumns::from_plan(&plan.boards);
    let logged = BoardLogColumns::from_plan(&plan.boards);
    let cut = PruneColumns::from_plan(&plan.boards);
    let records = RecordColumns::from_plan(&plan.records);
    let messages = MessageColumns::from_plan(&plan.messages);
    let added = TurnColumns::from_plan(&plan.turns);

    let inserts = inserted.as_params();
    let updates = updated.update_params();
    let statements: [(bool, &str, &[PgParam<'_>]); 18] = [
        (!inserted.id.is_empty(), INSERT_TASKS, &inserts),
        (!updated.id.is_empty(), UPDATE_TASKS, &updates),
        (
            !settled.is_empty(),
            CLOSE_BLOCKERS,
            &[&settled, &settled_by],
        ),
        (
            !comments.is_empty(),
            INSERT_COMMENTS,
            &[&on_tasks, &comments, &bodies],
        ),
        (
            !agents.is_empty(),
            UPSERT_AGENTS,
            &[&agents, &revisions, &runs, &roles, &entries],
        ),
        (
            !workspaces.is_empty(),
            UPSERT_WORKSPACES,
            &[&workspaces, &workspace_revisions, &workspace_bodies],
        ),
        (!plan.boards.is_empty(), UPSERT_BOARDS, &heads.as_params()),
        (
            !plan.boards.log_inserts().is_empty(),
            INSERT_BOARD_LOG,
            &logged.as_params(),
        ),
        (!cut.is_empty(), PRUNE_BOARD_LOG, &cut.as_params()),
        (
            records.has_expiries(),
            DELETE_EXPIRED_RECORDS,
            &records.delete_expired_params(),
        ),
        (
            records.has_deletes(),
            DELETE_RECORDS,
            &records.delete_params(),
        ),
        (
            records.has_upserts(),
            UPSERT_RECORDS,
            &records.upsert_params(),
        ),
        (
            messages.has_inserts(),
            INSERT_MESSAGES,
            &messages.insert_params(),
        ),
        (
            messages.has_reads(),
            MARK_MESSAGES_READ,
            &messages.mark_read_params(),
        ),
        (!plan.turns.is_empty(), INSERT_TURNS, &added.as_params()),
        (!marks.is_empty(), UPSERT_MARKS, &[&marks, &values]),
        (
            !seqs.is_empty(),
            INSERT_EVENTS,
            &[&seqs, &ats, &actors, &kinds, &subjects, &data],
        ),
        (news.is_some(), NOTIFY_EVENTS, &[&news]),
    ];
    let steps = statements
        .iter()
        .filter(|(needed, _, _)| *needed)
        .map(|(_, sql, parameters)| -> PipelinedStatement<'_> {
            Box::pin(session.query(sql, parameters))
        })
        .collect();
    let end =
        commit.then(|| -> PipelinedStatement<'_> { Box::pin(session.execute_batch("COMMIT")) });
    let (answers, ended) = run_pipeline(steps, end).await;
    let failed = answers.into_iter().find_map(Result::err);
    classify_batch_end(failed, ended)
}

/// Returns whether a batch was committed, from the first failed step and the answer to COMMIT.
fn classify_batch_end<T>(
    failed: Option<Error>,
    ended: Option<Result<T, Error>>,
) -> Result<(), BatchWriteError> {
    if let Some(error) = failed {
        // Either the server rejected a step, and with it the transaction, or the connection was lost.
        return Err(if ended.is_some() && is_connection_lost(&error) {
            BatchWriteError::CommitUnanswered(error)
        } else {
            BatchWriteError::NotCommitted(error)
        });
    }
    match ended {
        Some(Err(error)) if is_connection_lost(&error) => {
            Err(BatchWriteError::CommitUnanswered(error))
        }
        Some(Err(error)) => Err(BatchWriteError::NotCommitted(error)),
        Some(Ok(_)) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio_postgres::Config;

    use super::*;

    fn postgres_error() -> Error {
        "no such setting".parse::<Config>().unwrap_err()
    }

    /// Whether the final statement is sent after this step.
    async fn is_end_sent_after(step: PipelinedStatement<'_>) -> bool {
        let sent = AtomicBool::new(false);
        let end: PipelinedStatement<'_> = Box::pin(async {
            sent.store(true, Ordering::Relaxed);
            Ok(Vec::new())
        });
        let (answers, ended) = run_pipeline(vec![step], Some(end)).await;
        assert_eq!(answers.len(), 1);
        assert_eq!(ended.is_some(), sent.load(Ordering::Relaxed));
        sent.into_inner()
    }

    #[tokio::test]
    async fn unsent_step_prevents_commit() {
        assert!(!is_end_sent_after(Box::pin(async { Err(postgres_error()) })).await);
    }

    #[tokio::test]
    async fn commit_is_sent_without_waiting_for_results() {
        let late: PipelinedStatement<'_> = Box::pin(async {
            tokio::task::yield_now().await;
            Err(postgres_error())
        });
        assert!(is_end_sent_after(late).await);
        assert!(is_end_sent_after(Box::pin(async { Ok(Vec::new()) })).await);
    }
}
