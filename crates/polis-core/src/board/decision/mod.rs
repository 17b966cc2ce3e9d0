//! Decisions: records on a board that agents sign, veto and appeal.
//!
//! The board's text is the only storage of a decision. [`decisions`] parses the records, the rules
//! ([`propose`], [`sign`], [`veto`], [`appeal`]) return the new record, and [`insert_decision`] and
//! [`replace_decision`] write it back without changing other lines.

mod edit;
mod record;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use edit::{find_decision, insert_decision, next_id, replace_decision};
pub use record::{decisions, render};
pub use rules::{By, Electorate, Proposal, Quorum, appeal, propose, sign, veto};

use super::template_text::{Word, status, value};

/// How far a decision has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionStatus {
    /// Waits for signatures.
    #[default]
    Pending,
    /// Signed by enough; final.
    Approved,
    /// Vetoed.
    Rejected,
    /// Vetoed, and voted on again.
    Appealing,
}

impl DecisionStatus {
    const ALL: [Self; 4] = [
        Self::Pending,
        Self::Approved,
        Self::Rejected,
        Self::Appealing,
    ];

    /// Returns the status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Appealing => "appealing",
        }
    }

    fn word(self) -> Word {
        match self {
            Self::Pending => status::PENDING,
            Self::Approved => status::APPROVED,
            Self::Rejected => status::REJECTED,
            Self::Appealing => status::APPEALING,
        }
    }

    /// Parses a status line. Surrounding markup and a remark in brackets after it are ignored. A text that
    /// names no status, such as the template's unfilled choice, is pending.
    fn read(line: &str) -> Self {
        let word = line.split(['(', '（']).find(|part| !part.trim().is_empty());
        let word = word
            .unwrap_or_default()
            .trim_matches(|c: char| !c.is_alphanumeric());
        Self::ALL
            .into_iter()
            .find(|status| status.word().is(word))
            .unwrap_or_default()
    }
}

/// What is decided; a milestone needs more signatures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    /// Anything.
    #[default]
    Decision,
    /// That a milestone is reached.
    Milestone,
}

impl DecisionKind {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature serde asks for"
    )]
    fn is_plain(&self) -> bool {
        *self == Self::Decision
    }

    fn word(self) -> Word {
        match self {
            Self::Decision => value::KIND_DECISION,
            Self::Milestone => value::KIND_MILESTONE,
        }
    }
}

/// One decision as its record on the board says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// What stands behind `#` in its heading.
    pub id: String,
    /// When it was proposed, in the record's own words.
    pub time: String,
    /// Who proposed it.
    pub proposer: String,
    /// What is decided, as Markdown.
    pub content: String,
    /// Who signed it.
    pub signers: Vec<String>,
    /// How far it has come.
    pub status: DecisionStatus,
    /// What is decided.
    #[serde(default, skip_serializing_if = "DecisionKind::is_plain")]
    pub kind: DecisionKind,
    /// The milestone it declares reached, by its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// Who vetoed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vetoed_by: Vec<String>,
    /// Why it was vetoed, as Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who asked for a second vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appealed_by: Option<String>,
}

impl Decision {
    /// Returns the decision in normal form, which a record preserves exactly.
    ///
    /// Texts are trimmed, their lines end with a line feed, and control characters other than line feed and tab
    /// are removed. Names, times and titles are one trimmed line. Lists contain no duplicates and no empty
    /// names. An optional field without content is absent. A decision that names a milestone is of the
    /// milestone kind.
    #[must_use]
    pub fn normal(self) -> Self {
        let one = |text: Option<String>| {
            text.map(|text| normal_line(&text))
                .filter(|text| !text.is_empty())
        };
        let milestone = one(self.milestone);
        Self {
            id: self.id,
            time: normal_line(&self.time),
            proposer: normal_line(&self.proposer),
            content: normal_text(&self.content),
            signers: normal_names(&self.signers),
            status: self.status,
            kind: match milestone {
                Some(_) => DecisionKind::Milestone,
                None => self.kind,
            },
            milestone,
            vetoed_by: normal_names(&self.vetoed_by),
            reason: self
                .reason
                .map(|text| normal_text(&text))
                .filter(|text| !text.is_empty()),
            appealed_by: one(self.appealed_by),
        }
    }
}

fn normal_text(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept: String = lines
        .chars()
        .filter(|&c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    kept.trim().to_owned()
}

/// Returns the text as one trimmed line: control characters become spaces.
pub(super) fn normal_line(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    line.trim().to_owned()
}

fn normal_names(names: &[String]) -> Vec<String> {
    let mut seen = HashSet::with_capacity(names.len());
    let names = names.iter().map(|name| normal_line(name));
    names
        .filter(|name| !name.is_empty() && seen.insert(name.clone()))
        .collect()
}
