//! Integration tests of the society: whole runs over memory, embedded and PostgreSQL stores, and the model
//! client against a scripted HTTP server.

#![expect(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod compaction;
mod crash;
mod faulty_store;
mod human_in_the_loop;
mod model_faults;
mod model_limits;
mod model_recording;
mod model_responses;
mod model_test_client;
mod model_tls;
mod run_lease;
mod store_factories;
mod team;
mod telemetry;
mod test_society;
mod workers;
