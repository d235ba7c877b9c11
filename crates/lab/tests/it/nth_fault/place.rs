//! Where the story is told: each time on a store of its own, which is closed afterwards even when a dead process still holds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use redrive_engine::store::Store;
use redrive_store_postgres::PostgresStore;
use redrive_store_sqlite::SqliteStore;

use crate::kit::Database;

static NEXT: AtomicU32 = AtomicU32::new(0);

pub(super) enum Place {
    Sqlite,
    Postgres(Database),
}

impl Place {
    pub(super) async fn postgres() -> Self {
        Self::Postgres(Database::postgres().await)
    }

    /// So many stories are told at the same time: they mostly wait.
    pub(super) fn at_once(&self) -> usize {
        match self {
            Self::Sqlite => 12,
            Self::Postgres(_) => 6,
        }
    }

    pub(super) async fn open(&self) -> Opened {
        match self {
            Self::Sqlite => {
                Opened::Sqlite(Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap()))
            }
            Self::Postgres(database) => {
                let schema = format!("story_{}", NEXT.fetch_add(1, Ordering::Relaxed));
                let options = redrive_store_postgres::Options::default().connections(3);
                Opened::Postgres(Arc::new(
                    options.schema(&schema).unwrap().open(&database.url).await.unwrap(),
                ))
            }
        }
    }
}

pub(super) enum Opened {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

impl Opened {
    pub(super) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store) => store.clone(),
        }
    }

    pub(super) async fn close(self) {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres(store) => store.close().await,
        }
    }
}
