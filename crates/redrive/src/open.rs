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
            let store = Arc::new(redrive_store_postgres::PostgresStore::open(url).await?);
            let engine = redrive_engine::Engine::new(store.clone() as Arc<dyn Store>, options).await?;
            return Ok(Self {
                engine,
                #[cfg(feature = "sqlite")]
                sqlite: None,
                postgres: Some(store),
            });
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
    async fn on_sqlite(store: redrive_store_sqlite::SqliteStore, options: Options) -> Result<Self> {
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

#[cfg(feature = "sqlite")]
mod sqlite {
    use redrive_engine::store::StoreError;
    use redrive_engine::{Enqueue, Input, JobId, Result};
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
            let job = self.engine.new_job(input, Enqueue::default())?;
            let id = job.id;
            let reply = self.tx.enqueue(&redrive_engine::store::Enqueue::jobs(vec![job]))?;
            Ok(reply.jobs.first().map_or(id, |enqueued| enqueued.job()))
        }

        /// Publishes an event of the user's own as part of the transaction.
        pub fn publish(&mut self, topic: &str, payload: Vec<u8>) -> Result<()> {
            let event = redrive_engine::store::NewEvent { topic: topic.to_owned(), payload };
            Ok(self.tx.publish(&[event])?)
        }
    }

    impl Engine {
        /// Runs the user's own statements and enqueues in one transaction, on our writer. The closure must not take long:
        /// everybody else waits. An error undoes all of it.
        pub async fn transaction<T: Send + 'static>(
            &self,
            work: impl FnOnce(&mut Tx<'_, '_, '_>) -> Result<T> + Send + 'static,
        ) -> Result<T> {
            let wrong = || StoreError::Invalid("this engine is not on SQLite: use enqueue_in".into());
            let store = self.sqlite.as_ref().ok_or_else(wrong)?;
            let engine = self.engine.clone();
            let done = store.transaction(move |tx| match work(&mut Tx { engine: &engine, tx }) {
                Ok(value) => Ok(value),
                Err(redrive_engine::EngineError::Store(error)) => Err(error),
                Err(error) => Err(StoreError::Invalid(error.to_string())),
            });
            Ok(done.await?)
        }
    }
}

#[cfg(feature = "sqlite")]
pub use sqlite::Tx;

#[cfg(feature = "postgres")]
mod postgres {
    use redrive_engine::store::{NewEvent, StoreError};
    use redrive_engine::{Enqueue, Input, JobId, Result};
    use redrive_store_postgres::sqlx::PgConnection;

    use super::Engine;

    impl Engine {
        /// Hands in one job within a transaction of the user's own: it exists when and only when that commits.
        pub async fn enqueue_in<I: Input>(&self, tx: &mut PgConnection, input: &I) -> Result<JobId> {
            let job = self.engine.new_job(input, Enqueue::default())?;
            let id = job.id;
            let call = redrive_engine::store::Enqueue::jobs(vec![job]);
            let reply = self.on_postgres()?.enqueue_in(tx, &call).await?;
            Ok(reply.jobs.first().map_or(id, |enqueued| enqueued.job()))
        }

        /// Publishes an event of the user's own within a transaction of theirs.
        pub async fn publish_in(&self, tx: &mut PgConnection, topic: &str, payload: Vec<u8>) -> Result<()> {
            let event = NewEvent { topic: topic.to_owned(), payload };
            Ok(self.on_postgres()?.publish_in(tx, &[event]).await?)
        }

        fn on_postgres(&self) -> Result<&redrive_store_postgres::PostgresStore> {
            let wrong = || StoreError::Invalid("this engine is not on Postgres: use transaction".into());
            Ok(self.postgres.as_deref().ok_or_else(wrong)?)
        }
    }
}
