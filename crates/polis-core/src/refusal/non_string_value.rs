//! JSON values in place of a string.

crate::problem_table! {
    /// JSON value in place of a string, as refusals name it.
    pub enum NonStringValue {
        Literal = "value-found-literal" { text: String };
        List = "value-found-list";
        Object = "value-found-object";
    }
}
