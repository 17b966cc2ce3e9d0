//! Group commit: one task with one connection combines all pending changesets into one transaction.
//!
//! If the connection breaks during COMMIT, the writer looks up the transaction's status on a new connection
//! ([`fate`]), so that the caller learns whether the change was made.

use std::sync::Arc;
use std::time::Duration;

use polis_core::{Changeset, Code};
use polis_ops::port::{ChangesetSource, Outcome};
use polis_ops::{PortError, Receipt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::error::SqlState;

use super::connection::{Address, Parameter, Purpose, Session};
use super::error::{copy, damaged, from_postgres, is_broken, not_committed, silent, unknown};
use super::plan::{Needs, Plan, Witness};
use super::transaction::{self, Failure};
use crate::prepared::Prepared;

/// Maximum number of changesets in one transaction, and the approximate maximum of their bytes.
const MOST: usize = 512;
const MOST_BYTES: usize = 8 << 20;

/// How many changesets are taken from a source before yielding to other tasks on this thread.
const IN_A_ROW: usize = 16;

/// Delay before asking again for the status of a transaction.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Additional wait beyond the server's lock timeout, so that the server can report the timeout itself.
const GRACE: Duration = Duration::from_millis(500);

type Answer = Result<Outcome, PortError>;

struct Request {
    changes: Prepared,
    answer: oneshot::Sender<Answer>,
}

/// Handle of the writer task, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::UnboundedSender<Request>,
}

impl Writer {
    pub(super) fn start(address: Arc<Address>) -> Self {
        let (queue, requests) = mpsc::unbounded_channel();
        tokio::spawn(serve(address, requests));
        Self { queue }
    }

    pub(super) async fn commit(&self, changes: Changeset) -> Answer {
        // Rows and JSON are built by the caller, so that the writer task only writes.
        let changes = Prepared::of(changes)?;
        let (answer, answered) = oneshot::channel();
        let gone = || PortError::internal("The writer task", "it ended");
        self.queue
            .send(Request { changes, answer })
            .map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

async fn serve(address: Arc<Address>, mut requests: mpsc::UnboundedReceiver<Request>) {
    let mut committer = Committer {
        address,
        session: None,
    };
    while let Some(first) = requests.recv().await {
        let mut bytes = first.changes.size();
        let mut batch = vec![first];
        while batch.len() < MOST
            && bytes < MOST_BYTES
            && let Ok(request) = requests.try_recv()
        {
            bytes += request.changes.size();
            batch.push(request);
        }
        match committer.commit(&batch).await {
            Ok(outcomes) => answer_all(batch, outcomes),
            // An internal error may be caused by a single changeset: each gets its own transaction and its
            // own result.
            Err(error) if error.code == Code::Internal && batch.len() > 1 => {
                for request in batch {
                    let alone = committer.commit(std::slice::from_ref(&request)).await;
                    let outcome = alone.and_then(|mut o| o.pop().ok_or_else(damaged));
                    let _ = request.answer.send(outcome);
                }
            }
            Err(error) => {
                for request in batch {
                    let _ = request.answer.send(Err(copy(&error)));
                }
            }
        }
    }
}

fn answer_all(batch: Vec<Request>, outcomes: Vec<Outcome>) {
    for (request, outcome) in batch.into_iter().zip(outcomes) {
        let _ = request.answer.send(Ok(outcome));
    }
}

/// Opens a connection that is ready to commit.
async fn open(address: &Address, deadline: Instant, plain: bool) -> Result<Session, PortError> {
    let session = address.open(Purpose::Write, deadline).await?;
    match timeout_at(deadline, transaction::equip(&session, plain)).await {
        Ok(equipped) => equipped.map_err(from_postgres).map(|()| session),
        Err(_) => Err(silent()),
    }
}

struct Committer {
    address: Arc<Address>,
    /// The connection, outside of any transaction.
    session: Option<Session>,
}

impl Committer {
    /// Commits a batch. On an error nothing was committed, unless the code is `CommitUnknown`.
    async fn commit(&mut self, batch: &[Request]) -> Result<Vec<Outcome>, PortError> {
        let needs = Needs::of(batch.iter().map(|request| &request.changes));
        let deadline = self.address.deadline();
        let kept = self.session.take().filter(|session| !session.is_closed());
        let mut fresh = kept.is_none();
        let mut session = match kept {
            Some(session) => session,
            None => open(&self.address, deadline, needs.plain).await?,
        };
        let (xid, found) = loop {
            // If this fails, dropping the connection rolls the transaction back.
            let read = async {
                if needs.plain {
                    transaction::equip_plain(&session).await?;
                }
                transaction::read(&session, true, &needs).await
            };
            match timeout_at(deadline + GRACE, read).await {
                Ok(Ok(read)) => break read,
                // An idle connection may have been dead for a long time; retry on a fresh one.
                Ok(Err(error)) if is_broken(&error) && !fresh => {
                    fresh = true;
                    session = open(&self.address, deadline, needs.plain).await?;
                }
                Ok(Err(error)) if is_broken(&error) => {
                    return Err(not_committed(from_postgres(error)));
                }
                Ok(Err(error)) => {
                    self.undo(session).await;
                    return Err(from_postgres(error));
                }
                Err(_) => return Err(not_committed(silent())),
            }
        };
        if let Err(error) = transaction::check(&found) {
            self.undo(session).await;
            return Err(error);
        }
        let mut plan = Plan::on(found);
        let decided = batch
            .iter()
            .map(|request| plan.apply(&request.changes))
            .collect::<Result<Vec<_>, _>>();
        let outcomes = match decided {
            Ok(outcomes) => outcomes,
            Err(error) => {
                self.undo(session).await;
                return Err(error);
            }
        };
        if plan.is_empty() {
            self.undo(session).await;
            return Ok(outcomes);
        }
        let written = timeout_at(
            self.address.deadline(),
            transaction::write(&session, &plan, true),
        );
        match written.await {
            Ok(Ok(())) => {
                self.session = Some(session);
                Ok(outcomes)
            }
            Ok(Err(Failure::Nothing(error))) if is_broken(&error) => {
                Err(not_committed(from_postgres(error)))
            }
            Ok(Err(Failure::Nothing(error))) => {
                self.undo(session).await;
                Err(from_postgres(error))
            }
            unanswered => {
                drop(session);
                let cause = cause_of(unanswered);
                fate(&self.address, &xid, plan.witness().as_ref(), cause).await?;
                Ok(outcomes)
            }
        }
    }

    /// Rolls a transaction back; keeps the connection if that succeeds.
    async fn undo(&mut self, session: Session) {
        let undone = timeout_at(self.address.deadline(), session.run("ROLLBACK")).await;
        if matches!(undone, Ok(Ok(_))) {
            self.session = Some(session);
        }
    }
}

/// Returns why COMMIT was not answered.
fn cause_of<T>(unanswered: Result<Result<T, Failure>, Elapsed>) -> PortError {
    match unanswered {
        Ok(Err(Failure::Unanswered(error) | Failure::Nothing(error))) => from_postgres(error),
        Ok(Ok(_)) | Err(_) => silent(),
    }
}

/// Determines the outcome of a transaction whose COMMIT was not answered: `Ok` if it was committed.
///
/// After a crash the server may reuse the id of a lost transaction, so the id alone proves nothing; a row
/// that only this transaction can have written, the witness, must exist too.
async fn fate(
    address: &Address,
    xid: &str,
    witness: Option<&Witness>,
    cause: PortError,
) -> Result<(), PortError> {
    let deadline = address.deadline();
    while Instant::now() < deadline {
        match ask(address, deadline, xid, witness).await {
            Ok(Some(true)) => return Ok(()),
            Ok(Some(false)) => return Err(not_committed(cause)),
            Ok(None) => break,
            Err(()) => sleep(ASK_AGAIN).await,
        }
    }
    Err(unknown().because(cause))
}

/// Asks once: committed, not committed, or unknown. Fails if it has to be asked again.
async fn ask(
    address: &Address,
    deadline: Instant,
    xid: &str,
    witness: Option<&Witness>,
) -> Result<Option<bool>, ()> {
    let session = address
        .open(Purpose::Read, deadline)
        .await
        .map_err(|_| ())?;
    let of_status: [Parameter<'_>; 1] = [&xid];
    let asked = session.query("SELECT pg_xact_status($1::text::xid8)", &of_status);
    let status: Option<String> = match timeout_at(deadline, asked).await {
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
                Witness::Event {
                    seq,
                    at,
                    actor,
                    kind,
                    subject,
                    data,
                } => {
                    let sql = "SELECT count(*) FROM events WHERE seq = $1 AND at = $2 AND actor = $3 \
                               AND kind = $4 AND subject = $5 AND data = $6";
                    let of_event: [Parameter<'_>; 6] = [seq, at, actor, kind, subject, data];
                    timeout_at(deadline, session.query(sql, &of_event)).await
                }
                Witness::Turn { member, turn, body } => {
                    let sql =
                        "SELECT count(*) FROM turns WHERE member = $1 AND turn = $2 AND body = $3";
                    let of_turn: [Parameter<'_>; 3] = [member, turn, body];
                    timeout_at(deadline, session.query(sql, &of_turn)).await
                }
                Witness::Message {
                    id,
                    sender,
                    recipient,
                    at,
                    payload,
                } => {
                    let sql = "SELECT count(*) FROM messages WHERE recipient = $1 AND id = $2 AND sender = $3 \
                               AND at = $4 AND payload = $5";
                    let of_message: [Parameter<'_>; 5] = [recipient, id, sender, at, payload];
                    timeout_at(deadline, session.query(sql, &of_message)).await
                }
            };
            let Ok(Ok(rows)) = found else {
                return Err(());
            };
            let there: i64 = rows.first().and_then(|row| row.try_get(0).ok()).ok_or(())?;
            Ok(Some(there == 1))
        }
        // Still being ended by a server process that has not yet noticed our disconnect.
        (Some("in progress"), _) => Err(()),
        _ => Ok(None),
    }
}

/// Commits a stream of changesets in one transaction, on a separate connection.
pub(super) async fn commit_stream(address: &Address, source: &mut dyn ChangesetSource) -> Answer {
    let session = open(address, address.deadline(), true).await?;
    // An early return drops the connection, which rolls the transaction back.
    let xid = within(address, transaction::begin(&session)).await?;
    let mut receipt = Receipt::default();
    let mut witness = None;
    let mut chunk = Vec::new();
    loop {
        let ended = fill(&mut chunk, source).await?;
        let needs = Needs::of(chunk.iter());
        let (_, found) = within(address, transaction::read(&session, false, &needs)).await?;
        transaction::check(&found)?;
        let mut plan = Plan::on(found);
        for changes in &chunk {
            match plan.apply(changes)? {
                Outcome::Committed(one) => {
                    receipt.sequence = one.sequence;
                    receipt.unblocked.extend(one.unblocked);
                }
                Outcome::Conflict(key) => {
                    let _ = within(address, session.run("ROLLBACK")).await;
                    return Ok(Outcome::Conflict(key));
                }
            }
        }
        witness = plan.witness().or(witness);
        let written = timeout_at(
            address.deadline(),
            transaction::write(&session, &plan, ended),
        );
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(Failure::Nothing(error))) if is_broken(&error) => {
                return Err(not_committed(from_postgres(error)));
            }
            Ok(Err(Failure::Nothing(error))) => return Err(from_postgres(error)),
            Err(_) if !ended => return Err(not_committed(silent())),
            unanswered => {
                drop(session);
                let cause = cause_of(unanswered);
                fate(address, &xid, witness.as_ref(), cause).await?;
                return Ok(Outcome::Committed(receipt));
            }
        }
        if ended {
            return Ok(Outcome::Committed(receipt));
        }
        chunk.clear();
    }
}

/// Takes the next changesets from a source. Returns whether it is exhausted.
async fn fill(
    chunk: &mut Vec<Prepared>,
    source: &mut dyn ChangesetSource,
) -> Result<bool, PortError> {
    let mut bytes = 0;
    while chunk.len() < MOST && bytes < MOST_BYTES {
        // A source may read a file per changeset, and this thread may serve other tasks.
        if chunk.len() % IN_A_ROW == IN_A_ROW - 1 {
            yield_now().await;
        }
        let Some(changes) = source.next()? else {
            return Ok(true);
        };
        let changes = Prepared::of(changes)?;
        bytes += changes.size();
        chunk.push(changes);
    }
    Ok(false)
}

/// Waits for a step before the end of a transaction.
async fn within<T>(
    address: &Address,
    step: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, PortError> {
    match timeout_at(address.deadline() + GRACE, step).await {
        Ok(Err(error)) if is_broken(&error) => Err(not_committed(from_postgres(error))),
        Ok(answer) => answer.map_err(from_postgres),
        Err(_) => Err(not_committed(silent())),
    }
}
