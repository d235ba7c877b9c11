//! Whether the sequences reach what matters: a test that never meets a situation proves nothing about it.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use redrive_model::group::GroupState;
use redrive_model::{BatchState, Rule, State};
use redrive_store::{
    Acted, Authority, ClaimMode, DeadState, Enqueued, EventKind, Extension, Finished, Step, Swapped,
};

use super::call::{Answer, Call, Refusal};
use super::strategy::Machine;
use super::world::World;

/// Sequences that are made.
const CASES: u32 = 600;

/// Every situation, and in how many of the sequences it must be met at least.
const SITUATIONS: &[(&str, u32)] = &[
    ("an alone job is claimed", 2),
    ("a probe is claimed", 5),
    ("a probe is refunded", 1),
    ("a ramp holds a job back", 2),
    ("a claim leaves held jobs alone", 10),
    ("a claim leaves paused jobs alone", 5),
    ("a job waits for a batch", 5),
    ("the end of a batch wakes a job", 1),
    ("a batch opens again", 1),
    ("a batch ends partial", 1),
    ("a batch ends failed", 1),
    ("a batch ends cancelled", 1),
    ("a batch is purged", 1),
    ("a member is added to a sealed batch", 1),
    ("a live twin", 10),
    ("an id again while a twin holds its key", 1),
    ("a retry meets a twin", 1),
    ("a complete job expires", 5),
    ("a key is used again after expiry", 1),
    ("an idempotency key again", 2),
    ("an idempotency key for another request", 1),
    ("a call is refused", 5),
    ("a finish comes late", 10),
    ("a finish is repeated", 10),
    ("a finish is repeated after the job went on", 2),
    ("a zombie finishes after a reclaim", 2),
    ("a reclaim is refused", 5),
    ("a lease is extended", 10),
    ("an extension is refused", 10),
    ("a crash while alone", 1),
    ("a dead letter is replayed", 10),
    ("a dead letter is discarded", 5),
    ("a second dead letter of a job", 2),
    ("an open dead letter is purged", 2),
    ("a group regresses", 1),
    ("a running job is cancelled", 5),
    ("a waiting job is given up", 10),
    ("a stale swap", 5),
    ("a release is given back", 5),
    ("a rejected job is not retried", 1),
];

#[test]
fn the_sequences_reach_what_matters() {
    let config = Config { rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let mut met: BTreeMap<&str, u32> = BTreeMap::new();
    let strategy = Machine::sequential_strategy(20..=80);
    for _ in 0..CASES {
        let (_, steps, _) = strategy.new_tree(&mut runner).expect("a sequence").current();
        let mut world = World::default();
        let mut here = Vec::new();
        for step in &steps {
            let before = world.clone();
            let (call, answer) = world.step(step);
            here.extend(situations(&before, &call, &answer, &world));
        }
        here.sort_unstable();
        here.dedup();
        for situation in here {
            *met.entry(situation).or_insert(0) += 1;
        }
    }
    let rare: Vec<_> =
        SITUATIONS.iter().map(|(name, least)| (*name, *least, met.get(name).copied().unwrap_or(0))).collect();
    for (name, least, n) in &rare {
        println!("{n:4} of {CASES} (at least {least:2}): {name}");
    }
    let missed: Vec<_> = rare.iter().filter(|(_, least, n)| n < least).collect();
    assert!(missed.is_empty(), "met too rarely (situation, at least, met): {missed:#?}");
    let unknown: Vec<_> =
        met.keys().filter(|name| !SITUATIONS.iter().any(|(known, _)| known == *name)).collect();
    assert!(unknown.is_empty(), "not in the list: {unknown:?}");
}

fn situations(before: &World, call: &Call, answer: &Answer, after: &World) -> Vec<&'static str> {
    let mut met = Vec::new();
    of_answers(before, call, answer, &mut met);
    of_states(before, after, &mut met);
    if matches!(answer, Answer::Refused(_)) {
        met.push("a call is refused");
    }
    met
}

fn of_answers(before: &World, call: &Call, answer: &Answer, met: &mut Vec<&'static str>) {
    let r = &before.reference;
    match (call, answer) {
        (Call::Enqueue(call), Answer::Enqueued(reply)) => {
            met.extend(reply.replayed.then_some("an idempotency key again"));
            for (job, answer) in call.jobs.iter().zip(&reply.jobs) {
                let twin = job.dedupe.and_then(|key| r.jobs.values().find(|other| other.holds_key(key)));
                match answer {
                    Enqueued::Duplicate(_) => met.push("a live twin"),
                    Enqueued::Existing(id) => {
                        let other = job.rejected.is_none() && twin.is_some_and(|twin| twin.id != *id);
                        met.extend(other.then_some("an id again while a twin holds its key"));
                    }
                    Enqueued::Created(_) => {
                        let freed = |other: &&super::reference::Job| {
                            other.dedupe == job.dedupe && other.expired_at.is_some()
                        };
                        let again = job.dedupe.is_some()
                            && job.rejected.is_none()
                            && r.jobs.values().any(|j| freed(&j));
                        met.extend(again.then_some("a key is used again after expiry"));
                    }
                }
            }
        }
        (Call::Enqueue(_), Answer::Refused(Refusal::IdempotencyMismatch)) => {
            met.push("an idempotency key for another request");
        }
        (Call::Enqueue(call), Answer::Refused(Refusal::Invalid)) => {
            let sealed = |id| r.batches.get(&id).is_some_and(|batch| batch.sealed);
            let into_sealed = call.jobs.iter().filter_map(|job| job.batch).any(sealed);
            met.extend(into_sealed.then_some("a member is added to a sealed batch"));
        }
        (Call::Claim(claim), Answer::Claimed(jobs)) => {
            let ready = |j: &&super::reference::Job| {
                j.state == State::Queued && j.awaits.is_none() && j.due_at <= r.now
            };
            match claim.mode {
                ClaimMode::Normal => {
                    let held = r.jobs.values().filter(ready).any(|job| r.is_held(&job.targets));
                    met.extend(held.then_some("a claim leaves held jobs alone"));
                    met.extend((!r.paused.is_empty()).then_some("a claim leaves paused jobs alone"));
                    let ramp =
                        |job: &super::reference::Job| job.targets.iter().any(|t| r.gate(t).limit.is_some());
                    let left = r.jobs.values().filter(ready).filter(|j| ramp(j)).count();
                    let taken =
                        jobs.iter().filter(|c| c.targets.iter().any(|t| r.gate(t).limit.is_some())).count();
                    met.extend(
                        (jobs.len() < claim.limit && left > taken).then_some("a ramp holds a job back"),
                    );
                }
                ClaimMode::Alone => met.extend((!jobs.is_empty()).then_some("an alone job is claimed")),
                ClaimMode::Probe(_) => met.extend((!jobs.is_empty()).then_some("a probe is claimed")),
            }
        }
        (Call::Finish(finishes), Answer::Finished(answers)) => {
            finishes.iter().zip(answers).for_each(|(finish, answer)| of_finish(before, finish, *answer, met));
        }
        (Call::Extend { .. }, Answer::Extended(answers)) => {
            for answer in answers {
                met.push(match answer {
                    Extension::Held(_) => "a lease is extended",
                    Extension::Contended | Extension::Lost => "an extension is refused",
                });
            }
        }
        (Call::Retry { jobs, .. }, Answer::Acted(answers)) => {
            for (id, answer) in jobs.iter().zip(answers) {
                let rejected = r.jobs.get(id).is_some_and(|job| job.rejected);
                match answer {
                    Acted::Duplicate(_) => met.push("a retry meets a twin"),
                    Acted::WrongState(_) if rejected => met.push("a rejected job is not retried"),
                    Acted::Done | Acted::NotFound | Acted::WrongState(_) | Acted::SourceGone => {}
                }
            }
        }
        (Call::Cancel { jobs, .. }, Answer::Acted(answers)) => {
            let running =
                |id| r.jobs.get(id).is_some_and(|job: &super::reference::Job| job.state == State::Processing);
            let done = jobs.iter().zip(answers).any(|(id, answer)| *answer == Acted::Done && running(id));
            met.extend(done.then_some("a running job is cancelled"));
        }
        (Call::GiveUp(_), Answer::Acted(answers)) => {
            met.extend(answers.contains(&Acted::Done).then_some("a waiting job is given up"));
        }
        (Call::SwapBreaker { .. }, Answer::Swapped(Swapped::Stale)) => met.push("a stale swap"),
        (_, _) => {}
    }
}

fn of_finish(before: &World, finish: &redrive_store::Finish, answer: Finished, met: &mut Vec<&'static str>) {
    let job = before.reference.jobs.get(&finish.lease.job);
    let stood = job.is_some_and(|job| job.stands(finish.lease));
    let attempt = before.reference.attempts.get(&(finish.lease.job, finish.lease.token));
    match (answer, finish.authority) {
        (Finished::Recorded(_), _) if stood => {
            let crashed = job.is_some_and(|job| job.alone) && finish.is_crash();
            met.extend(crashed.then_some("a crash while alone"));
            let refunded = finish.report.rule == Rule::ProbeFailed;
            met.extend(refunded.then_some("a probe is refunded"));
        }
        (Finished::Recorded(state), _) => {
            met.push("a finish is repeated");
            let moved = job.is_some_and(|job| job.state != state || job.token != finish.lease.token);
            met.extend(moved.then_some("a finish is repeated after the job went on"));
        }
        (Finished::Lost, Authority::Expired) => met.push("a reclaim is refused"),
        (Finished::Lost, Authority::Holder) => {
            met.extend(attempt.is_some().then_some("a finish comes late"));
            let zombie = attempt.is_some_and(|attempt| attempt.outcome == "reclaimed");
            met.extend(
                (zombie && matches!(finish.step, Step::Complete { .. }))
                    .then_some("a zombie finishes after a reclaim"),
            );
        }
    }
}

fn of_states(before: &World, after: &World, met: &mut Vec<&'static str>) {
    let (b, a) = (&before.reference, &after.reference);
    for (id, batch) in &b.batches {
        match a.batches.get(id) {
            None => met.push("a batch is purged"),
            Some(now) if batch.state.is_ended() && !now.state.is_ended() => met.push("a batch opens again"),
            Some(now) if now.state != batch.state => match now.state {
                BatchState::Partial => met.push("a batch ends partial"),
                BatchState::Failed => met.push("a batch ends failed"),
                BatchState::Cancelled => met.push("a batch ends cancelled"),
                BatchState::Processing | BatchState::Complete => {}
            },
            Some(_) => {}
        }
    }
    for (id, job) in &a.jobs {
        let was = b.jobs.get(id);
        met.extend(
            (job.awaits.is_some() && was.is_some_and(|was| was.awaits.is_none()))
                .then_some("a job waits for a batch"),
        );
        let woken =
            job.awaits.is_none() && job.state == State::Queued && was.is_some_and(|was| was.awaits.is_some());
        met.extend(woken.then_some("the end of a batch wakes a job"));
        met.extend(was.is_some_and(|was| was.releases < job.releases).then_some("a release is given back"));
    }
    for (id, group) in &a.groups {
        let was = b.groups.get(id).map(|group| group.state);
        let regressed = group.state == GroupState::Regressed && was != Some(GroupState::Regressed);
        met.extend(regressed.then_some("a group regresses"));
    }
    for dead in &b.dead {
        match (dead.state, a.dead.iter().find(|now| now.letter() == dead.letter()).map(|now| now.state)) {
            (DeadState::Open, None) => met.push("an open dead letter is purged"),
            (DeadState::Open, Some(DeadState::Replayed)) => met.push("a dead letter is replayed"),
            (DeadState::Open, Some(DeadState::Discarded)) => met.push("a dead letter is discarded"),
            (DeadState::Open | DeadState::Replayed | DeadState::Discarded, _) => {}
        }
    }
    met.extend(a.dead.iter().any(|dead| dead.previous.is_some()).then_some("a second dead letter of a job"));
    let expired = a.events.iter().skip(b.events.len()).any(|event| event.kind == EventKind::Expired);
    met.extend(expired.then_some("a complete job expires"));
}
