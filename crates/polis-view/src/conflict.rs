//! Three-way comparison of one field after a concurrent edit: base, theirs and mine.

/// Result of the comparison of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Neither side changed it, or both changed it in the same way.
    Same,
    /// Only I changed it: my value is kept.
    Mine,
    /// Only they changed it: their value is kept.
    Theirs,
    /// Both changed it differently: a conflict the user has to resolve.
    Both,
}

/// Compares a field, given its base value, the value saved by the other side, and my value.
pub fn compare<T: PartialEq + ?Sized>(base: &T, theirs: &T, mine: &T) -> Outcome {
    match (theirs == base, mine == base) {
        _ if theirs == mine => Outcome::Same,
        (true, _) => Outcome::Mine,
        (_, true) => Outcome::Theirs,
        _ => Outcome::Both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_changed_differently_is_a_conflict() {
        assert_eq!(compare("a", "a", "a"), Outcome::Same);
        assert_eq!(compare("a", "b", "b"), Outcome::Same);
        assert_eq!(compare("a", "a", "b"), Outcome::Mine);
        assert_eq!(compare("a", "b", "a"), Outcome::Theirs);
        assert_eq!(compare("a", "b", "c"), Outcome::Both);
    }
}
