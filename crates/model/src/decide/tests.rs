use super::*;
use crate::instant::from_millis;
use proptest::prelude::*;

const NOW: i64 = 1_000_000;

fn facts(attempt: u32) -> JobFacts {
    JobFacts { attempt, queued_at: from_millis(NOW), ..JobFacts::default() }
}

fn run(outcome: Outcome, job: &JobFacts, policy: &Policy) -> Decision {
    decide(outcome, job, policy, from_millis(NOW), 0)
}

fn failed(code: Code) -> Outcome {
    Outcome::Failed { code, retry_after: None }
}

/// The step after a failure: the wait in ms, or the reason for giving up.
fn after(code: Code, job: &JobFacts, policy: &Policy) -> Result<u128, DeadReason> {
    match run(failed(code), job, policy).step {
        NextStep::Requeue { due: Due::In(wait), .. } => Ok(wait.as_millis()),
        NextStep::GiveUp { reason, .. } => Err(reason),
        NextStep::Complete | NextStep::Requeue { .. } => panic!("not a failure's step"),
    }
}

/// Also covers: T1, X2.
#[test]
fn retries_follow_the_curve_up_to_the_cap() {
    let p = Policy::reliability();
    assert_eq!(after(Code::Gw5xx, &facts(1), &p), Ok(5_000));
    assert_eq!(after(Code::Gw5xx, &facts(2), &p), Ok(10_000));
    assert_eq!(after(Code::Gw5xx, &facts(3), &p), Err(DeadReason::Exhausted));
}

/// Also covers: T2.
#[test]
fn a_permanent_failure_ends_at_once() {
    for code in [Code::Gw4xx, Code::NotPdf, Code::TooLarge, Code::HandlerFailed, Code::ValidationMissingField]
    {
        assert_eq!(after(code, &facts(1), &Policy::on_demand()), Err(DeadReason::NonRetryable), "{code}");
    }
}

/// Also covers: T2, R1.
#[test]
fn every_code_of_the_registry_does_what_its_class_says() {
    for entry in crate::failure::REGISTRY {
        let d = run(failed(entry.code), &facts(1), &Policy::on_demand());
        let gave_up = matches!(d.step, NextStep::GiveUp { .. });
        assert_eq!(gave_up, entry.retries == Retries::None, "{}", entry.name);
    }
}

/// Also covers: T2.
#[test]
fn io_error_is_really_retried_once() {
    let p = Policy::on_demand();
    let first = run(failed(Code::IoError), &facts(1), &p);
    let NextStep::Requeue { spent, .. } = first.step else { panic!("first one is retried") };
    let job = JobFacts { spent, ..facts(2) };
    let second = run(failed(Code::IoError), &job, &p);
    assert_eq!(second.because, Rule::CodeCapReached);
    assert!(after(Code::Unknown, &job, &p).is_ok(), "other codes keep their own budget");
}

#[test]
fn separate_budgets_do_not_eat_each_other() {
    let p =
        Policy::reliability().with_budgets([(Budget::Download, 1), (Budget::Storage, 1), (Budget::Proxy, 5)]);
    let NextStep::Requeue { spent, .. } = run(failed(Code::DownloadTimeout), &facts(1), &p).step else {
        panic!()
    };
    let job = JobFacts { spent, ..facts(2) };
    assert_eq!(run(failed(Code::DownloadTimeout), &job, &p).because, Rule::BudgetUsedUp);
    assert!(after(Code::UploadS3Error, &job, &p).is_ok());
    assert!(after(Code::DownloadProxyFailed, &job, &p).is_ok());
}

/// Also covers: M34.
#[test]
fn retry_after_wins_within_its_bounds() {
    let p = Policy::reliability();
    let wait = |secs: u64| {
        let o = Outcome::Failed { code: Code::GwBusy, retry_after: Some(Duration::from_secs(secs)) };
        match run(o, &facts(1), &p).step {
            NextStep::Requeue { due: Due::In(wait), charge, .. } => (wait.as_secs(), charge),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(wait(120), (120, Charge::Keep));
    assert_eq!(wait(10 * 365 * 86_400), (3_600, Charge::Keep), "clamped to an hour");
    assert_eq!(wait(1), (1, Charge::Keep), "sooner than the curve would");
    assert_eq!(wait(0), (1, Charge::Keep), "but not at once");
}

#[test]
fn throttling_costs_no_attempt_and_has_a_day() {
    let o = Outcome::Failed { code: Code::GwThrottled, retry_after: Some(Duration::from_secs(60)) };
    let d = run(o, &facts(3), &Policy::reliability());
    let NextStep::Requeue { charge, why, .. } = d.step else { panic!("{d:?}") };
    assert_eq!((charge, why, d.because), (Charge::GiveBack, Requeue::Throttle, Rule::Throttled));
    let old = JobFacts { queued_at: from_millis(NOW - 90 * 86_400_000), ..facts(1) };
    assert_eq!(run(o, &old, &Policy::reliability()).because, Rule::Throttled, "age alone is no throttling");
    let mut job = facts(1);
    let d = loop {
        let d = run(o, &job, &Policy::reliability());
        match &d.step {
            NextStep::Requeue { spent, .. } => job.spent = spent.clone(),
            _ => break d,
        }
    };
    assert_eq!(job.spent.0.get(THROTTLED), Some(&86_400), "a day of waits of a minute");
    assert_eq!(d.because, Rule::ThrottledTooLong);
    assert_eq!(
        d.step,
        NextStep::GiveUp { reason: DeadReason::Deadline, code: None },
        "as it was last answered"
    );
}

#[test]
fn a_full_disk_is_no_fault_of_the_job() {
    let d = run(failed(Code::DiskFull), &facts(3), &Policy::reliability());
    let NextStep::Requeue { charge, why, .. } = d.step else { panic!("{d:?}") };
    assert_eq!((charge, why), (Charge::GiveBack, Requeue::Environment));
}

#[test]
fn a_deadline_ends_a_job_whose_next_try_would_be_too_late() {
    let p = Policy { deadline: Some(Duration::from_secs(60)), ..Policy::on_demand() };
    assert!(after(Code::Unknown, &facts(1), &p).is_ok());
    let old = JobFacts { queued_at: from_millis(NOW - 59_500), ..facts(1) };
    assert_eq!(after(Code::Unknown, &old, &p), Err(DeadReason::Deadline));
}

/// Also covers: T4.
#[test]
fn crashes_run_alone_the_third_time_and_quarantine_only_then() {
    let p = Policy::on_demand();
    let first = run(Outcome::Crashed, &facts(1), &p);
    assert!(matches!(first.step, NextStep::Requeue { alone: false, charge: Charge::Keep, .. }));
    let second = run(Outcome::Crashed, &JobFacts { crashes: 1, ..facts(2) }, &p);
    assert!(matches!(second.step, NextStep::Requeue { alone: true, .. }));
    assert_eq!(second.because, Rule::SecondCrashRunsAlone);
    let alone = JobFacts { crashes: 2, alone: true, ..facts(3) };
    assert_eq!(run(Outcome::Crashed, &alone, &p).because, Rule::CrashedAlone);
    let d = run(failed(Code::Unknown), &alone, &p);
    assert!(matches!(d.step, NextStep::Requeue { alone: true, .. }), "a plain failure keeps it alone: {d:?}");
    let permanent = run(Outcome::Crashed, &alone, &Policy::permanent());
    assert!(matches!(permanent.step, NextStep::Requeue { alone: true, .. }));
}

/// Also covers: T4.
#[test]
fn a_crash_at_the_cap_ends_as_failed() {
    let d = run(Outcome::Crashed, &facts(3), &Policy::reliability());
    let NextStep::GiveUp { reason, code } = d.step else { panic!("{d:?}") };
    assert_eq!((reason, code), (DeadReason::Crashed, Some(Code::SystemWorkerLost)));
}

#[test]
fn releases_are_given_back_five_times() {
    let p = Policy::reliability();
    for releases in 0..5 {
        let d = run(Outcome::Released, &JobFacts { releases, ..facts(3) }, &p);
        assert_eq!(d.because, Rule::ReleasedUncharged);
    }
    let d = run(Outcome::Released, &JobFacts { releases: 5, ..facts(2) }, &p);
    assert!(matches!(d.step, NextStep::Requeue { charge: Charge::Keep, .. }));
    let d = run(Outcome::Released, &JobFacts { releases: 5, ..facts(3) }, &p);
    assert_eq!(d.because, Rule::AttemptsUsedUp);
}

#[test]
fn a_failed_probe_gives_its_attempt_back_without_limit() {
    let job = JobFacts { probe: true, ..facts(3) };
    let d = run(failed(Code::GwUnavailable), &job, &Policy::reliability());
    assert!(matches!(d.step, NextStep::Requeue { why: Requeue::ProbeRefund, charge: Charge::GiveBack, .. }));
    let d = run(failed(Code::Gw4xx), &job, &Policy::reliability());
    assert_eq!(d.because, Rule::NotRetryable, "what the file itself did wrong stays its own fault");
}

/// A probe whose failure does not speak against the target is an attempt like any other, or it would be made for ever.
#[test]
fn a_probe_that_ends_in_its_own_trouble_pays_for_it() {
    let p = Policy::reliability();
    let probe = |attempt| JobFacts { probe: true, ..facts(attempt) };
    let of_its_own = |code: Code| code.class() == Class::Transient && !Call::of(code).is_failure();
    for entry in crate::failure::REGISTRY.iter().filter(|entry| of_its_own(entry.code)) {
        let d = run(failed(entry.code), &probe(1), &p);
        assert_eq!(d, run(failed(entry.code), &facts(1), &p), "{}", entry.name);
        assert!(after(entry.code, &probe(3), &p).is_err(), "{} has an end", entry.name);
    }
    let d = run(failed(Code::DownloadRateLimited), &probe(1), &p);
    assert_eq!(d.because, Rule::Throttled, "the days of waiting are counted");
}

#[test]
fn permanent_jobs_never_give_up() {
    let p = Policy::permanent();
    let old = JobFacts { queued_at: Timestamp::MIN, releases: 99, crashes: 99, ..facts(u32::MAX) };
    for entry in crate::failure::REGISTRY {
        let d = run(failed(entry.code), &old, &p);
        assert!(matches!(d.step, NextStep::Requeue { .. }), "{}: {d:?}", entry.name);
    }
    for o in [Outcome::Released, Outcome::Crashed, Outcome::LeaseLost] {
        assert!(matches!(run(o, &old, &p).step, NextStep::Requeue { .. }));
    }
}

#[test]
fn another_run_starts_the_count_again() {
    for done in [Done::RescheduleNow, Done::RescheduleIn(Duration::from_secs(3))] {
        let d = run(Outcome::Done(done), &facts(7), &Policy::permanent());
        assert!(matches!(d.step, NextStep::Requeue { charge: Charge::Reset, .. }));
    }
    let d = run(Outcome::Done(Done::Snooze(Duration::from_secs(9))), &facts(2), &Policy::reliability());
    assert!(matches!(d.step, NextStep::Requeue { charge: Charge::GiveBack, .. }));
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        (0..crate::failure::REGISTRY.len(), prop::option::of(0u64..1 << 40)).prop_map(|(n, ra)| {
            Outcome::Failed {
                code: crate::failure::REGISTRY[n].code,
                retry_after: ra.map(Duration::from_millis),
            }
        }),
        Just(Outcome::Released),
        Just(Outcome::Unstarted),
        Just(Outcome::Crashed),
        Just(Outcome::LeaseLost),
        Just(Outcome::Done(Done::Snooze(Duration::from_secs(1)))),
    ]
}

proptest! {
    /// Plays one generation of a job through random outcomes and counts what was charged.
    #[test]
    fn executions_never_exceed_the_policy(
        outcomes in prop::collection::vec((any_outcome(), any::<u64>()), 1..200),
        cap in 1u32..8,
    ) {
        let policy = Policy { max_attempts: Some(cap), ..Policy::reliability() };
        let mut job = JobFacts { queued_at: from_millis(NOW), ..JobFacts::default() };
        let (mut claims, mut given_back, mut now) = (0u32, 0u32, NOW);
        for (outcome, draw) in outcomes {
            job.attempt += 1;
            claims += 1;
            prop_assert!(claims - given_back <= cap, "claimed beyond the cap");
            let d = decide(outcome, &job, &policy, from_millis(now), draw);
            let NextStep::Requeue { charge, spent, alone, due, why } = d.step else { break };
            match charge {
                Charge::Keep => {}
                Charge::GiveBack => { job.attempt -= 1; given_back += 1; }
                Charge::Reset => prop_assert!(false, "nothing here reschedules"),
            }
            job.releases += u32::from(why == Requeue::Release && charge == Charge::GiveBack);
            prop_assert!(job.releases <= policy.max_releases);
            job.crashes += u32::from(outcome == Outcome::Crashed);
            job.spent = spent;
            job.alone = alone;
            if let Due::In(wait) = due {
                prop_assert!(wait <= Duration::from_secs(3600).max(policy.backoff.base(job.attempt) * 2));
                now += i64::try_from(wait.as_millis()).unwrap();
            }
        }
    }

    #[test]
    fn nothing_overflows(attempt: u32, crashes: u32, releases: u32, queued in any::<i64>(), now in any::<i64>(), draw: u64,
        outcome in any_outcome(), cap in prop::option::of(any::<u32>())) {
        let job = JobFacts { attempt, crashes, releases, queued_at: from_millis(queued), ..JobFacts::default() };
        let policy = Policy { max_attempts: cap, deadline: Some(Duration::MAX), ..Policy::on_demand() };
        let _ = decide(outcome, &job, &policy, from_millis(now), draw);
    }
}

#[test]
fn every_rule_has_a_sentence_that_ends() {
    for rule in Rule::ALL {
        assert!(rule.sentence().ends_with('.'));
        assert_eq!(Rule::parse(rule.as_str()), Some(*rule));
    }
}

#[test]
fn what_never_started_is_given_back_however_often() {
    for releases in [0, 5, 500] {
        let d = run(Outcome::Unstarted, &JobFacts { releases, ..facts(3) }, &Policy::reliability());
        let NextStep::Requeue { why, due, charge, .. } = d.step else { panic!("{d:?}") };
        assert_eq!((why, due, charge), (Requeue::Return, Due::Kept, Charge::GiveBack));
        assert_eq!(d.because, Rule::NeverStarted);
    }
}

/// A folder's owner mends a file between two runs, so intake tries everything again; what is not there any more it does not.
#[test]
fn a_policy_may_retry_what_the_registry_would_not() {
    let policy = Policy { retry_all: true, ..Policy::reliability().with_max_retries(3) };
    for code in [Code::NotPdf, Code::Gw4xx, Code::IoError, Code::HandlerFailed] {
        for attempt in 1..=4 {
            let job = JobFacts { attempt, spent: spent_on(code, attempt - 1), ..JobFacts::default() };
            let decided =
                decide(Outcome::Failed { code, retry_after: None }, &job, &policy, job.queued_at, 0);
            let again = matches!(decided.step, NextStep::Requeue { why: Requeue::Retry, .. });
            assert_eq!(again, attempt < 4, "{} at attempt {attempt}: {decided:?}", code.name());
        }
    }
    for code in [Code::SourceMissing, Code::SourceChanged, Code::SystemUndecodable] {
        let job = JobFacts { attempt: 1, ..JobFacts::default() };
        let decided = decide(Outcome::Failed { code, retry_after: None }, &job, &policy, job.queued_at, 0);
        assert_eq!(decided.because, Rule::NotRetryable, "{}", code.name());
    }
}

fn spent_on(code: Code, times: u32) -> Spent {
    let mut spent = Spent::default();
    for _ in 0..times {
        spent.spend(code.name());
    }
    spent
}
