//! Digests, who gets them, and how they went; for operators.

use redrive_model::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// What is asked of the digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DigestRequest {
    /// Only tells what would be sent.
    #[serde(default)]
    pub dry_run: bool,
}

/// What each owner is told, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DigestReply {
    /// Nothing was sent.
    pub dry_run: bool,
    /// The job that opens the digest; none for a dry run, and when nothing changed.
    pub job_id: Option<String>,
    /// Whether there is a mail server; digests are files without one.
    pub mail: bool,
    /// Owners about whose documents something changed. Nobody: nothing is sent.
    pub owners: Vec<OwnerDigest>,
}

/// What one owner is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnerDigest {
    /// Who.
    pub owner: String,
    /// Where it goes: `own` addresses, those of `default`, to a `file`, nowhere because all are `off`, or to `nobody`.
    pub goes_to: String,
    /// Those addresses.
    pub recipients: Vec<String>,
    /// Failed for the first time since the last digest.
    pub new: u64,
    /// Failed before, and again.
    pub still_failing: u64,
    /// Failed before, and are done.
    pub recovered: u64,
    /// Were given up.
    pub dead: u64,
    /// The mail's subject.
    pub subject: String,
    /// The mail as plain text.
    pub text: String,
}

/// An address that an owner's digests go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// Whose digests; `default` gets those of owners without an address of their own.
    pub owner: String,
    /// Where they go: a plain mail address.
    pub address: String,
    /// Whether they go there at present.
    #[serde(default = "yes")]
    pub enabled: bool,
}

const fn yes() -> bool {
    true
}

/// Who is told, sorted by owner and address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NotificationList {
    /// All of them.
    pub notifications: Vec<Notification>,
}

/// Which address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WhichNotification {
    /// Whose.
    pub owner: String,
    /// Which.
    pub address: String,
}

/// How one digest for one owner went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// Which digest for whom: the same for every try, and part of the mail's `Message-ID`.
    pub key: String,
    /// For whom.
    pub owner: String,
    /// To which addresses; a file's key when it was written.
    pub address: String,
    /// sent, written, waiting (it is tried again), failed (the next digest tells it).
    pub state: String,
    /// How often it was tried.
    pub tries: u32,
    /// Why it was not delivered, or not to everybody.
    pub error: Option<String>,
    /// How many documents it is about.
    pub documents: u64,
    /// When it was last tried.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// A page of deliveries, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    /// This page.
    pub deliveries: Vec<Delivery>,
    /// Where the next page starts.
    pub next_cursor: Option<String>,
}
