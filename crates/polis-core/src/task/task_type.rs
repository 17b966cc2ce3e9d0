//! Task types, as listed in the source documents.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::quoted;
use crate::refusal::{Code, Refusal};
use crate::refusal_serde::from_text;

macro_rules! task_types {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {
        /// What sort of work a task is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum TaskType { $($(#[$doc])* $name,)+ }

        impl TaskType {
            /// All types, in the order of the source documents.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the type as text.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

task_types! {
    /// 需求分析
    RequirementAnalysis = "requirement_analysis";
    /// 技术调研
    TechResearch = "tech_research";
    /// 架构设计
    ArchitectureDesign = "architecture_design";
    /// API 设计
    ApiDesign = "api_design";
    /// UI/UX 设计
    UiDesign = "ui_design";
    /// 后端实现
    BackendImplementation = "backend_implementation";
    /// 前端实现
    FrontendImplementation = "frontend_implementation";
    /// 客户端实现
    ClientImplementation = "client_implementation";
    /// 测试
    Testing = "testing";
    /// 部署
    Deployment = "deployment";
    /// 文档编写
    Documentation = "documentation";
    /// 代码审查
    CodeReview = "code_review";
    /// Bug 修复
    BugFix = "bug_fix";
    /// 性能优化
    Optimization = "optimization";
    /// 其他
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
            Refusal::new(
                Code::InvalidTaskType,
                format!(
                    "Invalid taskType: {}. Valid types: {}.",
                    quoted(name),
                    all.join(", ")
                ),
                "use one of the valid types, or leave the type out",
            )
        })
    }
}

impl<'de> Deserialize<'de> for TaskType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_and_in_text_agree() {
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
            Code::InvalidTaskType
        );
    }
}
