//! `polis agent token`: creates, lists and revokes access tokens.

use clap::Subcommand;
use polis_core::AgentId;
use polis_core::token::{Scopes, TokenIssue, TokenStatus, TokenView};
use polis_ops::op;

use super::duration;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Table};

/// Issue, list and revoke tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Issue a token; it is shown this once
    Issue {
        /// For whom: an agent's id, or `user` for a person
        id: String,
        /// When it ends by itself, such as 12h or 30d; default: when it is revoked
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// What it is good for: all, read, or AREA and AREA:read, separated by commas; the areas are
        /// tasks, boards, blackboard, files, commands, messages, artifacts, agents, events, server
        #[arg(long, default_value = "all")]
        scope: String,
    },
    /// List tokens, without their secrets
    List {
        /// Only those of this agent
        id: Option<String>,
    },
    /// Revoke a token, or all tokens of an agent, at once and everywhere
    Revoke {
        /// A token's id, or an agent's
        id: String,
    },
}

impl Token {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let (polis, by) = (&context.polis, &context.agent);
        match self {
            Self::Issue { id, expires, scope } => {
                let expires_in_ms = expires.as_deref().map(duration).transpose()?;
                let params = TokenIssue {
                    agent: id.parse()?,
                    scopes: scope.parse::<Scopes>()?,
                    expires_in_ms: expires_in_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)),
                };
                let issued = context.run(op::issue_token(polis, by, &params))?;
                out.answer(&issued, |issued| {
                    format!(
                        "{}\n\nThis token is {}'s, good for {}. It is shown this once and kept nowhere.\n\
                         Send it as `Authorization: Bearer TOKEN`; take it back with `polis agent token revoke {}`.",
                        issued.token, issued.view.agent, issued.view.scopes, issued.view.id
                    )
                })
            }
            Self::List { id } => {
                let of = id.as_deref().map(str::parse::<AgentId>).transpose()?;
                let tokens = context.run(op::list_tokens(polis, by, of.as_ref()))?;
                out.answer(&tokens, |list| table(&list.tokens, out))
            }
            Self::Revoke { id } => {
                let revoked = revoke(context, &id)?;
                out.answer(&op::TokenList { tokens: revoked }, |list| {
                    let ids: Vec<&str> = list.tokens.iter().map(|t| t.id.as_str()).collect();
                    format!("Revoked: {}.", ids.join(", "))
                })
            }
        }
    }
}

/// Revokes the token with this id, or all tokens of the agent with this id.
fn revoke(context: &Context, id: &str) -> Result<Vec<TokenView>, Failure> {
    let (polis, by) = (&context.polis, &context.agent);
    let of = id.parse::<AgentId>().ok();
    let mut ids = vec![id.to_owned()];
    if let Some(of) = &of {
        let tokens = context.run(op::list_tokens(polis, by, Some(of)))?.tokens;
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
        .map(|id| Ok(context.run(op::revoke_token(polis, by, id))?));
    revoked.collect()
}

fn table(tokens: &[TokenView], out: &Output) -> String {
    if tokens.is_empty() {
        return "No tokens yet. Issue one: polis agent token issue AGENT".to_owned();
    }
    let mut table = Table::new(&["ID", "AGENT", "SCOPE", "STATUS", "ISSUED", "EXPIRES"]);
    for token in tokens {
        let status = match token.status {
            TokenStatus::Active => "active",
            TokenStatus::Expired => "expired",
            TokenStatus::Revoked => "revoked",
        };
        let status = if token.session {
            format!("{status} (browser)")
        } else {
            status.to_owned()
        };
        let expires = token.expires_at.as_ref().map_or("-", |at| at.as_str());
        table.row([
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
