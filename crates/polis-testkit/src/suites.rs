//! Macros that turn a test suite into tests of one store: one test per function of the suite.
//!
//! Each takes a function that returns a fresh [`StoreFactory`](crate::StoreFactory)
//! (`async fn() -> impl StoreFactory`), and optionally attributes for every test:
//! `conformance_tests!(fresh, [#[ignore = "needs a server"]])`.

/// Generates one test per guarantee of the ports.
#[macro_export]
macro_rules! conformance_tests {
    ($fresh:expr) => { $crate::conformance_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::suite_tests!(conformance, $fresh, $attributes,
            conflict_rolls_back_whole_changeset
            changeset_becomes_visible_atomically
            conflict_names_mismatched_record
            concurrent_changesets_on_one_revision_one_commits
            commit_is_readable_through_every_handle
            concurrent_additions_never_conflict
            fence_increases_with_every_touch
            concurrently_created_tasks_get_distinct_numbers
            task_numbers_are_never_reused
            raised_task_number_is_not_assigned_again
            largest_task_number_is_stored
            creation_event_has_assigned_task_number
            comments_are_numbered_per_task
            comments_are_paginated
            receipt_names_unblocked_tasks
            unblocked_task_is_reported_once_under_concurrency
            settling_blocker_keeps_task_revision
            put_changes_open_blockers_by_difference
            conflict_settles_no_blockers
            event_sequence_has_no_gaps
            readable_event_implies_all_earlier_events
            events_are_queried_by_sequence_and_subject
            events_of_excluded_kinds_are_left_out
            event_fields_are_stored_unchanged
            wait_for_existing_event_returns_immediately
            wait_returns_on_commit_of_other_handle
            wait_without_event_returns_on_timeout
            stream_is_committed_in_order
            conflict_rolls_back_whole_stream
            source_error_rolls_back_whole_stream
            stream_changeset_sees_earlier_ones
            empty_stream_changes_nothing
            every_task_field_is_stored
            removed_task_fields_are_deleted
            longest_description_is_stored
            created_task_has_every_field
            every_agent_field_is_stored
            every_workspace_field_is_stored
            agent_and_workspace_commit_atomically
            every_comment_field_is_stored
            task_list_matches_every_filter
            task_list_pages_follow_priority
            claim_candidates_are_first_of_every_group
            task_lists_reflect_changes_immediately
            search_matches_words_without_wildcards
            person_mail_matches_every_filter
            tasks_are_read_by_number_once_each
            scan_returns_every_task_in_pages
            blocked_tasks_are_read_for_several_tasks
            completed_types_and_status_counts_match_tasks
            task_list_count_covers_all_pages
            untouched_board_does_not_exist
            board_change_creates_version_with_author
            append_to_board_without_text_conflicts
            concurrent_changes_of_one_board_version_one_commits
            board_version_mismatch_rolls_back_changeset
            concurrent_board_appends_never_conflict
            append_on_new_line_inserts_missing_line_break
            splice_replaces_byte_range
            change_beyond_board_size_limit_conflicts
            changeset_may_change_board_several_times
            stream_may_change_boards
            board_event_has_board_as_subject
            boards_are_listed_in_name_order
            store_creation_time_is_set_once
            largest_board_is_stored
            boards_are_readable_after_reopening
            board_can_be_locked_repeatedly
            board_lease_blocks_other_agents_until_expiry
            lease_change_requires_current_lease
            board_with_lease_only_has_version_0
            concurrent_lease_requests_one_succeeds
            board_history_is_newest_first_and_limited
            nonexistent_board_version_has_no_text
            board_versions_beyond_limit_are_deleted
            newest_board_versions_match_model
            record_body_is_stored_unchanged
            largest_record_is_stored
            records_are_listed_in_id_order
            record_revision_mismatch_conflicts
            deleted_record_does_not_exist
            concurrent_writes_of_one_record_one_commits
            expired_records_are_deleted_by_forget
            record_writes_of_changeset_apply_in_order
            record_body_can_contain_complete_receipt
            record_body_uses_receipt_of_own_changeset
            every_message_field_is_stored
            longest_message_is_stored
            message_numbers_are_consecutive
            message_numbers_are_in_commit_order
            readable_message_implies_all_earlier_messages
            mailbox_query_returns_messages_of_owner
            message_is_hidden_until_delivery_time
            read_message_has_time_of_reading
            marking_read_conflicts_on_first_message_not_unread
            concurrent_reads_of_one_message_one_commits
            records_of_owner_are_listed_in_id_order
            commands_of_all_owners_are_listed_in_order
            mailbox_query_filters_by_run
            unread_mailboxes_are_listed_in_order
            mailbox_with_delayed_message_is_not_listed_early
            agents_are_read_by_id
            agents_are_read_by_run_and_role
            turn_body_is_stored_unchanged
            turns_are_read_in_number_order
            last_turns_returns_newest_turns
            append_of_existing_turn_conflicts
            member_step_is_committed_atomically
            turn_body_can_contain_complete_receipt
            concurrent_processes_write_each_turn_once
            random_changesets_match_model
        );
    };
}

/// Generates one test per test case of requirement 004 (docs/requirements.md).
#[macro_export]
macro_rules! task_case_tests {
    ($fresh:expr) => { $crate::task_case_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::suite_tests!(task_cases, $fresh, $attributes,
            tc_01_create_with_required_role
            tc_02_create_with_invalid_required_role_is_refused
            tc_03_create_without_required_role
            tc_04_create_with_task_type
            tc_05_list_without_role_filter
            tc_06_list_with_role_filter
            tc_07_role_filter_matches_owner
            tc_08_update_with_matching_version
            tc_09_update_with_other_version_is_refused
            tc_10_update_without_expected_version
            tc_11_assign_to_agent_with_required_role
            tc_12_assign_to_agent_with_other_role_is_refused
            tc_13_force_assign_by_team_lead
            tc_14_force_assign_by_other_agent_is_refused
            tc_15_assign_task_without_required_role_to_any_agent
            tc_16_pending_to_in_progress
            tc_17_in_progress_to_completed
            tc_18_completed_to_in_progress_is_refused
            tc_19_in_progress_to_pending_is_refused
            tc_20_concurrent_assignment_at_one_version_one_succeeds
            tc_21_update_with_stale_version_is_refused
        );
    };
}

/// Generates one test per guarantee about messages, artifacts, tokens and idempotent retries.
#[macro_export]
macro_rules! messaging_tests {
    ($fresh:expr) => { $crate::messaging_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::suite_tests!(messaging, $fresh, $attributes,
            message_is_delivered_once_and_can_be_reread
            message_to_several_recipients_is_sent_once_to_each
            message_to_unknown_recipient_is_refused
            reply_is_allowed_to_sender_and_recipients_only
            delayed_message_is_hidden_until_delivery_time
            concurrent_mailbox_checks_get_each_message_once
            waiting_check_returns_when_message_arrives
            message_content_is_not_in_log
            artifact_id_is_its_content_hash
            token_is_valid_until_expiry_revocation_or_retirement
            retry_with_idempotency_key_returns_stored_response
            concurrent_requests_with_one_key_execute_once
        );
    };
}

/// Generates one test per guarantee about runs: hiring, dismissal, messages, budgets, pausing and approvals.
#[macro_export]
macro_rules! society_tests {
    ($fresh:expr) => { $crate::society_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::suite_tests!(society, $fresh, $attributes,
            new_run_has_requirement_in_root_mailbox
            concurrent_hires_stay_within_limits
            hire_rate_is_limited_per_minute
            roles_are_separate_per_run
            root_has_one_child_and_one_mailbox_per_run
            hire_from_outside_all_runs_creates_own_run
            dismissal_removes_whole_subtree
            dismissal_and_conversation_are_for_agents_above_only
            hire_during_dismissal_leaves_no_orphan
            message_to_other_run_is_refused
            artifact_is_visible_in_its_run_only
            concurrent_draws_spend_exactly_the_budget
            unspent_draw_of_dismissed_member_is_refunded
            budget_set_later_counts_earlier_spending
            pause_and_resume_change_member_and_run_status
            call_approval_is_decided_once_by_user
            stopping_run_dismisses_all_members
            commit_hook_writes_commit_with_operation_or_not_at_all
        );
    };
}

/// Generates one test per way of recording and checking histories of concurrent clients.
#[macro_export]
macro_rules! linearizability_tests {
    ($fresh:expr) => { $crate::linearizability_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::suite_tests!(linearizability, $fresh, $attributes,
            concurrent_histories_are_linearizable
            concurrent_claims_one_succeeds
        );
    };
}

/// Generates one test per listed function of a module of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! suite_tests {
    ($module:ident, $fresh:expr, $attributes:tt, $($name:ident)+) => {
        $($crate::suite_test!($module, $fresh, $attributes, $name);)+
    };
}

/// Generates one test.
#[doc(hidden)]
#[macro_export]
macro_rules! suite_test {
    ($module:ident, $fresh:expr, [$(#[$attribute:meta])*], $name:ident) => {
        #[test]
        $(#[$attribute])*
        fn $name() {
            $crate::run_test(async {
                let factory = $fresh().await;
                $crate::$module::$name(&factory).await;
            });
        }
    };
}
