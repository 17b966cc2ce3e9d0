//! Tests of the voting rules of decisions: signatures, vetoes, appeals and the quorum.

use super::*;

fn three_signers() -> Vec<String> {
    to_strings(&["a", "b", "c"])
}

fn proposed_decision(kind: DecisionKind) -> BoardDecision {
    let proposal = DecisionProposal {
        content: "x",
        kind,
        milestone: None,
    };
    propose_decision(&proposal, 1, Voter::Agent("m"), &Timestamp::from_millis(0)).unwrap()
}

fn default_electorate(signers: &[String]) -> Electorate<'_> {
    Electorate {
        signers,
        quorum: Quorum::default(),
    }
}

#[test]
fn quorum_approves_and_approval_is_final() {
    let council = three_signers();
    let all = default_electorate(&council);
    let one = sign_decision(
        &proposed_decision(DecisionKind::Decision),
        Voter::Agent("a"),
        &all,
    )
    .unwrap();
    assert_eq!(one.status, DecisionStatus::Pending);
    assert_eq!(sign_decision(&one, Voter::Agent("a"), &all).unwrap(), one);
    let two = sign_decision(&one, Voter::Agent("b"), &all).unwrap();
    assert_eq!(two.status, DecisionStatus::Approved);
    assert_eq!(sign_decision(&two, Voter::Agent("b"), &all).unwrap(), two);
    for refused in [
        sign_decision(&two, Voter::Agent("c"), &all),
        veto_decision(&two, Voter::Person, &all, "no"),
        appeal_decision(&two, Voter::Agent("m"), &all),
    ] {
        assert_eq!(refused.unwrap_err().code, RefusalCode::DECISION_CLOSED);
    }
    assert_eq!(
        sign_decision(&one, Voter::Agent("m"), &all)
            .unwrap_err()
            .code,
        RefusalCode::NOT_A_SIGNER
    );
}

#[test]
fn milestone_needs_more_signatures_and_few_signers_need_the_person() {
    let council = three_signers();
    let milestone = proposed_decision(DecisionKind::Milestone);
    let two = sign_decision(&milestone, Voter::Agent("a"), &default_electorate(&council)).unwrap();
    let two = sign_decision(&two, Voter::Agent("b"), &default_electorate(&council)).unwrap();
    assert_eq!(two.status, DecisionStatus::Pending);
    let three = sign_decision(&two, Voter::Person, &default_electorate(&council)).unwrap();
    assert_eq!(three.status, DecisionStatus::Approved);
    let alone = to_strings(&["a"]);
    let signed = sign_decision(&milestone, Voter::Agent("a"), &default_electorate(&alone)).unwrap();
    assert_eq!(signed.status, DecisionStatus::Pending);
    let signed = sign_decision(&signed, Voter::Person, &default_electorate(&alone)).unwrap();
    assert_eq!(signed.status, DecisionStatus::Approved);
    let signed = sign_decision(&milestone, Voter::Person, &default_electorate(&[])).unwrap();
    assert_eq!(signed.status, DecisionStatus::Approved);
}

#[test]
fn appeal_starts_a_second_vote() {
    let council = three_signers();
    let all = default_electorate(&council);
    let signed = sign_decision(
        &proposed_decision(DecisionKind::Decision),
        Voter::Agent("a"),
        &all,
    )
    .unwrap();
    let rejected = veto_decision(&signed, Voter::Agent("b"), &all, "too dear").unwrap();
    assert_eq!(rejected.status, DecisionStatus::Rejected);
    assert_eq!(rejected.reason.as_deref(), Some("too dear"));
    assert_eq!(
        appeal_decision(&rejected, Voter::Agent("x"), &all)
            .unwrap_err()
            .code,
        RefusalCode::NOT_A_SIGNER
    );
    let appealed = appeal_decision(&rejected, Voter::Agent("m"), &all).unwrap();
    assert_eq!(appealed.appealed_by.as_deref(), Some("m"));
    let approved = sign_decision(&appealed, Voter::Agent("b"), &all).unwrap();
    assert_eq!(approved.status, DecisionStatus::Approved);
    assert!(approved.vetoed_by.is_empty());
    let vetoed = veto_decision(&appealed, Voter::Agent("c"), &all, "still").unwrap();
    assert_eq!(vetoed.status, DecisionStatus::Rejected);
    assert_eq!(vetoed.reason.as_deref(), Some("too dear\n\nstill"));
    let by_owner = veto_decision(&appealed, Voter::Person, &all, "").unwrap();
    assert_eq!(by_owner.status, DecisionStatus::Rejected);
}

#[test]
fn one_veto_of_four_does_not_reject_an_appeal() {
    let council = to_strings(&["a", "b", "c", "d"]);
    let all = default_electorate(&council);
    let decision = proposed_decision(DecisionKind::Decision);
    let rejected = veto_decision(&decision, Voter::Agent("a"), &all, "no").unwrap();
    let appealed = appeal_decision(&rejected, Voter::Agent("b"), &all).unwrap();
    let vetoed_once = veto_decision(&appealed, Voter::Agent("b"), &all, "no").unwrap();
    assert_eq!(vetoed_once.status, DecisionStatus::Appealing);
    let vetoed_twice = veto_decision(&vetoed_once, Voter::Agent("c"), &all, "no").unwrap();
    assert_eq!(vetoed_twice.status, DecisionStatus::Rejected);
}

#[test]
fn name_of_non_signer_is_not_counted() {
    let council = three_signers();
    let forged = BoardDecision {
        signers: to_strings(&["x", "y"]),
        ..proposed_decision(DecisionKind::Decision)
    };
    let signed = sign_decision(&forged, Voter::Agent("a"), &default_electorate(&council)).unwrap();
    assert_eq!(signed.status, DecisionStatus::Pending);
}

/// Checks the invariants of a decision after any sequence of votes.
fn check_legal(decision: &BoardDecision, all: &Electorate<'_>) {
    let both = decision
        .signers
        .iter()
        .any(|name| decision.vetoed_by.contains(name));
    assert!(!both, "a signature and a veto of one: {decision:?}");
    let required = (all.quorum.appeal_signatures as usize)
        .min(all.quorum.signatures as usize)
        .min(all.quorum.milestone_signatures as usize)
        .min(all.signers.len() + 1)
        .max(1);
    match decision.status {
        DecisionStatus::Pending => assert!(decision.vetoed_by.is_empty()),
        DecisionStatus::Approved => assert!(decision.signers.len() >= required),
        DecisionStatus::Rejected => assert!(!decision.vetoed_by.is_empty()),
        DecisionStatus::Appealing => assert!(decision.appealed_by.is_some()),
    }
    assert_eq!(decision.clone().normalize(), *decision);
}

proptest! {
    #[test]
    fn every_sequence_of_votes_keeps_the_decision_legal(
        acts in prop::collection::vec((0..3_u8, 0..7_usize), 0..30),
        council in 0..5_usize,
        quorum in (0..5_u32, 0..5_u32, 0..5_u32),
        kind in prop::sample::select(vec![DecisionKind::Decision, DecisionKind::Milestone]),
    ) {
        let voters = ["a", "b", "c", "d", "e", "m"];
        let signers = to_strings(&voters[..council]);
        let all = Electorate {
            signers: &signers,
            quorum: Quorum {
                signatures: quorum.0,
                milestone_signatures: quorum.1,
                appeal_signatures: quorum.2,
            },
        };
        let mut decision = proposed_decision(kind);
        for (act, voter_index) in acts {
            let voter = voters.get(voter_index).map_or(Voter::Person, |name| Voter::Agent(name));
            let result = match act {
                0 => sign_decision(&decision, voter, &all),
                1 => veto_decision(&decision, voter, &all, "no"),
                _ => appeal_decision(&decision, voter, &all),
            };
            let Ok(next) = result else { continue };
            check_legal(&next, &all);
            let transition = (decision.status, next.status);
            let legal = transition.0 == transition.1 || matches!(transition,
                (DecisionStatus::Pending, DecisionStatus::Approved | DecisionStatus::Rejected)
                | (DecisionStatus::Rejected, DecisionStatus::Appealing)
                | (DecisionStatus::Appealing, DecisionStatus::Approved | DecisionStatus::Rejected));
            prop_assert!(legal, "{:?}", transition);
            if decision.status == DecisionStatus::Approved {
                prop_assert_eq!(&next, &decision);
            }
            if act == 0 {
                prop_assert_eq!(&sign_decision(&next, voter, &all).unwrap(), &next);
            }
            decision = next;
        }
    }
}
