//! Integration tests of the society, over real stores and a scripted model server.

#![expect(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod crash;
mod faulty;
mod forgetting;
mod ground;
mod lease;
mod model_answers;
mod model_ask;
mod model_faults;
mod model_limits;
mod model_recording;
mod model_tls;
mod people;
mod stage;
mod team;
mod telemetry;
mod workers;
