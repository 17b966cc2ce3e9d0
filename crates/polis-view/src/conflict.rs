//! Two who changed the same thing: what each wanted, field by field.

/// How a field stands after somebody else was faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nobody changed it, or both the same way.
    Same,
    /// Only I changed it: mine holds.
    Mine,
    /// Only they changed it: theirs holds.
    Theirs,
    /// Both did, differently: somebody has to choose.
    Both,
}

/// How a field stands, given what it was when I began, what they made of it, and what I want.
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
