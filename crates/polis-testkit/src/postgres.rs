//! PostgreSQL fixtures: a separate schema for each test, on the server that `POLIS_TEST_PG_URL` names.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;

/// The environment variable that names the server.
pub const POSTGRES_URL_VARIABLE: &str = "POLIS_TEST_PG_URL";

/// Number of schemas created by this process.
static SCHEMA_COUNTER: AtomicU32 = AtomicU32::new(0);

/// Creates an empty schema and returns a URL with a search path of only this schema.
///
/// A schema stays until a process with the same id creates it again: the server is discarded after the tests
/// anyway.
///
/// # Panics
/// If the server is not available.
pub async fn create_test_schema() -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests configure the server through an environment variable"
    )]
    let url = std::env::var(POSTGRES_URL_VARIABLE)
        .unwrap_or_else(|_| panic!("{POSTGRES_URL_VARIABLE} is not set"));
    create_test_schema_at(&url).await
}

/// Like [`create_test_schema`], on another server, such as one that a test may break.
///
/// # Panics
/// If the server is not available.
pub async fn create_test_schema_at(url: &str) -> String {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let name = format!(
        "polis_test_{}_{}",
        std::process::id(),
        SCHEMA_COUNTER.fetch_add(1, Ordering::Relaxed)
    );
    let sql = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
    client.batch_execute(&sql).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    with_search_path(url, &name)
}

/// Adds the search path to a URL.
fn with_search_path(url: &str, schema: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}options=-c%20search_path%3D{schema}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_path_is_added_to_url_with_and_without_query() {
        let query = "options=-c%20search_path%3Dx";
        assert_eq!(
            with_search_path("postgres://h/db", "x"),
            format!("postgres://h/db?{query}")
        );
        assert_eq!(
            with_search_path("postgres://h/db?user=u", "x"),
            format!("postgres://h/db?user=u&{query}")
        );
    }
}
