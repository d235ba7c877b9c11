//! Opening the store that the settings name.

use std::sync::Arc;

use redrive_store::Store;
use redrive_store::intake::IntakeStore;
use redrive_store_postgres::PostgresStore;
use redrive_store_sqlite::SqliteStore;

use crate::exit::{Exit, Stop};
use crate::settings::{Place, StoreUrl};

/// One store by both of its sides: jobs, and documents.
pub(crate) struct Opened {
    pub(crate) jobs: Arc<dyn Store>,
    pub(crate) documents: Arc<dyn IntakeStore>,
}

impl Opened {
    fn new<S: Store + IntakeStore>(store: S) -> Self {
        let store = Arc::new(store);
        Self { jobs: store.clone(), documents: store }
    }
}

/// Opens it and brings its schema up to date. Makes the data folder, readable by its owner alone.
pub(crate) async fn open(place: &Place) -> Result<Opened, Stop> {
    make_folder(&place.data_dir)?;
    Ok(match &place.store {
        StoreUrl::Sqlite(path) => {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                make_folder(folder)?;
            }
            Opened::new(SqliteStore::open(path).await?)
        }
        StoreUrl::Postgres(url) => Opened::new(PostgresStore::open(url.reveal()).await?),
    })
}

/// Opens it only for looking, also while others work on it. Nothing is made and nothing is changed.
pub(crate) async fn look(place: &Place) -> Result<Arc<dyn Store>, Stop> {
    Ok(match &place.store {
        StoreUrl::Sqlite(path) => Arc::new(redrive_store_sqlite::Options::default().read_only(path)?),
        StoreUrl::Postgres(url) => {
            Arc::new(redrive_store_postgres::Options::default().read_only(url.reveal()).await?)
        }
    })
}

/// What people are told about the store: never a password.
pub(crate) fn describe(place: &Place) -> String {
    match &place.store {
        StoreUrl::Sqlite(path) => format!("SQLite {}", path.display()),
        StoreUrl::Postgres(url) => {
            format!("Postgres {}", redrive_model::redact::redact_address(url.reveal()))
        }
    }
}

/// Makes a folder, readable by its owner alone. One that exists stays as it is.
pub(crate) fn make_folder(folder: &std::path::Path) -> Result<(), Stop> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        Stop::new(Exit::Failed, format!("cannot make the folder {}: {error}", folder.display()))
    })
}
