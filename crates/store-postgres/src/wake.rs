//! Hints that work may be ready: at once inside the process, by NOTIFY across processes, and never more often than
//! necessary. Polling stays the truth; a lost hint costs only time.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{PgConnection, PgPool};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// After a hint to the other processes the next one waits this long: a NOTIFY in every commit would undo group commit.
const QUIET: Duration = Duration::from_millis(10);

/// Sends and receives hints.
#[derive(Debug)]
pub(crate) struct Wake {
    local: Arc<Notify>,
    outgoing: Arc<Notify>,
    channel: String,
    tasks: Vec<JoinHandle<()>>,
}

impl Wake {
    pub(crate) fn start(pool: PgPool, connect: PgConnectOptions, schema: &str) -> Self {
        let (local, outgoing) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let channel = format!("{schema}_wake");
        let tasks = vec![
            tokio::spawn(send(pool, outgoing.clone(), channel.clone())),
            tokio::spawn(listen(connect, local.clone(), channel.clone())),
        ];
        Self { local, outgoing, channel, tasks }
    }

    /// Something may have become ready.
    pub(crate) fn hint(&self) {
        wake(&self.local);
        self.outgoing.notify_one();
    }

    /// The same when a transaction of somebody else's commits.
    pub(crate) async fn hint_in(&self, tx: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query("SELECT pg_notify($1, '')").bind(&self.channel).execute(tx).await.map(drop)
    }

    /// Waits for a hint, at most so long.
    pub(crate) async fn wait(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.local.notified()).await;
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Wakes whoever waits; when nobody does, the next one to wait does not have to.
fn wake(notify: &Notify) {
    notify.notify_waiters();
    notify.notify_one();
}

async fn send(pool: PgPool, outgoing: Arc<Notify>, channel: String) {
    loop {
        outgoing.notified().await;
        let _ = sqlx::query("SELECT pg_notify($1, '')").bind(&channel).execute(&pool).await;
        tokio::time::sleep(QUIET).await;
    }
}

async fn listen(connect: PgConnectOptions, local: Arc<Notify>, channel: String) {
    let mut tries = 0;
    loop {
        if let Ok(mut listener) = subscribe(&connect, &channel).await {
            tries = 0;
            // A hint may have been missed while nobody listened.
            wake(&local);
            while listener.recv().await.is_ok() {
                wake(&local);
            }
        }
        tries += 1;
        crate::error::breathe(tries).await;
    }
}

async fn subscribe(connect: &PgConnectOptions, channel: &str) -> sqlx::Result<PgListener> {
    let pool = PgPoolOptions::new().max_connections(1).connect_with(connect.clone()).await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(channel).await?;
    Ok(listener)
}
