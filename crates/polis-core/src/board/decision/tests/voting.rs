//! Tests of signatures, vetoes and appeals.

use super::*;

fn council() -> Vec<String> {
    names(&["a", "b", "c"])
}

fn proposed(kind: DecisionKind) -> Decision {
    let proposal = Proposal {
        content: "x",
        kind,
        milestone: None,
    };
    propose(&proposal, 1, By::Agent("m"), &Timestamp::from_millis(0)).unwrap()
}

fn electorate(signers: &[String]) -> Electorate<'_> {
    Electorate {
        signers,
        quorum: Quorum::default(),
    }
}

#[test]
fn the_quorum_approves_and_that_is_final() {
    let council = council();
    let all = electorate(&council);
    let one = sign(&proposed(DecisionKind::Decision), By::Agent("a"), &all).unwrap();
    assert_eq!(one.status, DecisionStatus::Pending);
    assert_eq!(sign(&one, By::Agent("a"), &all).unwrap(), one);
    let two = sign(&one, By::Agent("b"), &all).unwrap();
    assert_eq!(two.status, DecisionStatus::Approved);
    assert_eq!(sign(&two, By::Agent("b"), &all).unwrap(), two);
    for refused in [
        sign(&two, By::Agent("c"), &all),
        veto(&two, By::Person, &all, "no"),
        appeal(&two, By::Agent("m"), &all),
    ] {
        assert_eq!(refused.unwrap_err().code, Code::DecisionClosed);
    }
    assert_eq!(
        sign(&one, By::Agent("m"), &all).unwrap_err().code,
        Code::NotASigner
    );
}

#[test]
fn a_milestone_takes_more_and_a_small_council_the_person_too() {
    let council = council();
    let milestone = proposed(DecisionKind::Milestone);
    let two = sign(&milestone, By::Agent("a"), &electorate(&council)).unwrap();
    let two = sign(&two, By::Agent("b"), &electorate(&council)).unwrap();
    assert_eq!(two.status, DecisionStatus::Pending);
    let three = sign(&two, By::Person, &electorate(&council)).unwrap();
    assert_eq!(three.status, DecisionStatus::Approved);
    let alone = names(&["a"]);
    let signed = sign(&milestone, By::Agent("a"), &electorate(&alone)).unwrap();
    assert_eq!(signed.status, DecisionStatus::Pending);
    let signed = sign(&signed, By::Person, &electorate(&alone)).unwrap();
    assert_eq!(signed.status, DecisionStatus::Approved);
    let signed = sign(&milestone, By::Person, &electorate(&[])).unwrap();
    assert_eq!(signed.status, DecisionStatus::Approved);
}

#[test]
fn an_appeal_is_a_second_vote() {
    let council = council();
    let all = electorate(&council);
    let signed = sign(&proposed(DecisionKind::Decision), By::Agent("a"), &all).unwrap();
    let rejected = veto(&signed, By::Agent("b"), &all, "too dear").unwrap();
    assert_eq!(rejected.status, DecisionStatus::Rejected);
    assert_eq!(rejected.reason.as_deref(), Some("too dear"));
    assert_eq!(
        appeal(&rejected, By::Agent("x"), &all).unwrap_err().code,
        Code::NotASigner
    );
    let appealed = appeal(&rejected, By::Agent("m"), &all).unwrap();
    assert_eq!(appealed.appealed_by.as_deref(), Some("m"));
    let approved = sign(&appealed, By::Agent("b"), &all).unwrap();
    assert_eq!(approved.status, DecisionStatus::Approved);
    assert!(approved.vetoed_by.is_empty());
    let vetoed = veto(&appealed, By::Agent("c"), &all, "still").unwrap();
    assert_eq!(vetoed.status, DecisionStatus::Rejected);
    assert_eq!(vetoed.reason.as_deref(), Some("too dear\n\nstill"));
    let by_owner = veto(&appealed, By::Person, &all, "").unwrap();
    assert_eq!(by_owner.status, DecisionStatus::Rejected);
}

#[test]
fn one_veto_of_four_does_not_end_an_appeal() {
    let council = names(&["a", "b", "c", "d"]);
    let all = electorate(&council);
    let decision = proposed(DecisionKind::Decision);
    let rejected = veto(&decision, By::Agent("a"), &all, "no").unwrap();
    let appealed = appeal(&rejected, By::Agent("b"), &all).unwrap();
    let still = veto(&appealed, By::Agent("b"), &all, "no").unwrap();
    assert_eq!(still.status, DecisionStatus::Appealing);
    let over = veto(&still, By::Agent("c"), &all, "no").unwrap();
    assert_eq!(over.status, DecisionStatus::Rejected);
}

#[test]
fn a_name_typed_by_hand_is_no_signature() {
    let council = council();
    let forged = Decision {
        signers: names(&["x", "y"]),
        ..proposed(DecisionKind::Decision)
    };
    let signed = sign(&forged, By::Agent("a"), &electorate(&council)).unwrap();
    assert_eq!(signed.status, DecisionStatus::Pending);
}

/// Checks the invariants of a decision after any sequence of votes.
fn check_legal(decision: &Decision, all: &Electorate<'_>) {
    let both = decision
        .signers
        .iter()
        .any(|name| decision.vetoed_by.contains(name));
    assert!(!both, "a signature and a veto of one: {decision:?}");
    let needed = (all.quorum.appeal_signatures as usize)
        .min(all.quorum.signatures as usize)
        .min(all.quorum.milestone_signatures as usize)
        .min(all.signers.len() + 1)
        .max(1);
    match decision.status {
        DecisionStatus::Pending => assert!(decision.vetoed_by.is_empty()),
        DecisionStatus::Approved => assert!(decision.signers.len() >= needed),
        DecisionStatus::Rejected => assert!(!decision.vetoed_by.is_empty()),
        DecisionStatus::Appealing => assert!(decision.appealed_by.is_some()),
    }
    assert_eq!(decision.clone().normal(), *decision);
}

proptest! {
    #[test]
    fn no_sequence_of_acts_leads_astray(
        acts in prop::collection::vec((0..3_u8, 0..7_usize), 0..30),
        council in 0..5_usize,
        quorum in (0..5_u32, 0..5_u32, 0..5_u32),
        kind in prop::sample::select(vec![DecisionKind::Decision, DecisionKind::Milestone]),
    ) {
        let everybody = ["a", "b", "c", "d", "e", "m"];
        let signers = names(&everybody[..council]);
        let all = Electorate {
            signers: &signers,
            quorum: Quorum {
                signatures: quorum.0,
                milestone_signatures: quorum.1,
                appeal_signatures: quorum.2,
            },
        };
        let mut decision = proposed(kind);
        for (act, who) in acts {
            let by = everybody.get(who).map_or(By::Person, |name| By::Agent(name));
            let result = match act {
                0 => sign(&decision, by, &all),
                1 => veto(&decision, by, &all, "no"),
                _ => appeal(&decision, by, &all),
            };
            let Ok(next) = result else { continue };
            check_legal(&next, &all);
            let stepped = (decision.status, next.status);
            let legal = stepped.0 == stepped.1 || matches!(stepped,
                (DecisionStatus::Pending, DecisionStatus::Approved | DecisionStatus::Rejected)
                | (DecisionStatus::Rejected, DecisionStatus::Appealing)
                | (DecisionStatus::Appealing, DecisionStatus::Approved | DecisionStatus::Rejected));
            prop_assert!(legal, "{:?}", stepped);
            if decision.status == DecisionStatus::Approved {
                prop_assert_eq!(&next, &decision);
            }
            if act == 0 {
                prop_assert_eq!(&sign(&next, by, &all).unwrap(), &next);
            }
            decision = next;
        }
    }
}
