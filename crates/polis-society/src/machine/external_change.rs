//! Changes of the member state by other writers while a commit is in progress: a budget draw, a pause, a
//! resume, another session. A dismissal is handled in `machine_transition`.

use polis_core::society::member::MemberStatus;

use super::MemberMachine;
use super::turn_draft::StoredMember;

/// What another writer changed.
pub(super) enum ExternalChange {
    /// The member was paused or parked.
    Blocked,
    /// Only fields that the machine never changes itself.
    FieldsOnly,
    /// The turn was committed, or the member taken over, by another session.
    OtherSession,
}

impl MemberMachine {
    /// Takes over the fields of a changed member state that only others change, and keeps those that only
    /// this machine changes.
    pub(super) fn adopt_external_change(&mut self, new: StoredMember) -> ExternalChange {
        let old = &self.stored.state;
        let is_own = new.state.worker == old.worker
            || new.state.worker.as_ref() == Some(&self.config.worker_name);
        if new.state.next_turn != old.next_turn || !is_own {
            return ExternalChange::OtherSession;
        }
        let status = new.state.status;
        let is_blocked = matches!(status, MemberStatus::Paused | MemberStatus::Parked);
        if is_blocked && status != old.status {
            // The response is kept; its calls wait.
            let draft = &mut self.draft;
            draft.state.status = status;
            draft.state.reason.clone_from(&new.state.reason);
            draft.state.paused_by.clone_from(&new.state.paused_by);
            if draft.state.running_call_id != old.running_call_id && old.running_call_id.is_none() {
                draft.clear_running_call();
            }
        }
        self.stored = new;
        if is_blocked {
            ExternalChange::Blocked
        } else {
            ExternalChange::FieldsOnly
        }
    }
}
