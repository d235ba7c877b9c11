use redrive_model::{Done, Failure, JobFacts, JobId, LeaseToken, Timestamp};
use serde::{Deserialize, Serialize};

use super::*;
use crate::{Context, Input, Workload};

fn claimed(n: u8) -> Claimed {
    let at = Timestamp::UNIX_EPOCH;
    Claimed {
        lease: Lease { job: JobId::from_parts(at, [n; 10]), token: LeaseToken(1) },
        workload: WorkloadName::new("test").unwrap(),
        owner: None,
        label: None,
        input: Vec::new(),
        state: None,
        targets: TargetSet::default(),
        generation: 1,
        max_attempts: None,
        batch: None,
        facts: JobFacts::default(),
        claimed_at: at,
        expires_at: at,
    }
}

#[test]
fn what_the_store_still_gives_as_ours_is_taken_in_once() {
    let slots = Slots::default();
    slots.take_in(vec![claimed(1)]);
    assert_eq!(slots.hearing().take_in(vec![claimed(1), claimed(2)]), 1);
    assert_eq!(slots.hearing().take_in(vec![claimed(1), claimed(2)]), 0);
    assert_eq!(slots.held(), 2);
}

#[test]
fn what_ended_while_the_store_was_asked_does_not_run_again() {
    let slots = Slots::default();
    slots.take_in(vec![claimed(1), claimed(2)]);
    let (first, second) = (slots.hearing(), slots.hearing());
    slots.forget([claimed(1).lease]);
    assert_eq!(first.take_in(vec![claimed(1), claimed(2), claimed(3)]), 1);
    slots.forget([claimed(3).lease]);
    assert_eq!(second.take_in(vec![claimed(1), claimed(2), claimed(3)]), 0);
    assert!(slots.state().left.is_empty());
}

#[derive(Serialize, Deserialize)]
struct Nothing;

impl Input for Nothing {
    const WORKLOAD: &'static str = "test";
}

/// Four at once to each target, and ten in all.
struct Four;

impl Workload for Four {
    type Input = Nothing;

    fn concurrency(&self) -> usize {
        10
    }

    fn per_target(&self) -> Option<usize> {
        Some(4)
    }

    async fn run(&self, _: Context, _: Nothing) -> Result<Done, Failure> {
        Ok(Done::Complete)
    }
}

fn at(target: &str, n: u8) -> Claimed {
    let targets = TargetSet::new([Target::new(target).unwrap()]).unwrap();
    Claimed { targets, ..claimed(n) }
}

/// Four at once to each host.
struct FourToHosts;

impl Workload for FourToHosts {
    type Input = Nothing;

    fn per_target(&self) -> Option<usize> {
        Some(4)
    }

    fn per_target_kind(&self) -> Option<&'static str> {
        Some("host")
    }

    async fn run(&self, _: Context, _: Nothing) -> Result<Done, Failure> {
        Ok(Done::Complete)
    }
}

#[test]
fn a_limit_for_hosts_is_none_for_what_they_share() {
    let (slots, mut registry) = (Slots::default(), Registry::default());
    registry.add(FourToHosts).unwrap();
    let wants = slots.wants(&registry);
    let per_target = wants[0].per_target.unwrap();
    let limit = |name: &str| per_target.of(&Target::new(name).unwrap());
    assert_eq!((limit("host:a"), limit("bucket:scans"), limit("hosts")), (Some(4), None, None));
    let both = |n: u8| {
        let targets = ["bucket:scans", &format!("host:{}", n % 2)].map(|name| Target::new(name).unwrap());
        Claimed { targets: TargetSet::new(targets).unwrap(), ..claimed(n) }
    };
    slots.take_in((0..10).map(both).collect());
    while slots.next(&registry).is_some() {}
    assert_eq!(slots.running(), 8, "four at each host, and the bucket bears them all");
    let rooms: Vec<String> =
        slots.rooms(&registry).into_iter().map(|(target, _)| target.to_string()).collect();
    assert!(rooms.iter().all(|name| name.starts_with("host:")), "{rooms:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fast_target_gets_a_little_more_than_it_bears_and_a_slow_one_does_not() {
    let (slots, mut registry) = (Slots::default(), Registry::default());
    registry.add(Four).unwrap();
    let room = |target: &str| {
        let rooms = slots.rooms(&registry);
        rooms.iter().find(|(known, _)| known.as_str() == target).map(|(_, room)| *room)
    };
    let run = |n: u8, target: &str| {
        slots.take_in(vec![at(target, n)]);
        slots.next(&registry).unwrap().claimed
    };
    assert_eq!(room("fast"), None, "nothing is known of it");
    // One of each stays, so that something runs all the time.
    let (_stays, _too) = (run(1, "fast"), run(2, "slow"));
    assert_eq!((room("fast"), room("slow")), (Some(3), Some(3)));
    let (fast, slow) = (run(3, "fast"), run(4, "slow"));
    tokio::time::advance(Duration::from_millis(10)).await;
    slots.ended(&fast);
    tokio::time::advance(Duration::from_millis(500)).await;
    slots.ended(&slow);
    // In 50 ms each of the four does five.
    assert_eq!((room("fast"), room("slow")), (Some(3 + 20), Some(3)));

    slots.take_in((10..16).map(|n| at("fast", n)).collect());
    assert_eq!(room("fast"), Some(17), "what waits counts");
    while slots.next(&registry).is_some() {}
    assert_eq!(slots.running(), 5, "no more than four run there");
    tokio::time::advance(TOO_LONG).await;
    assert_eq!(slots.take_overdue().len(), 3);
    assert_eq!(room("fast"), Some(0), "it is not as fast as it was");
}
