//! `polis agent token`: creates, lists and revokes access tokens.

use clap::Subcommand;
use polis_core::AgentId;
use polis_core::number::saturating_cast;
use polis_core::token::{OperationArea, TokenIssueParams, TokenScopes, TokenStatus, TokenView};
use polis_i18n::msg;
use polis_ops::op;

use super::parse_duration_arg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextTable};

/// Issue, list and revoke tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Issue a token; it is shown only once
    Issue {
        /// Agent id, or `user` for the person
        id: String,
        /// Lifetime, such as 12h or 30d; default: until it is revoked
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        #[arg(long, default_value = "all", help = scope_help())]
        scope: String,
    },
    /// List tokens, without their secrets
    List {
        /// Only tokens of this agent
        id: Option<String>,
    },
    /// Revoke a token, or all tokens of an agent, with immediate effect
    Revoke {
        /// Token id, or agent id
        id: String,
    },
}

/// Returns the help of `--scope`, which lists all areas.
fn scope_help() -> String {
    let areas = OperationArea::ALL.map(|(_, name)| name).join(", ");
    format!(
        "Scope: all, read, or a list of AREA and AREA:read, separated by commas; the areas are {areas}"
    )
}

impl TokenCommand {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let (app, caller, lang) = (&context.app, &context.agent, out.lang());
        match self {
            Self::Issue { id, expires, scope } => {
                let expires_in_ms = expires.as_deref().map(parse_duration_arg).transpose()?;
                let params = TokenIssueParams {
                    agent: id.parse()?,
                    scopes: scope.parse::<TokenScopes>()?,
                    expires_in_ms: expires_in_ms.map(saturating_cast::<i64>),
                };
                let issued = context.block_on(op::issue_token(&app.request(caller), &params))?;
                out.print_result(&issued, |issued| {
                    let view = &issued.view;
                    format!(
                        "{}\n\n{}\n{}",
                        issued.token,
                        msg::cli_agent_token_issued(lang, &view.agent, &view.scopes),
                        msg::cli_agent_token_usage(lang, &view.id)
                    )
                })
            }
            Self::List { id } => {
                let owner = id.as_deref().map(str::parse::<AgentId>).transpose()?;
                let tokens =
                    context.block_on(op::list_tokens(&app.request(caller), owner.as_ref()))?;
                out.print_result(&tokens, |list| render_token_table(&list.tokens, out))
            }
            Self::Revoke { id } => {
                let revoked = revoke_tokens(context, &id)?;
                out.print_result(&op::TokenList { tokens: revoked }, |list| {
                    let ids: Vec<&str> = list.tokens.iter().map(|t| t.id.as_str()).collect();
                    msg::cli_agent_tokens_revoked(lang, ids.join(msg::common_list_separator(lang)))
                })
            }
        }
    }
}

/// Revokes the token with this id, or all tokens of the agent with this id.
fn revoke_tokens(context: &CommandContext, id: &str) -> Result<Vec<TokenView>, CliError> {
    let (app, caller) = (&context.app, &context.agent);
    let owner = id.parse::<AgentId>().ok();
    let mut ids = vec![id.to_owned()];
    if let Some(owner) = &owner {
        let tokens = context
            .block_on(op::list_tokens(&app.request(caller), Some(owner)))?
            .tokens;
        let active = tokens
            .into_iter()
            .filter(|token| token.status == TokenStatus::Active);
        let active: Vec<String> = active.map(|token| token.id).collect();
        if !active.is_empty() {
            ids = active;
        }
    }
    let revoked = ids
        .iter()
        .map(|id| Ok(context.block_on(op::revoke_token(&app.request(caller), id))?));
    revoked.collect()
}

fn render_token_table(tokens: &[TokenView], out: &CliOutput) -> String {
    let lang = out.lang();
    if tokens.is_empty() {
        return msg::cli_agent_token_none(lang).to_owned();
    }
    let mut table = TextTable::new(&[
        "ID",
        msg::cli_column_agent(lang),
        msg::cli_agent_token_column_scope(lang),
        msg::cli_column_status(lang),
        msg::cli_agent_token_column_issued(lang),
        msg::cli_agent_token_column_expires(lang),
    ]);
    for token in tokens {
        let status = match token.status {
            TokenStatus::Active => msg::cli_agent_token_active(lang),
            TokenStatus::Expired => msg::cli_agent_token_expired(lang),
            TokenStatus::Revoked => msg::cli_agent_token_revoked(lang),
        };
        let status = if token.session {
            msg::cli_agent_token_of_browser(lang, status)
        } else {
            status.to_owned()
        };
        let expires = token.expires_at.as_ref().map_or("-", |at| at.as_str());
        table.push_row([
            token.id.clone(),
            token.agent.to_string(),
            token.scopes.to_string(),
            status,
            token.created_at.as_str().to_owned(),
            expires.to_owned(),
        ]);
    }
    table.render(out)
}
