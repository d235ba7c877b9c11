//! The rows of intake: documents, their moves, what failed, and who is told.
//!
//! The job says what is being done with a document; these rows say where its PDF lies and what people were told. Why it is so is
//! written in `docs/adr/0007-documents-and-moves.md`.

mod digest;
mod document;
mod moves;
mod record;

use async_trait::async_trait;
use redrive_model::{JobId, LeaseToken, Timestamp};

use crate::{Page, PageRequest, Result};

pub use digest::{Delivery, DeliveryState, DigestItem, Notification, Told, ToldNow, validate_notification};
pub use document::{
    DocumentChange, DocumentFilter, DocumentRow, Held, Hold, NewDocument, Stage, TakenIn, validate_document,
};
pub use moves::{Began, MoveEnd, MoveRow, MoveState, NewMove};
pub use record::{FailureRecord, RecordFilter};

/// The setting of the store that says how often a document is tried again. It ranks above what processes were started with.
pub const MAX_RETRIES: &str = "INTAKE_MAX_RETRIES";

/// The largest number that is taken: a document that fails more often than this is no document for machines.
pub const MOST_RETRIES: u32 = 1_000;

/// Where documents live. Every answer is given after the commit; what is done twice is done once.
#[async_trait]
pub trait IntakeStore: Send + Sync + 'static {
    // --- documents ---------------------------------------------------------------------------------------------

    /// The document that waits or runs at each of these keys.
    async fn documents_at(&self, root: &str, keys: Vec<String>) -> Result<Vec<Option<DocumentRow>>>;

    /// Takes documents in. One that is known by its id, or whose key another live document has, is not.
    async fn take_in(&self, documents: Vec<NewDocument>) -> Result<Vec<TakenIn>>;

    /// One document.
    async fn document(&self, id: JobId) -> Result<Option<DocumentRow>>;

    /// Documents, newest first.
    async fn documents(&self, filter: DocumentFilter, page: PageRequest) -> Result<Page<DocumentRow>>;

    /// How many documents of a root are in each stage, zero left out.
    async fn document_counts(&self, root: &str) -> Result<Vec<(Stage, u64)>>;

    /// How many documents of a root wait or run: cheap, however many have ended.
    async fn live_documents(&self, root: &str) -> Result<u64>;

    /// Documents of a root that wait or run although their job is not there, or ended no later than `ended`; behind an id, in the order of ids.
    /// Cheap when there are none, however many wait.
    async fn astray(
        &self,
        root: &str,
        ended: Timestamp,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<DocumentRow>>;

    /// An attempt takes hold of its document: whoever has an older token may change and move nothing any more.
    async fn take_hold(&self, id: JobId, token: LeaseToken) -> Result<Hold>;

    /// Changes what is known about a document, unless a newer attempt has taken hold. Answers whether it was changed.
    async fn change_document(&self, id: JobId, token: LeaseToken, change: DocumentChange) -> Result<bool>;

    // --- moves -------------------------------------------------------------------------------------------------

    /// Writes down where a document is about to go, unless a newer attempt has taken hold. A move that is open already is
    /// answered in its place, and is to be finished first.
    async fn begin_move(&self, intent: NewMove) -> Result<Began>;

    /// Another target for an open move whose name is taken. Answers the move as it is now; nothing when it has ended.
    async fn redirect_move(&self, number: i64, from: &str, to: &str) -> Result<Option<MoveRow>>;

    /// Ends a move, and says where the document is now. Answers whether it was open.
    async fn end_move(&self, number: i64, end: MoveEnd) -> Result<bool>;

    /// Open moves of a root behind a number, oldest first.
    async fn open_moves(&self, root: &str, after: i64, limit: usize) -> Result<Vec<MoveRow>>;

    /// All moves of a document, oldest first.
    async fn moves_of(&self, id: JobId) -> Result<Vec<MoveRow>>;

    // --- what failed, and who is told --------------------------------------------------------------------------

    /// Writes a failure record. One that is there already stays as it is; answers whether it is new.
    async fn note_failure(&self, record: FailureRecord) -> Result<bool>;

    /// Failure records, newest first.
    async fn failure_records(&self, filter: RecordFilter, page: PageRequest) -> Result<Page<FailureRecord>>;

    /// Owners who have not been told everything yet, sorted.
    async fn untold_owners(&self) -> Result<Vec<String>>;

    /// What an owner has not been told yet, oldest document first, at most `limit`.
    async fn untold(&self, owner: &str, limit: usize) -> Result<Vec<DigestItem>>;

    /// An owner was told: records up to that instant count as notified, and the delivery that told is noted, all or nothing.
    async fn mark_told(&self, told: Vec<ToldNow>, by: Delivery) -> Result<()>;

    /// Notes how a delivery went; the same key again replaces what was noted.
    async fn note_delivery(&self, delivery: Delivery) -> Result<()>;

    /// One delivery.
    async fn delivery(&self, key: &str) -> Result<Option<Delivery>>;

    /// Deliveries, newest first.
    async fn deliveries(&self, page: PageRequest) -> Result<Page<Delivery>>;

    /// Who is told, sorted by owner and address.
    async fn notifications(&self) -> Result<Vec<Notification>>;

    /// Adds an address, or replaces it.
    async fn set_notification(&self, notification: Notification) -> Result<()>;

    /// Removes an address. Answers whether it was there.
    async fn remove_notification(&self, owner: &str, address: &str) -> Result<bool>;

    // --- retention ---------------------------------------------------------------------------------------------

    /// Removes up to `limit` documents that ended before `before` and whose job is gone, with their moves; and as many records
    /// made before it of documents that are gone.
    async fn forget_documents(&self, before: Timestamp, limit: usize) -> Result<u64>;

    /// Removes up to `limit` deliveries that were over before `before`. One that still waits is kept, however old.
    async fn forget_deliveries(&self, before: Timestamp, limit: usize) -> Result<u64>;
}
