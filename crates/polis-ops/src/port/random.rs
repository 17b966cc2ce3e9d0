//! Port for random tokens.

/// Source of unguessable random tokens.
pub trait Chance: Send + Sync + std::fmt::Debug {
    /// Returns a new unique token: 32 hexadecimal digits.
    fn token(&self) -> String;
}
