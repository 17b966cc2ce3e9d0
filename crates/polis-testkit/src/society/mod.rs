//! Test suite for the society's operations, without a model: runs, hiring, dismissal, messages, budgets,
//! pausing and approvals. Run over every store (see `society_tests!`).

mod budgets;
mod hiring;
mod run_control;
mod test_society;

pub use budgets::{
    budget_set_later_counts_earlier_spending, concurrent_draws_spend_exactly_the_budget,
    unspent_draw_of_dismissed_member_is_refunded,
};
pub use hiring::{
    concurrent_hires_stay_within_limits, dismissal_and_conversation_are_for_agents_above_only,
    dismissal_removes_whole_subtree, hire_during_dismissal_leaves_no_orphan,
    hire_from_outside_all_runs_creates_own_run, hire_rate_is_limited_per_minute,
    new_run_has_requirement_in_root_mailbox, roles_are_separate_per_run,
    root_has_one_child_and_one_mailbox_per_run,
};
pub use run_control::{
    artifact_is_visible_in_its_run_only, call_approval_is_decided_once_by_user,
    commit_hook_writes_commit_with_operation_or_not_at_all, message_to_other_run_is_refused,
    pause_and_resume_change_member_and_run_status, stopping_run_dismisses_all_members,
};
