//! `polis webhook`: manages webhook subscriptions. A running `polis serve` delivers the events.

use clap::Subcommand;
use polis_core::webhook::{WebhookAdd, WebhookView};
use polis_ops::op::{self, WebhookRemove};

use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Table, clean};

/// Places that events are sent to.
#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Have events sent to an address, as long as a `polis serve` runs
    Add {
        /// The address: http:// or https://
        url: String,
        /// Only these kinds, such as task.completed, or task. for all of tasks
        #[arg(long, value_name = "KIND", value_delimiter = ',')]
        kind: Vec<String>,
        /// Begin after this sequence number; default: with what comes next
        #[arg(long, value_name = "SEQ")]
        since: Option<u64>,
    },
    /// List webhooks, and how far each has come
    List,
    /// Remove a webhook
    Remove {
        /// Its id
        id: String,
    },
}

impl Webhook {
    pub(crate) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let (polis, by) = (&context.polis, &context.agent);
        match self {
            Self::Add { url, kind, since } => {
                let params = WebhookAdd {
                    url,
                    kinds: kind,
                    since,
                };
                let added = context.run(op::add_webhook(polis, by, &params))?;
                out.answer(&added, |added| {
                    format!(
                        "{}\n\nThis is the secret of webhook {}; signatures are made with it. It is shown this once.",
                        added.secret, added.view.id
                    )
                })
            }
            Self::List => {
                let list = context.run(op::list_webhooks(polis, by))?;
                out.answer(&list, |list| table(&list.webhooks, out))
            }
            Self::Remove { id } => {
                let params = WebhookRemove { id };
                let removed = context.run(op::remove_webhook(polis, by, &params))?;
                out.answer(&removed, |_| {
                    format!("Webhook {} is removed.", clean(&params.id))
                })
            }
        }
    }
}

fn table(webhooks: &[WebhookView], out: &Output) -> String {
    if webhooks.is_empty() {
        return "No webhooks yet. Add one: polis webhook add https://...".to_owned();
    }
    let mut table = Table::new(&["ID", "URL", "KINDS", "DELIVERED", "FAILURES", "LAST ERROR"]);
    for hook in webhooks {
        let kinds = if hook.kinds.is_empty() {
            "all".to_owned()
        } else {
            hook.kinds.join(",")
        };
        table.row([
            hook.id.clone(),
            hook.url.clone(),
            kinds,
            hook.delivered.to_string(),
            hook.failures.to_string(),
            hook.last_error.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table.render(out)
}
