//! Bilingual vocabulary of the board templates (i18n): headings, labels, statuses and values.
//!
//! Boards are written in one language ([`ContentLanguage`]) and parsed in either. Every rule that looks for a
//! heading, a label or a status uses a [`TemplateTerm`], never a literal text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Language of boards and other generated text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContentLanguage {
    /// English.
    En,
    /// Chinese, with the terms of the founding requirements.
    Zh,
}

impl ContentLanguage {
    /// Returns the language as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// Returns the language with this name, `en` or `zh`.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::En, Self::Zh]
            .into_iter()
            .find(|language| language.as_str() == name)
    }
}

/// One term of the templates in both languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateTerm {
    /// In Chinese, as in the founding requirements.
    pub zh: &'static str,
    /// In English, as in the templates.
    pub en: &'static str,
    /// Synonyms that people write; accepted on input, never written.
    pub also: &'static [&'static str],
}

impl TemplateTerm {
    /// Returns the term in a language.
    pub fn in_language(self, language: ContentLanguage) -> &'static str {
        match language {
            ContentLanguage::En => self.en,
            ContentLanguage::Zh => self.zh,
        }
    }

    /// Returns whether a text is this term, in either language; ASCII letters match case-insensitively.
    pub fn matches(self, text: &str) -> bool {
        [self.zh, self.en]
            .iter()
            .chain(self.also)
            .any(|term| term.eq_ignore_ascii_case(text.trim()))
    }
}

macro_rules! words {
    ($(#[doc = $about:literal] $group:ident {
        $($name:ident = $zh:literal, $en:literal $(, also $($also:literal)+)?;)+
    })+) => {
        $(
            #[doc = $about]
            pub mod $group {
                use super::TemplateTerm;

                $(
                    #[doc = concat!("`", $zh, "`, `", $en, "`")]
                    pub const $name: TemplateTerm = TemplateTerm {
                        zh: $zh,
                        en: $en,
                        also: &[$($($also,)+)?],
                    };
                )+

                /// All terms of the group.
                pub const ALL: &[TemplateTerm] = &[$($name,)+];
            }
        )+
    };
}

words! {
    /// Titles and section headings of boards.
    heading {
        GLOBAL_BOARD = "全局白板", "Global board";
        OVERVIEW = "任务概述", "Overview";
        GOALS = "核心目标", "Goals";
        KEY_DECISIONS = "关键决策记录", "Key decisions";
        MILESTONES = "里程碑", "Milestones";
        TEAM = "团队结构", "Team";
        ISSUES = "问题与风险", "Issues and risks";
        CHANGE_LOG = "更新日志", "Change log";
        PROFILE = "基本信息", "Profile";
        CURRENT_TASKS = "当前任务", "Current tasks";
        NEGOTIATION = "决策与协商", "Decisions and negotiation";
        KNOWLEDGE = "知识积累", "Knowledge";
        EXECUTION_LOG = "执行日志", "Execution log";
        TOP_LAYER = "顶层", "Top layer";
        MID_LAYER = "中层", "Mid layer";
        BOTTOM_LAYER = "底层", "Bottom layer";
        SHARED_BOARD = "共享白板", "Shared board";
        UPDATE = "更新", "Update";
    }
    /// Terms before `#ID` in the heading of a record.
    record {
        DECISION = "决策", "Decision";
        TASK = "任务", "Task";
        NEGOTIATION = "协商记录", "Negotiation";
    }
    /// Labels of the fields in templates and records.
    label {
        TASK_ID = "任务ID", "Task ID";
        CREATED = "创建时间", "Created";
        MODE = "执行模式", "Mode";
        STATE = "当前状态", "Current status";
        TIME = "时间", "Time", also "日期" "Date";
        PROPOSER = "提议者", "Proposer", also "提议人" "提案人" "Proposed by";
        CONTENT = "内容", "Content", also "描述" "Description";
        SIGNERS = "签字方", "Signers", also "签字人" "签署方" "Signed by" "Signatures";
        STATUS = "状态", "Status";
        KIND = "类型", "Kind";
        MILESTONE = "里程碑", "Milestone";
        VETOED_BY = "否决方", "Vetoed by";
        REASON = "理由", "Reason";
        APPEALED_BY = "申诉方", "Appealed by";
        BY = "操作者", "By";
        AGENT_ID = "Agent ID", "Agent ID";
        ROLE = "角色", "Role";
        DUTIES = "职责", "Responsibilities";
        SUPERVISOR = "上级", "Supervisor";
        SUBORDINATES = "下级", "Subordinates";
    }
    /// Statuses of a decision.
    status {
        APPROVED = "已批准", "Approved",
            also "批准" "已通过" "通过" "Accepted" "Passed" "Signed";
        REJECTED = "被否决", "Rejected",
            also "已否决" "否决" "已驳回" "被驳回" "Vetoed" "Denied" "Declined";
        APPEALING = "申诉中", "Appealing",
            also "申诉" "已申诉" "In appeal" "Under appeal" "Appealed";
        PENDING = "待批准", "Pending",
            also "待签字" "待定" "待审批" "协商中" "Proposed" "Open" "Awaiting approval";
    }
    /// Values and remarks in templates and records.
    value {
        NONE_YET = "（暂无）", "(none yet)",
            also "(暂无)" "暂无" "（无）" "(无)" "无" "(none)" "none" "none yet";
        UNKNOWN = "-", "-";
        AUTOMATIC = "全自动", "Automatic";
        IN_PROGRESS = "进行中", "In progress";
        BOARD_CREATED = "创建白板", "Board created";
        KIND_DECISION = "决策", "Decision";
        KIND_MILESTONE = "里程碑", "Milestone";
        DONE = "已完成", "done", also "完成" "Completed";
    }
}

/// Returns the name of a template heading in the other language. Returns `None` for any other heading.
pub fn translate_heading(name: &str) -> Option<&'static str> {
    let word = heading::ALL.iter().find(|word| word.matches(name))?;
    Some(if word.zh == name.trim() {
        word.en
    } else {
        word.zh
    })
}

/// Returns whether a line is the placeholder of an empty section.
pub fn is_placeholder(line: &str) -> bool {
    value::NONE_YET.matches(line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_heading_translates_both_ways() {
        for word in heading::ALL {
            assert_eq!(translate_heading(word.zh), Some(word.en));
            assert_eq!(translate_heading(word.en), Some(word.zh));
        }
        assert_eq!(translate_heading(" key DECISIONS "), Some("关键决策记录"));
        assert_eq!(translate_heading("Anything else"), None);
    }

    #[test]
    fn terms_of_a_group_are_unambiguous() {
        for group in [heading::ALL, record::ALL, label::ALL, status::ALL] {
            let mut seen = BTreeSet::new();
            for word in group {
                let mut names: Vec<_> = [word.zh, word.en]
                    .into_iter()
                    .chain(word.also.iter().copied())
                    .collect();
                names.dedup();
                for name in names {
                    assert!(seen.insert(name.to_lowercase()), "{name} occurs twice");
                }
            }
        }
    }

    #[test]
    fn languages_are_found_by_name() {
        assert_eq!(ContentLanguage::from_name("zh"), Some(ContentLanguage::Zh));
        assert_eq!(ContentLanguage::from_name("en"), Some(ContentLanguage::En));
        assert_eq!(ContentLanguage::from_name("de"), None);
    }
}
