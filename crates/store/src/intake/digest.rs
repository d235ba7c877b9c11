//! What owners are told, by which address, and how that went.

use redrive_model::limits::MAX_LABEL_BYTES;
use redrive_model::{JobId, Timestamp};

use crate::intake::DocumentRow;
use crate::{Behind, Page, Result, StoreError};

/// What an owner was told about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Told {
    /// It failed and is tried again.
    Failing,
    /// It was given up.
    Dead,
    /// It failed before and is done now.
    Recovered,
}

impl Told {
    /// Everything there is to tell.
    pub const ALL: &'static [Self] = &[Self::Failing, Self::Dead, Self::Recovered];

    /// The word in the table and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Dead => "dead",
            Self::Recovered => "recovered",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|told| told.as_str() == word)
    }
}

/// A document about which there is something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestItem {
    /// The document; what its owner was told before is in it.
    pub document: DocumentRow,
    /// How many failures its owner was not told about.
    pub failures: u64,
    /// When the newest of them was.
    pub last: Option<Timestamp>,
}

/// An owner was told about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToldNow {
    /// Which document.
    pub document: JobId,
    /// What.
    pub told: Told,
    /// Records up to this instant are told now.
    pub upto: Timestamp,
}

/// How a delivery went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// The mail server took it.
    Sent,
    /// It was written to a file, because there is no mail server.
    Written,
    /// It could not be delivered yet, and is tried again.
    Waiting,
    /// It was given up.
    Failed,
}

impl DeliveryState {
    /// Every state.
    pub const ALL: &'static [Self] = &[Self::Sent, Self::Written, Self::Waiting, Self::Failed];

    /// The word in the table and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Written => "written",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.as_str() == word)
    }
}

/// One digest for one owner, on its way or delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Which digest for whom: the same for every try.
    pub key: String,
    /// For whom.
    pub owner: String,
    /// To which addresses, separated by commas; a file's key when it was written.
    pub address: String,
    /// How it went.
    pub state: DeliveryState,
    /// How often it was tried.
    pub tries: u32,
    /// Why it was not delivered.
    pub error: Option<String>,
    /// How many documents it is about.
    pub documents: u64,
    /// When it was last tried, by the store's clock; the store fills it in.
    pub at: Timestamp,
}

impl Page<Delivery> {
    /// One part of the list.
    #[must_use]
    pub fn of_deliveries(rows: Vec<Delivery>, limit: usize) -> Self {
        let last = rows.last().filter(|_| rows.len() >= limit);
        let next = last.map(|last| Behind { at: last.at, id: &last.key }.to_string());
        Self { rows, next }
    }
}

/// An address that an owner's digests go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// Whose digests; `default` gets those of owners without an address of their own.
    pub owner: String,
    /// Where they go.
    pub address: String,
    /// Whether they go there at present.
    pub enabled: bool,
}

/// Checks what is written into rows as it is.
pub fn validate_notification(notification: &Notification) -> Result<()> {
    let plain =
        |text: &str| !text.is_empty() && text.len() <= MAX_LABEL_BYTES && !text.chars().any(char::is_control);
    if plain(&notification.owner) && plain(&notification.address) {
        return Ok(());
    }
    Err(StoreError::Invalid(format!(
        "an owner and an address have 1 to {MAX_LABEL_BYTES} bytes and no control characters"
    )))
}
