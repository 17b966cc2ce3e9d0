//! Executes a batch of changesets in two pipelined round trips: read what the batch expects, write what it
//! decides.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use polis_core::record::RecordName;
use polis_ops::PortError;
use tokio_postgres::{Error, Row};

use super::board_columns::{
    BOARDS, CUT_LOG, CutColumns, HeadColumns, INSERT_LOG, LogColumns, PUT_BOARDS,
};
use super::board_read::head_row;
use super::connection::{Parameter, Session};
use super::error::{damaged, is_broken};
use super::messages::{self, INSERT_MESSAGES, MessageColumns, READ_MESSAGES, UNREAD};
use super::plan::{Found, LOG_HEAD, Needs, Plan, Seen};
use super::records::{self, DELETE_RECORDS, FORGET_RECORDS, PUT_RECORDS, RECORDS, RecordColumns};
use super::task_columns::TaskColumns;
use super::turns::{self, INSERT_TURNS, TURNS, TurnColumns, TurnName};
use crate::prepared::AgentPut;

/// Locks the head of the log: the committers of all processes queue here.
const LOCK: &str =
    "SELECT value, pg_current_xact_id()::text FROM marks WHERE name = 'log-head' FOR UPDATE";
// In READ COMMITTED each statement has its own snapshot, so the statements after the lock see everything that
// was committed before the lock was granted.
const MARKS: &str = "SELECT name, value FROM marks";
const TASKS: &str = "SELECT id, revision, open_blockers, status = 'pending' FROM tasks WHERE id = ANY($1::bigint[])";
const AGENTS: &str = "SELECT id, revision FROM agents WHERE id = ANY($1::text[])";
const WORKSPACES: &str = "SELECT id, revision FROM workspaces WHERE id = ANY($1::text[])";
const COMMENTS: &str = "SELECT t.id, coalesce((SELECT max(c.id) FROM comments AS c WHERE c.task_id = t.id), 0) \
     FROM unnest($1::bigint[]) AS t (id)";
const LAST_TASK: &str = "SELECT coalesce(max(id), 0) FROM tasks";

const INSERT_TASKS: &str = "INSERT INTO tasks (id, revision, version, status, owner, owner_role, required_role, \
     task_type, standing, open_blockers, lease_until, blocked_by, blocks, created_at, updated_at, subject, rest, \
     description) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], \
     $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], \
     $16::text[], $17::text[], $18::text[])";
const UPDATE_TASKS: &str = "UPDATE tasks SET revision = n.revision, version = n.version, status = n.status, \
     owner = n.owner, owner_role = n.owner_role, required_role = n.required_role, task_type = n.task_type, \
     standing = n.standing, open_blockers = tasks.open_blockers + n.open_blockers, lease_until = n.lease_until, \
     blocked_by = n.blocked_by, blocks = n.blocks, updated_at = n.updated_at, subject = n.subject, rest = n.rest, \
     description = n.description \
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], \
     $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], \
     $15::text[], $16::text[], $17::text[]) AS n (id, revision, version, status, owner, owner_role, required_role, \
     task_type, standing, open_blockers, lease_until, blocked_by, blocks, updated_at, subject, rest, description) \
     WHERE tasks.id = n.id";
const SETTLE_TASKS: &str = "UPDATE tasks SET open_blockers = tasks.open_blockers + n.change \
     FROM unnest($1::bigint[], $2::bigint[]) AS n (id, change) WHERE tasks.id = n.id";
const INSERT_COMMENTS: &str = "INSERT INTO comments (task_id, id, body) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])";
const PUT_AGENTS: &str = "INSERT INTO agents (id, revision, run, role, body) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]) \
     ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, run = excluded.run, \
     role = excluded.role, body = excluded.body";
const PUT_WORKSPACES: &str = "INSERT INTO workspaces (id, revision, body) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) \
     ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, body = excluded.body";
const PUT_MARKS: &str = "INSERT INTO marks (name, value) SELECT * FROM unnest($1::text[], $2::bigint[]) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const INSERT_EVENTS: &str = "INSERT INTO events (seq, at, actor, kind, subject, data) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])";
const NOTIFY: &str = "SELECT pg_notify('polis_events', $1::text)";

const ALL: [&str; 20] = [
    LOCK,
    MARKS,
    TASKS,
    AGENTS,
    WORKSPACES,
    BOARDS,
    COMMENTS,
    LAST_TASK,
    INSERT_TASKS,
    UPDATE_TASKS,
    SETTLE_TASKS,
    INSERT_COMMENTS,
    PUT_AGENTS,
    PUT_WORKSPACES,
    PUT_BOARDS,
    INSERT_LOG,
    CUT_LOG,
    PUT_MARKS,
    INSERT_EVENTS,
    NOTIFY,
];

/// Statements for records, messages and turns; a command that writes none of them does not prepare them.
const PLAIN: [&str; 9] = [
    RECORDS,
    FORGET_RECORDS,
    DELETE_RECORDS,
    PUT_RECORDS,
    UNREAD,
    INSERT_MESSAGES,
    READ_MESSAGES,
    TURNS,
    INSERT_TURNS,
];

/// Ensures that an acknowledged commit is durable, regardless of the server's default.
const DURABLE: &str = "SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') = 'off'";

/// A statement in flight.
type Step<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send + 'a>>;

/// Results of a pipeline: those of its steps, and that of its final statement if it was sent.
type Answers = (
    Vec<Result<Vec<Row>, Error>>,
    Option<Result<Vec<Row>, Error>>,
);

/// Sends steps in order without waiting in between, followed by the final statement, unless a step could not
/// be sent: PostgreSQL turns a COMMIT into a rollback if a step failed, but it knows nothing of a step that
/// it never received.
async fn pipeline(mut steps: Vec<Step<'_>>, mut end: Option<Step<'_>>) -> Answers {
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

/// Prepares a fresh connection for batches, in one round trip. `plain`: the batches contain records, messages
/// or turns.
pub(super) async fn equip(session: &Session, plain: bool) -> Result<(), Error> {
    let mut steps: Vec<Step<'_>> = vec![Box::pin(session.run(DURABLE))];
    steps.extend(ALL.into_iter().map(|sql| prepare(session, sql)));
    if plain {
        steps.extend(PLAIN.into_iter().map(|sql| prepare(session, sql)));
    }
    all_of(steps).await
}

/// Prepares the statements for records, messages and turns on a connection that has all others; costs a round
/// trip the first time. A statement that is not prepared would be sent after the end of its transaction.
pub(super) async fn equip_plain(session: &Session) -> Result<(), Error> {
    if PLAIN.iter().all(|sql| session.is_prepared(sql)) {
        return Ok(());
    }
    all_of(PLAIN.map(|sql| prepare(session, sql)).into()).await
}

fn prepare<'a>(session: &'a Session, sql: &'a str) -> Step<'a> {
    Box::pin(async move { session.statement(sql).await.map(|_| Vec::new()) })
}

async fn all_of(steps: Vec<Step<'_>>) -> Result<(), Error> {
    let (answers, _) = pipeline(steps, None).await;
    answers
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map(|_| ())
}

/// Begins a transaction and takes the commit lock. Returns the transaction id.
pub(super) async fn begin(session: &Session) -> Result<String, Error> {
    let (answers, _) = pipeline(beginning(session), None).await;
    let mut rows = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    number_of(&rows.pop().unwrap_or_default())
}

fn beginning(session: &Session) -> Vec<Step<'_>> {
    vec![
        Box::pin(session.run("BEGIN ISOLATION LEVEL READ COMMITTED")),
        Box::pin(session.query(LOCK, &[])),
    ]
}

fn number_of(lock: &[Row]) -> Result<String, Error> {
    lock.first()
        .map_or_else(|| Ok(String::new()), |row| row.try_get(1))
}

/// Reads what a batch needs. With `begin`, begins the transaction in the same round trip and returns its id.
pub(super) async fn read<'a>(
    session: &Session,
    begin: bool,
    needs: &Needs<'a>,
) -> Result<(String, Found<'a>), Error> {
    let tasks: Vec<i64> = needs.tasks.iter().copied().collect();
    let agents: Vec<&str> = needs.agents.iter().copied().collect();
    let comments: Vec<i64> = needs.comments.iter().copied().collect();
    let boards: Vec<&str> = needs.boards.iter().map(String::as_str).collect();
    let of_tasks: [Parameter<'_>; 1] = [&tasks];
    let of_agents: [Parameter<'_>; 1] = [&agents];
    let workspaces: Vec<&str> = needs.workspaces.iter().copied().collect();
    let of_workspaces: [Parameter<'_>; 1] = [&workspaces];
    let of_comments: [Parameter<'_>; 1] = [&comments];
    let of_boards: [Parameter<'_>; 1] = [&boards];
    let names: Vec<&RecordName> = needs.records.iter().copied().collect();
    let (kinds, ids): (Vec<&str>, Vec<&str>) = names
        .iter()
        .map(|name| (name.kind.as_str(), name.id.as_str()))
        .unzip();
    let of_records: [Parameter<'_>; 2] = [&kinds, &ids];
    let (readers, unread): (Vec<&str>, Vec<i64>) = needs.messages.iter().copied().unzip();
    let of_unread: [Parameter<'_>; 2] = [&readers, &unread];
    let turns: Vec<TurnName<'a>> = needs.turns.iter().copied().collect();
    let (members, numbers): (Vec<&str>, Vec<i64>) = turns.iter().copied().unzip();
    let of_turns: [Parameter<'_>; 2] = [&members, &numbers];
    let mut steps = if begin {
        beginning(session)
    } else {
        Vec::new()
    };
    let before = steps.len();
    steps.push(Box::pin(session.query(MARKS, &[])));
    let wanted: [(bool, &str, &[Parameter<'_>]); 9] = [
        (!tasks.is_empty(), TASKS, &of_tasks),
        (!agents.is_empty(), AGENTS, &of_agents),
        (!workspaces.is_empty(), WORKSPACES, &of_workspaces),
        (!comments.is_empty(), COMMENTS, &of_comments),
        (needs.last_task, LAST_TASK, &[]),
        (!boards.is_empty(), BOARDS, &of_boards),
        (!names.is_empty(), RECORDS, &of_records),
        (!unread.is_empty(), UNREAD, &of_unread),
        (!turns.is_empty(), TURNS, &of_turns),
    ];
    for (_, sql, parameters) in wanted.iter().filter(|(needed, _, _)| *needed) {
        steps.push(Box::pin(session.query(sql, parameters)));
    }
    let (answers, _) = pipeline(steps, None).await;
    let mut answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut read = answers.split_off(before).into_iter();
    let xid = number_of(&answers.pop().unwrap_or_default())?;
    let marks = pairs(&read.next().unwrap_or_default())?;
    let mut next = |needed: bool| needed.then(|| read.next()).flatten().unwrap_or_default();
    let found = Found {
        marks,
        tasks: next(!tasks.is_empty())
            .iter()
            .map(|row| {
                let seen = Seen {
                    revision: row.try_get(1)?,
                    open_blockers: row.try_get(2)?,
                    pending: row.try_get(3)?,
                };
                Ok((row.try_get(0)?, seen))
            })
            .collect::<Result<_, Error>>()?,
        agents: pairs(&next(!agents.is_empty()))?,
        workspaces: pairs(&next(!workspaces.is_empty()))?,
        comments: pairs(&next(!comments.is_empty()))?,
        last_task: next(needs.last_task)
            .first()
            .map_or(Ok(0), |row| row.try_get(0))?,
        boards: next(!boards.is_empty())
            .iter()
            .map(|row| Ok((row.try_get(0)?, head_row(row)?)))
            .collect::<Result<_, Error>>()?,
        records: records::found(&names, &next(!names.is_empty()))?,
        messages: messages::found(&next(!unread.is_empty()))?,
        turns: turns::found(&turns, &next(!turns.is_empty()))?,
    };
    Ok((xid, found))
}

fn pairs<K>(rows: &[Row]) -> Result<HashMap<K, i64>, Error>
where
    K: Eq + std::hash::Hash + for<'r> tokio_postgres::types::FromSql<'r>,
{
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// Checks that the row which every committer locks was read.
pub(super) fn check(found: &Found<'_>) -> Result<(), PortError> {
    if found.marks.contains_key(LOG_HEAD) {
        return Ok(());
    }
    Err(damaged())
}

/// Why a batch was not written.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing of it was committed.
    Nothing(Error),
    /// COMMIT was sent, but no answer arrived.
    Unanswered(Error),
}

/// Writes the result of a batch; with `commit`, commits in the same round trip.
pub(super) async fn write(session: &Session, plan: &Plan<'_>, commit: bool) -> Result<(), Failure> {
    let inserted = TaskColumns::of(plan, |change| change.insert);
    let updated = TaskColumns::of(plan, |change| !change.insert && change.row.is_some());
    let (settled, settled_by): (Vec<i64>, Vec<i64>) = plan
        .tasks
        .iter()
        .filter(|(_, change)| change.row.is_none())
        .map(|(id, change)| (*id, change.open_blockers))
        .unzip();
    let (on_tasks, comments): (Vec<i64>, Vec<i64>) =
        plan.comments.iter().map(|c| (c.task, c.id)).unzip();
    let bodies: Vec<&str> = plan.comments.iter().map(|c| c.body.as_str()).collect();
    let agents: Vec<&str> = plan.agents.keys().copied().collect();
    let revisions: Vec<i64> = plan.agents.values().map(|(r, _)| *r).collect();
    let of_agents = |of: fn(&AgentPut) -> &str| -> Vec<&str> {
        plan.agents.values().map(|(_, put)| of(put)).collect()
    };
    let runs = of_agents(|put| &put.run);
    let roles = of_agents(|put| &put.role);
    let entries = of_agents(|put| &put.body);
    let workspaces: Vec<&str> = plan.workspaces.keys().copied().collect();
    let (workspace_revisions, places): (Vec<i64>, Vec<&str>) =
        plan.workspaces.values().copied().unzip();
    let (marks, values): (Vec<&str>, Vec<i64>) = plan.marks.iter().map(|(k, v)| (*k, *v)).unzip();
    let seqs: Vec<i64> = plan.events.iter().map(|e| e.seq).collect();
    let ats: Vec<&str> = plan.events.iter().map(|e| e.at).collect();
    let actors: Vec<&str> = plan.events.iter().map(|e| e.actor).collect();
    let kinds: Vec<&str> = plan.events.iter().map(|e| e.kind).collect();
    let subjects: Vec<&str> = plan.events.iter().map(|e| e.subject.as_str()).collect();
    let data: Vec<&str> = plan.events.iter().map(|e| e.data).collect();
    let news = seqs.last().map(ToString::to_string);

    let heads = HeadColumns::of(&plan.boards);
    let logged = LogColumns::of(&plan.boards);
    let cut = CutColumns::of(&plan.boards);
    let records = RecordColumns::of(&plan.records);
    let messages = MessageColumns::of(&plan.messages);
    let added = TurnColumns::of(&plan.turns);

    let inserts = inserted.all();
    let updates = updated.without_creation();
    let statements: [(bool, &str, &[Parameter<'_>]); 18] = [
        (!inserted.id.is_empty(), INSERT_TASKS, &inserts),
        (!updated.id.is_empty(), UPDATE_TASKS, &updates),
        (!settled.is_empty(), SETTLE_TASKS, &[&settled, &settled_by]),
        (
            !comments.is_empty(),
            INSERT_COMMENTS,
            &[&on_tasks, &comments, &bodies],
        ),
        (
            !agents.is_empty(),
            PUT_AGENTS,
            &[&agents, &revisions, &runs, &roles, &entries],
        ),
        (
            !workspaces.is_empty(),
            PUT_WORKSPACES,
            &[&workspaces, &workspace_revisions, &places],
        ),
        (!plan.boards.is_empty(), PUT_BOARDS, &heads.all()),
        (!plan.boards.log().is_empty(), INSERT_LOG, &logged.all()),
        (!cut.is_empty(), CUT_LOG, &cut.all()),
        (records.forgets(), FORGET_RECORDS, &records.forgotten()),
        (records.deletes(), DELETE_RECORDS, &records.deleted()),
        (records.puts(), PUT_RECORDS, &records.put()),
        (messages.sends(), INSERT_MESSAGES, &messages.sent()),
        (messages.reads(), READ_MESSAGES, &messages.read()),
        (!plan.turns.is_empty(), INSERT_TURNS, &added.all()),
        (!marks.is_empty(), PUT_MARKS, &[&marks, &values]),
        (
            !seqs.is_empty(),
            INSERT_EVENTS,
            &[&seqs, &ats, &actors, &kinds, &subjects, &data],
        ),
        (news.is_some(), NOTIFY, &[&news]),
    ];
    let steps = statements
        .iter()
        .filter(|(needed, _, _)| *needed)
        .map(|(_, sql, parameters)| -> Step<'_> { Box::pin(session.query(sql, parameters)) })
        .collect();
    let end = commit.then(|| -> Step<'_> { Box::pin(session.run("COMMIT")) });
    let (answers, ended) = pipeline(steps, end).await;
    if let Some(error) = answers.into_iter().find_map(Result::err) {
        // Either the server rejected a step, and with it the transaction, or the connection was lost.
        return Err(if ended.is_some() && is_broken(&error) {
            Failure::Unanswered(error)
        } else {
            Failure::Nothing(error)
        });
    }
    match ended {
        Some(Err(error)) if is_broken(&error) => Err(Failure::Unanswered(error)),
        Some(Err(error)) => Err(Failure::Nothing(error)),
        Some(Ok(_)) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio_postgres::Config;

    use super::*;

    fn failure() -> Error {
        "no such setting".parse::<Config>().unwrap_err()
    }

    /// Whether the final statement is sent after this step.
    async fn ends_after(step: Step<'_>) -> bool {
        let sent = AtomicBool::new(false);
        let end: Step<'_> = Box::pin(async {
            sent.store(true, Ordering::Relaxed);
            Ok(Vec::new())
        });
        let (answers, ended) = pipeline(vec![step], Some(end)).await;
        assert_eq!(answers.len(), 1);
        assert_eq!(ended.is_some(), sent.load(Ordering::Relaxed));
        sent.into_inner()
    }

    #[tokio::test]
    async fn a_step_that_was_never_sent_stops_the_end() {
        assert!(!ends_after(Box::pin(async { Err(failure()) })).await);
    }

    #[tokio::test]
    async fn the_end_does_not_wait_for_answers() {
        let late: Step<'_> = Box::pin(async {
            tokio::task::yield_now().await;
            Err(failure())
        });
        assert!(ends_after(late).await);
        assert!(ends_after(Box::pin(async { Ok(Vec::new()) })).await);
    }
}
