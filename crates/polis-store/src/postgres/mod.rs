//! The PostgreSQL store.
/// The PostgreSQL store.
#[derive(Debug)]
pub struct PostgresStore;
