//! Tokens and one-time codes: how they look, and how they are compared.
//!
//! What is kept is always a hash, and two hashes are compared in the same time wherever they differ.

use std::fmt;
use std::fmt::Write;

use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What our tokens begin with, so that a scanner for leaked secrets knows them.
const PREFIX: &str = "rdo_";

/// SHA-256 of a token or a code.
#[derive(Clone, Copy)]
pub(crate) struct Hash([u8; 32]);

impl Hash {
    pub(crate) fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Whether both are of the same text. Takes the same time either way.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// The same for a hash that a store keeps.
    pub(crate) fn is_hash(&self, kept: &[u8; 32]) -> bool {
        self.is(&Self(*kept))
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The words of the settings table.
    pub(crate) fn to_kept(self) -> String {
        format!("sha256:{}", hex(&self.0))
    }

    /// Reads the words back.
    pub(crate) fn from_kept(kept: &str) -> Option<Self> {
        let digits = kept.strip_prefix("sha256:").filter(|digits| digits.len() == 64)?;
        let mut bytes = [0; 32];
        for (n, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(n * 2..n * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash(…)")
    }
}

/// What somebody sent as a token. The text itself is not kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    hash: Hash,
    start: Hash,
    whole: bool,
}

/// How many characters are the beginning of a token, by which wrong ones are counted: our prefix and eight digits.
const START: usize = PREFIX.len() + 8;

impl Sent {
    pub(crate) fn of(text: &str) -> Self {
        let start = text.char_indices().nth(START).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
        Self { hash: Hash::of(text), start: Hash::of(start), whole: is_whole(text) }
    }

    pub(crate) const fn hash(&self) -> &Hash {
        &self.hash
    }

    /// The beginning, as a hash: what wrong tokens are counted by.
    pub(crate) const fn start(&self) -> [u8; 32] {
        self.start.0
    }

    /// Whether it looks like a token of ours, down to its checksum. One that does not is in no list.
    pub(crate) const fn is_whole(&self) -> bool {
        self.whole
    }
}

fn is_whole(text: &str) -> bool {
    let Some((digits, checksum)) = text.strip_prefix(PREFIX).and_then(|rest| rest.split_at_checked(64))
    else {
        return false;
    };
    checksum == format!("{:08x}", crc32fast::hash(digits.as_bytes()))
}

/// A token that nobody has seen yet.
pub(crate) struct Fresh {
    /// What its holder sends.
    pub(crate) token: String,
    /// What is kept of it.
    pub(crate) hash: Hash,
}

/// A fresh token: 256 bits from the operating system, with a checksum behind them that tells a mistyped one from a wrong one.
pub(crate) fn fresh_token() -> Result<Fresh, rand::rand_core::OsError> {
    let digits = hex(&random::<32>()?);
    let checksum = crc32fast::hash(digits.as_bytes());
    let token = format!("{PREFIX}{digits}{checksum:08x}");
    let hash = Hash::of(&token);
    Ok(Fresh { token, hash })
}

/// A fresh one-time code: 128 bits are enough for some minutes.
pub(crate) fn fresh_code() -> Result<String, rand::rand_core::OsError> {
    Ok(hex(&random::<16>()?))
}

fn random<const N: usize>() -> Result<[u8; N], rand::rand_core::OsError> {
    let mut bytes = [0; N];
    OsRng.try_fill_bytes(&mut bytes)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_carry_their_checksum_and_hashes_read_back_without_telling() {
        let [a, b] = [fresh_token().unwrap().token, fresh_token().unwrap().token];
        assert_ne!(a, b);
        let (digits, checksum) = a.strip_prefix("rdo_").unwrap().split_at(64);
        assert_eq!(format!("{:08x}", crc32fast::hash(digits.as_bytes())), checksum);
        let hash = Hash::of(&a);
        assert!(hash.is(&Hash::of(&a)) && !hash.is(&Hash::of(&b)));
        assert!(!hash.to_kept().contains(digits), "the store's words are no token");
        assert!(Hash::from_kept(&hash.to_kept()).unwrap().is(&hash));
        assert_eq!(format!("{hash:?}"), "Hash(…)");
        for bad in ["", "sha256:", "sha256:zz", &"a".repeat(64), &format!("sha256:{}", "é".repeat(32))] {
            assert!(Hash::from_kept(bad).is_none(), "{bad}");
        }
        assert_eq!(fresh_code().unwrap().len(), 32);
    }

    #[test]
    fn what_is_sent_is_known_by_its_look_and_counted_by_its_beginning() {
        let Fresh { token, hash } = fresh_token().unwrap();
        let sent = Sent::of(&token);
        assert!(sent.is_whole() && sent.hash().is(&hash));
        let (head, tail) = token.split_at(40);
        let typo = format!("{head}{}{}", if tail.starts_with('0') { '1' } else { '0' }, &tail[1..]);
        for wrong in [typo.as_str(), head, "", "rdo_", &"é".repeat(76), &format!("rdo_{}", "é".repeat(36))]
        {
            assert!(!Sent::of(wrong).is_whole(), "{wrong}");
        }
        assert_eq!(Sent::of(&typo).start(), sent.start());
        assert_ne!(Sent::of("rdo_00000000").start(), Sent::of("rdo_00000001").start());
        let printed = format!("{sent:?}");
        assert!(!printed.contains(&token[4..12]), "{printed}");
    }
}
