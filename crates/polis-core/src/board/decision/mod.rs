//! Board decisions: records on a board that agents propose, sign, veto and appeal.
//!
//! The board's text is the only storage of a decision. [`parse_decisions`] parses the records. The voting
//! rules ([`propose_decision`], [`sign_decision`], [`veto_decision`], [`appeal_decision`]) return the new
//! record, and [`insert_decision`] and [`replace_decision`] write it back without changing other lines.

mod record_edit;
mod record_format;
#[cfg(test)]
mod tests;
mod voting;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use record_edit::{find_decision, insert_decision, next_decision_id, replace_decision};
pub use record_format::{parse_decisions, render_decision};
pub use voting::{
    DecisionProposal, Electorate, Quorum, Voter, appeal_decision, propose_decision, sign_decision,
    veto_decision,
};

use super::template_text::{TemplateTerm, status, value};

/// Status of a decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionStatus {
    /// Open for signatures.
    #[default]
    Pending,
    /// Has the required signatures; final.
    Approved,
    /// Vetoed.
    Rejected,
    /// Appealed after a veto; open for a second vote.
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

    fn template_term(self) -> TemplateTerm {
        match self {
            Self::Pending => status::PENDING,
            Self::Approved => status::APPROVED,
            Self::Rejected => status::REJECTED,
            Self::Appealing => status::APPEALING,
        }
    }

    /// Parses a status line. Surrounding markup and a remark in brackets after it are ignored. A text that
    /// names no status, such as the template's unfilled choice, is pending.
    fn parse_line(line: &str) -> Self {
        let word = line.split(['(', '（']).find(|part| !part.trim().is_empty());
        let word = word
            .unwrap_or_default()
            .trim_matches(|c: char| !c.is_alphanumeric());
        Self::ALL
            .into_iter()
            .find(|status| status.template_term().matches(word))
            .unwrap_or_default()
    }
}

/// Kind of decision. A milestone needs more signatures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    /// An ordinary decision.
    #[default]
    Decision,
    /// Declares a milestone reached.
    Milestone,
}

impl DecisionKind {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde requires this signature"
    )]
    fn is_plain(&self) -> bool {
        *self == Self::Decision
    }

    fn template_term(self) -> TemplateTerm {
        match self {
            Self::Decision => value::KIND_DECISION,
            Self::Milestone => value::KIND_MILESTONE,
        }
    }
}

/// A decision, as parsed from its record on the board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardDecision {
    /// Id: the text after `#` in its heading.
    pub id: String,
    /// When it was proposed, as written in the record.
    pub time: String,
    /// The agent that proposed it.
    pub proposer: String,
    /// Content of the decision, as Markdown.
    pub content: String,
    /// Agents that signed it.
    pub signers: Vec<String>,
    /// Status of the decision.
    pub status: DecisionStatus,
    /// Kind of decision.
    #[serde(default, skip_serializing_if = "DecisionKind::is_plain")]
    pub kind: DecisionKind,
    /// The milestone it declares reached, by its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// Agents that vetoed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vetoed_by: Vec<String>,
    /// Reason of the veto, as Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The agent that appealed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appealed_by: Option<String>,
}

impl BoardDecision {
    /// Returns the decision in normal form, which a record preserves exactly.
    ///
    /// Texts are trimmed, their lines end with a line feed, and control characters other than line feed and
    /// tab are removed. Names, times and titles are one trimmed line. Lists contain no duplicates and no
    /// empty names. An optional field without content is absent. A decision that names a milestone is of the
    /// milestone kind.
    #[must_use]
    pub fn normalize(self) -> Self {
        let normalize_optional = |text: Option<String>| {
            text.map(|text| normalize_line(&text))
                .filter(|text| !text.is_empty())
        };
        let milestone = normalize_optional(self.milestone);
        Self {
            id: self.id,
            time: normalize_line(&self.time),
            proposer: normalize_line(&self.proposer),
            content: normalize_text(&self.content),
            signers: normalize_names(&self.signers),
            status: self.status,
            kind: match milestone {
                Some(_) => DecisionKind::Milestone,
                None => self.kind,
            },
            milestone,
            vetoed_by: normalize_names(&self.vetoed_by),
            reason: self
                .reason
                .map(|text| normalize_text(&text))
                .filter(|text| !text.is_empty()),
            appealed_by: normalize_optional(self.appealed_by),
        }
    }
}

fn normalize_text(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let cleaned: String = lines
        .chars()
        .filter(|&c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    cleaned.trim().to_owned()
}

/// Returns the text as one trimmed line: control characters become spaces.
pub(super) fn normalize_line(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    line.trim().to_owned()
}

fn normalize_names(names: &[String]) -> Vec<String> {
    let mut seen = HashSet::with_capacity(names.len());
    let names = names.iter().map(|name| normalize_line(name));
    names
        .filter(|name| !name.is_empty() && seen.insert(name.clone()))
        .collect()
}
