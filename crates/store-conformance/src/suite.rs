//! The one list of cases, and the macros that turn it into tests.
//!
//! Both databases run exactly this list: a case that is not on it runs nowhere, so a test compares it with the sources.

/// Makes a module with one test for every case. `$fresh` is an async function that answers with a fresh [`Harness`].
///
/// ```ignore
/// redrive_store_conformance::suite!(sqlite_file, crate::harness::file);
/// ```
///
/// [`Harness`]: crate::Harness
#[macro_export]
macro_rules! suite {
    ($name:ident, $fresh:expr) => {
        $crate::tests_of! { $name, $fresh, [];
            claim {
                c1_a_claim_never_exceeds_its_limit,
                one_claim_takes_at_most_a_thousand_jobs,
                c2_a_claim_takes_only_the_workloads_it_wants,
                c3_a_job_is_not_claimed_before_it_is_due,
                c4_the_order_is_priority_then_due_time_then_id,
                c7_a_capped_workload_cannot_starve_another,
                c8_a_claim_stamps_token_worker_deadline_and_attempt,
                leases_of_a_worker_are_what_its_claim_answered,
                jobs_of_a_full_target_are_left_alone,
                a_claim_takes_no_more_of_a_target_than_there_is_room_for,
                a_limit_per_target_is_only_for_targets_of_its_kind,
                work_is_handed_in_and_claimed_at_once,
                work_that_is_claimed_at_once_passes_nobody,
                a_job_that_runs_alone_is_claimed_only_alone,
            }
            race {
                c5_two_workers_run_each_of_two_thousand_jobs_once,
                c6_claims_at_once_skip_each_others_rows_and_fill_their_batches,
                counts_add_up_while_jobs_move,
                jobs_handed_in_while_others_are_claimed_are_not_lost,
            }
            lease {
                c9_renewing_keeps_many_leases_and_one_lost_does_not_stop_the_others,
                c10_a_lost_lease_is_told_and_its_result_refused,
                c11_a_late_success_is_refused_and_noted,
                c12_a_late_failure_is_refused_and_noted,
                c12_a_late_failure_after_the_job_was_given_up_is_noted,
                c13_completing_an_unknown_job_is_harmless,
                c14_only_the_owner_renews,
                c15_a_reused_name_does_not_keep_old_leases_alive,
                the_same_worker_with_an_old_token_is_a_stranger,
                a_wish_to_drain_is_heard_with_the_next_beat_and_can_be_taken_back,
            }
            rescue {
                c16_a_job_is_found_although_its_worker_row_is_gone,
                c17_a_frozen_clock_freezes_every_instant,
                c18_the_databases_clock_rules_on_every_host,
                c19_a_full_page_of_exempt_jobs_does_not_hide_later_ones,
                c20_a_job_that_is_kept_alive_is_never_rescued_by_age,
                c21_looking_at_an_expired_lease_leaves_its_fate_alone,
                expired_leases_say_whether_their_worker_lives,
                a_lease_that_stands_cannot_be_taken_back,
                a_jumping_clock_loses_nothing,
                workers_are_listed_with_their_leases,
            }
            lanes {
                with_three_hundred_target_sets_every_job_has_its_turn,
                with_sixty_four_target_sets_the_order_is_exact,
                hundreds_of_waiting_target_sets_do_not_hide_the_one_that_can_run,
                a_steady_stream_of_other_sets_does_not_starve_one,
            }
            retry {
                r1_each_code_follows_its_class,
                r4_attempts_end_at_the_cap,
                r5_attempts_end_at_the_deadline,
                r6_retry_after_wins_and_is_bounded,
                r7_a_failure_that_cannot_pass_ends_at_once,
                r8_a_code_that_is_retried_once_is_retried_once,
                r9_the_policy_version_is_recorded_per_attempt,
                r15_each_budget_is_its_own,
                r17_a_retry_waits_in_the_queue,
                r18_a_retried_job_keeps_priority_and_order,
            }
            charge {
                r10_a_snooze_gives_the_attempt_back,
                r11_throttling_costs_no_attempt_until_its_deadline,
                r12_a_release_is_not_charged_five_times,
                r13_a_crash_charges_attempt_and_crash_counter,
                r13_a_crash_at_the_cap_ends_the_job,
                r14_a_healthy_run_resets_a_permanent_jobs_counter,
                what_never_started_costs_nothing_and_keeps_its_place,
                r19_an_unregistered_kind_is_kept_and_not_burned,
                r20_an_input_that_cannot_be_read_dies_with_its_own_code,
            }
            record {
                e1_one_immutable_record_per_attempt,
                e2_records_are_bounded_and_say_that_they_were_cut,
                e3_hostile_text_and_huge_messages_are_recorded,
                labels_are_cleaned_and_inputs_kept,
                e6_the_public_message_has_no_path_and_no_stack,
                e8_the_same_fault_is_one_group,
                a_retried_failure_counts_in_its_group,
            }
            shape {
                e7_the_database_refuses_impossible_jobs,
                e7_the_database_refuses_impossible_batches_and_letters,
            }
            session {
                a_session_begins_and_ends,
                a_session_has_two_lives_and_both_end,
                sessions_that_are_over_are_forgotten,
                an_owners_jobs_are_counted_as_they_are_shown,
            }
            token {
                a_token_is_kept_as_it_was_made,
                a_token_expires_by_the_stores_clock,
                a_revoked_token_takes_its_sessions_with_it,
                a_tokens_last_use_is_noted,
            }
            trail {
                an_act_says_with_what_right_by_which_request_and_what_it_changed,
                the_texts_of_an_act_are_bounded_lines,
                the_trail_only_grows,
            }
            desk {
                acts_are_kept_in_order_with_what_became_of_them,
                acts_are_found_by_every_filter,
                settings_are_set_changed_and_taken_back,
                of_many_first_values_of_a_setting_one_holds,
                what_a_job_carries_can_be_read,
                the_newest_failure_of_each_job_is_read_at_once,
                jobs_of_a_replay_are_counted_and_found,
                a_replay_counts_what_it_started_whoever_starts_it_again,
                only_an_open_letter_that_was_counted_is_started,
                jobs_are_found_by_target,
                progress_is_said_under_the_lease,
                a_running_member_may_split_itself,
                dead_letters_are_walked_oldest_first_up_to_an_offset,
            }
            documents {
                a_file_is_taken_in_once,
                a_place_to_which_a_document_is_moved_is_not_taken_in,
                many_who_take_a_file_in_make_one_document,
                a_newer_attempt_shuts_older_ones_out,
                a_document_keeps_what_a_change_does_not_name,
                a_move_is_an_intent_that_anybody_can_finish,
                a_move_whose_name_is_taken_goes_elsewhere,
                what_a_person_took_away_is_gone,
                documents_are_listed_and_counted,
                documents_whose_job_is_gone_or_over_are_told,
                documents_are_forgotten_after_their_jobs,
            }
            told {
                failure_records_are_kept_and_found,
                an_owner_is_told_what_is_new_and_what_recovered,
                deliveries_are_noted_and_listed,
                old_deliveries_are_forgotten,
                notifications_are_set_and_removed,
            }
            event {
                e9_every_transition_leaves_its_event,
                a_requeue_is_told_by_its_kind,
                a_reader_skips_no_event_whatever_its_steps,
                a_reader_beside_busy_writers_misses_nothing,
                a_reader_that_fell_behind_is_told_that_events_are_gone,
                a_purge_beside_a_reader_never_hides_a_gap,
                published_events_stand_in_the_stream,
                the_end_of_a_batch_is_an_event,
                an_event_outlives_its_job,
            }
            breaker {
                b4_an_open_breaker_holds_its_jobs_and_costs_them_nothing,
                b5_jobs_held_by_a_fail_fast_breaker_are_given_up,
                b6_a_breaker_is_shared_and_changed_by_compare_and_swap,
                b14_a_job_on_two_targets_waits_for_both,
                b15_a_hold_by_hand_ends_when_it_says_or_when_released,
                b15_a_hold_that_ended_does_not_keep_the_probe_away,
                b16_an_open_breaker_blocks_only_its_own_target,
                a_throttled_target_is_held_until_it_said,
                what_a_breaker_did_is_kept_with_what_it_became,
                the_last_turns_of_each_breaker_are_kept_for_a_while,
            }
            probe {
                b7_exactly_one_of_many_gets_the_probe,
                a_probe_claim_takes_one_job_of_its_target,
                b7_a_probe_finds_its_job_among_many_lanes,
                b14_a_probe_of_two_targets_takes_a_job_of_both,
                b10_a_neutral_outcome_frees_the_probe,
                b11_the_oldest_held_job_is_the_probe_and_stays_it,
                a_probe_may_go_behind_the_others,
                b13_a_target_that_is_back_is_ramped_up,
                a_ramp_counts_jobs_of_several_targets_for_each,
            }
            dead {
                d1_a_dead_letter_tells_what_happened,
                d2_every_reason_is_kept,
                d3_one_job_is_replayed_by_its_id,
                d9_a_job_that_dies_again_keeps_its_lineage,
                d10_a_conflict_on_replay_is_told_and_the_rest_goes_on,
                d11_a_replay_made_twice_is_made_once,
                only_failed_jobs_are_retried_by_hand,
                a_job_refused_at_the_door_cannot_be_retried,
                d17_failures_are_kept_apart_from_successes,
                an_offset_is_never_used_again,
                d18_a_replay_respects_an_open_breaker,
                a_discarded_letter_is_closed_and_its_job_stays,
                a_crash_at_the_cap_is_a_dead_letter,
            }
            dead_list {
                d4_dead_letters_are_found_by_every_filter,
                a_letter_of_a_member_is_its_batchs_owners,
                open_letters_are_meant_unless_a_state_is_said,
                d5_the_count_of_a_dry_run_is_the_effect,
                the_newest_match_is_known_however_many_others_died_since,
                pages_of_dead_letters_give_each_exactly_once,
                a_group_moves_as_its_table_says,
                groups_are_listed_by_filter_and_page,
                groups_are_found_by_their_code,
                letters_are_found_by_what_lists_of_jobs_know,
                what_waits_is_counted_by_workload_and_code,
            }
            unique {
                u1_ten_producers_make_one_job,
                u2_a_key_has_its_scope_and_its_states,
                u3_going_back_to_the_queue_keeps_the_key,
                u4_what_has_ended_can_be_handed_in_again,
                u5_duplicates_in_one_call_collapse,
                u6_two_failed_twins_are_resolved_not_wedged,
                u6_twins_retried_at_once_are_resolved,
                u7_a_rescue_never_wedges_on_a_key,
                the_same_id_again_is_the_job_that_is_there,
            }
            idempotency {
                a_repeated_request_gets_its_first_answer,
                the_same_key_for_another_request_is_refused,
                keys_of_two_owners_do_not_meet,
                a_request_repeated_at_once_is_done_once,
                a_forgotten_key_is_a_new_key,
                a_bad_idempotency_key_is_refused,
                a_key_is_taken_by_one_request_and_answers_like_it,
                a_key_that_is_given_back_is_a_new_key,
                a_key_is_one_key_whatever_it_is_for,
                a_key_is_taken_once_by_many_at_once,
            }
            batch {
                f2_a_batch_ends_as_its_rule_says,
                a_batch_shows_its_newest_failure,
                a_batch_is_filled_in_parts_and_sealed_at_the_end,
                sealing_again_changes_nothing,
                a_batch_adds_up_what_its_members_made,
                a_batch_tells_what_failed_in_it_and_when,
                batches_are_listed_newest_first_and_by_owner,
                what_is_kept_with_a_batch_is_bounded,
                an_empty_batch_ends_when_it_is_sealed,
                a_batch_of_nothing_but_duplicates_ends,
                a_retried_member_opens_its_batch_again,
                a_batch_is_cancelled_by_its_members,
                members_refused_at_the_door_count_as_failed,
                an_unknown_batch_is_refused,
                members_that_end_at_once_are_all_counted,
            }
            waiting {
                a_waiting_job_wakes_when_its_batch_ends,
                a_batch_that_ended_or_never_was_is_not_waited_for,
                a_waiting_job_is_counted_as_one,
                all_waiters_of_a_batch_wake_and_no_others,
                a_waiting_job_can_be_cancelled_but_not_rescheduled,
                a_batch_that_ends_at_the_same_moment_wakes_its_waiter,
            }
            finish {
                a_repeated_finish_gives_the_same_answer,
                a_finish_repeated_after_the_next_claim_gives_the_same_answer,
                a_different_finish_after_the_first_is_refused,
                a_requeue_at_the_cap_is_refused_and_loses_nothing,
                a_failure_without_a_reason_is_refused,
                execution_state_is_fenced_and_bounded,
                a_completion_keeps_its_result,
                due_times_beyond_the_calendar_are_clamped,
                one_call_ends_many_jobs,
            }
            act {
                cancel_stops_what_waits_or_runs,
                reschedule_moves_what_waits,
                the_next_due_time_is_the_earliest,
                a_job_that_waits_to_run_alone_is_seen,
                waiting_for_work_ends_when_there_is_some,
                o10_pauses_can_be_repeated_and_cover_one_or_all,
                s4_a_pause_keeps_what_is_there,
                a_pause_holds_for_everybody,
            }
            list {
                jobs_are_found_by_every_filter,
                jobs_are_found_by_the_worker_that_holds_them,
                members_hide_no_job_that_is_in_no_batch,
                each_shown_state_finds_its_own,
                several_shown_states_find_the_jobs_of_each,
                the_queue_counts_every_way_of_waiting,
                pages_give_every_job_exactly_once,
                a_page_of_rare_rows_is_full,
                a_job_is_found_by_its_id_however_old_it_is,
                a_page_is_bounded_and_its_cursor_checked,
                counts_are_by_workload_and_targets,
                the_count_of_a_filter_is_what_its_pages_have,
                what_was_counted_goes_up_to_its_newest_job,
                chores_are_found_however_many_other_jobs_there_are,
            }
            minutes {
                what_happened_is_counted_by_minute,
                only_what_is_handed_in_is_an_arrival,
                how_long_attempts_took_is_counted_in_steps,
                many_who_count_at_once_count_each_event_once,
                counts_of_minutes_are_kept_for_a_day,
            }
            retention {
                a_finished_job_is_purged_when_its_time_is_over,
                live_jobs_and_those_kept_for_ever_stay,
                a_sweep_in_chunks_sees_every_row,
                members_live_as_long_as_their_batch,
                a_batch_opened_again_is_kept,
                a_purged_letter_no_longer_counts_in_its_group,
                expiry_frees_the_key_and_is_told,
                old_attempts_are_pruned,
                the_attempt_that_completed_is_like_any_other,
                workers_are_forgotten_unless_they_hold_something,
            }
            targets {
                idle_breakers_are_forgotten_and_shut_ones_stay,
                a_shut_breaker_is_forgotten_when_no_job_has_wanted_it_for_a_week,
                lanes_without_jobs_are_forgotten_and_made_again,
                the_lane_beside_a_job_that_runs_alone_stays,
                no_job_is_lost_when_its_lane_goes_while_it_comes,
            }
            bad_input {
                one_bad_job_refuses_its_whole_call,
                an_input_over_the_limit_is_refused,
                a_call_with_too_many_jobs_is_refused,
                a_call_with_nothing_in_it_does_nothing,
                bad_names_are_refused_and_odd_ones_work,
                a_nul_byte_anywhere_is_never_a_bug_of_the_store,
                due_times_of_any_year_are_taken,
                durations_of_any_length_are_taken,
            }
        }
    };
}

/// The same for the long forms, in a module `long`, which `./test` leaves out and `./test --long` does not.
#[macro_export]
macro_rules! long_suite {
    ($name:ident, $fresh:expr) => {
        $crate::tests_of! { $name, $fresh, [];
            long {
                c5_two_workers_run_each_of_a_hundred_thousand_jobs_once,
            }
        }
    };
}

/// Used by [`suite!`](crate::suite) and [`long_suite!`](crate::long_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! tests_of {
    ($name:ident, $fresh:expr, $mark:tt; $($area:ident { $($case:ident,)+ })+) => {
        mod $name {
            $(mod $area {
                $crate::test_of! { $fresh, $area, $mark; $($case,)+ }
            })+
        }
    };
}

/// Used by [`tests_of!`](crate::tests_of).
#[doc(hidden)]
#[macro_export]
macro_rules! test_of {
    ($fresh:expr, $area:ident, $mark:tt;) => {};
    ($fresh:expr, $area:ident, [$($mark:tt)*]; $case:ident, $($rest:ident,)*) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        $($mark)*
        async fn $case() {
            let harness = $fresh().await;
            $crate::cases::$area::$case(&harness).await;
        }
        $crate::test_of! { $fresh, $area, [$($mark)*]; $($rest,)* }
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    fn sources() -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cases");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files
            .map(|path| {
                (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
            })
            .filter(|(area, _)| area != "mod")
            .collect()
    }

    fn cases(source: &str) -> impl Iterator<Item = &str> {
        source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next())
    }

    /// The areas and cases of the list, read from the text of this file.
    fn listed() -> Vec<(String, String)> {
        let (mut listed, mut area) = (Vec::new(), String::new());
        for line in include_str!("suite.rs").lines() {
            if let Some(name) = line.strip_prefix("            ").and_then(|l| l.strip_suffix(" {")) {
                area = name.to_owned();
            } else if let Some(case) = line.strip_prefix("                ").and_then(|l| l.strip_suffix(','))
            {
                listed.push((area.clone(), case.to_owned()));
            }
        }
        listed
    }

    #[test]
    fn no_case_is_missing_from_the_list() {
        let listed = listed();
        let unique: BTreeSet<_> = listed.iter().cloned().collect();
        assert_eq!(unique.len(), listed.len(), "a case is listed twice");
        let mut written = BTreeSet::new();
        for (area, source) in sources() {
            written.extend(cases(&source).map(|case| (area.clone(), case.to_owned())));
        }
        let missing: Vec<_> = written.difference(&unique).collect();
        assert!(missing.is_empty(), "not on the list: {missing:#?}");
        assert!(written.len() > 100, "the sources were not found");
    }

    #[test]
    fn every_case_says_what_it_shows() {
        for (area, source) in sources() {
            let lines: Vec<&str> = source.lines().collect();
            for (n, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub async fn ")) {
                assert!(lines[n - 1].starts_with("///"), "{area}: {line}");
                assert!(line.contains("(h: &dyn Harness)"), "{area}: {line}");
            }
        }
    }
}
