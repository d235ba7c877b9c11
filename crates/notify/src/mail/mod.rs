//! Mail: one message to one server, and what came of it.
//!
//! A mail is sent when the server has said 250 to all of it; only then may anything count as told. Whatever else happens is a [`MailError`] with a
//! code of the registry. Nothing is tried again here: every try is one that the engine counts.
//!
//! What is deliberately absent: a pool, a queue, and any knowledge of what the mail is about.

mod error;
mod message;
mod send;
mod settings;

pub use error::{MailError, Refused, Sent, Step};
pub use message::Mail;
pub use send::Mailer;
pub use settings::{Encryption, MailSettings, Secret, SettingsError, plain_address};
