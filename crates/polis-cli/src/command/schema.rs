//! `polis schema`: the published JSON Schemas, generated from the types.

use clap::{Args, ValueEnum};
use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::{Agent, Event, Task};
use polis_ops::op::TaskList;
use schemars::schema_for;

use crate::error::Failure;
use crate::output::Output;

/// Print a JSON Schema.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of what
    what: What,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "kebab-case")]
enum What {
    Task,
    Agent,
    Event,
    TaskCreate,
    TaskList,
    TaskUpdate,
    TaskClaim,
}

impl Schema {
    pub(crate) fn run(self, out: &Output) -> Result<(), Failure> {
        let schema = match self.what {
            What::Task => schema_for!(Task),
            What::Agent => schema_for!(Agent),
            What::Event => schema_for!(Event),
            What::TaskCreate => schema_for!(TaskCreate),
            What::TaskList => schema_for!(TaskList),
            What::TaskUpdate => schema_for!(TaskUpdate),
            What::TaskClaim => schema_for!(TaskClaim),
        };
        if out.is_json() {
            return out.document(&schema);
        }
        out.text(&serde_json::to_string_pretty(&schema).map_err(std::io::Error::other)?)
    }
}
