//! Tells people and other systems what happens.
//!
//! For people: [`analysis`] writes a document about one file that failed, [`digest`] a letter about all of an owner's, [`mail`] sends it. The
//! first two are pure, facts in and bytes out; none of them knows where the facts come from.
//!
//! For other systems (feature `nats`): a sink is a reader of the event stream ([`Projector`](redrive_engine::Projector)), one in the whole fleet, which goes on where it was. It is fed from
//! the events table and never from a handler, so that nothing is told that did not happen, and what happened is told at least
//! once, however often either side is killed.
//!
//! What is deliberately absent: any knowledge of workloads. Whoever wires a sink says how a dead letter is written.

#[cfg(feature = "nats")]
mod address;
pub mod analysis;
pub mod digest;
pub mod mail;
#[cfg(feature = "nats")]
mod nats;
mod shown;
#[cfg(feature = "nats")]
mod told;
#[cfg(feature = "nats")]
mod window;

#[cfg(feature = "nats")]
pub use nats::{DEAD_SUBJECT, EVENT_SUBJECT, Encode, NATS, Nats, NatsError, NatsOptions, STREAM};
