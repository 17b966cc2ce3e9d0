//! Who may do what to a decision, and what becomes of it.

use super::{Decision, DecisionKind, DecisionStatus};
use crate::id::AgentId;
use crate::refusal::{Code, Refusal};
use crate::task::text::{check_line, check_text};
use crate::time::Timestamp;

/// How many signatures approve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quorum {
    /// A decision.
    pub signatures: u32,
    /// The decision that a milestone is reached.
    pub milestone_signatures: u32,
    /// A decision that was vetoed and appealed.
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

/// Whose signatures count, and how many of them it takes.
#[derive(Debug, Clone, Copy)]
pub struct Electorate<'a> {
    /// The names that may sign and veto, each once.
    pub signers: &'a [String],
    /// How many signatures approve.
    pub quorum: Quorum,
}

/// Who acts.
///
/// The person who owns the board may propose, sign, veto and appeal without being a signer. Their
/// signature counts as one, so an approved record always shows the signatures it took; their veto
/// always rejects, for no vote of agents overrules the owner.
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

/// What is proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal<'a> {
    /// What is to be decided, as Markdown.
    pub content: &'a str,
    /// Whether a milestone is to be declared reached.
    pub kind: DecisionKind,
    /// Which one, by its title.
    pub milestone: Option<&'a str>,
}

/// A new decision, waiting for signatures. To propose is not to sign.
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

/// Signs: the signature that completes the quorum approves. In an appeal the earlier signatures
/// still count, and who signs withdraws their veto. Signing twice changes nothing.
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

/// Vetoes: a waiting decision is rejected at once, an appealed one when so many have vetoed that
/// approval has become impossible. Who vetoes loses their signature. A reason may be empty.
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

/// Asks for a second vote on a rejected decision: its proposer may, and who may sign.
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

    /// The signatures it takes. Where there are fewer signers, all of them and the person's.
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

    /// The signatures that count: a name typed onto the board by hand does not make a signer.
    fn signatures(&self, decision: &Decision) -> usize {
        let counts = |name: &&String| name.as_str() == AgentId::USER || self.signers.contains(name);
        decision.signers.iter().filter(counts).count()
    }

    /// The signatures there could still be, without the person's unless it is there: nobody waits for
    /// it where the signers are enough.
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
