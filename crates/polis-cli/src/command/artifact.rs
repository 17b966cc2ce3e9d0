//! `polis artifact`: stores artifacts and prints them by reference, for handover between agents.

use clap::{Args, Subcommand};
use polis_core::RawJson;
use polis_core::artifact::PutArtifactParams;
use polis_ops::op::{self, GetArtifactParams};
use polis_ops::tool::describe_json_error;

use super::content::ContentArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;

/// Store artifacts and get them by reference.
#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactCommand {
    /// Store an artifact and print its reference
    Put(ArtifactPutArgs),
    /// Print an artifact
    Get {
        /// Reference printed by `artifact put`
        #[arg(value_name = "REF")]
        reference: String,
    },
}

/// Store an artifact.
#[derive(Debug, Args)]
pub(crate) struct ArtifactPutArgs {
    /// Artifact type, such as spec, code or report
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    #[command(flatten)]
    content: ContentArgs,
    /// The content is JSON, not text
    #[arg(long)]
    as_json: bool,
    /// Metadata to store with it, a JSON object
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
}

impl ArtifactCommand {
    pub(crate) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let (app, caller) = (&context.app, &context.agent);
        match self {
            Self::Put(put) => {
                let stored = context
                    .block_on(op::put_artifact(&app.request(caller), &put.into_params()?))?;
                out.print_result(&stored, |stored| stored.reference.clone())
            }
            Self::Get { reference } => {
                let params = GetArtifactParams {
                    reference,
                    ..GetArtifactParams::default()
                };
                let found = context.block_on(op::get_artifact(&app.request(caller), &params))?;
                out.print_result(&found, |found| {
                    let content = &found.artifact.content;
                    let text = content.parse_as::<String>();
                    text.unwrap_or_else(|| content.as_str().to_owned())
                })
            }
        }
    }
}

impl ArtifactPutArgs {
    fn into_params(self) -> Result<PutArtifactParams, CliError> {
        let text = self.content.read_text()?;
        let not_json = |error: String| {
            CliError::from(CommandRefusal::InvalidJson {
                error: describe_json_error(&error),
            })
        };
        Ok(PutArtifactParams {
            artifact_type: self.kind,
            content: if self.as_json {
                RawJson::parse(&text)
            } else {
                RawJson::from_value(&text)
            }
            .map_err(not_json)?,
            meta: self
                .meta
                .as_deref()
                .map(RawJson::parse)
                .transpose()
                .map_err(not_json)?,
        })
    }
}
