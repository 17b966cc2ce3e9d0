//! Port [`RandomSource`]: random tokens, from which lock tokens, secrets and generated names are made.

/// Source of unguessable random tokens.
pub trait RandomSource: Send + Sync + std::fmt::Debug {
    /// Returns a new unique token: 32 hexadecimal digits.
    fn random_token(&self) -> String;
}
