//! Lists of jobs: every filter, every page, each row exactly once.

use redrive_model::limits::{MAX_PAGE, MAX_REACH};
use redrive_model::{Code, Done, JobId, Outcome, Shown, State};
use redrive_store::{Claim, DeadFilter, JobFilter, NewJob, PageRequest, StoreError, Want, When};

use crate::Harness;
use crate::audit::all_jobs;
use crate::kit::{Kit, owner, secs, target, workload};

/// Every filter finds what it says and nothing else, alone and together, newest first.
pub async fn jobs_are_found_by_every_filter(h: &dyn Harness) {
    let k = Kit::new(h);
    let morning = k.now().await;
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
        (JobFilter { ended_since: Some(noon), ..all() }, vec![second]),
        (JobFilter { ended_since: Some(morning), ..all() }, vec![second, bob, ann]),
        (JobFilter { ended_since: Some(noon), shown: vec![Shown::Failed], ..all() }, vec![]),
        (
            JobFilter { ended_since: Some(morning), single: true, shown: vec![Shown::Failed], ..all() },
            vec![bob, ann],
        ),
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

/// What a worker holds is found by it, and what it has ended, given back or never had is not.
pub async fn jobs_are_found_by_the_worker_that_holds_them(h: &dyn Harness) {
    let k = Kit::new(h);
    let (_, members) = k.put_batch(k.new_batch(), vec![k.job(), k.job_of("other")]).await;
    k.put_n(3).await;
    let mine = k.claim(4).await;
    let theirs = k.claim_with(Claim { worker: k.worker(2), ..k.ask(1) }).await;
    k.complete(&mine[3]).await;
    let held = |n: u8| JobFilter { worker: Some(k.worker(n)), ..JobFilter::default() };
    let mut expected: Vec<JobId> = mine[..3].iter().map(|claimed| claimed.lease.job).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    for limit in [1, 50] {
        assert_eq!(pages(&k, &held(1), limit).await, expected);
    }
    assert_eq!(pages(&k, &held(2), 50).await, [theirs[0].lease.job]);
    assert_eq!(pages(&k, &held(3), 50).await, []);
    assert_eq!(k.store.count_jobs(held(1)).await.unwrap(), 3);
    for (filter, wanted) in [
        (JobFilter { shown: vec![Shown::Queued], ..held(1) }, vec![]),
        (JobFilter { workload: Some(workload("other")), ..held(1) }, vec![members[1]]),
        (
            JobFilter { single: true, ..held(1) },
            expected.iter().copied().filter(|id| !members.contains(id)).collect(),
        ),
    ] {
        assert_eq!(pages(&k, &filter, 50).await, wanted, "{filter:?}");
    }
    let row = k.row(expected[0]).await;
    assert_eq!(row.leased_by, Some(k.worker(1)));
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
    assert_eq!((stats.waiting_batch, stats.held, stats.processing, stats.capped), (1, 1, 1, false));
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

/// What is rare is found however far away it is, and pages of it are full: nobody turns empty pages to come to the next row.
pub async fn a_page_of_rare_rows_is_full(h: &dyn Harness) {
    let k = Kit::new(h);
    let rare = |n| n % 37 == 0;
    k.put_dead((0..300).map(|n| NewJob { owner: rare(n).then(|| owner("ann")), ..k.job() }).collect()).await;
    for oldest_first in [false, true] {
        let filter = DeadFilter { owner: Some(owner("ann")), oldest_first, ..DeadFilter::default() };
        let (mut seen, mut cursor) = (Vec::new(), None);
        for full in [4, 4, 1] {
            let page = k.store.dead_letters(filter.clone(), PageRequest { limit: 4, cursor }).await.unwrap();
            assert_eq!(page.rows.len(), full, "oldest first: {oldest_first}");
            seen.extend(page.rows.iter().map(|letter| letter.offset));
            cursor = page.next;
        }
        assert_eq!((seen.len(), cursor), (9, None));
        assert!(seen.is_sorted_by(|a, b| (a < b) == oldest_first), "{seen:?}");
    }
    let label = |n| Some(if rare(n) { "a needle.pdf" } else { "hay.pdf" }.to_owned());
    k.put((0..300).map(|n| NewJob { label: label(n), ..k.job() }).collect()).await;
    let filter = JobFilter { text: Some("needle".into()), ..JobFilter::default() };
    for limit in [1, 2, 3, 8] {
        let page = k.store.jobs(filter.clone(), PageRequest { limit, cursor: None }).await.unwrap();
        assert_eq!(page.rows.len(), limit, "pages of {limit}");
        assert_eq!(pages(&k, &filter, limit).await.len(), 9, "pages of {limit}");
    }
}

/// A job is found by its id however many newer ones there are, with and without dashes, and only where the other filters let it through.
pub async fn a_job_is_found_by_its_id_however_old_it_is(h: &dyn Harness) {
    let k = Kit::new(h);
    let old = k.put_one(NewJob { owner: Some(owner("ann")), ..k.job() }).await;
    for _ in 0..MAX_REACH / 1_000 {
        k.put_n(1_000).await;
    }
    let named = |text: String| JobFilter { text: Some(text), ..JobFilter::default() };
    for text in [old.to_string(), old.to_string().to_uppercase(), old.to_string().replace('-', "")] {
        for limit in [1, 50] {
            assert_eq!(pages(&k, &named(text.clone()), limit).await, [old], "{text} in pages of {limit}");
        }
        assert_eq!(k.store.count_jobs(named(text)).await.unwrap(), 1);
    }
    let of = |name: &str| JobFilter { owner: Some(owner(name)), ..named(old.to_string()) };
    assert_eq!(pages(&k, &of("ann"), 50).await, [old]);
    assert!(pages(&k, &of("bob"), 50).await.is_empty());
    // What only looks like an id of ours is a name like any other.
    let label = "0190c1a2-7b4e-7cc1-9d55-0123456789ab";
    let called = k.put_one(NewJob { label: Some(format!("{label}.pdf")), ..k.job() }).await;
    let page = k.store.jobs(named(label.into()), PageRequest { limit: 1, cursor: None }).await.unwrap();
    assert_eq!(page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [called]);
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

/// What was counted is told by its newest job: what comes since is in no page and in no count that go up to that one.
pub async fn what_was_counted_goes_up_to_its_newest_job(h: &dyn Harness) {
    let k = Kit::new(h);
    let of = |name: &str| JobFilter { workload: Some(workload(name)), ..JobFilter::default() };
    let none = k.store.matching_jobs(of("work")).await.unwrap();
    assert_eq!((none.count, none.newest), (0, None));
    let mut counted = k.put_n(7).await;
    k.put_one(k.job_of("other")).await;
    let found = k.store.matching_jobs(of("work")).await.unwrap();
    assert_eq!((found.count, found.newest), (7, counted.last().copied()));
    let later = k.put_n(5).await;
    counted.reverse();
    for shown in [vec![], vec![Shown::Queued], vec![Shown::Queued, Shown::Failed]] {
        let upto = JobFilter { upto: found.newest, shown, ..of("work") };
        for limit in [1, 3, 50] {
            assert_eq!(pages(&k, &upto, limit).await, counted, "{upto:?} in pages of {limit}");
        }
        let again = k.store.matching_jobs(upto.clone()).await.unwrap();
        assert_eq!((again.count, again.newest), (7, found.newest), "{upto:?}");
        // A page that ended before does not begin anew.
        let page = PageRequest { limit: 50, cursor: Some(counted[5].to_string()) };
        let rest = k.store.jobs(upto, page).await.unwrap();
        assert_eq!(rest.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [counted[6]]);
    }
    let all = k.store.matching_jobs(of("work")).await.unwrap();
    assert_eq!((all.count, all.newest), (12, later.last().copied()));
}

/// The engine's own jobs and permanent ones are found at once, whatever became of them and however many others came later.
pub async fn chores_are_found_however_many_other_jobs_there_are(h: &dyn Harness) {
    let k = Kit::new(h);
    let chore = |name: &str| NewJob { chore: true, ..k.job_of(name) };
    let first = k.put_one(chore("redrive.first")).await;
    let keyed = NewJob { dedupe: k.keyed("only one").dedupe, ..chore("redrive.second") };
    let second = k.put_one(keyed).await;
    let wants = vec![Want::new(workload("redrive.first"), 1)];
    for claimed in k.claim_with(Claim { wants, ..k.ask(1) }).await {
        k.complete(&claimed).await;
    }
    for _ in 0..=MAX_REACH / 1_000 {
        k.put_n(1_000).await;
    }
    let chores = || JobFilter { chore: true, ..JobFilter::default() };
    let named = |name: &str| JobFilter { workload: Some(workload(name)), ..chores() };
    for limit in [1, 50] {
        assert_eq!(pages(&k, &chores(), limit).await, [second, first], "in pages of {limit}");
    }
    assert_eq!(pages(&k, &named("redrive.second"), 1).await, [second]);
    assert!(pages(&k, &named("work"), 50).await.is_empty(), "others are none");
    assert_eq!(k.store.count_jobs(chores()).await.unwrap(), 2);
    let ended = JobFilter { shown: vec![Shown::Complete], ..chores() };
    assert_eq!(pages(&k, &ended, 50).await, [first]);
    let page = k.store.jobs(chores(), PageRequest { limit: 50, cursor: None }).await.unwrap();
    assert_eq!((page.rows.len(), page.next), (2, None), "the others are not looked at");
    let plain = JobFilter { workload: Some(workload("redrive.second")), ..JobFilter::default() };
    let page = k.store.jobs(plain, PageRequest { limit: 50, cursor: None }).await.unwrap();
    assert!(page.rows.is_empty() && page.next.is_some(), "a walk over all does not reach so far: {page:?}");
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
