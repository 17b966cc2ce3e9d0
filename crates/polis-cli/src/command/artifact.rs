//! `polis artifact`: stores artifacts and prints them by reference, for handover between agents.

use clap::{Args, Subcommand};
use polis_core::Raw;
use polis_core::artifact::PutArtifact;
use polis_ops::op::{self, GetArtifact};

use super::content::Content;
use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::output::Output;

/// What agents hand over by reference.
#[derive(Debug, Subcommand)]
pub(crate) enum Artifact {
    /// Keep something, and get a reference to it
    Put(Put),
    /// Print what a reference stands for
    Get {
        /// What `artifact put` answered
        #[arg(value_name = "REF")]
        reference: String,
    },
}

/// Keep something.
#[derive(Debug, Args)]
pub(crate) struct Put {
    /// What it is, such as spec, code or report
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    #[command(flatten)]
    content: Content,
    /// The content is JSON, not text
    #[arg(long)]
    as_json: bool,
    /// A JSON object to be kept beside it
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
}

impl Artifact {
    pub(crate) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let (polis, by) = (&context.polis, &context.agent);
        match self {
            Self::Put(put) => {
                let kept = context.run(op::put_artifact(polis, by, &put.params()?))?;
                out.answer(&kept, |kept| kept.reference.clone())
            }
            Self::Get { reference } => {
                let params = GetArtifact {
                    reference,
                    ..GetArtifact::default()
                };
                let found = context.run(op::get_artifact(polis, by, &params))?;
                out.answer(&found, |found| {
                    let content = &found.artifact.content;
                    let text = content.to::<String>();
                    text.unwrap_or_else(|| content.text().to_owned())
                })
            }
        }
    }
}

impl Put {
    fn params(self) -> Result<PutArtifact, Failure> {
        let text = self.content.text()?;
        let not_json = |why| {
            invalid(
                format!("This is not JSON: {why}."),
                "check the JSON you gave",
            )
        };
        Ok(PutArtifact {
            artifact_type: self.kind,
            content: if self.as_json {
                Raw::parse(&text)
            } else {
                Raw::of(&text)
            }
            .map_err(not_json)?,
            meta: self
                .meta
                .as_deref()
                .map(Raw::parse)
                .transpose()
                .map_err(not_json)?,
        })
    }
}
