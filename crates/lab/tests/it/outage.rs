//! Rows 21 and 22: the database cannot be reached for longer than a lease, by a word or without one.

use redrive_lab::proxy::Proxy;
use redrive_lab::worker::{SWEEP, TTL, Tick, Write};
use redrive_model::State;

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

/// Row 21: connections are refused.
///
/// Also covers: M21.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn side_effects_stop_before_the_lease_when_the_database_is_gone() {
    outage(Proxy::cut).await;
}

/// Row 22: nothing is refused and nothing is answered.
///
/// Also covers: M22.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn side_effects_stop_before_the_lease_when_the_database_is_silent() {
    outage(Proxy::silence).await;
}

async fn outage(begins: impl Fn(&Proxy)) {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let (proxy, wire) = database.through_proxy().await;
    let mut workers = [Process::start(&folder, &wire).await, Process::start(&folder, &wire).await];
    let job = |polite| Tick { ledger: folder.ledger(), gate: folder.file("gate"), polite };
    let jobs = database.enqueue_many(&(0..10).map(|n| job(n % 2 == 0)).collect::<Vec<_>>()).await;
    for job in &jobs {
        eventually("all to run", async || folder.said(*job, "tick").first().map(drop)).await;
    }
    // The leases have been extended at least once: the workers are in their usual pace.
    let first = database.now().await;
    for job in &jobs {
        let later = redrive_model::instant::after(first, TTL + TTL / 4);
        database.until_row(*job, "kept", |row| row.lease_expires_at >= Some(later)).await;
    }
    begins(&proxy);
    database.passes(TTL + SWEEP * 2).await;
    for job in &jobs {
        let row = database.row(*job).await;
        assert_eq!((row.state, row.token.0), (State::Processing, 1), "nobody could write: {row:#?}");
        let ends = row.lease_expires_at.unwrap();
        let last = folder.said(*job, "tick").into_iter().max_by_key(|line| line.at).unwrap();
        assert!(last.at < ends, "a side effect at {} under a lease that ended at {ends}", last.at);
    }
    proxy.heal().await.unwrap();
    folder.open("gate");
    for job in &jobs {
        let row = database.until(*job, State::Complete).await;
        assert_eq!(row.crashes, 0, "an outage is nobody's crash: {row:#?}");
        // A claim that was on its way may have taken it once more, for nobody.
        assert!((2..=3).contains(&row.attempt), "{row:#?}");
    }
    // They are back in their pace: what takes several beats is not doubted again.
    let slow = Write { ledger: folder.ledger(), ms: 1_500, ..Write::default() };
    let slow = database.enqueue_many(&vec![slow; 4]).await;
    for job in &slow {
        let row = database.until(*job, State::Complete).await;
        assert_eq!((row.attempt, row.crashes), (1, 0), "{row:#?}");
    }
    for worker in &mut workers {
        assert!(worker.runs(), "a worker has not survived: {}", worker.said());
    }
    for worker in workers {
        worker.drain().await;
    }
    audit(&database, &folder, &[jobs, slow].concat()).await;
}
