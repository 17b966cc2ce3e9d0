//! `polis webhook`: manages webhook subscriptions. A running `polis serve` delivers the events.

use clap::Subcommand;
use polis_core::webhook::{WebhookAddParams, WebhookView};
use polis_i18n::{Surface, UiLanguage, msg, render_reason};
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
            render_last_error(hook, lang),
        ]);
    }
    table.render(out)
}

/// Renders the error of the last failed delivery. An earlier version stored only an English sentence.
fn render_last_error(hook: &WebhookView, lang: UiLanguage) -> String {
    let failure = hook.last_failure.as_ref();
    failure
        .map(|problem| render_reason(problem, Surface::Cli, lang).message)
        .or_else(|| hook.last_error.clone())
        .unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use polis_core::webhook::Webhook;
    use polis_serve::refusal_tables::DeliveryProblem;

    use super::*;

    #[test]
    fn error_of_an_earlier_version_is_shown_as_stored() {
        let stored = r#"{"id":"w1","url":"https://example.org","secret":"s","createdBy":"user",
            "createdAt":"2026-01-01T00:00:00.000Z","delivered":3,"failures":1,"lastError":"The receiver answered 500."}"#;
        let mut hook: Webhook = serde_json::from_str(stored).unwrap();
        for lang in [UiLanguage::En, UiLanguage::Zh] {
            let shown = render_last_error(&hook.clone().into_view(), lang);
            assert_eq!(shown, "The receiver answered 500.");
        }
        let status = "500".to_owned();
        hook.last_failure = Some(DeliveryProblem::Answered { status }.into());
        let stored = serde_json::to_string(&hook).unwrap();
        assert_eq!(serde_json::from_str::<Webhook>(&stored).unwrap(), hook);
        let view = hook.into_view();
        assert_eq!(render_last_error(&view, UiLanguage::Zh), "接收方应答 500。");
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["lastError"], "The receiver answered 500.");
        assert!(json.get("lastFailure").is_none());
    }
}
