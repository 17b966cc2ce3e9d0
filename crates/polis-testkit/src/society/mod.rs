//! Suite for runs of the society, against the operations: hiring, dismissal, messages, budgets, pausing and
//! approvals.

mod hiring;
mod scene;
mod spending;
mod steering;

pub use hiring::{
    a_dismissal_takes_the_whole_subtree,
    a_hire_and_a_dismissal_of_the_same_subtree_are_one_after_the_other,
    a_run_begins_with_its_requirement, hiring_at_once_stays_within_the_limits,
    only_those_above_dismiss_and_look_in, root_has_one_child_and_a_mailbox_in_every_run,
    the_rate_of_hiring_is_limited, two_runs_have_roles_of_their_own,
    who_is_outside_hires_for_a_run_of_its_own,
};
pub use spending::{
    a_budget_counts_what_was_spent_before, drawing_at_once_stays_within_the_budget,
    what_the_dismissed_did_not_spend_goes_back,
};
pub use steering::{
    a_call_is_allowed_once_and_by_a_person, a_run_ends_for_everybody,
    an_artifact_belongs_to_its_run, holding_up_and_going_on, messages_stay_within_a_run,
    what_goes_alongside_is_there_with_the_deed_or_neither_is,
};
