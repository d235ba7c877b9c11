//! What the checks share: a world of their own, servers that are started and killed, browsers, and ways to wait.

mod browser;
mod database;
mod disk;
mod server;
mod traced;
mod worker;
mod world;

pub(crate) use browser::{Answer, Browser, form, when};
pub(crate) use disk::SmallDisk;
pub(crate) use redrive_lab::wait::eventually;
pub(crate) use server::Server;
pub(crate) use traced::Traced;
pub(crate) use worker::Worker;
pub(crate) use world::{World, pdf, sha256};
