//! The audit trail, settings, payloads, and where a replay's jobs are.

use redrive_model::{BatchState, Code, State};
use redrive_store::{
    ActFilter, Acted, DeadFilter, Enqueue, JobFilter, LastFailure, NewAct, NewJob, PageRequest, Payload,
    Progress, ReplayCounts, RetryBy, StoreError,
};

use crate::Harness;
use crate::kit::{Kit, ids, secs, target};

fn act(subject: &str) -> NewAct {
    NewAct {
        actor: "ann".into(),
        action: "breaker.hold".into(),
        subject: subject.into(),
        reason: Some("they\nmove house".into()),
        scope: None,
        request_id: None,
    }
}

/// Every act is listed with its outcome, newest first, page by page.
pub async fn acts_are_kept_in_order_with_what_became_of_them(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut numbers = Vec::new();
    for n in 0..5 {
        numbers.push(k.store.note_act(act(&format!("target-{n}"))).await.unwrap());
    }
    k.store.conclude_act(numbers[0], "held".into()).await.unwrap();
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = k
            .store
            .acts(redrive_store::ActFilter::default(), PageRequest { limit: 2, cursor })
            .await
            .unwrap();
        assert!(page.rows.len() <= 2);
        seen.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    numbers.reverse();
    assert_eq!(seen.iter().map(|row| row.number).collect::<Vec<_>>(), numbers);
    let last = seen.last().unwrap();
    assert_eq!((last.act.subject.as_str(), last.outcome.as_deref()), ("target-0", Some("held")));
    assert_eq!(last.act.reason.as_deref(), Some("they move house"), "one line");
    assert_eq!(last.at, k.now().await);
    assert_eq!(seen[0].outcome, None);
}

/// Acts are found by who, what, to what, since when and by which request, alone and together, and looking is bounded.
pub async fn acts_are_found_by_every_filter(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut numbers = Vec::new();
    let mut noon = k.now().await;
    for (actor, action, subject, request) in [
        ("ann (token)", "target.hold", "gateway", Some("a1")),
        ("ann (token)", "target.release", "gateway", Some("a2")),
        ("Bob 100% (token)", "jobs.cancel", "host:Ärger.example:443", None),
        ("bob_", "target.hold", "host:b.example:443", Some("b1")),
    ] {
        let (actor, action, subject) = (actor.into(), action.into(), subject.into());
        let act = NewAct { actor, action, subject, request_id: request.map(str::to_owned), ..act("") };
        numbers.push(k.store.note_act(act).await.unwrap());
        if numbers.len() == 2 {
            k.advance(secs(10)).await;
            noon = k.now().await;
        }
    }
    let all = ActFilter::default;
    let some = |text: &str| Some(text.to_owned());
    let (actor, action) =
        (|t| ActFilter { actor: some(t), ..all() }, |t| ActFilter { action: some(t), ..all() });
    let subject = |text| ActFilter { subject: some(text), ..all() };
    let request = |text| ActFilter { request_id: some(text), ..all() };
    for (filter, expected) in [
        (all(), vec![3, 2, 1, 0]),
        (actor("ANN"), vec![1, 0]),
        (actor("bob"), vec![3, 2]),
        (actor("%"), vec![2]),
        (actor("_"), vec![3]),
        (action("target."), vec![3, 1, 0]),
        (action("target.hold"), vec![3, 0]),
        (action("hold"), vec![]),
        (subject("gate"), vec![1, 0]),
        (subject("Ärger"), vec![2]),
        (request("a2"), vec![1]),
        (request("a"), vec![]),
        (ActFilter { since: Some(noon), ..all() }, vec![3, 2]),
        (ActFilter { since: Some(noon), ..action("target.") }, vec![3]),
        (ActFilter { actor: some("ann"), ..subject("b.example") }, vec![]),
    ] {
        let expected: Vec<i64> = expected.into_iter().map(|n: usize| numbers[n]).collect();
        for limit in [1, 50] {
            let (mut seen, mut cursor) = (Vec::new(), None);
            loop {
                let page = k.store.acts(filter.clone(), PageRequest { limit, cursor }).await.unwrap();
                seen.extend(page.rows.iter().map(|row| row.number));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(seen, expected, "{filter:?} in pages of {limit}");
        }
    }
    let strange = PageRequest { limit: 1, cursor: Some("x".into()) };
    assert!(matches!(k.store.acts(all(), strange).await, Err(StoreError::Invalid(_))));
}

/// A setting is what was set last, says who set it, and can be taken back; pauses are not settings.
pub async fn settings_are_set_changed_and_taken_back(h: &dyn Harness) {
    let k = Kit::new(h);
    k.store.set_setting("intake.max_retries", Some("3"), "ann").await.unwrap();
    k.store.set_setting("intake.max_retries", Some("5"), "bob").await.unwrap();
    k.store.set_setting("intake%", Some("x"), "bob").await.unwrap_err();
    k.store.set_setting("other", Some("y"), "bob").await.unwrap();
    let found = k.store.settings("intake.").await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].value.as_str(), found[0].by.as_str()), ("5", "bob"));
    assert_eq!(k.store.settings("").await.unwrap().len(), 2);
    k.store.set_setting("intake.max_retries", None, "bob").await.unwrap();
    assert!(k.store.settings("intake.").await.unwrap().is_empty());
    for bad in ["", "pause/work", "a b", &"x".repeat(1_000)] {
        let refused = k.store.set_setting(bad, Some("1"), "ann").await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{bad:?}: {refused:?}");
    }
}

/// Of many who give a setting its first value at once one is heard, and all of them hear which.
pub async fn of_many_first_values_of_a_setting_one_holds(h: &dyn Harness) {
    let k = Kit::new(h);
    let values: Vec<String> = (0..16).map(|n| format!("value {n}")).collect();
    let asked = values.iter().map(|value| k.store.first_setting("token", value, value));
    let heard: Vec<String> =
        futures::future::join_all(asked).await.into_iter().map(|answer| answer.unwrap()).collect();
    let held = k.store.settings("token").await.unwrap().remove(0);
    assert!(values.contains(&held.value) && held.by == held.value, "{held:?}");
    assert!(heard.iter().all(|value| *value == held.value), "{heard:?}");
    k.store.set_setting("token", Some("later"), "ann").await.unwrap();
    assert_eq!(k.store.first_setting("token", "first", "bob").await.unwrap(), "later");
    assert_eq!(k.store.settings("token").await.unwrap()[0].by, "ann");
    k.store.set_setting("token", None, "ann").await.unwrap();
    assert_eq!(k.store.first_setting("token", "first", "bob").await.unwrap(), "first");
    let refused = k.store.first_setting("pause/work", "1", "ann").await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
}

/// Input and saved state can be read; a job that is not there carries nothing.
pub async fn what_a_job_carries_can_be_read(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(NewJob { input: b"\x00input\xff".to_vec(), ..k.job() }).await;
    let before = Payload { input: b"\x00input\xff".to_vec(), state: None };
    assert_eq!(k.store.payload(id).await.unwrap(), Some(before.clone()));
    let claimed = k.claim_one().await;
    assert!(k.store.save_state(claimed.lease, b"half".to_vec()).await.unwrap());
    assert_eq!(k.store.payload(id).await.unwrap(), Some(Payload { state: Some(b"half".to_vec()), ..before }));
    assert_eq!(k.store.payload(k.id()).await.unwrap(), None);
    let other = k.put_one(NewJob { input: b"other".to_vec(), ..k.job() }).await;
    let many = k.store.payloads(vec![other, k.id(), id, other]).await.unwrap();
    let inputs: Vec<_> =
        many.iter().map(|one| one.as_ref().map(|payload| payload.input.as_slice())).collect();
    assert_eq!(inputs, [Some(&b"other"[..]), None, Some(b"\x00input\xff"), Some(b"other")], "in their order");
    assert!(k.store.payloads(Vec::new()).await.unwrap().is_empty());
}

/// The newest failure of each job is read at once: also one that was followed by better attempts, and none where none was.
pub async fn the_newest_failure_of_each_job_is_read_at_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let (never, once) = (k.put_n(1).await[0], k.put_n(1).await[0]);
    for claimed in k.claim(2).await {
        match claimed.lease.job == never {
            true => k.complete(&claimed).await,
            false => k.fail(&claimed, Code::GwTimeout).await,
        };
    }
    let at_first = k.now().await;
    let twice = k.put_n(1).await[0];
    k.fail(&k.claim_one().await, Code::GwTimeout).await;
    k.advance(secs(60)).await;
    for claimed in k.claim(2).await {
        match claimed.lease.job == twice {
            true => k.fail(&claimed, Code::Gw5xx).await,
            false => k.complete(&claimed).await,
        };
    }
    let at_last = k.now().await;
    let waits = k.put_n(1).await[0];
    let wanted = vec![twice, never, k.id(), once, waits, twice];
    let first = Some(LastFailure { code: Code::GwTimeout, at: at_first });
    let last = Some(LastFailure { code: Code::Gw5xx, at: at_last });
    let found = k.store.last_failures(wanted.clone()).await.unwrap();
    assert_eq!(found, [last, None, None, first, None, last], "in their order");
    assert!(k.store.last_failures(Vec::new()).await.unwrap().is_empty());
    for (id, found) in wanted.into_iter().zip(found) {
        let rows = k.store.attempts(id).await.unwrap();
        let newest =
            rows.iter().rev().find_map(|row| Some(LastFailure { code: row.code?, at: row.ended_at }));
        assert_eq!(found, newest);
    }
    k.audit().await;
}

/// The jobs of a replay are counted by where they are, and found by it.
pub async fn jobs_of_a_replay_are_counted_and_found(h: &dyn Harness) {
    let k = Kit::new(h);
    let (replay, other) = (k.replay_id(), k.replay_id());
    let dead = k.put_dead((0..5).map(|_| k.job()).collect()).await;
    assert_eq!(k.store.replay_counts(replay).await.unwrap(), ReplayCounts::default());
    k.store.retry(dead[..4].to_vec(), RetryBy { replay: Some(replay), ..RetryBy::default() }).await.unwrap();
    k.store.retry(dead[4..].to_vec(), RetryBy { replay: Some(other), ..RetryBy::default() }).await.unwrap();
    let counts = k.store.replay_counts(replay).await.unwrap();
    assert_eq!(counts, ReplayCounts { live: 4, ..ReplayCounts::default() });
    k.cancel(dead[0]).await;
    let claimed = k.claim(10).await;
    let ours = |n: usize| claimed.iter().find(|c| c.lease.job == dead[n]).unwrap();
    k.complete(ours(1)).await;
    k.fail(ours(2), Code::HandlerFailed).await;
    let counts = k.store.replay_counts(replay).await.unwrap();
    assert_eq!(counts, ReplayCounts { live: 1, complete: 1, failed: 1, cancelled: 1 });
    assert_eq!(counts.ended(), 2);
    let filter = JobFilter { replay: Some(replay), ..JobFilter::default() };
    let found = k.store.jobs(filter, PageRequest::default()).await.unwrap().rows;
    let mut expected = dead[..4].to_vec();
    expected.reverse();
    assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), expected);
    k.audit().await;
}

/// What a replay started counts there as it ended, also when a person or another replay has started the job again since.
pub async fn a_replay_counts_what_it_started_whoever_starts_it_again(h: &dyn Harness) {
    let k = Kit::new(h);
    let (replay, other) = (k.replay_id(), k.replay_id());
    let by = |replay| RetryBy { replay, ..RetryBy::default() };
    let dead = k.put_dead((0..3).map(|_| k.job()).collect()).await;
    k.store.retry(dead.clone(), by(Some(replay))).await.unwrap();
    for claimed in k.claim(3).await {
        k.fail(&claimed, Code::HandlerFailed).await;
    }
    let all_failed = ReplayCounts { failed: 3, ..ReplayCounts::default() };
    assert_eq!(k.store.replay_counts(replay).await.unwrap(), all_failed);
    k.store.retry(vec![dead[0]], by(None)).await.unwrap();
    k.store.retry(vec![dead[1]], by(Some(other))).await.unwrap();
    assert_eq!(k.store.replay_counts(replay).await.unwrap(), all_failed, "they run again for others");
    for claimed in k.claim(2).await {
        k.complete(&claimed).await;
    }
    assert_eq!(k.store.replay_counts(replay).await.unwrap(), all_failed, "what they did for it, they did");
    let one = ReplayCounts { complete: 1, ..ReplayCounts::default() };
    assert_eq!(k.store.replay_counts(other).await.unwrap(), one);
    k.audit().await;
}

/// Who was told which letters there are starts no job whose letter is not wanted any more, or is a newer one.
pub async fn only_an_open_letter_that_was_counted_is_started(h: &dyn Harness) {
    let k = Kit::new(h);
    let dead = k.put_dead((0..4).map(|_| k.job()).collect()).await;
    let upto = k.store.matching_dead(DeadFilter::default()).await.unwrap().newest;
    k.store.discard(vec![k.dead_of(dead[0]).await.offset]).await.unwrap();
    k.store.retry(vec![dead[1], dead[2]], RetryBy::default()).await.unwrap();
    let again = k.claim(2).await;
    k.fail(again.iter().find(|claimed| claimed.lease.job == dead[1]).unwrap(), Code::HandlerFailed).await;
    let acted = k.store.retry(dead, RetryBy { replay: Some(k.replay_id()), upto }).await.unwrap();
    let expected = [
        Acted::WrongState(State::Failed),
        Acted::WrongState(State::Failed),
        Acted::WrongState(State::Processing),
        Acted::Done,
    ];
    assert_eq!(acted, expected, "discarded, died again, runs, and as it was");
    k.audit().await;
}

/// Jobs are found by what they depend on.
pub async fn jobs_are_found_by_target(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_one(k.job()).await;
    let a = k.put_one(k.job_on(&["a"])).await;
    let both = k.put_one(k.job_on(&["a", "b"])).await;
    let of = async |name: &str| {
        let filter = JobFilter { target: Some(target(name)), ..JobFilter::default() };
        k.store.jobs(filter, PageRequest::default()).await.unwrap().rows
    };
    let found = |rows: Vec<redrive_store::JobRow>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(found(of("a").await), [both, a]);
    assert_eq!(found(of("b").await), [both]);
    assert!(of("c").await.is_empty());
    let claimed = ids(&k.claim(9).await);
    assert_eq!(claimed.len(), 3);
}

/// A walk in the order of dying, up to an offset, meets every letter once although letters are closed and new ones die
/// meanwhile.
pub async fn dead_letters_are_walked_oldest_first_up_to_an_offset(h: &dyn Harness) {
    let k = Kit::new(h);
    let dead = k.put_dead((0..7).map(|_| k.job()).collect()).await;
    let upto = k.dead_of(dead[5]).await.offset;
    let filter = DeadFilter { upto: Some(upto), oldest_first: true, ..DeadFilter::default() };
    assert_eq!(k.store.count_dead(filter.clone()).await.unwrap(), 6);
    let (mut met, mut cursor) = (Vec::new(), None);
    loop {
        let page = k.store.dead_letters(filter.clone(), PageRequest { limit: 2, cursor }).await.unwrap();
        for row in &page.rows {
            met.push(row.job);
            k.retry(row.job).await;
        }
        for claimed in k.claim(10).await {
            k.fail(&claimed, Code::HandlerFailed).await;
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(met, dead[..6]);
    let group = k.dead_of(dead[0]).await.fingerprint;
    let grouped = DeadFilter { group: Some(group), oldest_first: true, ..DeadFilter::default() };
    let offsets: Vec<_> = k.dead(grouped).await.iter().map(|row| row.offset).collect();
    assert!(offsets.is_sorted(), "{offsets:?}");
    k.audit().await;
}

/// Progress is seen in the row, and only its holder can say it.
pub async fn progress_is_said_under_the_lease(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.job()).await;
    let claimed = k.claim_one().await;
    let said = Progress { done: 3, total: Some(10), note: Some("page\n3".into()) };
    assert!(k.store.report_progress(claimed.lease, said.clone()).await.unwrap());
    let seen = Progress { note: Some("page 3".into()), ..said.clone() };
    assert_eq!(k.row(id).await.progress, Some(seen.clone()));
    assert_eq!(
        k.store.jobs(JobFilter::default(), PageRequest::default()).await.unwrap().rows[0].progress,
        Some(seen)
    );
    k.complete(&claimed).await;
    assert!(!k.store.report_progress(claimed.lease, said).await.unwrap());
}

/// A member that still runs may split itself, also in a sealed batch; nobody else may add to it.
pub async fn a_running_member_may_split_itself(h: &dyn Harness) {
    let k = Kit::new(h);
    let (batch, jobs) = k.put_batch(k.new_batch(), vec![k.job()]).await;
    let part = || NewJob { batch: Some(batch), ..k.job() };
    let claimed = k.claim_one().await;
    assert_eq!(claimed.lease.job, jobs[0]);
    let plain = Enqueue::jobs(vec![part()]);
    assert!(matches!(k.store.enqueue(plain).await, Err(StoreError::Invalid(_))), "sealed");
    let split = Enqueue { split: true, ..Enqueue::jobs(vec![part(), part()]) };
    k.enqueue(split.clone()).await;
    k.enqueue(split).await;
    k.complete(&claimed).await;
    let counters = k.batch(batch).await.counters;
    assert_eq!((counters.total, counters.ok), (3, 1), "handed in twice it is still the same jobs");
    for claimed in k.claim(10).await {
        k.complete(&claimed).await;
    }
    assert_eq!(k.batch(batch).await.state, BatchState::Complete);
    let late = Enqueue { split: true, ..Enqueue::jobs(vec![part()]) };
    assert!(matches!(k.store.enqueue(late).await, Err(StoreError::Invalid(_))), "it has ended");
    k.audit().await;
}
