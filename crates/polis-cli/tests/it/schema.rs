//! A temporary PostgreSQL schema for one test.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;

/// Environment variable with the URL of the server that tests may use.
const SERVER: &str = "POLIS_TEST_PG_URL";

/// A new schema, dropped when this value is.
pub(crate) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Creates a schema on the server that the environment names.
    pub(crate) fn create() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let server = std::env::var_os(SERVER)
            .and_then(|url| url.into_string().ok())
            .unwrap_or_else(|| panic!("{SERVER} has to name a PostgreSQL server"));
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("it_{}_{number}", std::process::id());
        run(
            &server,
            &format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}"),
        );
        Self { server, name }
    }

    /// Returns the store's URL, with this schema as the search path.
    pub(crate) fn url(&self) -> String {
        let separator = if self.server.contains('?') { '&' } else { '?' };
        format!(
            "{}{separator}options=-c%20search_path%3D{}",
            self.server, self.name
        )
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        run(
            &self.server,
            &format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name),
        );
    }
}

fn run(server: &str, sql: &str) {
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
