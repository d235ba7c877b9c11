//! The rows of intake. The verbs are in the files beside this one, the promises in the trait.

mod digest;
mod document;
mod moves;
mod record;

use async_trait::async_trait;
use redrive_model::{JobId, LeaseToken, Timestamp, instant};
use redrive_store::intake::{
    Began, Delivery, DigestItem, DocumentChange, DocumentFilter, DocumentRow, FailureRecord, Hold,
    IntakeStore, MoveEnd, MoveRow, NewDocument, NewMove, Notification, RecordFilter, Stage, TakenIn, ToldNow,
    validate_document, validate_notification,
};
use redrive_store::{Page, PageRequest, Result};

use crate::SqliteStore;
use crate::writer::Undo;

#[async_trait]
impl IntakeStore for SqliteStore {
    async fn documents_at(&self, root: &str, keys: Vec<String>) -> Result<Vec<Option<DocumentRow>>> {
        let root = root.to_owned();
        self.read(move |conn| keys.iter().map(|key| document::at(conn, &root, key)).collect()).await
    }

    async fn take_in(&self, documents: Vec<NewDocument>) -> Result<Vec<TakenIn>> {
        documents.iter().try_for_each(validate_document)?;
        let work = move |tx: &mut crate::writer::Tx<'_>| {
            documents.iter().map(|new| document::take_in(tx, new)).collect()
        };
        self.write(Undo::Savepoint, work).await
    }

    async fn document(&self, id: JobId) -> Result<Option<DocumentRow>> {
        self.read(move |conn| document::find(conn, id)).await
    }

    async fn documents(&self, filter: DocumentFilter, page: PageRequest) -> Result<Page<DocumentRow>> {
        self.read(move |conn| document::list_of(conn, &filter, &page)).await
    }

    async fn document_counts(&self, root: &str) -> Result<Vec<(Stage, u64)>> {
        let root = root.to_owned();
        self.read(move |conn| document::counts(conn, &root)).await
    }

    async fn live_documents(&self, root: &str) -> Result<u64> {
        let root = root.to_owned();
        self.read(move |conn| document::live(conn, &root)).await
    }

    async fn astray(
        &self,
        root: &str,
        ended: Timestamp,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<DocumentRow>> {
        let (root, ended) = (root.to_owned(), instant::to_millis(ended));
        self.read(move |conn| document::astray(conn, &root, ended, after, limit)).await
    }

    async fn take_hold(&self, id: JobId, token: LeaseToken) -> Result<Hold> {
        self.write(Undo::Savepoint, move |tx| document::take_hold(tx, id, token)).await
    }

    async fn change_document(&self, id: JobId, token: LeaseToken, change: DocumentChange) -> Result<bool> {
        self.write(Undo::Savepoint, move |tx| document::change(tx, id, token, &change)).await
    }

    async fn begin_move(&self, intent: NewMove) -> Result<Began> {
        self.write(Undo::Savepoint, move |tx| moves::begin(tx, &intent)).await
    }

    async fn redirect_move(&self, number: i64, from: &str, to: &str) -> Result<Option<MoveRow>> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.write(Undo::Savepoint, move |tx| moves::redirect(tx, number, &from, &to)).await
    }

    async fn end_move(&self, number: i64, end: MoveEnd) -> Result<bool> {
        self.write(Undo::Savepoint, move |tx| moves::end(tx, number, &end)).await
    }

    async fn open_moves(&self, root: &str, after: i64, limit: usize) -> Result<Vec<MoveRow>> {
        let root = root.to_owned();
        self.read(move |conn| moves::open(conn, &root, after, limit)).await
    }

    async fn moves_of(&self, id: JobId) -> Result<Vec<MoveRow>> {
        self.read(move |conn| moves::of(conn, id)).await
    }

    async fn note_failure(&self, record: FailureRecord) -> Result<bool> {
        self.write(Undo::Savepoint, move |tx| record::note(tx, &record)).await
    }

    async fn failure_records(&self, filter: RecordFilter, page: PageRequest) -> Result<Page<FailureRecord>> {
        self.read(move |conn| record::list_of(conn, &filter, &page)).await
    }

    async fn untold_owners(&self) -> Result<Vec<String>> {
        self.read(digest::untold_owners).await
    }

    async fn untold(&self, owner: &str, limit: usize) -> Result<Vec<DigestItem>> {
        let owner = owner.to_owned();
        self.read(move |conn| digest::untold(conn, &owner, limit)).await
    }

    async fn mark_told(&self, told: Vec<ToldNow>, by: Delivery) -> Result<()> {
        self.write(Undo::Savepoint, move |tx| {
            told.iter().try_for_each(|told| digest::tell(tx, told))?;
            digest::note_delivery(tx, &by)
        })
        .await
    }

    async fn note_delivery(&self, delivery: Delivery) -> Result<()> {
        self.write(Undo::Savepoint, move |tx| digest::note_delivery(tx, &delivery)).await
    }

    async fn delivery(&self, key: &str) -> Result<Option<Delivery>> {
        let key = key.to_owned();
        self.read(move |conn| digest::delivery(conn, &key)).await
    }

    async fn deliveries(&self, page: PageRequest) -> Result<Page<Delivery>> {
        self.read(move |conn| digest::deliveries(conn, &page)).await
    }

    async fn notifications(&self) -> Result<Vec<Notification>> {
        self.read(digest::notifications).await
    }

    async fn set_notification(&self, notification: Notification) -> Result<()> {
        validate_notification(&notification)?;
        self.write(Undo::Savepoint, move |tx| digest::set_notification(tx, &notification)).await
    }

    async fn remove_notification(&self, owner: &str, address: &str) -> Result<bool> {
        let (owner, address) = (owner.to_owned(), address.to_owned());
        self.write(Undo::Savepoint, move |tx| digest::remove_notification(tx, &owner, &address)).await
    }

    async fn forget_documents(&self, before: Timestamp, limit: usize) -> Result<u64> {
        let before = instant::to_millis(before);
        self.write(Undo::Savepoint, move |tx| document::forget(tx, before, limit)).await
    }

    async fn forget_deliveries(&self, before: Timestamp, limit: usize) -> Result<u64> {
        let before = instant::to_millis(before);
        self.write(Undo::Savepoint, move |tx| digest::forget_deliveries(tx, before, limit)).await
    }
}
