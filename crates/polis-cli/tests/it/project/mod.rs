//! Tests of a project: finding and trusting it, its configuration, its registry of agents, and a damaged
//! store.

pub(crate) mod agent_registry;
pub(crate) mod configuration;
pub(crate) mod damaged_store;
pub(crate) mod project_discovery;
pub(crate) mod store_disk_faults;
pub(crate) mod stored_fixtures;
pub(crate) mod untrusted_projects;
