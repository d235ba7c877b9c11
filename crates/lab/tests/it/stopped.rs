//! Rows 8 and 10: a worker sleeps for longer than its lease, and does not know it when it wakes.

use redrive::JobId;
use redrive::store::JobRow;
use redrive_lab::worker::Write;
use redrive_model::State;

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

/// A worker that has a job and is stopped, and another one that gets the job after the lease.
struct Zombie {
    folder: Folder,
    database: Database,
    asleep: Process,
    other: Process,
    job: JobId,
}

impl Zombie {
    /// Its attempt waits for the file `zombie`, the other's for the file `gate`.
    async fn stop(job: Write) -> Self {
        let (folder, database) = (Folder::new(), Database::postgres().await);
        let asleep = Process::start(&folder, &database.url).await;
        let job = Write {
            ledger: folder.ledger(),
            gate: Some(folder.file("gate")),
            first_gate: Some(folder.file("zombie")),
            ..job
        };
        let job = database.enqueue(&job).await;
        folder.started(job, 1).await;
        let first = database.row(job).await.lease_expires_at;
        let row = database.until_row(job, "extended", |row| row.lease_expires_at > first).await;
        asleep.signal("-STOP");
        let stopped = database.row(job).await.lease_expires_at;
        let workers = database.store().workers().await.unwrap();
        let holder = workers.iter().find(|worker| Some(worker.id) == row.leased_by).unwrap();
        assert!(Some(holder.alive_until) <= stopped, "it would look alive when its lease has run out");
        let other = Process::start(&folder, &database.url).await;
        assert_eq!(folder.started(job, 2).await.pid, other.pid());
        Self { folder, database, asleep, other, job }
    }

    /// It wakes in the middle of its attempt, ends it, and says how it ended: too late. Only the end of the lease may move
    /// meanwhile, because its holder keeps it.
    async fn wake(&self, before: &JobRow) {
        self.folder.open("zombie");
        self.asleep.signal("-CONT");
        let same = |row: JobRow| JobRow { lease_expires_at: before.lease_expires_at, ..row } == *before;
        let refused = async || {
            assert!(same(self.database.row(self.job).await), "the zombie has changed the job");
            let attempts = self.database.attempts(self.job).await;
            attempts.first().is_some_and(|attempt| attempt.late.is_some()).then_some(())
        };
        eventually("the zombie's late word", refused).await;
        assert!(same(self.database.row(self.job).await), "the zombie has changed the job");
        assert_eq!(self.folder.said(self.job, "wrote").iter().filter(|line| line.token == 1).count(), 1);
    }

    async fn end(self) {
        self.asleep.drain().await;
        self.other.drain().await;
        audit(&self.database, &self.folder, &[self.job]).await;
    }
}

/// Row 8.
///
/// Also covers: M8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_zombies_completion_changes_nothing() {
    let zombie = Zombie::stop(Write::default()).await;
    zombie.folder.open("gate");
    let before = zombie.database.until(zombie.job, State::Complete).await;
    assert_eq!((before.result.as_deref(), before.attempt, before.crashes), (Some("2"), 2, 1));
    zombie.wake(&before).await;
    assert_eq!(zombie.database.outcomes(zombie.job).await, ["reclaimed", "complete"]);
    zombie.end().await;
}

/// Row 10: the job runs elsewhere while the zombie says that it failed, and that it wants to keep its lease.
///
/// Also covers: M10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_zombies_failure_and_heartbeat_change_nothing() {
    let zombie = Zombie::stop(Write { first_fails: true, ..Write::default() }).await;
    let before = zombie.database.row(zombie.job).await;
    assert_eq!((before.state, before.attempt, before.token.0), (State::Processing, 2, 2));
    zombie.wake(&before).await;
    zombie.folder.open("gate");
    let row = zombie.database.until(zombie.job, State::Complete).await;
    assert_eq!((row.result.as_deref(), row.attempt), (Some("2"), 2));
    assert_eq!(zombie.database.outcomes(zombie.job).await, ["reclaimed", "complete"]);
    zombie.end().await;
}
