//! The rows of intake. The verbs are in the files beside this one, the promises in the trait. Every call may be made twice, so every
//! lost answer is asked for again.

mod digest;
mod document;
mod moves;
mod record;

use async_trait::async_trait;
use redrive_model::{JobId, LeaseToken, Timestamp};
use redrive_store::intake::{
    Began, Delivery, DigestItem, DocumentChange, DocumentFilter, DocumentRow, FailureRecord, Hold,
    IntakeStore, MoveEnd, MoveRow, NewDocument, NewMove, Notification, RecordFilter, Stage, TakenIn, ToldNow,
    validate_document, validate_notification,
};
use redrive_store::{Behind, Page, PageRequest, Result};

use crate::PostgresStore;
use crate::error::{repeating, rewriting};

#[async_trait]
impl IntakeStore for PostgresStore {
    async fn documents_at(&self, root: &str, keys: Vec<String>) -> Result<Vec<Option<DocumentRow>>> {
        repeating!(document::at(self.inner(), root, &keys))
    }

    async fn take_in(&self, documents: Vec<NewDocument>) -> Result<Vec<TakenIn>> {
        documents.iter().try_for_each(validate_document)?;
        rewriting!(document::take_in(self.inner(), &documents))
    }

    async fn document(&self, id: JobId) -> Result<Option<DocumentRow>> {
        repeating!(document::find(self.inner(), id))
    }

    async fn documents(&self, filter: DocumentFilter, page: PageRequest) -> Result<Page<DocumentRow>> {
        let after = page.after::<JobId>()?;
        repeating!(document::list(self.inner(), &filter, after, page.rows()))
    }

    async fn document_counts(&self, root: &str) -> Result<Vec<(Stage, u64)>> {
        repeating!(document::counts(self.inner(), root))
    }

    async fn live_documents(&self, root: &str) -> Result<u64> {
        repeating!(document::live(self.inner(), root))
    }

    async fn astray(
        &self,
        root: &str,
        ended: Timestamp,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<DocumentRow>> {
        repeating!(document::astray(self.inner(), root, ended, after, limit))
    }

    async fn take_hold(&self, id: JobId, token: LeaseToken) -> Result<Hold> {
        rewriting!(document::take_hold(self.inner(), id, token))
    }

    async fn change_document(&self, id: JobId, token: LeaseToken, change: DocumentChange) -> Result<bool> {
        rewriting!(document::change(self.inner(), id, token, &change))
    }

    async fn begin_move(&self, intent: NewMove) -> Result<Began> {
        rewriting!(moves::begin(self.inner(), &intent))
    }

    async fn redirect_move(&self, number: i64, from: &str, to: &str) -> Result<Option<MoveRow>> {
        rewriting!(moves::redirect(self.inner(), number, from, to))
    }

    async fn end_move(&self, number: i64, end: MoveEnd) -> Result<bool> {
        rewriting!(moves::end(self.inner(), number, &end))
    }

    async fn open_moves(&self, root: &str, after: i64, limit: usize) -> Result<Vec<MoveRow>> {
        repeating!(moves::open(self.inner(), root, after, limit))
    }

    async fn moves_of(&self, id: JobId) -> Result<Vec<MoveRow>> {
        repeating!(moves::of(self.inner(), id))
    }

    async fn note_failure(&self, record: FailureRecord) -> Result<bool> {
        rewriting!(record::note(self.inner(), &record))
    }

    async fn failure_records(&self, filter: RecordFilter, page: PageRequest) -> Result<Page<FailureRecord>> {
        let behind = page.after::<Behind<uuid::Uuid>>()?;
        repeating!(record::list(self.inner(), &filter, behind, page.rows()))
    }

    async fn untold_owners(&self) -> Result<Vec<String>> {
        repeating!(digest::untold_owners(self.inner()))
    }

    async fn untold(&self, owner: &str, limit: usize) -> Result<Vec<DigestItem>> {
        repeating!(digest::untold(self.inner(), owner, limit))
    }

    async fn mark_told(&self, told: Vec<ToldNow>, by: Delivery) -> Result<()> {
        rewriting!(digest::tell(self.inner(), &told, &by))
    }

    async fn note_delivery(&self, delivery: Delivery) -> Result<()> {
        rewriting!(digest::note_delivery(self.inner(), &delivery))
    }

    async fn delivery(&self, key: &str) -> Result<Option<Delivery>> {
        repeating!(digest::delivery(self.inner(), key))
    }

    async fn deliveries(&self, page: PageRequest) -> Result<Page<Delivery>> {
        let behind = page.after::<Behind<String>>()?;
        repeating!(digest::deliveries(self.inner(), behind.as_ref(), page.rows()))
    }

    async fn notifications(&self) -> Result<Vec<Notification>> {
        repeating!(digest::notifications(self.inner()))
    }

    async fn set_notification(&self, notification: Notification) -> Result<()> {
        validate_notification(&notification)?;
        rewriting!(digest::set_notification(self.inner(), &notification))
    }

    async fn remove_notification(&self, owner: &str, address: &str) -> Result<bool> {
        rewriting!(digest::remove_notification(self.inner(), owner, address))
    }

    async fn forget_documents(&self, before: Timestamp, limit: usize) -> Result<u64> {
        rewriting!(document::forget(self.inner(), before, limit))
    }

    async fn forget_deliveries(&self, before: Timestamp, limit: usize) -> Result<u64> {
        rewriting!(digest::forget_deliveries(self.inner(), before, limit))
    }
}
