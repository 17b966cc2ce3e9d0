//! Voting rules of decisions: proposing, signing, vetoing and appealing, with the quorum.
//!
//! The functions take a decision and return it with the new signatures, vetoes and status, or refuse the vote.

use super::{Decision, DecisionKind, DecisionStatus};
use crate::id::AgentId;
use crate::refusal::{Code, Refusal};
use crate::task::text::{check_line, check_text};
use crate::time::Timestamp;

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
/// counts as one, so that an approved record always shows the required number of signatures. Their veto always
/// rejects, because a vote of agents cannot overrule the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    /// An agent, by name.
    Agent(&'a str),
    /// The person who owns the board.
    Person,
}

impl<'a> By<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Agent(name) => name,
            Self::Person => AgentId::USER,
        }
    }
}

/// A proposal for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal<'a> {
    /// The content of the decision, as Markdown.
    pub content: &'a str,
    /// Whether it declares a milestone reached.
    pub kind: DecisionKind,
    /// The milestone's title.
    pub milestone: Option<&'a str>,
}

/// Creates a new pending decision. Proposing does not imply signing.
pub fn propose(
    proposal: &Proposal<'_>,
    id: u64,
    by: By<'_>,
    now: &Timestamp,
) -> Result<Decision, Refusal> {
    check_text("decision", proposal.content)?;
    if proposal.content.trim().is_empty() {
        return Err(Refusal::new(
            Code::InvalidText,
            "Invalid decision: it is empty.",
            "say what is to be decided",
        ));
    }
    if let Some(title) = proposal.milestone {
        check_line("milestone", title)?;
    }
    let decision = Decision {
        id: id.to_string(),
        time: now.to_string(),
        proposer: by.name().to_owned(),
        content: proposal.content.to_owned(),
        kind: proposal.kind,
        milestone: proposal.milestone.map(str::to_owned),
        ..Decision::default()
    };
    Ok(decision.normal())
}

/// Signs a decision. The signature that completes the quorum approves it. In an appeal the earlier signatures
/// still count, and signing withdraws the signer's veto. Signing twice changes nothing.
pub fn sign(
    decision: &Decision,
    by: By<'_>,
    electorate: &Electorate<'_>,
) -> Result<Decision, Refusal> {
    electorate.admit(decision, by, "sign")?;
    let mut signed = decision.clone().normal();
    match decision.status {
        DecisionStatus::Pending | DecisionStatus::Appealing => {}
        DecisionStatus::Approved if contains(&decision.signers, by.name()) => return Ok(signed),
        DecisionStatus::Approved | DecisionStatus::Rejected => {
            return Err(closed(decision, "signed"));
        }
    }
    add(&mut signed.signers, by.name());
    remove(&mut signed.vetoed_by, by.name());
    if electorate.signatures(&signed) >= electorate.needed(&signed) {
        signed.status = DecisionStatus::Approved;
    }
    Ok(signed)
}

/// Vetoes a decision. A pending one is rejected at once, an appealed one when its approval has become
/// impossible. A veto withdraws the actor's signature. The reason may be empty.
pub fn veto(
    decision: &Decision,
    by: By<'_>,
    electorate: &Electorate<'_>,
    reason: &str,
) -> Result<Decision, Refusal> {
    electorate.admit(decision, by, "veto")?;
    check_text("reason", reason)?;
    let mut vetoed = decision.clone();
    match decision.status {
        DecisionStatus::Pending | DecisionStatus::Appealing => {}
        DecisionStatus::Rejected if contains(&decision.vetoed_by, by.name()) => {
            return Ok(vetoed.normal());
        }
        DecisionStatus::Approved | DecisionStatus::Rejected => {
            return Err(closed(decision, "vetoed"));
        }
    }
    remove(&mut vetoed.signers, by.name());
    add(&mut vetoed.vetoed_by, by.name());
    vetoed.reason = match vetoed.reason.take() {
        Some(before) if !reason.trim().is_empty() => Some(format!("{before}\n\n{reason}")),
        Some(before) => Some(before),
        None => Some(reason.to_owned()),
    };
    if decision.status == DecisionStatus::Pending
        || by == By::Person
        || electorate.reachable(&vetoed) < electorate.needed(&vetoed)
    {
        vetoed.status = DecisionStatus::Rejected;
    }
    Ok(vetoed.normal())
}

/// Appeals a rejected decision, for a second vote. The proposer and the signers may.
pub fn appeal(
    decision: &Decision,
    by: By<'_>,
    electorate: &Electorate<'_>,
) -> Result<Decision, Refusal> {
    if by.name() != decision.proposer {
        electorate.admit(decision, by, "appeal")?;
    }
    if decision.status != DecisionStatus::Rejected {
        return Err(closed(decision, "appealed"));
    }
    let mut appealed = decision.clone();
    appealed.status = DecisionStatus::Appealing;
    appealed.appealed_by = Some(by.name().to_owned());
    Ok(appealed.normal())
}

impl Electorate<'_> {
    fn admit(&self, decision: &Decision, by: By<'_>, act: &str) -> Result<(), Refusal> {
        if by == By::Person || contains(self.signers, by.name()) {
            return Ok(());
        }
        let signers = match self.signers {
            [] => "nobody but the user".to_owned(),
            signers => signers.join(", "),
        };
        Err(Refusal::new(
            Code::NotASigner,
            format!(
                "\"{}\" may not {act} decision #{}: it is for {signers}.",
                by.name(),
                decision.id
            ),
            "ask one of them",
        ))
    }

    /// Returns the number of signatures required. If there are fewer signers, it is all of them plus the
    /// person.
    fn needed(&self, decision: &Decision) -> usize {
        let configured = match (decision.status, decision.kind) {
            (DecisionStatus::Appealing, _) => self.quorum.appeal_signatures,
            (_, DecisionKind::Milestone) => self.quorum.milestone_signatures,
            (_, DecisionKind::Decision) => self.quorum.signatures,
        };
        usize::try_from(configured)
            .unwrap_or(usize::MAX)
            .min(self.signers.len() + 1)
            .max(1)
    }

    /// Counts the valid signatures: a name that was typed onto the board by hand is not necessarily a signer.
    fn signatures(&self, decision: &Decision) -> usize {
        let counts = |name: &&String| name.as_str() == AgentId::USER || self.signers.contains(name);
        decision.signers.iter().filter(counts).count()
    }

    /// Returns the maximum number of signatures still possible. The person's counts only if it is present, or
    /// if there are too few signers without it; otherwise the vote does not wait for it.
    fn reachable(&self, decision: &Decision) -> usize {
        let open = |name: &&String| !decision.vetoed_by.contains(name);
        let few = self.signers.len() < self.needed(decision);
        let person = (few || contains(&decision.signers, AgentId::USER))
            && !contains(self.signers, AgentId::USER);
        self.signers.iter().filter(open).count() + usize::from(person)
    }
}

fn contains(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

fn add(names: &mut Vec<String>, name: &str) {
    if !contains(names, name) {
        names.push(name.to_owned());
    }
}

fn remove(names: &mut Vec<String>, name: &str) {
    names.retain(|known| known != name);
}

fn closed(decision: &Decision, act: &str) -> Refusal {
    let hint = match decision.status {
        DecisionStatus::Approved => "propose a new decision; an approved one is final",
        DecisionStatus::Rejected => "appeal it first, or propose a new decision",
        DecisionStatus::Pending | DecisionStatus::Appealing => {
            "sign or veto it; only a rejected decision is appealed"
        }
    };
    Refusal::new(
        Code::DecisionClosed,
        format!(
            "Decision #{} is {} and cannot be {act}.",
            decision.id,
            decision.status.as_str()
        ),
        hint,
    )
}
