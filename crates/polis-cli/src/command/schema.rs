//! `polis schema`: the published JSON Schemas, generated from the types.

use clap::{Args, ValueEnum};
use polis_core::board::{Decision, Milestone};
use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::workspace::command::RunCommand;
use polis_core::workspace::file::{
    DeleteFile, EditFile, ListFiles, MakeDir, MoveFile, ReadFile, SearchFiles, WriteFile,
};
use polis_core::{Agent, Event, Task};
use polis_ops::op::{
    BlackboardWrite, BoardAppend, BoardOverwrite, BoardRead, BoardView, CommandResult,
    SectionChange, TaskList,
};
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
    Board,
    BoardRead,
    BoardWrite,
    BoardAppend,
    BoardSection,
    BlackboardWrite,
    Decision,
    Milestone,
    ReadFile,
    WriteFile,
    EditFile,
    DeleteFile,
    MoveFile,
    MakeDir,
    ListFiles,
    SearchFiles,
    RunCommand,
    CommandResult,
}

impl What {
    fn schema(self) -> schemars::Schema {
        match self {
            Self::Task => schema_for!(Task),
            Self::Agent => schema_for!(Agent),
            Self::Event => schema_for!(Event),
            Self::TaskCreate => schema_for!(TaskCreate),
            Self::TaskList => schema_for!(TaskList),
            Self::TaskUpdate => schema_for!(TaskUpdate),
            Self::TaskClaim => schema_for!(TaskClaim),
            Self::Board => schema_for!(BoardView),
            Self::BoardRead => schema_for!(BoardRead),
            Self::BoardWrite => schema_for!(BoardOverwrite),
            Self::BoardAppend => schema_for!(BoardAppend),
            Self::BoardSection => schema_for!(SectionChange),
            Self::BlackboardWrite => schema_for!(BlackboardWrite),
            Self::Decision => schema_for!(Decision),
            Self::Milestone => schema_for!(Milestone),
            Self::ReadFile => schema_for!(ReadFile),
            Self::WriteFile => schema_for!(WriteFile),
            Self::EditFile => schema_for!(EditFile),
            Self::DeleteFile => schema_for!(DeleteFile),
            Self::MoveFile => schema_for!(MoveFile),
            Self::MakeDir => schema_for!(MakeDir),
            Self::ListFiles => schema_for!(ListFiles),
            Self::SearchFiles => schema_for!(SearchFiles),
            Self::RunCommand => schema_for!(RunCommand),
            Self::CommandResult => schema_for!(CommandResult),
        }
    }
}

/// Returns all published schemas with their names.
pub(crate) fn published() -> Vec<(String, String)> {
    let name = |what: &What| what.to_possible_value().map(|v| v.get_name().to_owned());
    What::value_variants()
        .iter()
        .filter_map(|what| Some((name(what)?, pretty(&what.schema()).ok()?)))
        .collect()
}

fn pretty(schema: &schemars::Schema) -> serde_json::Result<String> {
    serde_json::to_string_pretty(schema)
}

impl Schema {
    pub(crate) fn run(self, out: &Output) -> Result<(), Failure> {
        let schema = self.what.schema();
        if out.is_json() {
            return out.document(&schema);
        }
        out.text(&pretty(&schema).map_err(std::io::Error::other)?)
    }
}
