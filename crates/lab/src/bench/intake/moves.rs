//! The moves of so many documents, `queue/` to `pdf/` to `result/`, by the same code, with nothing between them.

use std::sync::Arc;

use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt};
use redrive::sqlite::SqliteStore;
use redrive_blob::shelf::{FolderShelf, Item, Shelf};
use redrive_intake::{Goal, Moved, Mover, Place, document_id};
use redrive_model::{JobId, LeaseToken};
use redrive_store::intake::{IntakeStore, NewDocument};

use super::{Task, pdfs, queue_options};
use crate::bench::measure::processor;

/// Answers how many seconds of processor they took.
pub async fn run(task: &Task) -> Result<f64> {
    pdfs::make(&task.files().join("queue"), task.documents)?;
    let store: Arc<dyn IntakeStore> = Arc::new(SqliteStore::open(task.home.join("redrive.db")).await?);
    let shelf: Arc<dyn Shelf> = Arc::new(FolderShelf::open(task.files()).await?);
    let items: Vec<Item> = shelf.list(&Place::Queue.key()?).try_collect().await?;
    let taken: Vec<NewDocument> = items.iter().map(|item| taken(shelf.root(), item)).collect();
    for some in taken.chunks(100) {
        store.take_in(some.to_vec()).await?;
    }
    let mover = Mover::new(shelf, store);
    let before = processor().0;
    futures::stream::iter(taken)
        .map(Ok)
        .try_for_each_concurrent(queue_options().max_in_flight, |document| both(&mover, document))
        .await?;
    Ok(processor().0 - before)
}

/// A file as a scan takes it in.
pub(super) fn taken(root: &str, item: &Item) -> NewDocument {
    NewDocument {
        id: document_id(root, item, 0),
        root: root.to_owned(),
        path: Place::Queue.path_of(&item.key).unwrap_or_default().to_owned(),
        key: item.key.as_str().to_owned(),
        version: item.version.clone(),
        bytes: item.bytes,
        owner: "default".to_owned(),
    }
}

async fn both(mover: &Mover, document: NewDocument) -> Result<()> {
    bring(mover, document.id, Place::Pdf, &document.path, "process").await?;
    bring(mover, document.id, Place::Result, &document.path, "done").await
}

async fn bring(mover: &Mover, document: JobId, to: Place, path: &str, why: &str) -> Result<()> {
    let goal = Goal { document, token: LeaseToken(1), to: to.of(path)?, why, meta: Default::default() };
    let moved = mover.bring(goal).await?;
    ensure!(matches!(moved, Moved::To(_)), "{path}: {moved:?}");
    Ok(())
}
