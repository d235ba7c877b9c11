//! Tells other systems what happens.
//!
//! A sink is a reader of the event stream ([`Projector`](redrive_engine::Projector)): one in the whole fleet, which goes on where it was. It is fed from
//! the events table and never from a handler, so that nothing is told that did not happen, and what happened is told at least
//! once, however often either side is killed.
//!
//! What is deliberately absent: any knowledge of workloads. Whoever wires a sink says how a dead letter is written.

mod address;
mod nats;
mod told;
mod window;

pub use nats::{DEAD_SUBJECT, EVENT_SUBJECT, Encode, NATS, Nats, NatsError, NatsOptions, STREAM};
