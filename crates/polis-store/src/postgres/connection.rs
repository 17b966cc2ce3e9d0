//! PostgreSQL connections: address parsing, session settings, prepared statements and automatic schema
//! migrations. Connections are not encrypted; an address that requires TLS is refused.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::number::saturating_cast;
use polis_ops::PortError;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Connection, Error, NoTls, Row, Socket, Statement};

use super::error::{
    from_postgres, is_connection_lost, server_timeout_error, server_unreachable_error,
};
use crate::schema_version::schema_too_new_error;
use crate::store_failure::StoreFailure;

/// The schema migrations: each is applied once, in order. Append only.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_tasks_agents_log.sql"),
    include_str!("../../migrations/postgres/0002_boards.sql"),
    include_str!("../../migrations/postgres/0003_workspaces.sql"),
    include_str!("../../migrations/postgres/0004_records_messages.sql"),
    include_str!("../../migrations/postgres/0005_society.sql"),
    include_str!("../../migrations/postgres/0006_person_mail.sql"),
    include_str!("../../migrations/postgres/0007_person_and_command_indexes.sql"),
    include_str!("../../migrations/postgres/0008_task_priority.sql"),
];

/// Advisory lock held while migrating ("polis" in ASCII).
const MIGRATION_LOCK: i64 = 0x70_6f6c_6973;

/// Delay before reconnecting to a server that is just starting.
const STARTUP_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A parameter of a statement.
pub(super) type PgParam<'a> = &'a (dyn ToSql + Sync);

/// Address of the server, and how long to wait for it.
#[derive(Debug)]
pub(super) struct ServerAddress {
    config: Config,
    pub(super) timeout: Duration,
}

/// Purpose of a connection; determines its session settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPurpose {
    /// Read queries.
    Read,
    /// Transactions that commit batches.
    Write,
}

impl ServerAddress {
    /// Parses an address such as `postgres://user:password@host/database`. Fails with `InvalidConfig` if it
    /// is invalid or requires TLS.
    pub(super) fn parse(url: &str, timeout: Duration) -> Result<Self, PortError> {
        // The parser's own error message may quote the address, and with it the password.
        let mut config: Config = url
            .parse()
            .map_err(|_| PortError::from(StoreFailure::InvalidAddress))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(PortError::from(StoreFailure::TlsUnsupported));
        }
        // Without TLS support `prefer` is equivalent to `disable`; this saves the negotiation.
        config.ssl_mode(SslMode::Disable);
        if config.get_application_name().is_none() {
            config.application_name("polis");
        }
        config.keepalives_idle(Duration::from_secs(30));
        Ok(Self { config, timeout })
    }

    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Returns the session settings, which are sent with the connection's startup message.
    ///
    /// All our statements are index lookups, and must stay so while tables grow: a plan made when a table was
    /// small must not keep scanning the whole table.
    fn session_settings(&self, purpose: ConnectionPurpose) -> String {
        let wait = self.timeout.as_millis().clamp(1, 2_000_000_000);
        let of_purpose = match purpose {
            // Where an index provides the order, do not sort, even before the first statistics exist.
            ConnectionPurpose::Read => " -c enable_sort=off",
            ConnectionPurpose::Write => {
                " -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan"
            }
        };
        format!(
            "{} -c jit=off -c enable_seqscan=off -c lock_timeout={wait} \
             -c idle_in_transaction_session_timeout={}{of_purpose}",
            self.config.get_options().unwrap_or_default(),
            wait.max(60_000)
        )
    }

    /// Opens a connection whose message loop the caller has to drive. Retries while the server is starting.
    /// Fails with `StoreUnavailable` if it cannot be reached by the deadline, or does not use UTF-8.
    pub(super) async fn connect(
        &self,
        purpose: ConnectionPurpose,
        deadline: Instant,
    ) -> Result<(Client, Connection<Socket, NoTlsStream>), PortError> {
        let mut config = self.config.clone();
        config.options(self.session_settings(purpose));
        loop {
            match timeout_at(deadline, config.connect(NoTls)).await {
                Ok(Ok((client, connection))) => {
                    return match connection.parameter("server_encoding") {
                        Some("UTF8") | None => Ok((client, connection)),
                        Some(_) => Err(PortError::from(StoreFailure::DatabaseNotUtf8)),
                    };
                }
                Ok(Err(error)) if error.code() == Some(&SqlState::CANNOT_CONNECT_NOW) => {
                    if Instant::now() + STARTUP_RETRY_INTERVAL >= deadline {
                        return Err(from_postgres(error));
                    }
                    sleep(STARTUP_RETRY_INTERVAL).await;
                }
                Ok(Err(error)) if error.code().is_some() => return Err(from_postgres(error)),
                Ok(Err(error)) => return Err(server_unreachable_error().with_source(error)),
                Err(elapsed) => return Err(server_unreachable_error().with_source(elapsed)),
            }
        }
    }

    /// Opens a connection and spawns a task that drives its message loop.
    pub(super) async fn open_session(
        &self,
        purpose: ConnectionPurpose,
        deadline: Instant,
    ) -> Result<PgSession, PortError> {
        let (client, connection) = self.connect(purpose, deadline).await?;
        // Ends with the client. Its error reaches the callers that wait for an answer.
        tokio::spawn(connection);
        Ok(PgSession {
            client,
            statements: Mutex::default(),
        })
    }
}

/// A connection and the statements prepared on it.
#[derive(Debug)]
pub(super) struct PgSession {
    pub(super) client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl PgSession {
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Whether a statement is prepared.
    pub(super) fn is_prepared(&self, sql: &str) -> bool {
        self.statements.lock().contains_key(sql)
    }

    /// Prepares a statement, or returns the one prepared earlier.
    pub(super) async fn prepare_statement(&self, sql: &str) -> Result<Statement, Error> {
        let prepared = self.statements.lock().get(sql).cloned();
        if let Some(statement) = prepared {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.statements
            .lock()
            .insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Runs a statement. If it is already prepared, it is sent on the first poll.
    pub(super) async fn query(
        &self,
        sql: &str,
        parameters: &[PgParam<'_>],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.prepare_statement(sql).await?;
        self.client.query(&statement, parameters).await
    }

    /// Runs statements without parameters and without a result.
    pub(super) async fn execute_batch(&self, sql: &str) -> Result<Vec<Row>, Error> {
        self.client.batch_execute(sql).await.map(|()| Vec::new())
    }
}

/// Applies missing schema migrations. Fails with `StoreTooNew` if a newer polis has migrated the database.
pub(super) async fn apply_migrations(
    session: &PgSession,
    deadline: Instant,
) -> Result<(), PortError> {
    timeout_at(deadline, async {
        let version = match schema_version(session).await {
            // The table does not exist yet.
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => 0,
            other => other.map_err(from_postgres)?,
        };
        if version < MIGRATIONS.len() {
            return apply_missing_migrations(session).await;
        }
        check_schema_version(version)
    })
    .await
    .unwrap_or_else(|_| Err(server_timeout_error()))
}

fn check_schema_version(version: usize) -> Result<(), PortError> {
    if version > MIGRATIONS.len() {
        return Err(schema_too_new_error(version, MIGRATIONS.len()));
    }
    Ok(())
}

async fn schema_version(session: &PgSession) -> Result<usize, Error> {
    let sql = "SELECT coalesce(max(version), 0) FROM polis_schema";
    let row = session.client.query_one(sql, &[]).await?;
    let version: i64 = row.try_get(0)?;
    Ok(saturating_cast::<usize>(version))
}

/// Applies the missing migrations in one transaction; other processes that start now wait for it.
async fn apply_missing_migrations(session: &PgSession) -> Result<(), PortError> {
    let run =
        |sql: String| async move { session.execute_batch(&sql).await.map_err(migration_error) };
    run(format!(
        "BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK}); \
         CREATE TABLE IF NOT EXISTS polis_schema (version BIGINT PRIMARY KEY)"
    ))
    .await?;
    // Another process may have migrated while we waited for the lock.
    let version = schema_version(session).await.map_err(from_postgres)?;
    check_schema_version(version)?;
    for (step, number) in MIGRATIONS.iter().zip(1..).skip(version) {
        run(format!(
            "{step}; INSERT INTO polis_schema (version) VALUES ({number})"
        ))
        .await?;
    }
    run("COMMIT".to_owned()).await.map(|_| ())
}

fn migration_error(error: Error) -> PortError {
    if error.code() == Some(&SqlState::INVALID_SCHEMA_NAME) && !is_connection_lost(&error) {
        return PortError::from(StoreFailure::NoSchema).with_source(error);
    }
    from_postgres(error)
}
