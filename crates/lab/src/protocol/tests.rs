//! Checks the correct protocol in every reachable state, and shows which law each broken variant breaks.
//!
//! State counts and counterexamples are printed: `cargo nextest run -p redrive-lab --no-capture`.

mod fault_rows;

use std::collections::BTreeSet;

use stateright::{Checker, Expectation, Model, Path};

use super::properties::{self, *};
use super::*;

const ALL_VARIANTS: [Variant; 9] = [
    Variant::Correct,
    Variant::NoFence,
    Variant::OwnerOnlyFence,
    Variant::TokenOnlyFence,
    Variant::ChargedLate,
    Variant::TokenResetByRetry,
    Variant::UnlimitedReleases,
    Variant::SpentReleaseQueues,
    Variant::AloneByLeases,
];

/// The laws that a variant breaks, and how many steps it takes to break the first of them.
fn broken_by(variant: Variant) -> (&'static [&'static str], usize) {
    match variant {
        Variant::Correct => (&[], 0),
        Variant::NoFence => {
            (&[STALE_WRITES_REFUSED, ONE_COMPLETION, RESULT_STAYS, ONE_DEAD_LETTER, ROW_SHAPE], 3)
        }
        Variant::OwnerOnlyFence => (&[STALE_WRITES_REFUSED], 4),
        Variant::TokenOnlyFence => {
            (&[STALE_WRITES_REFUSED, ONE_COMPLETION, RESULT_STAYS, ONE_DEAD_LETTER, ROW_SHAPE], 3)
        }
        Variant::ChargedLate => (&[CLAIMS_CAPPED], 6),
        Variant::TokenResetByRetry => (&[TOKENS_RISE, STALE_WRITES_REFUSED], 6),
        Variant::UnlimitedReleases => (&[REFUNDS_CAPPED], 4),
        Variant::SpentReleaseQueues => (&[NEVER_STUCK], 6),
        Variant::AloneByLeases => (&[ALONE], 10),
    }
}

/// The smallest run in which the variant shows all that is wrong with it.
fn small_run_of(variant: Variant) -> Protocol {
    let (cap, refunds, generations) = match variant {
        Variant::TokenResetByRetry => (2, 0, 2),
        Variant::AloneByLeases => (3, 0, 1),
        Variant::Correct
        | Variant::NoFence
        | Variant::OwnerOnlyFence
        | Variant::TokenOnlyFence
        | Variant::ChargedLate
        | Variant::UnlimitedReleases
        | Variant::SpentReleaseQueues => (2, 1, 1),
    };
    Protocol { jobs: 1, workers: 2, rules: Rules { variant, cap, refunds, generations } }
}

fn explore(model: Protocol) -> impl Checker<Protocol> {
    let checker = model.checker().threads(2).spawn_bfs().join();
    let (unique, steps, depth) = (checker.unique_state_count(), checker.state_count(), checker.max_depth());
    println!("{model:?}: {unique} unique states, {steps} steps, depth {depth}");
    checker
}

fn assert_all_properties_hold(jobs: usize, cap: u8, refunds: u8, generations: u8) {
    let rules = Rules { variant: Variant::Correct, cap, refunds, generations };
    explore(Protocol { jobs, workers: 2, rules }).assert_properties();
}

fn assert_breaks_exactly_its_laws(variant: Variant) {
    let (laws, steps) = broken_by(variant);
    let model = small_run_of(variant);
    let checker = explore(model);
    let is_law = |name: &&'static str| model.property(name).expectation == Expectation::Always;
    let broken: BTreeSet<_> = checker.discoveries().into_keys().filter(is_law).collect();
    assert_eq!(broken, laws.iter().copied().collect::<BTreeSet<_>>());
    let shortest = shortest_way_to_break(model, laws[0]);
    println!("how {variant:?} breaks \"{}\":\n{}", laws[0], describe(shortest.clone()));
    assert_eq!(shortest.into_actions().len(), steps);
}

/// The checker keeps the last counterexample that it meets and not the first, so depth is raised step by step.
fn shortest_way_to_break(model: Protocol, law: &'static str) -> Path<State, Action> {
    let at_depth = |depth| model.checker().target_max_depth(depth).spawn_bfs().join().discovery(law);
    (2..40).find_map(at_depth).expect("the full search has found a counterexample")
}

#[test]
fn correct_protocol_holds_for_one_job_over_two_generations() {
    assert_all_properties_hold(1, 3, 1, 2);
}

#[test]
fn correct_protocol_holds_for_two_jobs_that_share_their_workers() {
    assert_all_properties_hold(2, 3, 0, 1);
}

/// Over two million states, a minute: `./test --long` runs it.
#[test]
fn long_correct_protocol_holds_for_two_jobs_with_releases() {
    assert_all_properties_hold(2, 3, 1, 1);
}

#[test]
fn without_a_fence_late_writers_overwrite_results() {
    assert_breaks_exactly_its_laws(Variant::NoFence);
}

#[test]
fn fence_by_owner_lets_a_worker_write_over_its_own_second_claim() {
    assert_breaks_exactly_its_laws(Variant::OwnerOnlyFence);
}

#[test]
fn fence_by_token_without_state_lets_in_the_last_holder_after_its_end() {
    assert_breaks_exactly_its_laws(Variant::TokenOnlyFence);
}

#[test]
fn attempts_charged_late_let_a_job_run_beyond_its_cap() {
    assert_breaks_exactly_its_laws(Variant::ChargedLate);
}

#[test]
fn tokens_that_start_again_let_in_zombies_of_the_last_generation() {
    assert_breaks_exactly_its_laws(Variant::TokenResetByRetry);
}

#[test]
fn unlimited_releases_give_attempts_back_for_ever() {
    assert_breaks_exactly_its_laws(Variant::UnlimitedReleases);
}

#[test]
fn charged_release_of_the_last_attempt_must_not_queue() {
    assert_breaks_exactly_its_laws(Variant::SpentReleaseQueues);
}

#[test]
fn leases_alone_do_not_show_whether_a_worker_is_empty() {
    assert_breaks_exactly_its_laws(Variant::AloneByLeases);
}

#[test]
fn every_law_is_broken_by_some_variant() {
    let laws: BTreeSet<_> = properties::always().iter().map(|law| law.name).collect();
    let broken: BTreeSet<_> =
        ALL_VARIANTS.iter().flat_map(|variant| broken_by(*variant).0).copied().collect();
    assert_eq!(broken, laws);
}
