//! The pages as a browser without script gets them, and the pieces as a script of ours asks for them.

mod acts;
mod desk;
mod digest;
mod fetch;
mod intake;
mod job;
mod list;
mod live;
mod problem;
pub(crate) mod reader;
mod shell;
mod upload;
