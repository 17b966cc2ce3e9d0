//! `polis webhook`: manages webhook subscriptions. A running `polis serve` delivers the events.

use clap::Subcommand;
use polis_core::webhook::{WebhookAddParams, WebhookView};
use polis_i18n::msg;
use polis_ops::op::{self, WebhookRemoveParams};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextTable, sanitize_line};

/// Manage webhooks, which receive events over HTTP.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Add a webhook: events are sent to a URL while a `polis serve` runs
    Add {
        /// URL: http:// or https://
        url: String,
        /// Only these kinds, such as task.completed, or task. for all task events
        #[arg(long, value_name = "KIND", value_delimiter = ',')]
        kind: Vec<String>,
        /// Start after this sequence number; default: with the next event
        #[arg(long, value_name = "SEQ")]
        since: Option<u64>,
    },
    /// List webhooks and their delivery state
    List,
    /// Remove a webhook
    Remove {
        /// Webhook id
        id: String,
    },
}

impl WebhookCommand {
    pub(crate) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let (app, caller) = (&context.app, &context.agent);
        match self {
            Self::Add { url, kind, since } => {
                let params = WebhookAddParams {
                    url,
                    kinds: kind,
                    since,
                };
                let added = context.block_on(op::add_webhook(&app.request(caller), &params))?;
                out.print_result(&added, |added| {
                    let explanation = msg::cli_agent_webhook_secret(out.lang(), &added.view.id);
                    format!("{}\n\n{explanation}", added.secret)
                })
            }
            Self::List => {
                let list = context.block_on(op::list_webhooks(&app.request(caller)))?;
                out.print_result(&list, |list| render_webhook_table(&list.webhooks, out))
            }
            Self::Remove { id } => {
                let params = WebhookRemoveParams { id };
                let removed =
                    context.block_on(op::remove_webhook(&app.request(caller), &params))?;
                out.print_result(&removed, |_| {
                    msg::cli_agent_webhook_removed(out.lang(), sanitize_line(&params.id))
                })
            }
        }
    }
}

fn render_webhook_table(webhooks: &[WebhookView], out: &CliOutput) -> String {
    let lang = out.lang();
    if webhooks.is_empty() {
        return msg::cli_agent_webhook_none(lang).to_owned();
    }
    let mut table = TextTable::new(&[
        "ID",
        "URL",
        msg::cli_agent_webhook_column_kinds(lang),
        msg::cli_agent_webhook_column_delivered(lang),
        msg::cli_agent_webhook_column_failures(lang),
        msg::cli_agent_webhook_column_last_error(lang),
    ]);
    for hook in webhooks {
        let kinds = if hook.kinds.is_empty() {
            msg::cli_agent_webhook_all_kinds(lang).to_owned()
        } else {
            hook.kinds.join(",")
        };
        table.push_row([
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
