//! Bilingual vocabulary of the board templates: headings, labels, statuses and values.
//!
//! Boards are written in one language and parsed in either. Every rule that looks for a heading, a label or a
//! status uses a [`Word`], never a literal text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The language a board is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    En,
    /// Chinese, the words of the source document.
    Zh,
}

impl Language {
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

/// One term of the templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// In Chinese, as in the source document.
    pub zh: &'static str,
    /// In English.
    pub en: &'static str,
    /// Synonyms that people write; accepted on input, never written.
    pub also: &'static [&'static str],
}

impl Word {
    /// Returns the term in a language.
    pub fn text(self, language: Language) -> &'static str {
        match language {
            Language::En => self.en,
            Language::Zh => self.zh,
        }
    }

    /// Returns whether a text is this term, in either language; ASCII letters match case-insensitively.
    pub fn is(self, text: &str) -> bool {
        [self.zh, self.en]
            .iter()
            .chain(self.also)
            .any(|known| known.eq_ignore_ascii_case(text.trim()))
    }
}

macro_rules! words {
    ($(#[doc = $about:literal] $group:ident {
        $($name:ident = $zh:literal, $en:literal $(, also $($also:literal)+)?;)+
    })+) => {
        $(
            #[doc = $about]
            pub mod $group {
                use super::Word;

                $(
                    #[doc = concat!("`", $zh, "`, `", $en, "`")]
                    pub const $name: Word = Word {
                        zh: $zh,
                        en: $en,
                        also: &[$($($also,)+)?],
                    };
                )+

                /// All terms of the group.
                pub const ALL: &[Word] = &[$($name,)+];
            }
        )+
    };
}

words! {
    /// Headings.
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
    /// Labels of fields.
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

/// Returns the name of a template heading in the other language.
pub fn other_name(name: &str) -> Option<&'static str> {
    let word = heading::ALL.iter().find(|word| word.is(name))?;
    Some(if word.zh == name.trim() {
        word.en
    } else {
        word.zh
    })
}

/// Returns whether a line is the placeholder of an empty section.
pub fn is_placeholder(line: &str) -> bool {
    value::NONE_YET.is(line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_heading_has_another_name_and_leads_back() {
        for word in heading::ALL {
            assert_eq!(other_name(word.zh), Some(word.en));
            assert_eq!(other_name(word.en), Some(word.zh));
        }
        assert_eq!(other_name(" key DECISIONS "), Some("关键决策记录"));
        assert_eq!(other_name("Anything else"), None);
    }

    #[test]
    fn no_word_of_a_group_reads_as_two() {
        for group in [heading::ALL, record::ALL, label::ALL, status::ALL] {
            let mut seen = BTreeSet::new();
            for word in group {
                let mut names: Vec<_> = [word.zh, word.en]
                    .into_iter()
                    .chain(word.also.iter().copied())
                    .collect();
                names.dedup();
                for name in names {
                    assert!(seen.insert(name.to_lowercase()), "{name} stands twice");
                }
            }
        }
    }

    #[test]
    fn languages_go_by_their_names() {
        assert_eq!(Language::from_name("zh"), Some(Language::Zh));
        assert_eq!(Language::from_name("en"), Some(Language::En));
        assert_eq!(Language::from_name("de"), None);
    }
}
