//! The workload `convert`: a PDF goes through the gateway and comes back as XML.
//!
//! ```text
//! source (uploads/<job>.pdf) ──▶ POST GATEWAY_URL/process ──▶ checked while it streams ──▶ results/<job>/<token>.xml
//!                                                                     │
//!                                              note of its hash under the lease, then its name, then the row
//! ```
//!
//! A result is named after the lease token, so two attempts never write the same file, and only the row says which one is
//! *the* result. An attempt that finds the note of an earlier one adopts that result when its hash still matches, and
//! otherwise converts again: never two results, and no second call for one that was made.
//!
//! What is deliberately absent: a retry. A gateway that fails is a [`Failure`](redrive_engine::Failure) with a code; policy,
//! budgets and breaker are the engine's.

mod handler;
mod input;
mod made;
mod retention;

pub use handler::{Convert, ConvertOptions};
pub use input::{Pdf, result_key, source_key};
pub use made::Made;
pub use redrive_gateway_client::{Ask, Gateway, GatewayError, GatewayOptions, Mapping, Outgoing, TARGET};
pub use retention::{Kept, Retention, RetentionOptions};
