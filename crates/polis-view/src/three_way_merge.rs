//! Three-way merge of one field after a concurrent edit: compares the base value with the one saved by the
//! other side (theirs) and the one in the form (mine), and says which to keep or that they conflict.

/// Result of the comparison of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldComparison {
    /// Neither side changed it, or both changed it in the same way.
    NoConflict,
    /// Only I changed it: my value is kept.
    OnlyMine,
    /// Only they changed it: their value is kept.
    OnlyTheirs,
    /// Both changed it differently: a conflict that the person has to resolve.
    Conflict,
}

/// Compares a field, given its base value, the value saved by the other side, and my value.
pub fn compare_three_way<T: PartialEq + ?Sized>(base: &T, theirs: &T, mine: &T) -> FieldComparison {
    match (theirs == base, mine == base) {
        _ if theirs == mine => FieldComparison::NoConflict,
        (true, _) => FieldComparison::OnlyMine,
        (_, true) => FieldComparison::OnlyTheirs,
        _ => FieldComparison::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_different_changes_on_both_sides_conflict() {
        assert_eq!(
            compare_three_way("a", "a", "a"),
            FieldComparison::NoConflict
        );
        assert_eq!(
            compare_three_way("a", "b", "b"),
            FieldComparison::NoConflict
        );
        assert_eq!(compare_three_way("a", "a", "b"), FieldComparison::OnlyMine);
        assert_eq!(
            compare_three_way("a", "b", "a"),
            FieldComparison::OnlyTheirs
        );
        assert_eq!(compare_three_way("a", "b", "c"), FieldComparison::Conflict);
    }
}
