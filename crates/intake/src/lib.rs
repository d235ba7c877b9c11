//! The workload `intake`: people put PDFs into a folder or a bucket, and never lose one.
//!
//! ```text
//! queue/ ──taken──▶ pdf/ ──processed──▶ result/ (the PDF and what was made from it)
//!   ▲                │
//!   └──tried again───┴──given up──▶ failed/ + reports/
//! ```
//!
//! A document is a row and a job with one id. The job says what is being done, the row where the PDF lies, the folders show both. What
//! is written down in which order is in `docs/adr/0007-documents-and-moves.md`.

pub mod digest;
mod input;
mod layout;
mod mover;
mod queue;
mod scan;

pub use input::{Document, document_id};
pub use layout::{Place, is_wanted, numbered, stem};
pub use mover::{Goal, MoveError, Moved, Mover};
pub use queue::{Queue, QueueOptions, Seen};
pub use scan::{Look, Scanner};
