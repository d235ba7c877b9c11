//! Finding dead letters and groups: every filter, every page, and the moves of a group.

use std::collections::BTreeSet;

use redrive_model::group::GroupState;
use redrive_model::limits::MAX_REACH;
use redrive_model::{Code, Offset};
use redrive_store::{
    DeadFilter, DeadState, GroupFilter, GroupRow, NewBatch, NewJob, PageRequest, RetryBy, StoreError,
};

use crate::Harness;
use crate::kit::{Kit, owner, secs, target, workload};

/// Every filter finds what it says and nothing else, alone and together.
/// Also covers: D15.
pub async fn d4_dead_letters_are_found_by_every_filter(h: &dyn Harness) {
    let k = Kit::new(h);
    let invoice = NewJob { owner: Some(owner("ann")), label: Some("Invoice 100%.pdf".into()), ..k.job() };
    let ann = die(&k, invoice, Code::HandlerFailed, "page 1").await;
    k.advance(secs(10)).await;
    let noon = k.now().await;
    let bob =
        die(&k, NewJob { owner: Some(owner("bob")), ..k.job_of("other") }, Code::InvalidMapping, "mapping x")
            .await;
    k.advance(secs(10)).await;
    let later =
        die(&k, NewJob { owner: Some(owner("ann")), ..k.job_on(&["gateway"]) }, Code::Gw4xx, "status 404")
            .await;
    let all = || DeadFilter::default();
    let group = k.store.dead_letter(bob).await.unwrap().unwrap().fingerprint;
    for (filter, expected) in [
        (all(), vec![later, bob, ann]),
        (DeadFilter { code: Some(Code::HandlerFailed), ..all() }, vec![ann]),
        (DeadFilter { code: Some(Code::Gw4xx), ..all() }, vec![later, bob]),
        (DeadFilter { code: Some(Code::InvalidMapping), ..all() }, vec![bob]),
        (DeadFilter { code: Some(Code::GwTimeout), ..all() }, vec![]),
        (DeadFilter { workload: Some(workload("other")), ..all() }, vec![bob]),
        (DeadFilter { workload: Some(workload("nothing")), ..all() }, vec![]),
        (DeadFilter { workload: Some(workload("work")), code: Some(Code::Gw4xx), ..all() }, vec![later]),
        (DeadFilter { workload: Some(workload("work")), since: Some(noon), ..all() }, vec![later]),
        (DeadFilter { workload: Some(workload("work")), upto: Some(bob), ..all() }, vec![ann]),
        (DeadFilter { workload: Some(workload("work")), group: Some(group.clone()), ..all() }, vec![]),
        (DeadFilter { code: Some(Code::Gw4xx), upto: Some(bob), ..all() }, vec![bob]),
        (
            DeadFilter { state: Some(DeadState::Discarded), workload: Some(workload("other")), ..all() },
            vec![],
        ),
        (DeadFilter { group: Some(group.clone()), ..all() }, vec![bob]),
        (DeadFilter { group: Some(group.clone()), state: Some(DeadState::Open), ..all() }, vec![bob]),
        (DeadFilter { owner: Some(owner("ann")), ..all() }, vec![later, ann]),
        (DeadFilter { owner: Some(owner("eve")), ..all() }, vec![]),
        (DeadFilter { since: Some(noon), ..all() }, vec![later, bob]),
        (DeadFilter { until: Some(noon), ..all() }, vec![ann]),
        (DeadFilter { since: Some(noon), until: Some(k.now().await), ..all() }, vec![bob]),
        (
            DeadFilter { owner: Some(owner("ann")), code: Some(Code::Gw4xx), since: Some(noon), ..all() },
            vec![later],
        ),
        (DeadFilter { owner: Some(owner("bob")), workload: Some(workload("work")), ..all() }, vec![]),
        (DeadFilter { target: Some(target("gateway")), ..all() }, vec![later]),
        (DeadFilter { target: Some(target("gate")), ..all() }, vec![]),
        (DeadFilter { text: Some("STATUS 4".into()), ..all() }, vec![later]),
        (DeadFilter { text: Some("invoice 100%.".into()), ..all() }, vec![ann]),
        (DeadFilter { text: Some("1".into()), ..all() }, vec![ann]),
        (DeadFilter { text: Some("%".into()), ..all() }, vec![ann]),
        (DeadFilter { text: Some("a".into()), owner: Some(owner("bob")), ..all() }, vec![bob]),
    ] {
        let found: Vec<Offset> = k.dead(filter.clone()).await.iter().map(|dead| dead.offset).collect();
        assert_eq!(found, expected, "{filter:?}");
        assert_eq!(k.store.count_dead(filter.clone()).await.unwrap(), expected.len() as u64, "{filter:?}");
        let matching = k.store.matching_dead(filter.clone()).await.unwrap();
        let (count, newest) = (expected.len() as u64, expected.first().copied());
        assert_eq!((matching.count, matching.newest), (count, newest), "{filter:?}");
    }
    k.audit().await;
}

/// A member that nobody owns is found, counted and told as its batch's owner's.
pub async fn a_letter_of_a_member_is_its_batchs_owners(h: &dyn Harness) {
    let k = Kit::new(h);
    let batch = NewBatch { owner: Some(owner("ann")), ..k.new_batch() };
    let (_, members) = k.put_batch(batch, vec![k.job()]).await;
    let (_, nobodys) = k.put_batch(k.new_batch(), vec![k.job()]).await;
    for claimed in k.claim(2).await {
        k.fail(&claimed, Code::HandlerFailed).await;
    }
    for (job, whose) in [(members[0], Some(owner("ann"))), (nobodys[0], None)] {
        let letter = k.dead_of(job).await;
        assert_eq!(letter.owner, whose);
        assert_eq!(k.store.dead_letter(letter.offset).await.unwrap().unwrap().owner, whose);
    }
    for (who, expected) in [("ann", vec![members[0]]), ("bob", vec![])] {
        let filter = DeadFilter { owner: Some(owner(who)), ..DeadFilter::default() };
        assert_eq!(k.store.count_dead(filter.clone()).await.unwrap(), expected.len() as u64, "{who}");
        let found = k.dead(filter).await;
        assert!(found.iter().all(|letter| letter.owner == Some(owner(who))));
        assert_eq!(found.iter().map(|letter| letter.job).collect::<Vec<_>>(), expected, "{who}");
    }
    k.audit().await;
}

/// Without a state only open letters are meant; each state finds its own.
pub async fn open_letters_are_meant_unless_a_state_is_said(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_dead(vec![k.job(), k.job(), k.job()]).await;
    let open = k.dead_of(put[0]).await.offset;
    let replayed = k.dead_of(put[1]).await.offset;
    let discarded = k.dead_of(put[2]).await.offset;
    k.retry(put[1]).await;
    k.store.discard(vec![discarded]).await.unwrap();
    let states = [
        (None, open),
        (Some(DeadState::Open), open),
        (Some(DeadState::Replayed), replayed),
        (Some(DeadState::Discarded), discarded),
    ];
    for (state, expected) in states {
        let filter = DeadFilter { state, ..DeadFilter::default() };
        assert_eq!(k.store.count_dead(filter.clone()).await.unwrap(), 1, "{state:?}");
        let found: Vec<Offset> = k.dead(filter).await.iter().map(|dead| dead.offset).collect();
        assert_eq!(found, [expected], "{state:?}");
    }
    k.audit().await;
}

/// What a dry run counts is what the replay then does.
pub async fn d5_the_count_of_a_dry_run_is_the_effect(h: &dyn Harness) {
    let k = Kit::new(h);
    for n in 0..25 {
        let code = if n % 3 == 0 { Code::InvalidMapping } else { Code::HandlerFailed };
        die(&k, k.job(), code, "it does not work").await;
    }
    let filter = DeadFilter { code: Some(Code::Gw4xx), ..DeadFilter::default() };
    let counted = k.store.count_dead(filter.clone()).await.unwrap();
    let jobs: Vec<_> = k.dead(filter.clone()).await.iter().map(|dead| dead.job).collect();
    let replay = Some(k.replay_id());
    let acted = k.store.retry(jobs, RetryBy { replay, ..RetryBy::default() }).await.unwrap();
    assert_eq!((counted, acted.len()), (9, 9));
    assert!(acted.iter().all(|a| *a == redrive_store::Acted::Done));
    assert_eq!(k.store.count_dead(filter).await.unwrap(), 0);
    assert_eq!(k.store.count_dead(DeadFilter::default()).await.unwrap(), 16);
    k.audit().await;
}

/// What matches is counted, and its newest one known, wherever it is: also when more letters died since than a list looks at for one page.
pub async fn the_newest_match_is_known_however_many_others_died_since(h: &dyn Harness) {
    let k = Kit::new(h);
    let none = k.store.matching_dead(DeadFilter::default()).await.unwrap();
    assert_eq!((none.count, none.newest), (0, None));
    let first = die(&k, k.job_of("other"), Code::HandlerFailed, "a").await;
    let second = die(&k, NewJob { owner: Some(owner("ann")), ..k.job_of("other") }, Code::Gw4xx, "b").await;
    // Nobody acts on letters that are closed: a copy is as good as another one.
    let closed = die(&k, k.job(), Code::HandlerFailed, "c").await;
    k.store.discard(vec![closed]).await.unwrap();
    let columns = "job, generation, reason, code, message, attempts, fingerprint, state, at, closed_at, replay_id, previous";
    let doubled = format!(
        "INSERT INTO dead_letters ({columns}) SELECT {columns} FROM dead_letters WHERE state = 'discarded'"
    );
    for _ in 0..=MAX_REACH.ilog2() {
        h.raw(&doubled).await.unwrap();
    }
    let old = || DeadFilter { workload: Some(workload("other")), ..DeadFilter::default() };
    let page = k.store.dead_letters(old(), PageRequest { limit: 1, cursor: None }).await.unwrap();
    assert!(page.rows.is_empty() && page.next.is_some(), "a page does not reach so far: {page:?}");
    for (filter, count, newest) in [
        (old(), 2, Some(second)),
        (DeadFilter { upto: Some(first), ..old() }, 1, Some(first)),
        (DeadFilter { code: Some(Code::HandlerFailed), ..old() }, 1, Some(first)),
        (DeadFilter { owner: Some(owner("ann")), ..DeadFilter::default() }, 1, Some(second)),
        (DeadFilter { text: Some("nothing like it".into()), ..old() }, 0, None),
        (DeadFilter { state: Some(DeadState::Discarded), ..old() }, 0, None),
    ] {
        let found = k.store.matching_dead(filter.clone()).await.unwrap();
        assert_eq!((found.count, found.newest), (count, newest), "{filter:?}");
        assert_eq!(k.store.count_dead(filter).await.unwrap(), count);
    }
    // Whoever follows the cursor comes to them too.
    let (mut rest, mut cursor) = (Vec::new(), page.next);
    while let Some(next) = cursor {
        let page = PageRequest { limit: 9, cursor: Some(next) };
        let page = k.store.dead_letters(old(), page).await.unwrap();
        rest.extend(page.rows.iter().map(|row| row.offset));
        cursor = page.next;
    }
    assert_eq!(rest, [second, first]);
}

/// Pages of dead letters give every one exactly once, newest first, whatever the size and filter.
pub async fn pages_of_dead_letters_give_each_exactly_once(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_dead((0..23).map(|_| k.job()).collect()).await;
    let all: Vec<Offset> = k.dead(DeadFilter::default()).await.iter().map(|dead| dead.offset).collect();
    assert!(all.windows(2).all(|pair| pair[0] > pair[1]), "newest first: {all:?}");
    let group = k.store.dead_letter(all[0]).await.unwrap().unwrap().fingerprint;
    for filter in [DeadFilter::default(), DeadFilter { group: Some(group), ..DeadFilter::default() }] {
        for limit in [1, 7, 23, 24, 1_000_000_000] {
            let (mut seen, mut cursor) = (Vec::new(), None);
            for _ in 0..60 {
                let page = k.store.dead_letters(filter.clone(), PageRequest { limit, cursor }).await.unwrap();
                assert!(page.rows.len() <= limit.min(200));
                seen.extend(page.rows.iter().map(|dead| dead.offset));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!((seen, cursor), (all.clone(), None), "pages of {limit}");
        }
    }
    for cursor in ["", "x", "1;2", "99999999999999999999", "0190c1a2-7b4e-7cc1-9d55-0123456789ab"] {
        let page = PageRequest { limit: 5, cursor: Some(cursor.into()) };
        let answer = k.store.dead_letters(DeadFilter::default(), page).await;
        assert!(matches!(answer, Err(StoreError::Invalid(_))), "{cursor:?}: {answer:?}");
    }
}

/// A group moves by hand only as the table says, and a fault that comes back after `resolved` is `regressed`.
pub async fn a_group_moves_as_its_table_says(h: &dyn Harness) {
    let k = Kit::new(h);
    die(&k, k.job(), Code::HandlerFailed, "it does not work").await;
    let fingerprint = groups(&k, GroupFilter::default()).await[0].fingerprint.clone();
    for &from in GroupState::ALL {
        for &to in GroupState::ALL {
            h.raw(&format!("UPDATE failure_groups SET state = '{from}'")).await.unwrap();
            let moved = k.store.move_group(&fingerprint, to).await.unwrap();
            assert_eq!(moved, from.may_become(to), "{from} -> {to}");
            let now = groups(&k, GroupFilter::default()).await[0].state;
            assert_eq!(now, if moved { to } else { from }, "{from} -> {to}");
        }
    }
    for &from in GroupState::ALL {
        h.raw(&format!("UPDATE failure_groups SET state = '{from}'")).await.unwrap();
        die(&k, k.job(), Code::HandlerFailed, "it does not work").await;
        assert_eq!(
            groups(&k, GroupFilter::default()).await[0].state,
            from.on_failure(),
            "seen again while {from}"
        );
    }
    let unknown = "0123456789abcdef".parse().unwrap();
    assert!(!k.store.move_group(&unknown, GroupState::Resolved).await.unwrap());
    k.audit().await;
}

/// Groups are listed most recently seen first, by state and workload, and page by page each exactly once.
pub async fn groups_are_listed_by_filter_and_page(h: &dyn Harness) {
    let k = Kit::new(h);
    for n in 0..12 {
        let job = if n % 3 == 0 { k.job_of("other") } else { k.job() };
        die(&k, job, Code::HandlerFailed, &format!("fault {}", "abcdefghijkl".split_at(n).1)).await;
        // Some share their instant: the order is total all the same.
        if n % 2 == 0 {
            k.advance(secs(1)).await;
        }
    }
    let all = groups(&k, GroupFilter::default()).await;
    assert_eq!(all.len(), 12);
    assert!(all.windows(2).all(|pair| pair[0].last_seen >= pair[1].last_seen), "{all:#?}");
    for limit in [1, 5, 12, 1_000_000_000] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        for _ in 0..30 {
            let page = k.store.groups(GroupFilter::default(), PageRequest { limit, cursor }).await.unwrap();
            assert!(page.rows.len() <= limit.min(200));
            seen.extend(page.rows);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, all, "pages of {limit}");
    }
    let other = groups(&k, GroupFilter { workload: Some(workload("other")), ..GroupFilter::default() }).await;
    assert_eq!(other.len(), 4);
    assert!(k.store.move_group(&other[1].fingerprint, GroupState::Acknowledged).await.unwrap());
    let one = GroupFilter { fingerprint: Some(other[2].fingerprint.clone()), ..GroupFilter::default() };
    assert_eq!(groups(&k, one).await, [other[2].clone()]);
    let filter = GroupFilter { state: Some(GroupState::Acknowledged), ..GroupFilter::default() };
    let names: BTreeSet<_> = groups(&k, filter).await.into_iter().map(|g| g.fingerprint).collect();
    assert_eq!(names, BTreeSet::from([other[1].fingerprint.clone()]));
    let page = PageRequest { limit: 5, cursor: Some("not a cursor".into()) };
    let answer = k.store.groups(GroupFilter::default(), page).await;
    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    k.audit().await;
}

/// A public code finds the groups of its inner ones too.
pub async fn groups_are_found_by_their_code(h: &dyn Harness) {
    let k = Kit::new(h);
    die(&k, k.job(), Code::HandlerFailed, "a").await;
    die(&k, k.job(), Code::NotPdf, "b").await;
    die(&k, k.job(), Code::InvalidMapping, "c").await;
    for (asked, found) in [
        (Code::HandlerFailed, vec![Code::HandlerFailed]),
        (Code::InvalidMapping, vec![Code::InvalidMapping]),
        (Code::InvalidMapping.public(), vec![Code::InvalidMapping]),
        (Code::GwTimeout, vec![]),
    ] {
        let rows = groups(&k, GroupFilter { code: Some(asked), ..GroupFilter::default() }).await;
        assert_eq!(rows.iter().map(|row| row.code).collect::<Vec<_>>(), found, "{asked:?}");
    }
}

/// Letters are found by when their job was created and by its label or id, in the same way as jobs are.
pub async fn letters_are_found_by_what_lists_of_jobs_know(h: &dyn Harness) {
    let k = Kit::new(h);
    let named = |name: &str| NewJob { label: Some(name.to_owned()), ..k.job() };
    let early =
        die(&k, named("Annual report.pdf"), Code::HandlerFailed, "late.pdf is in the message alone").await;
    k.advance(secs(60)).await;
    let since = k.now().await;
    let late = die(&k, named("LATE.pdf"), Code::HandlerFailed, "x").await;
    let id = k.store.dead_letter(early).await.unwrap().unwrap().job;
    let all = DeadFilter::default;
    for (filter, found) in [
        (DeadFilter { created_since: Some(since), ..all() }, vec![late]),
        (DeadFilter { label: Some("late".into()), ..all() }, vec![late]),
        (DeadFilter { label: Some(".PDF".into()), ..all() }, vec![late, early]),
        (DeadFilter { label: Some(id.to_string().to_uppercase()), ..all() }, vec![early]),
        (DeadFilter { label: Some("%".into()), ..all() }, vec![]),
    ] {
        let rows: Vec<_> = k.dead(filter.clone()).await.into_iter().map(|row| row.offset).collect();
        assert_eq!(rows, found, "{filter:?}");
        assert_eq!(k.store.count_dead(filter).await.unwrap(), found.len() as u64);
    }
}

/// The counts by workload and code are the effect of the same filters, whatever became of letters.
pub async fn what_waits_is_counted_by_workload_and_code(h: &dyn Harness) {
    let k = Kit::new(h);
    assert_eq!(k.store.dead_counts().await.unwrap(), []);
    let first = die(&k, k.job(), Code::HandlerFailed, "a").await;
    die(&k, k.job(), Code::HandlerFailed, "b").await;
    die(&k, k.job(), Code::HandlerFailed, "b").await;
    die(&k, k.job(), Code::NotPdf, "c").await;
    die(&k, k.job_of("other"), Code::HandlerFailed, "a").await;
    k.store.discard(vec![first]).await.unwrap();
    let counts = k.store.dead_counts().await.unwrap();
    let brief: Vec<_> =
        counts.iter().map(|one| (one.workload.as_str(), one.code, one.groups, one.open)).collect();
    let expected = [
        ("other", Code::HandlerFailed, 1, 1),
        ("work", Code::HandlerFailed, 1, 2),
        ("work", Code::NotPdf, 1, 1),
    ];
    assert_eq!(brief, expected);
    for one in counts {
        let filter =
            DeadFilter { workload: Some(one.workload), code: Some(one.code), ..DeadFilter::default() };
        assert_eq!(k.store.count_dead(filter).await.unwrap(), one.open);
    }
}

/// Hands one job in and lets it die; answers its letter's offset.
async fn die(k: &Kit<'_>, job: NewJob, code: Code, message: &str) -> Offset {
    let id = k.put_one(job).await;
    let claimed = k.claim_one().await;
    let finish = k.failure_saying(&claimed, code, message).await;
    k.finish(finish).await;
    k.dead_of(id).await.offset
}

async fn groups(k: &Kit<'_>, filter: GroupFilter) -> Vec<GroupRow> {
    k.store.groups(filter, PageRequest::default()).await.unwrap().rows
}
