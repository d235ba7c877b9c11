//! Idempotency keys: what makes a request safe to repeat, whether it hands work in or does something else.

use redrive_model::limits::MAX_NAME_BYTES;
use redrive_model::{Owner, Timestamp};

use crate::{Result, StoreError};

/// Makes a request safe to repeat: the same key and hash give the same answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Keys are scoped to their owner.
    pub owner: Owner,
    /// The client's key.
    pub key: String,
    /// A hash of the whole request: another request with the same key is refused.
    pub request_hash: [u8; 32],
}

impl Idempotency {
    /// Checks the key. Both stores use this, so that both refuse the same things in the same words.
    pub fn validate(&self) -> Result<()> {
        let len = self.key.len();
        if len == 0 || len > MAX_NAME_BYTES || self.key.chars().any(char::is_control) {
            let text =
                format!("an idempotency key has 1 to {MAX_NAME_BYTES} bytes and no control characters");
            return Err(StoreError::Invalid(text));
        }
        Ok(())
    }
}

/// What a request hears that takes a key, see [`Store::take_key`](crate::Store::take_key).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keyed {
    /// Nobody has used it: the request is to be carried out, and its key to be settled.
    Yours,
    /// Another request took it and has not settled it.
    Taken {
        /// What that request calls itself.
        by: String,
        /// When it took the key.
        since: Timestamp,
    },
    /// The request was answered before, with this.
    Answered(String),
}

impl Keyed {
    /// A key that was taken, as it is kept.
    #[must_use]
    pub fn taken_to_kept(by: &str) -> String {
        kept(TAKEN, by)
    }

    /// An answer, as it is kept.
    #[must_use]
    pub fn answer_to_kept(answer: &str) -> String {
        kept(ANSWERED, answer)
    }

    /// Reads back what was kept, for the request that calls itself `by`: it may ask again when it heard no answer.
    pub fn from_kept(kept: &str, since: Timestamp, by: &str) -> Result<Self> {
        let bad = |why: String| StoreError::Internal(format!("a kept answer cannot be read: {why}"));
        let (word, text): (String, String) =
            serde_json::from_str(kept).map_err(|error| bad(error.to_string()))?;
        match word.as_str() {
            TAKEN if text == by => Ok(Self::Yours),
            TAKEN => Ok(Self::Taken { by: text, since }),
            ANSWERED => Ok(Self::Answered(text)),
            other => Err(bad(format!("unknown word {other:?}"))),
        }
    }
}

const TAKEN: &str = "taken";
const ANSWERED: &str = "answered";

fn kept(word: &str, text: &str) -> String {
    serde_json::to_string(&(word, text)).unwrap_or_default()
}
