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

mod analysis;
mod cleaner;
mod command;
pub mod digest;
mod input;
mod layout;
mod mover;
mod parts;
mod queue;
mod retention;
mod retries;
mod scan;
mod seen;
mod work;

pub use analysis::{Analyse, Analyst};
pub use cleaner::{Cleaner, EXCEEDED, RETRY_COUNT};
pub use command::{Command, CommandError, CommandOptions};
pub use input::{Document, document_id};
pub use layout::{Place, is_wanted, stem};
pub use mover::{Goal, MoveError, Moved, Mover};
pub use parts::{Part, PartWork, Range};
pub use queue::{Queue, QueueOptions, SETTLE, Seen};
pub use retention::DocumentRetention;
pub use retries::{MAX_RETRIES, MOST_RETRIES};
pub use scan::{Look, Scanner};
pub use work::{Intake, IntakeOptions, Noted, Output};
