//! Dead letters and groups: nothing that failed is without one, nothing that lives has an open one.

use std::collections::{BTreeMap, HashMap};

use redrive_model::{JobId, Offset, State};
use redrive_store::{
    DeadFilter, DeadRow, DeadState, EventKind, GroupFilter, GroupRow, JobRow, PageRequest, Store,
};

use super::Audit;

pub(super) async fn check(audit: Audit, store: &dyn Store, rows: &[JobRow]) {
    let mut all: BTreeMap<Offset, DeadRow> = BTreeMap::new();
    for state in [DeadState::Open, DeadState::Replayed, DeadState::Discarded] {
        let filter = DeadFilter { state: Some(state), ..DeadFilter::default() };
        let found = letters(store, filter.clone()).await;
        assert_eq!(
            store.count_dead(filter).await.unwrap(),
            found.len() as u64,
            "{state:?}: the count is the list"
        );
        for dead in found {
            assert_eq!(dead.state, state, "{dead:#?}");
            assert_eq!(
                dead.closed_at.is_some(),
                state != DeadState::Open,
                "closed exactly when not open: {dead:#?}"
            );
            assert_eq!(
                store.dead_letter(dead.offset).await.unwrap().as_ref(),
                Some(&dead),
                "one row is one row"
            );
            all.insert(dead.offset, dead);
        }
    }
    lineage(&all);
    for row in rows {
        let mine: Vec<&DeadRow> = all.values().filter(|dead| dead.job == row.id).collect();
        one_of_the_generation(audit, store, row, &mine).await;
    }
    let known = rows.iter().map(|row| row.id).collect::<std::collections::HashSet<_>>();
    assert!(all.values().all(|dead| known.contains(&dead.job)), "a dead letter without its job: {all:#?}");
    groups(store, &all).await;
}

async fn letters(store: &dyn Store, filter: DeadFilter) -> Vec<DeadRow> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.dead_letters(filter.clone(), PageRequest { limit: 200, cursor }).await.unwrap();
        all.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}

/// I10: a failed job that was ever queued has exactly one letter of this generation; nobody else has an open one.
async fn one_of_the_generation(audit: Audit, store: &dyn Store, row: &JobRow, mine: &[&DeadRow]) {
    let open = mine.iter().filter(|dead| dead.state == DeadState::Open).count();
    let current: Vec<_> = mine.iter().filter(|dead| dead.generation == row.generation).collect();
    if row.state != State::Failed {
        assert_eq!(open, 0, "{row:#?} did not fail and has an open dead letter: {mine:#?}");
        return;
    }
    if audit.events && !was_queued(store, row.id).await {
        assert!(mine.is_empty(), "{row:#?} was refused at the door and has a dead letter: {mine:#?}");
        return;
    }
    if !audit.events && mine.is_empty() {
        return;
    }
    assert_eq!(current.len(), 1, "exactly one dead letter of the generation that failed: {row:#?} {mine:#?}");
    assert_eq!(open, usize::from(current[0].state == DeadState::Open), "an old letter is open: {mine:#?}");
    assert_ne!(
        current[0].state,
        DeadState::Replayed,
        "it was replayed and is still failed: {row:#?} {mine:#?}"
    );
    assert_eq!(Some(current[0].code), row.failure_code, "letter and row disagree: {row:#?} {mine:#?}");
    assert_eq!(current[0].attempts, row.attempt, "letter and row disagree: {row:#?} {mine:#?}");
    let whose = match (&row.owner, row.batch) {
        (None, Some(batch)) => store.batch(batch).await.unwrap().and_then(|batch| batch.owner),
        (owner, _) => owner.clone(),
    };
    assert_eq!((&current[0].workload, &current[0].owner), (&row.workload, &whose), "{mine:#?}");
}

async fn was_queued(store: &dyn Store, id: JobId) -> bool {
    store.job_events(id).await.unwrap().iter().any(|event| event.kind == EventKind::Queued)
}

/// Each letter points at the one before of the same job.
fn lineage(all: &BTreeMap<Offset, DeadRow>) {
    let mut newest: HashMap<JobId, (Offset, u32)> = HashMap::new();
    for (offset, dead) in all {
        let before = newest.insert(dead.job, (*offset, dead.generation));
        assert_eq!(dead.previous, before.map(|(offset, _)| offset), "the letter before: {dead:#?}");
        assert!(
            before.is_none_or(|(_, generation)| generation < dead.generation),
            "{dead:#?} after {before:?}"
        );
    }
}

async fn groups(store: &dyn Store, all: &BTreeMap<Offset, DeadRow>) {
    let groups = all_groups(store).await;
    for group in &groups {
        let of_group = |dead: &&DeadRow| dead.fingerprint == group.fingerprint;
        let open = all.values().filter(of_group).filter(|dead| dead.state == DeadState::Open).count() as u64;
        assert_eq!(group.open, open, "the open letters of {group:#?}: {all:#?}");
        assert!(
            group.failures >= all.values().filter(of_group).count() as u64 || group.failures >= open,
            "{group:#?}"
        );
        let filter = DeadFilter {
            group: Some(group.fingerprint.clone()),
            state: Some(DeadState::Open),
            ..Default::default()
        };
        assert_eq!(store.count_dead(filter.clone()).await.unwrap(), open, "{group:#?}");
        assert_eq!(letters(store, filter).await.len() as u64, open, "{group:#?}");
        assert!(group.first_seen <= group.last_seen, "{group:#?}");
    }
    for dead in all.values() {
        let group = groups.iter().find(|group| group.fingerprint == dead.fingerprint);
        let group = group.unwrap_or_else(|| panic!("{dead:#?} has no group"));
        assert_eq!((&group.workload, group.code), (&dead.workload, dead.code), "{group:#?} {dead:#?}");
    }
}

/// All groups, page by page.
async fn all_groups(store: &dyn Store) -> Vec<GroupRow> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.groups(GroupFilter::default(), PageRequest { limit: 200, cursor }).await.unwrap();
        all.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}
