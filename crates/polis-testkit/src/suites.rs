//! Macros that generate one test per function of a suite, over any store.
//!
//! Each takes a function that returns a fresh [`Ground`](crate::Ground) (`async fn() -> impl Ground`), and
//! optionally attributes for every test: `conformance_tests!(fresh, [#[ignore = "needs a server"]])`.

/// Generates one test per guarantee of the ports.
#[macro_export]
macro_rules! conformance_tests {
    ($fresh:expr) => { $crate::conformance_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::tests_of!(conformance, $fresh, $attributes,
            a_conflict_leaves_nothing_of_a_changeset
            a_changeset_becomes_visible_at_once
            a_conflict_names_the_record
            of_changesets_on_one_revision_one_is_committed
            what_is_committed_is_read_through_every_handle
            additions_never_conflict
            a_fence_moves_on_with_every_touch
            created_numbers_are_distinct
            numbers_are_never_reused
            a_raised_number_is_not_given_out
            the_largest_number_is_kept
            a_creations_event_is_about_the_new_number
            comments_are_numbered_within_their_task
            comments_come_in_pages
            the_receipt_names_tasks_that_were_unblocked
            an_unblocked_task_is_reported_exactly_once
            settling_a_blocker_keeps_the_revision
            a_put_changes_open_blockers_relatively
            a_conflict_settles_nothing
            sequences_have_no_gaps_in_commit_order
            a_readable_event_is_preceded_by_all_earlier_ones
            events_are_read_by_place_and_subject
            events_of_kinds_not_wanted_are_left_out
            an_event_keeps_what_it_was_given
            waiting_for_what_is_there_ends_at_once
            waiting_ends_with_another_handles_commit
            waiting_ends_when_the_time_is_up
            a_stream_is_committed_in_order
            a_conflict_undoes_the_whole_stream
            an_error_of_the_source_undoes_the_whole_stream
            a_stream_sees_its_own_changesets
            an_empty_stream_changes_nothing
            every_field_of_a_task_is_kept
            fields_taken_away_are_gone
            the_longest_text_is_kept
            creation_keeps_every_field
            every_field_of_an_agent_is_kept
            every_field_of_a_workspace_is_kept
            an_agent_and_its_workspace_come_together
            every_field_of_a_comment_is_kept
            a_list_is_what_the_conditions_admit
            candidates_are_the_first_of_every_group
            lists_follow_changes
            a_search_finds_words_to_the_letter
            the_persons_mail_is_what_the_conditions_admit
            tasks_are_read_by_number
            a_scan_shows_every_task
            blocks_are_read_for_many_tasks
            completed_types_and_counts_are_those_of_the_board
            a_list_is_counted_over_all_of_its_pages
            a_board_that_nobody_touched_is_not_there
            versions_count_up_and_say_who_made_them
            nothing_is_added_to_a_board_that_has_not_begun
            of_changes_to_one_version_one_is_committed
            a_board_at_another_version_leaves_nothing_of_a_changeset
            additions_to_a_board_commute
            an_addition_begins_on_a_new_line_if_asked
            a_part_is_changed_where_it_stands
            a_board_does_not_grow_beyond_its_limit
            a_changeset_changes_a_board_several_times
            a_stream_changes_boards
            a_boards_event_is_about_the_board
            boards_are_listed_by_name
            a_store_begins_once
            the_largest_board_is_kept
            boards_survive_reopening
            a_board_can_be_held
            a_lease_binds_all_others_until_it_ends
            a_lease_is_changed_by_who_knows_it
            a_board_that_was_only_locked_has_version_0
            of_rivals_for_a_lease_one_gets_it
            history_is_newest_first_and_limited
            a_version_that_was_not_made_is_not_there
            versions_beyond_those_kept_go
            the_newest_versions_are_always_there
            a_record_keeps_what_it_was_given
            the_largest_record_is_kept
            records_are_listed_by_id
            a_conflict_names_the_plain_record
            a_deleted_record_is_gone
            of_rivals_for_a_record_one_is_committed
            records_whose_time_is_up_are_forgotten
            records_of_one_changeset_are_written_in_order
            a_body_is_made_of_the_whole_receipt
            each_body_is_made_of_its_own_receipt
            every_field_of_a_message_is_kept
            the_longest_message_is_kept
            messages_are_numbered_one_after_another
            messages_are_numbered_in_commit_order
            a_readable_message_is_preceded_by_all_earlier_ones
            a_mailbox_has_its_owners_messages
            a_message_is_seen_from_its_delivery_on
            a_read_message_says_when
            reading_conflicts_with_the_first_that_is_not_unread
            of_readers_of_a_message_one_is_committed
            records_of_an_owner_are_listed
            commands_of_all_owners_are_listed
            the_messages_of_a_run_are_read
            mailboxes_that_wait_are_told_in_order
            a_delayed_message_wakes_nobody_early
            agents_are_read_by_name
            agents_of_a_run_are_read
            a_turn_keeps_what_it_was_given
            turns_are_read_by_number
            the_newest_turns_are_read
            a_turn_is_added_once
            a_step_is_committed_whole_or_not_at_all
            a_turn_is_made_of_the_whole_receipt
            of_processes_that_drive_a_member_one_wins_each_turn
            records_messages_and_turns_are_those_of_the_model
        );
    };
}

/// Generates one test per test case of the task specification (document 004).
#[macro_export]
macro_rules! case_tests {
    ($fresh:expr) => { $crate::case_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::tests_of!(task_cases, $fresh, $attributes,
            tc_01_create_with_required_role
            tc_02_create_with_invalid_required_role
            tc_03_create_without_required_role
            tc_04_create_with_task_type
            tc_05_list_without_role_filter
            tc_06_list_with_role_filter
            tc_07_role_filter_matches_owner
            tc_08_update_with_matching_version
            tc_09_update_with_other_version
            tc_10_update_without_expected_version
            tc_11_owner_of_the_required_role
            tc_12_owner_of_another_role
            tc_13_team_lead_forces_an_assignment
            tc_14_nobody_else_forces_an_assignment
            tc_15_anybody_owns_a_task_without_role
            tc_16_pending_to_in_progress
            tc_17_in_progress_to_completed
            tc_18_completed_to_in_progress_is_refused
            tc_19_in_progress_to_pending_is_refused
            tc_20_two_agents_take_one_task
            tc_21_an_update_on_stale_data_is_refused
        );
    };
}

/// Generates one test per guarantee about messages, artifacts, tokens and idempotent retries.
#[macro_export]
macro_rules! exchange_tests {
    ($fresh:expr) => { $crate::exchange_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::tests_of!(messaging, $fresh, $attributes,
            a_message_is_read_once_and_stays
            a_message_to_several_is_one_for_each
            a_message_to_nobody_is_refused
            a_message_is_answered_by_those_who_have_it
            a_delayed_message_comes_later
            a_mailbox_is_shared_out
            waiting_for_a_message_ends_with_it
            the_log_keeps_letters_closed
            an_artifact_is_named_by_its_content
            a_token_counts_until_it_ends
            a_request_that_comes_again_is_done_once
            twins_are_answered_alike
        );
    };
}

/// Generates one test per guarantee about runs of the society, hiring and dismissal.
#[macro_export]
macro_rules! society_tests {
    ($fresh:expr) => { $crate::society_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::tests_of!(society, $fresh, $attributes,
            a_run_begins_with_its_requirement
            hiring_at_once_stays_within_the_limits
            the_rate_of_hiring_is_limited
            two_runs_have_roles_of_their_own
            root_has_one_child_and_a_mailbox_in_every_run
            who_is_outside_hires_for_a_run_of_its_own
            a_dismissal_takes_the_whole_subtree
            only_those_above_dismiss_and_look_in
            a_hire_and_a_dismissal_of_the_same_subtree_are_one_after_the_other
            messages_stay_within_a_run
            an_artifact_belongs_to_its_run
            drawing_at_once_stays_within_the_budget
            what_the_dismissed_did_not_spend_goes_back
            a_budget_counts_what_was_spent_before
            holding_up_and_going_on
            a_call_is_allowed_once_and_by_a_person
            a_run_ends_for_everybody
            what_goes_alongside_is_there_with_the_deed_or_neither_is
        );
    };
}

/// Generates one test per way of recording and checking histories of concurrent clients.
#[macro_export]
macro_rules! history_tests {
    ($fresh:expr) => { $crate::history_tests!($fresh, []); };
    ($fresh:expr, $attributes:tt) => {
        $crate::tests_of!(linear, $fresh, $attributes,
            concurrent_clients_see_one_order
            one_of_many_claimers_gets_the_task
        );
    };
}

/// Generates one test per listed function of a module of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! tests_of {
    ($module:ident, $fresh:expr, $attributes:tt, $($name:ident)+) => {
        $($crate::one_test!($module, $fresh, $attributes, $name);)+
    };
}

/// Generates one test.
#[doc(hidden)]
#[macro_export]
macro_rules! one_test {
    ($module:ident, $fresh:expr, [$(#[$attribute:meta])*], $name:ident) => {
        #[test]
        $(#[$attribute])*
        fn $name() {
            $crate::run(async {
                let ground = $fresh().await;
                $crate::$module::$name(&ground).await;
            });
        }
    };
}
