//! Randomness, from outside.

/// Makes what nobody can guess.
pub trait Chance: Send + Sync + std::fmt::Debug {
    /// A text that was never made before: 32 hexadecimal digits.
    fn token(&self) -> String;
}
