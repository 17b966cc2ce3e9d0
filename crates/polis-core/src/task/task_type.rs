//! Task types: the fifteen types of work of requirement 004 (docs/requirements.md).

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::quote_untrusted;
use crate::refusal::{Refusal, TaskRefusal};
use crate::refusal_serde::deserialize_from_text;

macro_rules! task_types {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {
        /// Type of work of a task.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum TaskType { $($(#[$doc])* $name,)+ }

        impl TaskType {
            /// All types, in the order of the requirement.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the type as text.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

task_types! {
    /// Requirements analysis.
    RequirementAnalysis = "requirement_analysis";
    /// Technical research.
    TechResearch = "tech_research";
    /// Architecture design.
    ArchitectureDesign = "architecture_design";
    /// API design.
    ApiDesign = "api_design";
    /// UI and UX design.
    UiDesign = "ui_design";
    /// Backend implementation.
    BackendImplementation = "backend_implementation";
    /// Frontend implementation.
    FrontendImplementation = "frontend_implementation";
    /// Client implementation.
    ClientImplementation = "client_implementation";
    /// Testing.
    Testing = "testing";
    /// Deployment.
    Deployment = "deployment";
    /// Documentation.
    Documentation = "documentation";
    /// Code review.
    CodeReview = "code_review";
    /// Bug fix.
    BugFix = "bug_fix";
    /// Performance optimization.
    Optimization = "optimization";
    /// Other work.
    Other = "other";
}

impl TaskType {
    /// Returns the type with this name, if it exists.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|t| t.as_str() == name)
    }

    /// Parses a type. Fails with `invalid_task_type`, listing the valid types.
    pub fn parse(name: &str) -> Result<Self, Refusal> {
        Self::from_name(name).ok_or_else(|| {
            let all: Vec<_> = Self::ALL.iter().map(|t| t.as_str()).collect();
            Refusal::from(TaskRefusal::InvalidType {
                name: quote_untrusted(name),
                types: all.iter().map(ToString::to_string).collect(),
            })
        })
    }
}

impl<'de> Deserialize<'de> for TaskType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    #[test]
    fn json_and_text_names_agree() {
        for t in TaskType::ALL {
            assert_eq!(
                serde_json::to_string(t).unwrap(),
                format!("\"{}\"", t.as_str())
            );
            assert_eq!(TaskType::parse(t.as_str()), Ok(*t));
        }
        assert_eq!(TaskType::ALL.len(), 15);
        assert_eq!(
            TaskType::parse("magic").unwrap_err().code,
            RefusalCode::INVALID_TASK_TYPE
        );
    }
}
