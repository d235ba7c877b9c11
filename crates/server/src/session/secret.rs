//! A session's secret: 256 bits from the operating system, known to the browser alone. The store keeps its hash.

use std::fmt;

use rand::TryRngCore;
use rand::rngs::OsRng;
use redrive_model::Code;
use redrive_store::SessionKey;
use sha2::{Digest, Sha256};

use crate::refusal::Refusal;

/// The secret. It is never logged and never leaves but in its cookie.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret([u8; 32]);

impl Secret {
    /// A fresh one.
    pub(crate) fn fresh() -> Result<Self, Refusal> {
        let mut bytes = [0; 32];
        OsRng.try_fill_bytes(&mut bytes).map_err(|error| {
            tracing::error!(event = "session.no_randomness", "{error}");
            Refusal::new(Code::SystemUnavailable, "No session can be made just now.")
        })?;
        Ok(Self(bytes))
    }

    /// Reads what [`Secret::text`] wrote; nothing else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 64 || !text.bytes().all(plain) {
            return None;
        }
        let mut bytes = [0; 32];
        for (n, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(n * 2..n * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// As the cookie holds it.
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What the store keeps.
    pub(crate) fn key(&self) -> SessionKey {
        SessionKey::from_bytes(Sha256::digest(self.0).into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_read_back_and_do_not_show() {
        let [a, b] = [Secret::fresh().unwrap(), Secret::fresh().unwrap()];
        assert_ne!(a, b);
        assert_eq!(Secret::parse(&a.text()), Some(a.clone()));
        assert_eq!(format!("{a:?}"), "***");
        let key: String = a.key().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_ne!(key, a.text(), "the store's value is no secret");
        assert_ne!(Secret::parse(&key).unwrap().key(), a.key(), "and cannot be used as one");
        for bad in ["", "ab", &"g".repeat(64), &"AB".repeat(32), &"a".repeat(65), &"é".repeat(32)] {
            assert_eq!(Secret::parse(bad), None, "{bad}");
        }
    }
}
