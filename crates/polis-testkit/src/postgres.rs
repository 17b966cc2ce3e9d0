//! A schema of its own for each test, in the PostgreSQL that `POLIS_TEST_PG_URL` names.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;

/// The variable that names the server.
pub const URL: &str = "POLIS_TEST_PG_URL";

/// How many schemas this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Makes an empty schema and answers the URL under which it is the only one seen.
///
/// A schema stays until a process of the same number makes it anew: the server is thrown away
/// after the tests anyway.
///
/// # Panics
/// If there is no such server.
pub async fn fresh_schema() -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is where tests are told which server to use"
    )]
    let url = std::env::var(URL).unwrap_or_else(|_| panic!("{URL} names no PostgreSQL"));
    fresh_schema_at(&url).await
}

/// The same on another server, such as one that a test may break.
///
/// # Panics
/// If there is no such server.
pub async fn fresh_schema_at(url: &str) -> String {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let name = format!(
        "polis_test_{}_{}",
        std::process::id(),
        MADE.fetch_add(1, Ordering::Relaxed)
    );
    let sql = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
    client.batch_execute(&sql).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    with_search_path(url, &name)
}

/// The URL, seeing only this schema.
fn with_search_path(url: &str, schema: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}options=-c%20search_path%3D{schema}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_path_joins_what_the_url_says_already() {
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
