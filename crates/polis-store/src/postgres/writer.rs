//! Group commit: one task with one connection combines pending changesets, up to a limit, into one
//! transaction. A stream of changesets ([`commit_stream`]) gets a transaction and a connection of its own.
//!
//! If COMMIT is not answered, the writer looks up the transaction's status on a new connection
//! ([`resolve_commit_outcome`]). Only if that fails too does the caller get `CommitUnknown`.

use std::sync::Arc;
use std::time::Duration;

use polis_core::{Changeset, RefusalCode};
use polis_ops::port::{ChangesetSource, CommitOutcome};
use polis_ops::{PortError, Receipt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::error::SqlState;

use super::batch_plan::{BatchPlan, BatchReadSet, CommitWitness};
use super::connection::{ConnectionPurpose, PgParam, PgSession, ServerAddress};
use super::error::{
    clone_error, commit_unknown_error, damaged_row_error, from_postgres, is_connection_lost,
    not_committed_error, server_timeout_error,
};
use super::transaction::{self, BatchWriteError};
use crate::prepared_changeset::PreparedChangeset;

/// Maximum number of changesets in one transaction, and the approximate maximum of their bytes.
const MAX_BATCH_CHANGESETS: usize = 512;
const MAX_BATCH_BYTES: usize = 8 << 20;

/// How many changesets are taken from a source before yielding to other tasks on this thread.
const CHANGESETS_PER_YIELD: usize = 16;

/// Delay before asking again for the status of a transaction.
const STATUS_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Additional wait beyond the server's lock timeout, so that the server can report the timeout itself.
const LOCK_TIMEOUT_GRACE: Duration = Duration::from_millis(500);

type CommitResult = Result<CommitOutcome, PortError>;

struct CommitRequest {
    changes: PreparedChangeset,
    reply: oneshot::Sender<CommitResult>,
}

/// Handle of the writer task, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct WriterTask {
    queue: mpsc::UnboundedSender<CommitRequest>,
}

impl WriterTask {
    pub(super) fn start(address: Arc<ServerAddress>) -> Self {
        let (queue, requests) = mpsc::unbounded_channel();
        tokio::spawn(run_writer_task(address, requests));
        Self { queue }
    }

    pub(super) async fn commit(&self, changes: Changeset) -> CommitResult {
        // Rows and JSON are built by the caller, so that the writer task only writes.
        let changes = PreparedChangeset::from_changeset(changes)?;
        let (answer, answered) = oneshot::channel();
        let writer_ended = || PortError::internal("The writer task", "it ended");
        self.queue
            .send(CommitRequest {
                changes,
                reply: answer,
            })
            .map_err(|_| writer_ended())?;
        answered.await.map_err(|_| writer_ended())?
    }
}

async fn run_writer_task(
    address: Arc<ServerAddress>,
    mut requests: mpsc::UnboundedReceiver<CommitRequest>,
) {
    let mut committer = BatchCommitter {
        address,
        session: None,
    };
    while let Some(first) = requests.recv().await {
        let mut bytes = first.changes.approximate_size();
        let mut batch = vec![first];
        while batch.len() < MAX_BATCH_CHANGESETS
            && bytes < MAX_BATCH_BYTES
            && let Ok(request) = requests.try_recv()
        {
            bytes += request.changes.approximate_size();
            batch.push(request);
        }
        match committer.commit_batch(&batch).await {
            Ok(outcomes) => reply_all(batch, outcomes),
            // An internal error may be caused by a single changeset: each gets its own transaction and its
            // own result.
            Err(error) if error.code == RefusalCode::INTERNAL && batch.len() > 1 => {
                for request in batch {
                    let alone = committer.commit_batch(std::slice::from_ref(&request)).await;
                    let outcome = alone.and_then(|mut o| o.pop().ok_or_else(damaged_row_error));
                    let _ = request.reply.send(outcome);
                }
            }
            Err(error) => {
                for request in batch {
                    let _ = request.reply.send(Err(clone_error(&error)));
                }
            }
        }
    }
}

fn reply_all(batch: Vec<CommitRequest>, outcomes: Vec<CommitOutcome>) {
    for (request, outcome) in batch.into_iter().zip(outcomes) {
        let _ = request.reply.send(Ok(outcome));
    }
}

/// Opens a connection with prepared statements for commits.
async fn open_write_session(
    address: &ServerAddress,
    deadline: Instant,
    plain: bool,
) -> Result<PgSession, PortError> {
    let session = address
        .open_session(ConnectionPurpose::Write, deadline)
        .await?;
    match timeout_at(deadline, transaction::prepare_statements(&session, plain)).await {
        Ok(equipped) => equipped.map_err(from_postgres).map(|()| session),
        Err(_) => Err(server_timeout_error()),
    }
}

struct BatchCommitter {
    address: Arc<ServerAddress>,
    /// The connection, outside of any transaction.
    session: Option<PgSession>,
}

impl BatchCommitter {
    /// Commits a batch. On an error nothing was committed, unless the code is `CommitUnknown`.
    async fn commit_batch(
        &mut self,
        batch: &[CommitRequest],
    ) -> Result<Vec<CommitOutcome>, PortError> {
        let needs = BatchReadSet::from_batch(batch.iter().map(|request| &request.changes));
        let deadline = self.address.deadline();
        let idle_session = self.session.take().filter(|session| !session.is_closed());
        let mut fresh = idle_session.is_none();
        let mut session = match idle_session {
            Some(session) => session,
            None => open_write_session(&self.address, deadline, needs.writes_documents).await?,
        };
        let (xid, found) = loop {
            // If this fails, dropping the connection rolls the transaction back.
            let read = async {
                if needs.writes_documents {
                    transaction::prepare_document_statements(&session).await?;
                }
                transaction::read_batch_state(&session, true, &needs).await
            };
            match timeout_at(deadline + LOCK_TIMEOUT_GRACE, read).await {
                Ok(Ok(read)) => break read,
                // An idle connection may have been dead for a long time; retry on a fresh one.
                Ok(Err(error)) if is_connection_lost(&error) && !fresh => {
                    fresh = true;
                    session =
                        open_write_session(&self.address, deadline, needs.writes_documents).await?;
                }
                Ok(Err(error)) if is_connection_lost(&error) => {
                    return Err(not_committed_error(from_postgres(error)));
                }
                Ok(Err(error)) => {
                    self.roll_back(session).await;
                    return Err(from_postgres(error));
                }
                Err(_) => return Err(not_committed_error(server_timeout_error())),
            }
        };
        if let Err(error) = transaction::check_log_head(&found) {
            self.roll_back(session).await;
            return Err(error);
        }
        let mut plan = BatchPlan::new(found);
        let decided = batch
            .iter()
            .map(|request| plan.apply_changeset(&request.changes))
            .collect::<Result<Vec<_>, _>>();
        let outcomes = match decided {
            Ok(outcomes) => outcomes,
            Err(error) => {
                self.roll_back(session).await;
                return Err(error);
            }
        };
        if plan.is_empty() {
            self.roll_back(session).await;
            return Ok(outcomes);
        }
        let written = timeout_at(
            self.address.deadline(),
            transaction::write_batch(&session, &plan, true),
        );
        match written.await {
            Ok(Ok(())) => {
                self.session = Some(session);
                Ok(outcomes)
            }
            Ok(Err(BatchWriteError::NotCommitted(error))) if is_connection_lost(&error) => {
                Err(not_committed_error(from_postgres(error)))
            }
            Ok(Err(BatchWriteError::NotCommitted(error))) => {
                self.roll_back(session).await;
                Err(from_postgres(error))
            }
            unanswered => {
                drop(session);
                let cause = unanswered_cause(unanswered);
                resolve_commit_outcome(&self.address, &xid, plan.commit_witness().as_ref(), cause)
                    .await?;
                Ok(outcomes)
            }
        }
    }

    /// Rolls a transaction back; keeps the connection if that succeeds.
    async fn roll_back(&mut self, session: PgSession) {
        let undone = timeout_at(self.address.deadline(), session.execute_batch("ROLLBACK")).await;
        if matches!(undone, Ok(Ok(_))) {
            self.session = Some(session);
        }
    }
}

/// Returns why COMMIT was not answered.
fn unanswered_cause<T>(unanswered: Result<Result<T, BatchWriteError>, Elapsed>) -> PortError {
    match unanswered {
        Ok(Err(
            BatchWriteError::CommitUnanswered(error) | BatchWriteError::NotCommitted(error),
        )) => from_postgres(error),
        Ok(Ok(_)) | Err(_) => server_timeout_error(),
    }
}

/// Determines the outcome of a transaction whose COMMIT was not answered: `Ok` if it was committed.
///
/// After a crash the server may reuse the id of a lost transaction, so the id alone proves nothing; a row
/// that only this transaction can have written, the witness, must exist too.
async fn resolve_commit_outcome(
    address: &ServerAddress,
    xid: &str,
    witness: Option<&CommitWitness>,
    cause: PortError,
) -> Result<(), PortError> {
    let deadline = address.deadline();
    while Instant::now() < deadline {
        match query_commit_status(address, deadline, xid, witness).await {
            Ok(Some(true)) => return Ok(()),
            Ok(Some(false)) => return Err(not_committed_error(cause)),
            Ok(None) => break,
            Err(()) => sleep(STATUS_RETRY_INTERVAL).await,
        }
    }
    Err(commit_unknown_error().with_source(cause))
}

/// Asks the server once for the status of a transaction: `Some(true)` if it was committed, `Some(false)` if
/// not, `None` if the server cannot tell. Fails if the status has to be asked again.
async fn query_commit_status(
    address: &ServerAddress,
    deadline: Instant,
    xid: &str,
    witness: Option<&CommitWitness>,
) -> Result<Option<bool>, ()> {
    let session = address
        .open_session(ConnectionPurpose::Read, deadline)
        .await
        .map_err(|_| ())?;
    let of_status: [PgParam<'_>; 1] = [&xid];
    let query = session.query("SELECT pg_xact_status($1::text::xid8)", &of_status);
    let status: Option<String> = match timeout_at(deadline, query).await {
        Ok(Ok(rows)) => rows.first().and_then(|row| row.try_get(0).ok()).ok_or(())?,
        // The id is "in the future": the server crashed and has no record of it.
        Ok(Err(error)) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => {
            return Ok(Some(false));
        }
        Ok(Err(_)) | Err(_) => return Err(()),
    };
    match (status.as_deref(), witness) {
        (Some("aborted"), _) => Ok(Some(false)),
        (Some("committed"), Some(witness)) => {
            let found = match witness {
                CommitWitness::Event {
                    seq,
                    at,
                    actor,
                    kind,
                    subject,
                    data,
                } => {
                    let sql = "SELECT count(*) FROM events WHERE seq = $1 AND at = $2 AND actor = $3 \
                               AND kind = $4 AND subject = $5 AND data = $6";
                    let of_event: [PgParam<'_>; 6] = [seq, at, actor, kind, subject, data];
                    timeout_at(deadline, session.query(sql, &of_event)).await
                }
                CommitWitness::Turn { member, turn, body } => {
                    let sql =
                        "SELECT count(*) FROM turns WHERE member = $1 AND turn = $2 AND body = $3";
                    let of_turn: [PgParam<'_>; 3] = [member, turn, body];
                    timeout_at(deadline, session.query(sql, &of_turn)).await
                }
                CommitWitness::Message {
                    id,
                    sender,
                    recipient,
                    at,
                    payload,
                } => {
                    let sql = "SELECT count(*) FROM messages WHERE recipient = $1 AND id = $2 AND sender = $3 \
                               AND at = $4 AND payload = $5";
                    let of_message: [PgParam<'_>; 5] = [recipient, id, sender, at, payload];
                    timeout_at(deadline, session.query(sql, &of_message)).await
                }
            };
            let Ok(Ok(rows)) = found else {
                return Err(());
            };
            let count: i64 = rows.first().and_then(|row| row.try_get(0).ok()).ok_or(())?;
            Ok(Some(count == 1))
        }
        // Still being ended by a server process that has not yet noticed our disconnect.
        (Some("in progress"), _) => Err(()),
        _ => Ok(None),
    }
}

/// Commits a stream of changesets in one transaction, on a separate connection. If a changeset conflicts or
/// the stream fails, nothing is committed.
pub(super) async fn commit_stream(
    address: &ServerAddress,
    source: &mut dyn ChangesetSource,
) -> CommitResult {
    let session = open_write_session(address, address.deadline(), true).await?;
    // An early return drops the connection, which rolls the transaction back.
    let xid = with_deadline(address, transaction::begin_transaction(&session)).await?;
    let mut receipt = Receipt::default();
    let mut witness = None;
    let mut chunk = Vec::new();
    loop {
        let ended = fill_chunk(&mut chunk, source).await?;
        let needs = BatchReadSet::from_batch(chunk.iter());
        let (_, found) = with_deadline(
            address,
            transaction::read_batch_state(&session, false, &needs),
        )
        .await?;
        transaction::check_log_head(&found)?;
        let mut plan = BatchPlan::new(found);
        for changes in &chunk {
            match plan.apply_changeset(changes)? {
                CommitOutcome::Committed(one) => {
                    receipt.sequence = one.sequence;
                    receipt.unblocked.extend(one.unblocked);
                }
                CommitOutcome::Conflict(key) => {
                    let _ = with_deadline(address, session.execute_batch("ROLLBACK")).await;
                    return Ok(CommitOutcome::Conflict(key));
                }
            }
        }
        witness = plan.commit_witness().or(witness);
        let written = timeout_at(
            address.deadline(),
            transaction::write_batch(&session, &plan, ended),
        );
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(BatchWriteError::NotCommitted(error))) if is_connection_lost(&error) => {
                return Err(not_committed_error(from_postgres(error)));
            }
            Ok(Err(BatchWriteError::NotCommitted(error))) => return Err(from_postgres(error)),
            Err(_) if !ended => return Err(not_committed_error(server_timeout_error())),
            unanswered => {
                drop(session);
                let cause = unanswered_cause(unanswered);
                resolve_commit_outcome(address, &xid, witness.as_ref(), cause).await?;
                return Ok(CommitOutcome::Committed(receipt));
            }
        }
        if ended {
            return Ok(CommitOutcome::Committed(receipt));
        }
        chunk.clear();
    }
}

/// Takes the next changesets from a source. Returns whether it is exhausted.
async fn fill_chunk(
    chunk: &mut Vec<PreparedChangeset>,
    source: &mut dyn ChangesetSource,
) -> Result<bool, PortError> {
    let mut bytes = 0;
    while chunk.len() < MAX_BATCH_CHANGESETS && bytes < MAX_BATCH_BYTES {
        // A source may read a file per changeset, and this thread may serve other tasks.
        if chunk.len() % CHANGESETS_PER_YIELD == CHANGESETS_PER_YIELD - 1 {
            yield_now().await;
        }
        let Some(changes) = source.next()? else {
            return Ok(true);
        };
        let changes = PreparedChangeset::from_changeset(changes)?;
        bytes += changes.approximate_size();
        chunk.push(changes);
    }
    Ok(false)
}

/// Waits for a step before the end of a transaction.
async fn with_deadline<T>(
    address: &ServerAddress,
    step: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, PortError> {
    match timeout_at(address.deadline() + LOCK_TIMEOUT_GRACE, step).await {
        Ok(Err(error)) if is_connection_lost(&error) => {
            Err(not_committed_error(from_postgres(error)))
        }
        Ok(answer) => answer.map_err(from_postgres),
        Err(_) => Err(not_committed_error(server_timeout_error())),
    }
}
