//! Test harness: a temporary PostgreSQL schema for one test.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;

/// Environment variable with the URL of the server that tests may use.
const SERVER_URL_VARIABLE: &str = "POLIS_TEST_PG_URL";

/// A new schema, dropped when this value is.
pub(crate) struct TestSchema {
    server: String,
    name: String,
}

impl TestSchema {
    /// Creates a schema on the server that the environment names.
    pub(crate) fn create() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let server = std::env::var_os(SERVER_URL_VARIABLE)
            .and_then(|url| url.into_string().ok())
            .unwrap_or_else(|| panic!("{SERVER_URL_VARIABLE} has to name a PostgreSQL server"));
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("it_{}_{number}", std::process::id());
        execute_sql(
            &server,
            &format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}"),
        );
        Self { server, name }
    }

    /// Replaces the content of the schema by a dump of the schema `polis_fixture`.
    pub(crate) fn restore_dump(&self, dump: &str) {
        let name = &self.name;
        let dump = dump.replace("polis_fixture", name);
        let empty = format!("DROP SCHEMA {name} CASCADE; CREATE SCHEMA {name};");
        execute_sql(&self.server, &format!("{empty}\n{dump}"));
    }

    /// Returns the store's URL, with this schema as the search path.
    pub(crate) fn store_url(&self) -> String {
        let separator = if self.server.contains('?') { '&' } else { '?' };
        format!(
            "{}{separator}options=-c%20search_path%3D{}",
            self.server, self.name
        )
    }
}

impl Drop for TestSchema {
    fn drop(&mut self) {
        execute_sql(
            &self.server,
            &format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name),
        );
    }
}

fn execute_sql(server: &str, sql: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    });
}
