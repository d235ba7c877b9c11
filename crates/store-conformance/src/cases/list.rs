//! Lists of jobs: every filter, every page, each row exactly once.

use redrive_model::limits::MAX_PAGE;
use redrive_model::{Code, Done, JobId, Outcome, Shown, State};
use redrive_store::{JobFilter, NewJob, PageRequest, StoreError, When};

use crate::Harness;
use crate::audit::all_jobs;
use crate::kit::{Kit, owner, secs, target, workload};

/// Every filter finds what it says and nothing else, alone and together, newest first.
pub async fn jobs_are_found_by_every_filter(h: &dyn Harness) {
    let k = Kit::new(h);
    let labelled = |label: &str, job: NewJob| NewJob { label: Some(label.into()), ..job };
    let ann = k.put_one(labelled("Scan 100%.PDF", NewJob { owner: Some(owner("ann")), ..k.job() })).await;
    let bob =
        k.put_one(labelled("Ärger_2.pdf", NewJob { owner: Some(owner("bob")), ..k.job_of("other") })).await;
    let claimed = k.claim(2).await;
    k.fail(&claimed[0], Code::InvalidMapping).await;
    k.fail(&claimed[1], Code::HandlerFailed).await;
    k.advance(secs(10)).await;
    let noon = k.now().await;
    let (batch, members) = k.put_batch(k.new_batch(), vec![labelled("scan.pdf", k.job()), k.job()]).await;
    let (first, second) = (members[0], members[1]);
    k.cancel(second).await;
    let all = || JobFilter::default();
    let text = |text: &str| JobFilter { text: Some(text.into()), ..JobFilter::default() };
    for (filter, expected) in [
        (all(), vec![second, first, bob, ann]),
        (JobFilter { workload: Some(workload("work")), ..all() }, vec![second, first, ann]),
        (JobFilter { workload: Some(workload("nothing")), ..all() }, vec![]),
        (JobFilter { owner: Some(owner("bob")), ..all() }, vec![bob]),
        (JobFilter { owner: Some(owner("eve")), ..all() }, vec![]),
        (JobFilter { shown: vec![Shown::Failed], ..all() }, vec![bob, ann]),
        (JobFilter { shown: vec![Shown::Cancelled], ..all() }, vec![second]),
        (JobFilter { shown: vec![Shown::Queued], ..all() }, vec![first]),
        (JobFilter { shown: vec![Shown::Partial], ..all() }, vec![]),
        (JobFilter { code: Some(Code::Gw4xx), ..all() }, vec![ann]),
        (JobFilter { code: Some(Code::InvalidMapping), ..all() }, vec![ann]),
        (JobFilter { code: Some(Code::GwTimeout), ..all() }, vec![]),
        (JobFilter { code: Some(Code::HandlerFailed), shown: vec![Shown::Queued], ..all() }, vec![]),
        (JobFilter { batch: Some(batch), ..all() }, vec![second, first]),
        (JobFilter { batch: Some(batch), shown: vec![Shown::Cancelled], ..all() }, vec![second]),
        (JobFilter { batch: Some(k.batch_id()), ..all() }, vec![]),
        (JobFilter { single: true, ..all() }, vec![bob, ann]),
        (JobFilter { single: true, batch: Some(batch), ..all() }, vec![]),
        (JobFilter { single: true, shown: vec![Shown::Failed], ..all() }, vec![bob, ann]),
        (JobFilter { single: true, shown: vec![Shown::Cancelled], ..all() }, vec![]),
        (JobFilter { single: true, shown: vec![Shown::Failed, Shown::Cancelled], ..all() }, vec![bob, ann]),
        (JobFilter { single: true, shown: vec![Shown::Queued], ..all() }, vec![]),
        (JobFilter { single: true, code: Some(Code::InvalidMapping), ..all() }, vec![ann]),
        (JobFilter { single: true, owner: Some(owner("ann")), ..all() }, vec![ann]),
        (JobFilter { single: true, ..text("scan") }, vec![ann]),
        (JobFilter { since: Some(noon), ..all() }, vec![second, first]),
        (JobFilter { owner: Some(owner("ann")), since: Some(noon), ..all() }, vec![]),
        (JobFilter { owner: Some(owner("ann")), shown: vec![Shown::Failed], ..all() }, vec![ann]),
        (text("scan"), vec![first, ann]),
        (text("SCAN"), vec![first, ann]),
        (text("100%"), vec![ann]),
        (text("%"), vec![ann]),
        (text("_"), vec![bob]),
        (text("Ärger"), vec![bob]),
        (text("'; DROP TABLE jobs; --"), vec![]),
        (text(&ann.to_string()), vec![ann]),
        (text(&ann.to_string().to_uppercase()), vec![ann]),
        (JobFilter { workload: Some(workload("work")), ..text("scan") }, vec![first, ann]),
        (JobFilter { owner: Some(owner("ann")), ..text("scan") }, vec![ann]),
    ] {
        let found: Vec<JobId> = all_jobs(&*k.store, filter.clone()).await.iter().map(|row| row.id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    k.audit().await;
}

/// What is in no batch stands on the first page, whatever it is asked for by, however many members came later.
pub async fn members_hide_no_job_that_is_in_no_batch(h: &dyn Harness) {
    let k = Kit::new(h);
    let failed = k.put_one(k.job()).await;
    k.fail(&k.claim_one().await, Code::HandlerFailed).await;
    let single = k.put_one(k.job()).await;
    for _ in 0..3 {
        k.put_batch(k.new_batch(), (0..7_000).map(|_| k.job()).collect()).await;
    }
    let first = async |shown: Vec<Shown>, code| {
        let filter = JobFilter { single: true, shown, code, ..JobFilter::default() };
        let page = k.store.jobs(filter, PageRequest { limit: 50, cursor: None }).await.unwrap();
        (page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), page.next)
    };
    assert_eq!(first(vec![], None).await, (vec![single, failed], None));
    assert_eq!(first(vec![Shown::Queued], None).await, (vec![single], None));
    assert_eq!(first(vec![Shown::Failed, Shown::Queued], None).await, (vec![single, failed], None));
    assert_eq!(first(vec![], Some(Code::HandlerFailed)).await, (vec![failed], None));
}

/// Each shown state finds exactly the jobs that look like it.
pub async fn each_shown_state_finds_its_own(h: &dyn Harness) {
    let k = Kit::new(h);
    let by_state = one_of_each_shown_state(&k).await;
    for &shown in Shown::ALL {
        let expected: Vec<JobId> = by_state.iter().filter(|(s, _)| *s == shown).map(|(_, id)| *id).collect();
        let filter = JobFilter { shown: vec![shown], ..JobFilter::default() };
        let rows = all_jobs(&*k.store, filter).await;
        assert!(rows.iter().all(|row| row.shown == shown), "{rows:#?}");
        assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), expected, "{shown}");
        for id in expected {
            assert_eq!(k.row(id).await.shown, shown);
        }
    }
    k.audit().await;
}

/// Several shown states find the jobs of each, newest first, in pages of any size.
pub async fn several_shown_states_find_the_jobs_of_each(h: &dyn Harness) {
    let k = Kit::new(h);
    let by_state = one_of_each_shown_state(&k).await;
    let mut sets: Vec<Vec<Shown>> = vec![Shown::ALL.to_vec(), vec![Shown::Failed; 3]];
    for (n, &one) in Shown::ALL.iter().enumerate() {
        sets.extend(Shown::ALL.iter().skip(n + 1).map(|&other| vec![other, one]));
        sets.push(Shown::ALL.iter().copied().filter(|&shown| shown != one).collect());
    }
    for shown in sets {
        let expected: Vec<JobId> =
            by_state.iter().filter(|(one, _)| shown.contains(one)).map(|(_, id)| *id).collect();
        let filter = JobFilter { shown, ..JobFilter::default() };
        for limit in [1, 50] {
            assert_eq!(pages(&k, &filter, limit).await, expected, "{filter:?} in pages of {limit}");
        }
    }
    k.audit().await;
}

/// The queue's numbers are the numbers of the shown states, and the oldest job that could run says how long it waits.
pub async fn the_queue_counts_every_way_of_waiting(h: &dyn Harness) {
    let k = Kit::new(h);
    let empty = k.store.queue().await.unwrap();
    assert_eq!(empty, redrive_store::QueueStats::default());
    one_of_each_shown_state(&k).await;
    let stats = k.store.queue().await.unwrap();
    assert_eq!((stats.ready, stats.waiting_retry, stats.scheduled), (1, 2, 1));
    assert_eq!((stats.held, stats.processing, stats.capped), (1, 1, false));
    let age = stats.oldest_age.unwrap();
    k.advance(secs(5)).await;
    assert_eq!(k.store.queue().await.unwrap().oldest_age, Some(age + secs(5)));
    let counts = k.store.counts().await.unwrap();
    for (state, jobs) in
        [(State::Queued, 6), (State::Processing, 1), (State::Complete, 1), (State::Failed, 1)]
    {
        assert_eq!(counts.total(state), jobs, "{state}: {counts:#?}");
    }
    k.audit().await;
}

/// Pages give every row exactly once, newest first, whatever the size, also while new jobs come in.
pub async fn pages_give_every_job_exactly_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let jobs = (0..53).map(|n| NewJob { owner: (n % 2 == 0).then(|| owner("ann")), ..k.job() });
    let mut all = k.put(jobs.collect()).await;
    all.reverse();
    let anns: Vec<JobId> = all.iter().copied().step_by(2).collect();
    for (filter, expected) in [
        (JobFilter::default(), &all),
        (JobFilter { owner: Some(owner("ann")), ..JobFilter::default() }, &anns),
        (JobFilter { shown: vec![Shown::Queued], ..JobFilter::default() }, &all),
    ] {
        for limit in [1, 10, 27, 53, 1_000_000_000] {
            let seen = pages(&k, &filter, limit).await;
            assert_eq!(&seen, expected, "{filter:?} in pages of {limit}");
        }
    }
    // Without a limit a page has fifty.
    let page = k.store.jobs(JobFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!((page.rows.len(), page.next.is_some()), (50, true));
    // New jobs are newer: a reader in the middle neither meets them nor loses anything.
    let new = k.put_n(10).await;
    let rest =
        k.store.jobs(JobFilter::default(), PageRequest { limit: 50, cursor: page.next }).await.unwrap();
    assert!(rest.rows.iter().all(|row| !new.contains(&row.id)) && rest.rows.len() == 3);
    k.audit().await;
}

/// However much is asked for, a page is bounded; a cursor that is not ours is refused.
pub async fn a_page_is_bounded_and_its_cursor_checked(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(MAX_PAGE + 5).await;
    let page = PageRequest { limit: 1_000_000_000, cursor: None };
    let page = k.store.jobs(JobFilter::default(), page).await.unwrap();
    assert_eq!((page.rows.len(), page.next.is_some()), (MAX_PAGE, true));
    for cursor in ["", "7", "' OR 1=1 --", "0190c1a2", "not a cursor\0"] {
        let page = PageRequest { limit: 5, cursor: Some(cursor.into()) };
        let answer = k.store.jobs(JobFilter::default(), page).await;
        assert!(matches!(answer, Err(StoreError::Invalid(_))), "{cursor:?}: {answer:?}");
    }
}

/// Lists and counts are by workload and targets, whatever the priority, and only where something waits or runs.
pub async fn counts_are_by_workload_and_targets(h: &dyn Harness) {
    let k = Kit::new(h);
    for priority in [0, 5, 9] {
        k.put_one(NewJob { priority, ..k.job_on(&["gateway"]) }).await;
    }
    k.put(vec![k.job_on(&["disk", "gateway"]), k.job(), k.job_of("other")]).await;
    k.claim(2).await;
    let counts = k.store.counts().await.unwrap();
    let lane = |name: &str, key: &str| {
        let lanes: Vec<_> =
            counts.lanes.iter().filter(|l| l.workload.as_str() == name && l.targets.key() == key).collect();
        assert_eq!(lanes.len(), 1, "{name} {key}: {counts:#?}");
        (lanes[0].queued, lanes[0].processing)
    };
    assert_eq!(lane("work", "gateway"), (1, 2));
    assert_eq!((lane("work", ""), lane("work", "disk,gateway"), lane("other", "")), ((1, 0), (1, 0), (1, 0)));
    for claimed in k.claim(9).await {
        k.complete(&claimed).await;
    }
    for claimed in k.store.leases_of(k.worker(1)).await.unwrap() {
        k.complete(&claimed).await;
    }
    assert_eq!(k.store.counts().await.unwrap().lanes, []);
    k.audit().await;
}

/// Walks all pages of a filter.
async fn pages(k: &Kit<'_>, filter: &JobFilter, limit: usize) -> Vec<JobId> {
    let (mut seen, mut cursor) = (Vec::new(), None);
    for _ in 0..100 {
        let page = k.store.jobs(filter.clone(), PageRequest { limit, cursor }).await.unwrap();
        assert!(page.rows.len() <= limit.min(MAX_PAGE));
        seen.extend(page.rows.iter().map(|row| row.id));
        cursor = page.next;
        if cursor.is_none() {
            return seen;
        }
    }
    panic!("there is always another page of {limit}: {filter:?}");
}

/// At least one job in every shown state that a job can have, newest first.
async fn one_of_each_shown_state(k: &Kit<'_>) -> Vec<(Shown, JobId)> {
    let mut made = Vec::new();
    made.push((Shown::Failed, k.put_dead(vec![k.job()]).await[0]));
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    made.push((Shown::Complete, id));
    let id = k.put_n(1).await[0];
    k.cancel(id).await;
    made.push((Shown::Cancelled, id));
    // Tried and charged; tried and given back: both wait as retries.
    made.push((Shown::WaitingRetry, k.put_n(1).await[0]));
    let claimed = k.claim_one().await;
    k.fail(&claimed, Code::GwTimeout).await;
    made.push((Shown::WaitingRetry, k.put_n(1).await[0]));
    let claimed = k.claim_one().await;
    k.end(&claimed, Outcome::Done(Done::Snooze(secs(3_600)))).await;
    made.push((Shown::WaitingBatch, k.put_n(1).await[0]));
    let claimed = k.claim_one().await;
    let new = k.new_batch();
    let batch = new.id;
    k.enqueue(redrive_store::Enqueue { open: vec![new], ..Default::default() }).await;
    k.end(&claimed, Outcome::Done(Done::AwaitBatch(batch))).await;
    made.push((Shown::Processing, k.put_n(1).await[0]));
    k.claim_one().await;
    made.push((Shown::Scheduled, k.put_one(NewJob { when: When::In(secs(3_600)), ..k.job() }).await));
    made.push((Shown::Held, k.put_one(k.job_on(&["gateway"])).await));
    k.open_breaker("gateway", secs(30)).await;
    made.push((Shown::Queued, k.put_n(1).await[0]));
    k.store.reschedule(vec![made[3].1], k.later(secs(3_600)).await).await.unwrap();
    made.reverse();
    made
}

/// The count of a filter is the number of rows that its pages have, for every filter.
pub async fn the_count_of_a_filter_is_what_its_pages_have(h: &dyn Harness) {
    let k = Kit::new(h);
    let named = |name: &str, job: NewJob| NewJob { label: Some(name.to_owned()), ..job };
    k.put(vec![named("a.pdf", k.job()), named("b.pdf", k.job_of("other")), k.job_on(&["gateway"])]).await;
    k.put_batch(k.new_batch(), vec![k.job(), k.job()]).await;
    k.put_dead(vec![k.job()]).await;
    k.advance(secs(60)).await;
    let since = k.now().await;
    let late = k.put(vec![named("A late one.pdf", k.job())]).await;
    k.open_breaker("gateway", secs(30)).await;
    let all = JobFilter::default;
    let filters = [
        (all(), None),
        (JobFilter { workload: Some(workload("work")), ..all() }, None),
        (JobFilter { single: true, ..all() }, None),
        (JobFilter { shown: vec![Shown::Held], ..all() }, Some(1)),
        (JobFilter { shown: vec![Shown::Queued, Shown::Failed], ..all() }, None),
        (JobFilter { since: Some(since), ..all() }, Some(1)),
        (JobFilter { text: Some("PDF".into()), ..all() }, Some(3)),
        (JobFilter { text: Some(late[0].to_string()), ..all() }, Some(1)),
        (JobFilter { code: Some(Code::HandlerFailed), ..all() }, None),
        (JobFilter { target: Some(target("gateway")), ..all() }, Some(1)),
        (JobFilter { text: Some("nothing like it".into()), ..all() }, Some(0)),
    ];
    for (filter, expected) in filters {
        let rows = all_jobs(&*k.store, filter.clone()).await.len() as u64;
        assert_eq!(k.store.count_jobs(filter.clone()).await.unwrap(), rows, "{filter:?}");
        assert!(expected.is_none_or(|n| n == rows), "{filter:?}: {rows}");
    }
}
