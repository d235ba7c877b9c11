//! The commands, one file each.

mod asking;
pub(crate) mod bench;
pub(crate) mod breakers;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod dead;
pub(crate) mod demo;
pub(crate) mod digest;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod fetch;
pub(crate) mod gateway;
pub(crate) mod groups;
pub(crate) mod intake;
pub(crate) mod jobs;
pub(crate) mod migrate;
pub(crate) mod notifications;
mod replaying;
pub(crate) mod replays;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod simulate;
mod sure;
pub(crate) mod tokens;
mod when;
pub(crate) mod worker;
pub(crate) mod workers;
