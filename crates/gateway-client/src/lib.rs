//! How workloads ask a gateway.
//!
//! A gateway is reached over HTTP alone, whether it is built in or somebody else's. Everything that is the same for whoever asks is
//! here: the call with its one deadline, what each answer means, and the check that what came is XML to its last byte. What is
//! deliberately absent is a retry: that is the engine's.

mod answer;
mod check;
mod gateway;
mod legal;
mod receive;
mod refusal;
mod source;

pub use answer::Answer;
pub use check::{CheckError, check, check_whole};
pub use gateway::{Ask, Gateway, GatewayError, GatewayOptions, Mapping, TARGET};
pub use receive::{blame, receive, storage};
pub use source::Outgoing;
