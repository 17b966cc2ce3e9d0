//! `polis board lock`, `renew` and `unlock`: leases that keep other writers off a board.

use clap::Args;
use polis_ops::op::{self, BoardLock, BoardLocked, BoardUnlock};

use super::super::duration;
use super::Of;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// Lock a board: until the lock ends or is given back, nobody else writes to it. Locking again
/// prolongs your own lock.
#[derive(Debug, Args)]
pub(crate) struct Lock {
    #[command(flatten)]
    of: Of,
    /// How long, at most 1h
    #[arg(long, value_name = "TIME", default_value = "5s")]
    ttl: String,
}

/// Prolong a lock by its token.
#[derive(Debug, Args)]
pub(crate) struct Renew {
    #[command(flatten)]
    lock: Lock,
    /// What `board lock` answered
    #[arg(long)]
    token: String,
}

impl Lock {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        self.take(None, context, out)
    }

    fn take(self, token: Option<String>, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = BoardLock {
            board: self.of.any()?,
            ttl_ms: Some(duration(&self.ttl)?),
            token,
        };
        let locked = context.run(op::lock_board(&context.polis, &context.agent, &params))?;
        out.answer(&locked, |l: &BoardLocked| {
            format!(
                "{} is locked by {} until {}\nToken: {}",
                params.board, l.holder, l.expires_at, l.token
            )
        })
    }
}

impl Renew {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        self.lock.take(Some(self.token), context, out)
    }
}

/// Give a lock back.
#[derive(Debug, Args)]
pub(crate) struct Unlock {
    #[command(flatten)]
    of: Of,
    /// What `board lock` answered
    #[arg(long, required_unless_present = "force")]
    token: Option<String>,
    /// End somebody else's lock (only the person may)
    #[arg(long, conflicts_with = "token")]
    force: bool,
}

impl Unlock {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = BoardUnlock {
            board: self.of.any()?,
            token: self.token,
        };
        let released = op::unlock_board(&context.polis, &context.agent, &params);
        out.answer(&context.run(released)?, |_| {
            format!("{} is free", params.board)
        })
    }
}
