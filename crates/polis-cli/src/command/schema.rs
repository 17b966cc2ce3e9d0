//! `polis schema`: prints a published JSON Schema, generated from its type. [`published_schemas`] returns all
//! of them, for the reference pages.

use clap::{Args, ValueEnum};
use polis_core::board::{BoardDecision, Milestone};
use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::workspace::command::RunCommandParams;
use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, ListFilesParams, MakeDirParams, MoveFileParams,
    ReadFileParams, SearchFilesParams, WriteFileParams,
};
use polis_core::{Agent, Event, Task};
use polis_ops::op::{
    BlackboardWriteParams, BoardAppendParams, BoardReadParams, BoardView, BoardWriteParams,
    CommandResult, SectionEditParams, TaskListParams,
};
use polis_ops::tool::join_description_lines;
use schemars::schema_for;

use crate::error::CliError;
use crate::output::CliOutput;

/// Print a JSON Schema.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Name of the schema
    what: SchemaName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "kebab-case")]
enum SchemaName {
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

impl SchemaName {
    fn json_schema(self) -> schemars::Schema {
        let mut schema = match self {
            Self::Task => schema_for!(Task),
            Self::Agent => schema_for!(Agent),
            Self::Event => schema_for!(Event),
            Self::TaskCreate => schema_for!(TaskCreateParams),
            Self::TaskList => schema_for!(TaskListParams),
            Self::TaskUpdate => schema_for!(TaskUpdateParams),
            Self::TaskClaim => schema_for!(TaskClaimParams),
            Self::Board => schema_for!(BoardView),
            Self::BoardRead => schema_for!(BoardReadParams),
            Self::BoardWrite => schema_for!(BoardWriteParams),
            Self::BoardAppend => schema_for!(BoardAppendParams),
            Self::BoardSection => schema_for!(SectionEditParams),
            Self::BlackboardWrite => schema_for!(BlackboardWriteParams),
            Self::Decision => schema_for!(BoardDecision),
            Self::Milestone => schema_for!(Milestone),
            Self::ReadFile => schema_for!(ReadFileParams),
            Self::WriteFile => schema_for!(WriteFileParams),
            Self::EditFile => schema_for!(EditFileParams),
            Self::DeleteFile => schema_for!(DeleteFileParams),
            Self::MoveFile => schema_for!(MoveFileParams),
            Self::MakeDir => schema_for!(MakeDirParams),
            Self::ListFiles => schema_for!(ListFilesParams),
            Self::SearchFiles => schema_for!(SearchFilesParams),
            Self::RunCommand => schema_for!(RunCommandParams),
            Self::CommandResult => schema_for!(CommandResult),
        };
        join_description_lines(&mut schema);
        schema
    }
}

/// Returns all published schemas with their names.
pub(crate) fn published_schemas() -> Vec<(String, String)> {
    let name = |what: &SchemaName| what.to_possible_value().map(|v| v.get_name().to_owned());
    SchemaName::value_variants()
        .iter()
        .filter_map(|what| Some((name(what)?, to_pretty_json(&what.json_schema()).ok()?)))
        .collect()
}

fn to_pretty_json(schema: &schemars::Schema) -> serde_json::Result<String> {
    serde_json::to_string_pretty(schema)
}

impl SchemaArgs {
    pub(crate) fn run(self, out: &CliOutput) -> Result<(), CliError> {
        let schema = self.what.json_schema();
        if out.is_json() {
            return out.print_json(&schema);
        }
        out.print_text(&to_pretty_json(&schema).map_err(std::io::Error::other)?)
    }
}
