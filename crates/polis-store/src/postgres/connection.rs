//! PostgreSQL connections: address parsing, session settings, prepared statements and automatic schema
//! migrations.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use polis_core::Code;
use polis_ops::PortError;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Connection, Error, NoTls, Row, Socket, Statement};

use super::error::{from_postgres, is_broken, silent, unreachable};
use crate::schema::too_new;

/// The schema migrations: each is applied once, in order. Append only.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_tasks_agents_log.sql"),
    include_str!("../../migrations/postgres/0002_boards.sql"),
    include_str!("../../migrations/postgres/0003_workspaces.sql"),
    include_str!("../../migrations/postgres/0004_records_messages.sql"),
    include_str!("../../migrations/postgres/0005_society.sql"),
    include_str!("../../migrations/postgres/0006_person_mail.sql"),
    include_str!("../../migrations/postgres/0007_over_all.sql"),
];

/// Advisory lock held while migrating ("polis" in ASCII).
const MIGRATION_LOCK: i64 = 0x70_6f6c_6973;

/// Delay before reconnecting to a server that is just starting.
const STARTING: Duration = Duration::from_millis(100);

/// A parameter of a statement.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// Address of the server, and how long to wait for it.
#[derive(Debug)]
pub(super) struct Address {
    config: Config,
    pub(super) patience: Duration,
}

/// Purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Queries.
    Read,
    /// Commits.
    Write,
}

impl Address {
    /// Parses an address such as `postgres://user:password@host/database`.
    pub(super) fn parse(url: &str, patience: Duration) -> Result<Self, PortError> {
        // The parser's own error message may quote the address, and with it the password.
        let mut config: Config = url.parse().map_err(|_| {
            PortError::new(
                Code::InvalidConfig,
                "The store's address is not a PostgreSQL address that polis understands.",
                "write it as postgres://user:password@host:5432/database; of sslmode, disable and \
                 prefer are supported",
            )
        })?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(PortError::new(
                Code::InvalidConfig,
                "TLS to PostgreSQL is not supported.",
                "connect over a local socket, a private network or a tunnel, without sslmode=require",
            ));
        }
        // Without TLS support `prefer` is equivalent to `disable`; this saves the negotiation.
        config.ssl_mode(SslMode::Disable);
        if config.get_application_name().is_none() {
            config.application_name("polis");
        }
        config.keepalives_idle(Duration::from_secs(30));
        Ok(Self { config, patience })
    }

    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.patience
    }

    /// Returns the session settings, which are sent with the connection's startup message.
    ///
    /// All our statements are index lookups, and must stay so while tables grow: a plan made when a table was
    /// small must not keep scanning the whole table.
    fn settings(&self, purpose: Purpose) -> String {
        let wait = self.patience.as_millis().clamp(1, 2_000_000_000);
        let of_purpose = match purpose {
            // Where an index provides the order, do not sort, even before the first statistics exist.
            Purpose::Read => " -c enable_sort=off",
            Purpose::Write => {
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

    /// Opens a connection whose message loop the caller has to drive.
    pub(super) async fn dial(
        &self,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<(Client, Connection<Socket, NoTlsStream>), PortError> {
        let mut config = self.config.clone();
        config.options(self.settings(purpose));
        loop {
            match timeout_at(deadline, config.connect(NoTls)).await {
                Ok(Ok((client, connection))) => {
                    return match connection.parameter("server_encoding") {
                        Some("UTF8") | None => Ok((client, connection)),
                        Some(_) => Err(PortError::new(
                            Code::StoreUnavailable,
                            "The PostgreSQL database does not use UTF-8.",
                            "create it with ENCODING 'UTF8'",
                        )),
                    };
                }
                Ok(Err(error)) if error.code() == Some(&SqlState::CANNOT_CONNECT_NOW) => {
                    if Instant::now() + STARTING >= deadline {
                        return Err(from_postgres(error));
                    }
                    sleep(STARTING).await;
                }
                Ok(Err(error)) if error.code().is_some() => return Err(from_postgres(error)),
                Ok(Err(error)) => return Err(unreachable().because(error)),
                Err(elapsed) => return Err(unreachable().because(elapsed)),
            }
        }
    }

    /// Opens a connection.
    pub(super) async fn open(
        &self,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Session, PortError> {
        let (client, connection) = self.dial(purpose, deadline).await?;
        // Ends with the client. Its error reaches the callers that wait for an answer.
        tokio::spawn(connection);
        Ok(Session {
            client,
            statements: Mutex::default(),
        })
    }
}

/// A connection and the statements prepared on it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl Session {
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Whether a statement is prepared.
    pub(super) fn is_prepared(&self, sql: &str) -> bool {
        self.statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(sql)
    }

    /// Prepares a statement, or returns the one prepared earlier.
    pub(super) async fn statement(&self, sql: &str) -> Result<Statement, Error> {
        let known = self
            .statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(sql)
            .cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Runs a statement. If it is already prepared, it is sent on the first poll.
    pub(super) async fn query(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.statement(sql).await?;
        self.client.query(&statement, parameters).await
    }

    /// Runs statements without parameters and without a result.
    pub(super) async fn run(&self, sql: &str) -> Result<Vec<Row>, Error> {
        self.client.batch_execute(sql).await.map(|()| Vec::new())
    }
}

/// Applies missing migrations.
pub(super) async fn migrate(session: &Session, deadline: Instant) -> Result<(), PortError> {
    timeout_at(deadline, async {
        let version = match schema_version(session).await {
            // The table does not exist yet.
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => 0,
            other => other.map_err(from_postgres)?,
        };
        if version < MIGRATIONS.len() {
            return apply_missing(session).await;
        }
        known(version)
    })
    .await
    .unwrap_or_else(|_| Err(silent()))
}

fn known(version: usize) -> Result<(), PortError> {
    if version > MIGRATIONS.len() {
        return Err(too_new(version, MIGRATIONS.len()));
    }
    Ok(())
}

async fn schema_version(session: &Session) -> Result<usize, Error> {
    let sql = "SELECT coalesce(max(version), 0) FROM polis_schema";
    let row = session.client.query_one(sql, &[]).await?;
    let version: i64 = row.try_get(0)?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

/// Applies the missing migrations in one transaction; other processes that start now wait for it.
async fn apply_missing(session: &Session) -> Result<(), PortError> {
    let run = |sql: String| async move { session.run(&sql).await.map_err(cannot_create) };
    run(format!(
        "BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK}); \
         CREATE TABLE IF NOT EXISTS polis_schema (version BIGINT PRIMARY KEY)"
    ))
    .await?;
    // Another process may have migrated while we waited for the lock.
    let version = schema_version(session).await.map_err(from_postgres)?;
    known(version)?;
    for (step, number) in MIGRATIONS.iter().zip(1..).skip(version) {
        run(format!(
            "{step}; INSERT INTO polis_schema (version) VALUES ({number})"
        ))
        .await?;
    }
    run("COMMIT".to_owned()).await.map(|_| ())
}

fn cannot_create(error: Error) -> PortError {
    if error.code() == Some(&SqlState::INVALID_SCHEMA_NAME) && !is_broken(&error) {
        return PortError::new(
            Code::StoreUnavailable,
            "The PostgreSQL role has no schema to put its tables in.",
            "create the schema that its search_path names",
        )
        .because(error);
    }
    from_postgres(error)
}
