//! Input that is wrong is refused with a sentence, and nothing of its call is written. What is merely odd works.

use std::time::Duration;

use redrive_model::limits::{MAX_ENQUEUE, MAX_INPUT_BYTES, MAX_TARGETS};
use redrive_model::{Owner, Shown, State, Target, TargetSet, Timestamp, WorkloadName, instant};
use redrive_store::{
    Claim, Enqueue, JobFilter, NewEvent, NewJob, PageRequest, Purge, StoreError, When, WorkerBeat,
};

use crate::Harness;
use crate::kit::{Kit, TTL, secs};

/// One bad job refuses its whole call, wherever it stands in it.
pub async fn one_bad_job_refuses_its_whole_call(h: &dyn Harness) {
    let k = Kit::new(h);
    let known = k.put_n(1).await[0];
    let bad = [
        NewJob { input: vec![0; MAX_INPUT_BYTES + 1], ..k.job() },
        NewJob { priority: 10, ..k.job() },
        NewJob { priority: 255, ..k.job() },
        NewJob { max_attempts: Some(0), ..k.job() },
    ];
    for bad in bad {
        for at in [0, 1, 2] {
            let mut jobs = vec![k.job(), k.job()];
            jobs.insert(at, bad.clone());
            refused(&k, Enqueue::jobs(jobs)).await;
        }
    }
    let twice = k.job();
    refused(&k, Enqueue::jobs(vec![twice.clone(), k.job(), twice])).await;
    let counts = k.store.counts().await.unwrap();
    assert_eq!(counts.total(State::Queued), 1, "{counts:#?}");
    assert_eq!(k.claim_ids(9).await, [known]);
    k.audit().await;
}

/// The largest input is kept; one byte more is refused with a sentence that says what to do.
pub async fn an_input_over_the_limit_is_refused(h: &dyn Harness) {
    let k = Kit::new(h);
    let largest: Vec<u8> = (0..MAX_INPUT_BYTES).map(|n| (n % 251) as u8).collect();
    k.put_one(NewJob { input: largest.clone(), ..k.job() }).await;
    assert_eq!(k.claim_one().await.input, largest);
    let too_large = NewJob { input: vec![0; MAX_INPUT_BYTES + 1], ..k.job() };
    let said = refused(&k, Enqueue::jobs(vec![too_large])).await;
    assert!(said.contains("1048577 bytes") && said.contains("artifact"), "{said}");
    k.audit().await;
}

/// Ten thousand jobs go in one call; one more is refused and says how to send them.
pub async fn a_call_with_too_many_jobs_is_refused(h: &dyn Harness) {
    let k = Kit::new(h);
    let said = refused(&k, Enqueue::jobs((0..=MAX_ENQUEUE).map(|_| k.job()).collect())).await;
    assert!(said.contains("10001") && said.contains("parts"), "{said}");
    assert_eq!(k.store.counts().await.unwrap().states, []);
    k.put_n(MAX_ENQUEUE).await;
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), MAX_ENQUEUE as u64);
}

/// A call with nothing in it does nothing and says so.
pub async fn a_call_with_nothing_in_it_does_nothing(h: &dyn Harness) {
    let k = Kit::new(h);
    assert_eq!(k.enqueue(Enqueue::default()).await.jobs, []);
    assert_eq!(k.store.cancel(Vec::new(), None).await.unwrap(), []);
    assert_eq!(k.store.retry(Vec::new(), Default::default()).await.unwrap(), []);
    assert_eq!(k.store.expire(Vec::new()).await.unwrap(), []);
    assert_eq!(k.store.discard(Vec::new()).await.unwrap(), 0);
    assert_eq!(k.store.extend(k.worker(1), Vec::new(), TTL).await.unwrap(), []);
    assert_eq!(k.store.reschedule(Vec::new(), k.now().await).await.unwrap(), []);
    assert_eq!(k.store.purge(Purge { after: None, scan: 0 }).await.unwrap().jobs, 0);
    assert_eq!(k.store.last_event().await.unwrap(), redrive_model::EventSeq(0));
    k.audit().await;
}

/// Names with NUL, control characters, nothing in them or too much are no names; odd but legal ones work.
pub async fn bad_names_are_refused_and_odd_ones_work(h: &dyn Harness) {
    let k = Kit::new(h);
    for bad in ["", "a\0b", "a\nb", "a\u{7f}b", "a\u{85}b", &"x".repeat(256)] {
        assert!(Owner::new(bad).is_err(), "{bad:?}");
        assert!(WorkloadName::new(bad).is_err(), "{bad:?}");
        assert!(Target::new(bad).is_err(), "{bad:?}");
    }
    let many = (0..=MAX_TARGETS).map(|n| Target::new(format!("t{n}")).unwrap());
    assert!(TargetSet::new(many).is_err());
    let owner = Some(Owner::new("Zoë 🦀 ' OR 1=1; -- \\ % _").unwrap());
    let workload = WorkloadName::new("a".repeat(255)).unwrap();
    let names: Vec<String> = (0..MAX_TARGETS).map(|n| format!("{n:_>255}")).collect();
    let targets = TargetSet::new(names.iter().map(|n| Target::new(n.as_str()).unwrap())).unwrap();
    let job =
        NewJob { owner: owner.clone(), workload: workload.clone(), targets: targets.clone(), ..k.job() };
    let id = k.put_one(job).await;
    let row = k.row(id).await;
    assert_eq!((row.owner.clone(), row.workload, row.targets), (owner.clone(), workload.clone(), targets));
    let found =
        k.store.jobs(JobFilter { owner, ..JobFilter::default() }, PageRequest::default()).await.unwrap();
    assert_eq!(found.rows.len(), 1);
    let wants = vec![redrive_store::Want::new(workload, 1)];
    assert_eq!(k.claim_with(Claim { wants, ..k.ask(1) }).await[0].lease.job, id);
    k.audit().await;
}

/// Free text with a NUL byte, wherever a caller can put one, is taken or refused, and never an error of the store.
pub async fn a_nul_byte_anywhere_is_never_a_bug_of_the_store(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let nul = "a\0b";
    let fine = |answer: Result<(), StoreError>, place: &str| match answer {
        Ok(()) | Err(StoreError::Invalid(_)) => {}
        Err(other) => panic!("{place}: {other:?}"),
    };
    let event = NewEvent { topic: nul.into(), payload: b"\0".to_vec() };
    fine(k.store.publish(vec![event]).await, "the topic of an event");
    let beat = WorkerBeat {
        id: k.worker(1),
        name: nul.into(),
        build: nul.into(),
        draining: false,
        ttl: TTL,
        concurrency: 1,
    };
    fine(k.store.beat(beat).await.map(drop), "the name of a worker");
    fine(k.store.pause(None, nul).await, "the name of whoever pauses");
    fine(k.store.resume(None).await, "the end of that pause");
    let filter = JobFilter { text: Some(nul.into()), ..JobFilter::default() };
    fine(k.store.jobs(filter, PageRequest::default()).await.map(drop), "the text of a filter");
    let claimed = k.claim_one().await;
    let result = k.completion(&claimed).await.with_result(nul.into());
    fine(k.store.finish(vec![result]).await.map(drop), "the place of a result");
    // Whatever was said: the store goes on, and the job is either recorded or still in the worker's hands.
    if k.row(id).await.state == State::Processing {
        k.complete(&claimed).await;
    }
    k.audit().await;
}

/// Due times from the far past to the end of the calendar are taken; the past is now, the future is waited for.
pub async fn due_times_of_any_year_are_taken(h: &dyn Harness) {
    let k = Kit::new(h);
    let year_9999: Timestamp = "9999-12-30T00:00:00Z".parse().unwrap();
    let far = [When::At(year_9999), When::At(Timestamp::MAX), When::In(Duration::MAX)];
    let past =
        [When::At(Timestamp::MIN), When::At(instant::from_millis(0)), When::At(instant::from_millis(-1))];
    let far = k.put(far.iter().map(|&when| NewJob { when, ..k.job() }).collect()).await;
    let plain = k.put_n(1).await[0];
    let past = k.put(past.iter().map(|&when| NewJob { when, ..k.job() }).collect()).await;
    assert_eq!(k.row(far[0]).await.due_at, year_9999);
    assert!(k.row(far[2]).await.due_at >= year_9999);
    k.advance(secs(7)).await;
    // A due time in the past is no way to jump the queue, and nobody has waited since 1970.
    assert_eq!(k.store.queue().await.unwrap().oldest_age, Some(secs(7)));
    k.audit().await;
    assert_eq!(k.claim_ids(9).await, [vec![plain], past].concat());
    for id in far {
        assert_eq!(k.row(id).await.shown, Shown::Scheduled);
    }
    k.audit().await;
}

/// Lease and keeping times of any length are taken.
pub async fn durations_of_any_length_are_taken(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_n(3).await;
    let zero = k.claim_with(Claim { ttl: Duration::ZERO, ..k.ask(1) }).await;
    assert_eq!(k.store.expired(None, 9).await.unwrap().len(), 1, "a lease of no time has run out at once");
    let long = k.claim_with(Claim { ttl: Duration::MAX, ..k.ask(1) }).await;
    assert_eq!(k.store.expired(None, 9).await.unwrap().len(), 1);
    k.complete(&zero[0]).await;
    let mut kept = k.completion(&long[0]).await;
    kept.step = redrive_store::Step::Complete { result: None, keep: Some(Duration::MAX) };
    k.finish(kept).await;
    k.store.cancel(vec![put[2]], Some(Duration::MAX)).await.unwrap();
    k.advance(secs(10_000 * 86_400)).await;
    k.store.purge(Purge { after: None, scan: usize::MAX }).await.unwrap();
    assert_eq!(k.row(put[1]).await.state, State::Complete);
    assert_eq!(k.row(put[2]).await.state, State::Cancelled);
    k.audit().await;
}

/// The call is refused as invalid; answers what was said.
async fn refused(k: &Kit<'_>, call: Enqueue) -> String {
    match k.store.enqueue(call).await {
        Err(StoreError::Invalid(said)) => said,
        other => panic!("accepted or another error: {other:?}"),
    }
}
