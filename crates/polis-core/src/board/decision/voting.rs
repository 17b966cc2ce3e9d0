//! Voting rules of board decisions: proposing, signing, vetoing and appealing, with the quorum.
//!
//! [`propose_decision`] creates a decision. The other functions take a decision and return it with the new
//! signatures, vetoes and status, or refuse the vote: with `not_a_signer`, or with `decision_closed` if the
//! decision's status does not permit it. Invalid texts are refused too.

use super::{BoardDecision, DecisionKind, DecisionStatus};
use crate::id::AgentId;
use crate::number::saturating_cast;
use crate::refusal::Refusal;
use crate::refusal::{DecisionRefusal, TextField};
use crate::task::text_limits::{check_line, check_text};
use crate::timestamp::Timestamp;

/// Number of signatures that approve a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quorum {
    /// For an ordinary decision.
    pub signatures: u32,
    /// For a decision that a milestone is reached.
    pub milestone_signatures: u32,
    /// For a decision that was vetoed and appealed.
    pub appeal_signatures: u32,
}

impl Default for Quorum {
    fn default() -> Self {
        Self {
            signatures: 2,
            milestone_signatures: 3,
            appeal_signatures: 2,
        }
    }
}

/// The signers, and the number of signatures required.
#[derive(Debug, Clone, Copy)]
pub struct Electorate<'a> {
    /// Names that may sign and veto, without duplicates.
    pub signers: &'a [String],
    /// Number of signatures that approve.
    pub quorum: Quorum,
}

/// The actor of a vote.
///
/// The person who owns the board may propose, sign, veto and appeal without being a signer. Their signature
/// counts as one, so that an approved record always shows the required number of signatures. Their veto
/// always rejects, because a vote of agents cannot overrule the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voter<'a> {
    /// An agent, by name.
    Agent(&'a str),
    /// The person who owns the board.
    Person,
}

impl<'a> Voter<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Agent(name) => name,
            Self::Person => AgentId::USER,
        }
    }
}

/// A proposal for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionProposal<'a> {
    /// The content of the decision, as Markdown.
    pub content: &'a str,
    /// Whether it declares a milestone reached.
    pub kind: DecisionKind,
    /// Title of the milestone.
    pub milestone: Option<&'a str>,
}

/// Creates a new pending decision. Proposing does not imply signing. Fails if a text is invalid or the
/// content is empty.
pub fn propose_decision(
    proposal: &DecisionProposal<'_>,
    id: u64,
    voter: Voter<'_>,
    now: &Timestamp,
) -> Result<BoardDecision, Refusal> {
    check_text(TextField::Decision, proposal.content)?;
    if proposal.content.trim().is_empty() {
        return Err(Refusal::from(DecisionRefusal::Empty));
    }
    if let Some(title) = proposal.milestone {
        check_line(TextField::Milestone, title)?;
    }
    let decision = BoardDecision {
        id: id.to_string(),
        time: now.to_string(),
        proposer: voter.name().to_owned(),
        content: proposal.content.to_owned(),
        kind: proposal.kind,
        milestone: proposal.milestone.map(str::to_owned),
        ..BoardDecision::default()
    };
    Ok(decision.normalize())
}

/// Signs a decision. The signature that completes the quorum approves it. In an appeal the earlier signatures
/// still count, and signing withdraws the signer's veto. Signing twice changes nothing. Fails with
/// `not_a_signer` if the voter is not a signer, and with `decision_closed` if the vote has ended.
pub fn sign_decision(
    decision: &BoardDecision,
    voter: Voter<'_>,
    electorate: &Electorate<'_>,
) -> Result<BoardDecision, Refusal> {
    electorate.check_signer(decision, voter, "sign")?;
    let mut signed = decision.clone().normalize();
    match decision.status {
        DecisionStatus::Pending | DecisionStatus::Appealing => {}
        DecisionStatus::Approved if contains_name(&decision.signers, voter.name()) => {
            return Ok(signed);
        }
        DecisionStatus::Approved | DecisionStatus::Rejected => {
            return Err(decision_closed(decision, "signed"));
        }
    }
    add_name(&mut signed.signers, voter.name());
    remove_name(&mut signed.vetoed_by, voter.name());
    if electorate.count_signatures(&signed) >= electorate.required_signatures(&signed) {
        signed.status = DecisionStatus::Approved;
    }
    Ok(signed)
}

/// Vetoes a decision. A pending one is rejected at once; an appealed one is rejected when its approval has
/// become impossible, or at once by the person's veto. A veto withdraws the voter's signature. The reason may
/// be empty. Vetoing twice changes nothing. Fails with `not_a_signer` if the voter is not a signer, with
/// `invalid_text` if the reason is invalid, and with `decision_closed` if the vote has ended.
pub fn veto_decision(
    decision: &BoardDecision,
    voter: Voter<'_>,
    electorate: &Electorate<'_>,
    reason: &str,
) -> Result<BoardDecision, Refusal> {
    electorate.check_signer(decision, voter, "veto")?;
    check_text(TextField::Reason, reason)?;
    let mut vetoed = decision.clone();
    match decision.status {
        DecisionStatus::Pending | DecisionStatus::Appealing => {}
        DecisionStatus::Rejected if contains_name(&decision.vetoed_by, voter.name()) => {
            return Ok(vetoed.normalize());
        }
        DecisionStatus::Approved | DecisionStatus::Rejected => {
            return Err(decision_closed(decision, "vetoed"));
        }
    }
    remove_name(&mut vetoed.signers, voter.name());
    add_name(&mut vetoed.vetoed_by, voter.name());
    vetoed.reason = match vetoed.reason.take() {
        Some(before) if !reason.trim().is_empty() => Some(format!("{before}\n\n{reason}")),
        Some(before) => Some(before),
        None => Some(reason.to_owned()),
    };
    if decision.status == DecisionStatus::Pending
        || voter == Voter::Person
        || electorate.reachable_signatures(&vetoed) < electorate.required_signatures(&vetoed)
    {
        vetoed.status = DecisionStatus::Rejected;
    }
    Ok(vetoed.normalize())
}

/// Appeals a rejected decision, for a second vote. Only the person, the proposer and the signers may appeal.
/// Fails with `not_a_signer` for other voters, and with `decision_closed` if the decision is not rejected.
pub fn appeal_decision(
    decision: &BoardDecision,
    voter: Voter<'_>,
    electorate: &Electorate<'_>,
) -> Result<BoardDecision, Refusal> {
    if voter.name() != decision.proposer {
        electorate.check_signer(decision, voter, "appeal")?;
    }
    if decision.status != DecisionStatus::Rejected {
        return Err(decision_closed(decision, "appealed"));
    }
    let mut appealed = decision.clone();
    appealed.status = DecisionStatus::Appealing;
    appealed.appealed_by = Some(voter.name().to_owned());
    Ok(appealed.normalize())
}

impl Electorate<'_> {
    fn check_signer(
        &self,
        decision: &BoardDecision,
        voter: Voter<'_>,
        action: &str,
    ) -> Result<(), Refusal> {
        if voter == Voter::Person || contains_name(self.signers, voter.name()) {
            return Ok(());
        }
        let (agent, action) = (voter.name().to_owned(), action.to_owned());
        let decision = decision.id.clone();
        Err(match self.signers {
            [] => DecisionRefusal::NoSigners {
                agent,
                action,
                decision,
            },
            signers => DecisionRefusal::NotASigner {
                agent,
                action,
                decision,
                signers: signers.to_vec(),
            },
        }
        .into())
    }

    /// Returns the number of signatures required. If there are fewer signers, it is all of them plus the
    /// person.
    fn required_signatures(&self, decision: &BoardDecision) -> usize {
        let configured = match (decision.status, decision.kind) {
            (DecisionStatus::Appealing, _) => self.quorum.appeal_signatures,
            (_, DecisionKind::Milestone) => self.quorum.milestone_signatures,
            (_, DecisionKind::Decision) => self.quorum.signatures,
        };
        saturating_cast::<usize>(configured)
            .min(self.signers.len() + 1)
            .max(1)
    }

    /// Counts the valid signatures: a name that was typed onto the board by hand is not necessarily a signer.
    fn count_signatures(&self, decision: &BoardDecision) -> usize {
        let counts = |name: &&String| name.as_str() == AgentId::USER || self.signers.contains(name);
        decision.signers.iter().filter(counts).count()
    }

    /// Returns the maximum number of signatures still possible. The person's counts only if it is present, or
    /// if there are too few signers without it; otherwise the vote does not wait for it.
    fn reachable_signatures(&self, decision: &BoardDecision) -> usize {
        let open = |name: &&String| !decision.vetoed_by.contains(name);
        let too_few = self.signers.len() < self.required_signatures(decision);
        let person_votes = (too_few || contains_name(&decision.signers, AgentId::USER))
            && !contains_name(self.signers, AgentId::USER);
        self.signers.iter().filter(open).count() + usize::from(person_votes)
    }
}

fn contains_name(names: &[String], name: &str) -> bool {
    names.iter().any(|existing| existing == name)
}

fn add_name(names: &mut Vec<String>, name: &str) {
    if !contains_name(names, name) {
        names.push(name.to_owned());
    }
}

fn remove_name(names: &mut Vec<String>, name: &str) {
    names.retain(|existing| existing != name);
}

fn decision_closed(decision: &BoardDecision, action: &str) -> Refusal {
    let id = decision.id.clone();
    let status = decision.status.as_str().to_owned();
    let action = action.to_owned();
    match decision.status {
        DecisionStatus::Approved => DecisionRefusal::Approved {
            decision: id,
            status,
            action,
        },
        DecisionStatus::Rejected => DecisionRefusal::Rejected {
            decision: id,
            status,
            action,
        },
        DecisionStatus::Pending | DecisionStatus::Appealing => DecisionRefusal::Open {
            decision: id,
            status,
            action,
        },
    }
    .into()
}
