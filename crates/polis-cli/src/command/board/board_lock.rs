//! `polis board lock`, `renew` and `unlock`: leases that keep other writers off a board.

use clap::Args;
use polis_i18n::msg;
use polis_ops::op::{self, BoardLockParams, BoardLockResult, BoardUnlockParams};

use super::super::parse_duration_arg;
use super::BoardArg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// Lock a board: until the lock expires or is released, no other agent can write to it. Locking again
/// extends your own lock.
#[derive(Debug, Args)]
pub(crate) struct BoardLockArgs {
    #[command(flatten)]
    of: BoardArg,
    /// Duration of the lock, at most 1h
    #[arg(long, value_name = "TIME", default_value = "5s")]
    ttl: String,
}

/// Extend a lock by its token.
#[derive(Debug, Args)]
pub(crate) struct BoardRenewArgs {
    #[command(flatten)]
    lock: BoardLockArgs,
    /// Token printed by `board lock`
    #[arg(long)]
    token: String,
}

impl BoardLockArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        self.acquire_lock(None, context, out)
    }

    fn acquire_lock(
        self,
        token: Option<String>,
        context: &CommandContext,
        out: &CliOutput,
    ) -> Result<(), CliError> {
        let params = BoardLockParams {
            board: self.of.board_name()?,
            ttl_ms: Some(parse_duration_arg(&self.ttl)?),
            token,
        };
        let locked = context.block_on(op::lock_board(&context.request(), &params))?;
        out.print_result(&locked, |l: &BoardLockResult| {
            let lang = out.lang();
            format!(
                "{}\n{}",
                msg::cli_board_locked(lang, &params.board, &l.holder, &l.expires_at),
                msg::cli_board_lock_token(lang, &l.token)
            )
        })
    }
}

impl BoardRenewArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        self.lock.acquire_lock(Some(self.token), context, out)
    }
}

/// Release a lock.
#[derive(Debug, Args)]
pub(crate) struct BoardUnlockArgs {
    #[command(flatten)]
    of: BoardArg,
    /// Token printed by `board lock`
    #[arg(long, required_unless_present = "force")]
    token: Option<String>,
    /// Release another agent's lock (only the person may)
    #[arg(long, conflicts_with = "token")]
    force: bool,
}

impl BoardUnlockArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardUnlockParams {
            board: self.of.board_name()?,
            token: self.token,
        };
        let request = context.request();
        let released = op::unlock_board(&request, &params);
        out.print_result(&context.block_on(released)?, |_| {
            msg::cli_board_unlocked(out.lang(), &params.board)
        })
    }
}
