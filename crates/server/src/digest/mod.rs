//! Digests, for operators: what would be told, telling it now, who is told, and how that went.

pub(crate) mod notifications;
pub(crate) mod send;
mod shape;

pub(crate) use notifications::{add, list, remove, replace};
pub(crate) use send::{deliveries, post};
pub(crate) use shape::goes_to;

use redrive_intake::digest::Digests;
use redrive_model::Code;

use crate::app::App;
use crate::refusal::Refusal;

/// The digests of this server.
pub(crate) fn digests(app: &App) -> Result<&Digests, Refusal> {
    let none =
        || Refusal::new(Code::NotFound, "This server has no intake: set INTAKE_URL, and it sends digests.");
    app.digests().ok_or_else(none)
}
