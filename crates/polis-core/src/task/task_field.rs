//! The fields of a task as an enum, so that each surface shows every field or states that it does not.
//!
//! Labels, pages and listings match on [`TaskField`] without a wildcard: a new field fails to compile there
//! until it is handled. A test compares the enum with the JSON schema of [`Task`](super::Task).

macro_rules! task_fields {
    ($($(#[$doc:meta])* $variant:ident $name:literal),+ $(,)?) => {
        /// A field of a task.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum TaskField {
            $($(#[$doc])* $variant,)+
        }

        impl TaskField {
            /// All fields, in the order in which details of a task are shown.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the field's name in JSON.
            pub const fn json_name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

task_fields! {
    /// Task number.
    Id "id",
    /// Summary in one line.
    Subject "subject",
    /// Status.
    Status "status",
    /// Agent that holds the task.
    Owner "owner",
    /// Role that the owner must have.
    RequiredRole "requiredRole",
    /// Type of work.
    TaskType "taskType",
    /// Priority.
    Priority "priority",
    /// Tasks this one waits for.
    BlockedBy "blockedBy",
    /// Tasks that wait for this one.
    Blocks "blocks",
    /// Text shown while the task is in progress.
    ActiveForm "activeForm",
    /// Time of creation.
    CreatedAt "createdAt",
    /// Time of the last change.
    UpdatedAt "updatedAt",
    /// Time of the claim.
    ClaimedAt "claimedAt",
    /// Time at which work began.
    StartedAt "startedAt",
    /// Time of completion.
    CompletedAt "completedAt",
    /// Duration of the lease.
    LeaseMs "leaseMs",
    /// Time at which the lease expires.
    LeaseExpiresAt "leaseExpiresAt",
    /// Approval of the completion.
    Approval "approval",
    /// Version.
    Version "version",
    /// Further data of the callers.
    Metadata "metadata",
    /// Detailed description.
    Description "description",
}

impl TaskField {
    /// Returns the field with this JSON name, if there is one.
    pub fn from_json_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|field| field.json_name() == name);
        found.copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::task::Task;

    #[test]
    fn task_fields_are_those_of_the_json_schema() {
        let schema = schemars::schema_for!(Task);
        let properties = schema
            .get("properties")
            .and_then(|p| p.as_object())
            .unwrap();
        let in_schema: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        let in_enum: BTreeSet<&str> = TaskField::ALL.iter().map(|f| f.json_name()).collect();
        assert_eq!(in_enum, in_schema);
        assert_eq!(in_enum.len(), TaskField::ALL.len());
    }

    #[test]
    fn json_name_of_every_field_is_parsed_back() {
        for field in TaskField::ALL {
            assert_eq!(TaskField::from_json_name(field.json_name()), Some(*field));
        }
        assert_eq!(TaskField::from_json_name("color"), None);
    }
}
