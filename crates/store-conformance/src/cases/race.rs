//! Many at once: each job runs once, whoever asks.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;
use redrive_model::{JobId, State};
use redrive_store::{Claim, Enqueue, NewJob, Store};

use crate::Harness;
use crate::kit::{Kit, ids};

/// Two workers on two handles claim until nothing is left: of 2,000 jobs each runs once.
pub async fn c5_two_workers_run_each_of_two_thousand_jobs_once(h: &dyn Harness) {
    each_runs_once(h, 2_000).await;
    Kit::new(h).audit().await;
}

/// The law of C5, for any number of jobs: two handles with three claimers each.
pub(super) async fn each_runs_once(h: &dyn Harness, jobs: usize) {
    let k = Kit::new(h);
    let mut put = Vec::with_capacity(jobs);
    while put.len() < jobs {
        let part = (jobs - put.len()).min(10_000);
        put.extend(k.put((0..part).map(|_| k.job()).collect()).await);
    }
    let handles = [h.store(), h.second().await];
    let claimers = (0..6u8).map(|n| drain(h, handles[usize::from(n % 2)].clone(), n));
    let mut runs: HashMap<JobId, usize> = HashMap::new();
    for ran in join_all(claimers).await {
        for id in ran {
            *runs.entry(id).or_default() += 1;
        }
    }
    assert_eq!(runs.len(), jobs, "every job ran");
    let twice: Vec<_> = runs.iter().filter(|(_, n)| **n != 1).collect();
    assert!(twice.is_empty(), "these ran more than once: {twice:?}");
    assert!(put.iter().all(|id| runs.contains_key(id)));
    assert_eq!(k.store.counts().await.unwrap().total(State::Complete), jobs as u64);
}

/// Claims and completes until a claim comes back empty.
async fn drain(h: &dyn Harness, store: Arc<dyn Store>, n: u8) -> Vec<JobId> {
    let k = Kit::on(h, store.clone());
    let mut ran = Vec::new();
    loop {
        let claimed = store.claim(Claim { worker: k.worker(n), ..k.ask(25) }).await.unwrap();
        if claimed.is_empty() {
            return ran;
        }
        let mut finishes = Vec::new();
        for one in &claimed {
            finishes.push(k.completion(one).await);
        }
        let answers = store.finish(finishes).await.unwrap();
        assert!(
            answers.iter().all(|a| *a == redrive_store::Finished::Recorded(State::Complete)),
            "{answers:?}"
        );
        ran.extend(ids(&claimed));
    }
}

/// Claims at the same moment skip what the others are taking, and each still fills its batch.
pub async fn c6_claims_at_once_skip_each_others_rows_and_fill_their_batches(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(1_000).await;
    let handles = [h.store(), h.second().await];
    let claims = (0..16u8).map(|n| {
        let claim = Claim { worker: k.worker(n), ..k.ask(25) };
        let store = handles[usize::from(n % 2)].clone();
        async move { store.claim(claim).await.unwrap() }
    });
    let got = join_all(claims).await;
    assert!(
        got.iter().all(|claimed| claimed.len() == 25),
        "{:?}",
        got.iter().map(Vec::len).collect::<Vec<_>>()
    );
    let mut all: Vec<JobId> = got.iter().flat_map(|claimed| ids(claimed)).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 400, "no job is in two hands");
}

/// Counts stay exact while everything moves: at no moment is a job counted twice or not at all.
pub async fn counts_add_up_while_jobs_move(h: &dyn Harness) {
    const JOBS: u64 = 1_500;
    let k = Kit::new(h);
    k.put_n(JOBS as usize).await;
    let second = h.second().await;
    let watch = || async {
        loop {
            let counts = second.counts().await.unwrap();
            let total: u64 = counts.states.iter().map(|c| c.jobs).sum();
            assert_eq!(total, JOBS, "{counts:#?}");
            if counts.total(State::Complete) == JOBS {
                return;
            }
        }
    };
    let work = drain(h, h.store(), 1);
    let ((), (), (), ran) = futures::join!(watch(), watch(), watch(), work);
    assert_eq!(ran.len() as u64, JOBS);
}

/// Producers and consumers at once: nothing is lost between them.
pub async fn jobs_handed_in_while_others_are_claimed_are_not_lost(h: &dyn Harness) {
    let k = Kit::new(h);
    let second = h.second().await;
    let jobs: Vec<Vec<NewJob>> = (0..40).map(|_| (0..5).map(|_| k.job()).collect()).collect();
    let producers = join_all(jobs.into_iter().map(|jobs| {
        let store = second.clone();
        async move { store.enqueue(Enqueue::jobs(jobs)).await.unwrap() }
    }));
    let (_, a, b) = futures::join!(producers, drain(h, h.store(), 1), drain(h, second.clone(), 2));
    let rest = drain(h, h.store(), 3).await;
    assert_eq!(a.len() + b.len() + rest.len(), 200);
    k.audit().await;
}
