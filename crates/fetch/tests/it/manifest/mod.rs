//! Manifests: what is taken, what is refused and in which words, and that nothing is half-accepted.

mod accept;
mod cancel;
mod faults;
mod hostile;
mod kit;
pub(crate) mod memory;
mod unpack;
mod view;
