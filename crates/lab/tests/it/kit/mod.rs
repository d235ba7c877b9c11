//! What the tests share: databases, processes, files, and ways to wait.

mod database;
mod folder;
mod process;

pub(crate) use database::{Database, Server, completion_of};
pub(crate) use folder::Folder;
pub(crate) use process::Process;
pub(crate) use redrive_lab::wait::eventually;
