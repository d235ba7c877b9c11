//! Opening an engine by the URL of its database.

use std::ops::Deref;
use std::sync::Arc;

use redrive_engine::store::{Store, StoreError};
use redrive_engine::{Options, Result};

/// An engine on a store of our own. Everything that [`redrive_engine::Engine`] can do, it can do; beside that it hands in
/// work within a transaction of the user's.
#[derive(Clone)]
pub struct Engine {
    engine: redrive_engine::Engine,
    #[cfg(feature = "sqlite")]
    sqlite: Option<Arc<redrive_store_sqlite::SqliteStore>>,
    #[cfg(feature = "postgres")]
    postgres: Option<Arc<redrive_store_postgres::PostgresStore>>,
}

impl Deref for Engine {
    type Target = redrive_engine::Engine;

    fn deref(&self) -> &Self::Target {
        &self.engine
    }
}

impl Engine {
    /// Opens `sqlite:PATH`, `sqlite::memory:` or `postgres://…`, and brings its schema up to date.
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_with(url, Options::default()).await
    }

    /// The same with other numbers.
    pub async fn open_with(url: &str, options: Options) -> Result<Self> {
        #[cfg(feature = "sqlite")]
        if let Some(path) = url.strip_prefix("sqlite:") {
            let store = match path {
                "" => {
                    return Err(
                        StoreError::Invalid("sqlite: needs a path, as in sqlite:jobs.db".into()).into()
                    );
                }
                ":memory:" => redrive_store_sqlite::Options::default().in_memory()?,
                path => redrive_store_sqlite::SqliteStore::open(path).await?,
            };
            return Self::on_sqlite(store, options).await;
        }
        #[cfg(feature = "postgres")]
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Self::on_postgres(redrive_store_postgres::PostgresStore::open(url).await?, options).await;
        }
        let known = [("sqlite:PATH", cfg!(feature = "sqlite")), ("postgres://…", cfg!(feature = "postgres"))];
        let known: Vec<&str> = known.iter().filter(|(_, on)| *on).map(|(form, _)| *form).collect();
        let scheme = url.split(':').next().unwrap_or_default();
        let text = format!(
            "a database URL that starts with {scheme:?} is not known here: use {}",
            known.join(" or ")
        );
        Err(StoreError::Invalid(text).into())
    }
}

#[cfg(feature = "sqlite")]
impl Engine {
    /// On a SQLite store that was opened with options of its own.
    pub async fn on_sqlite(store: redrive_store_sqlite::SqliteStore, options: Options) -> Result<Self> {
        let store = Arc::new(store);
        let engine = redrive_engine::Engine::new(store.clone() as Arc<dyn Store>, options).await?;
        Ok(Self {
            engine,
            sqlite: Some(store),
            #[cfg(feature = "postgres")]
            postgres: None,
        })
    }

    #[cfg(feature = "testing")]
    pub(crate) async fn in_memory(
        clock: impl redrive_engine::store::clock::Clock,
        options: Options,
    ) -> Result<Self> {
        Self::on_sqlite(redrive_store_sqlite::Options::default().clock(clock).in_memory()?, options).await
    }
}

#[cfg(feature = "postgres")]
impl Engine {
    /// On a Postgres store that was opened with options of its own: another schema, more connections.
    pub async fn on_postgres(store: redrive_store_postgres::PostgresStore, options: Options) -> Result<Self> {
        let store = Arc::new(store);
        let engine = redrive_engine::Engine::new(store.clone() as Arc<dyn Store>, options).await?;
        Ok(Self {
            engine,
            #[cfg(feature = "sqlite")]
            sqlite: None,
            postgres: Some(store),
        })
    }
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use redrive_engine::store::{Enqueued, StoreError};
    use redrive_engine::{EngineError, Enqueue, Input, JobId, Result};
    use redrive_store_sqlite::Transaction;

    use super::Engine;

    /// Handed to the closure of [`Engine::transaction`].
    pub struct Tx<'a, 'b, 'c> {
        engine: &'a redrive_engine::Engine,
        tx: &'a mut Transaction<'b, 'c>,
    }

    impl Tx<'_, '_, '_> {
        /// The write connection, for the user's own tables. Do not commit or roll back: return an error instead.
        #[must_use]
        pub fn connection(&self) -> &redrive_store_sqlite::rusqlite::Connection {
            self.tx.connection()
        }

        /// Hands in one job as part of the transaction.
        pub fn enqueue<I: Input>(&mut self, input: &I) -> Result<JobId> {
            Ok(self.enqueue_with(input, Enqueue::default())?.job())
        }

        /// The same in another way than the usual.
        pub fn enqueue_with<I: Input>(&mut self, input: &I, how: Enqueue) -> Result<Enqueued> {
            let job = self.engine.new_job(input, how)?;
            let id = job.id;
            let reply = self.tx.enqueue(&redrive_engine::store::Enqueue::jobs(vec![job]))?;
            Ok(reply.jobs.first().copied().unwrap_or(Enqueued::Existing(id)))
        }

        /// Publishes an event of the user's own as part of the transaction.
        pub fn publish(&mut self, topic: &str, payload: Vec<u8>) -> Result<()> {
            let event = redrive_engine::store::NewEvent { topic: topic.to_owned(), payload };
            Ok(self.tx.publish(&[event])?)
        }
    }

    impl Engine {
        /// Runs the user's own statements and enqueues in one transaction, on our writer. The closure must not take long:
        /// everybody else waits. An error undoes all of it, and is what this answers with: any type will do that ours can
        /// become, such as `Box<dyn Error + Send + Sync>`.
        pub async fn transaction<T, E>(
            &self,
            work: impl FnOnce(&mut Tx<'_, '_, '_>) -> std::result::Result<T, E> + Send + 'static,
        ) -> std::result::Result<T, E>
        where
            T: Send + 'static,
            E: From<EngineError> + Send + 'static,
        {
            let wrong = || StoreError::Invalid("this engine is not on SQLite: use enqueue_in".into());
            let store = self.sqlite.as_ref().ok_or_else(wrong).map_err(EngineError::from)?;
            let engine = self.engine.clone();
            let (keep, kept) = std::sync::mpsc::sync_channel(1);
            let done = store.transaction(move |tx| {
                work(&mut Tx { engine: &engine, tx }).map_err(|error| {
                    let _ = keep.try_send(error);
                    StoreError::Invalid("the user's work ended with an error: nothing was written".into())
                })
            });
            done.await.map_err(|error| kept.try_recv().unwrap_or_else(|_| EngineError::from(error).into()))
        }
    }
}

#[cfg(feature = "sqlite")]
pub use sqlite::Tx;

#[cfg(feature = "postgres")]
mod postgres {
    use redrive_engine::store::{Enqueued, NewEvent, StoreError};
    use redrive_engine::{Enqueue, Input, JobId, Result};
    use redrive_store_postgres::sqlx::PgConnection;

    use super::Engine;

    impl Engine {
        /// Hands in one job within a transaction of the user's own: it exists when and only when that commits.
        pub async fn enqueue_in<I: Input>(&self, tx: &mut PgConnection, input: &I) -> Result<JobId> {
            Ok(self.enqueue_in_with(tx, input, Enqueue::default()).await?.job())
        }

        /// The same in another way than the usual.
        pub async fn enqueue_in_with<I: Input>(
            &self,
            tx: &mut PgConnection,
            input: &I,
            how: Enqueue,
        ) -> Result<Enqueued> {
            let job = self.engine.new_job(input, how)?;
            let id = job.id;
            let call = redrive_engine::store::Enqueue::jobs(vec![job]);
            let reply = self.postgres()?.enqueue_in(tx, &call).await?;
            Ok(reply.jobs.first().copied().unwrap_or(Enqueued::Existing(id)))
        }

        /// Publishes an event of the user's own within a transaction of theirs.
        pub async fn publish_in(&self, tx: &mut PgConnection, topic: &str, payload: Vec<u8>) -> Result<()> {
            let event = NewEvent { topic: topic.to_owned(), payload };
            Ok(self.postgres()?.publish_in(tx, &[event]).await?)
        }

        fn postgres(&self) -> Result<&redrive_store_postgres::PostgresStore> {
            let wrong = || StoreError::Invalid("this engine is not on Postgres: use transaction".into());
            Ok(self.postgres.as_deref().ok_or_else(wrong)?)
        }
    }
}
