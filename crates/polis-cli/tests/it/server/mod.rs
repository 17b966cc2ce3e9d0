//! Tests of `polis serve`: requests over a network, tokens, messages and shutdown.

pub(crate) mod messages_and_tokens;
pub(crate) mod serve;
pub(crate) mod server_shutdown;
