//! SHA-256 as a value: what a stored thing is, whatever it is called.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256([u8; 32]);

impl Sha256 {
    /// The hash of bytes that are in memory already.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Reads 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (n, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(n * 2..n * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(digits(&self.0, &mut [0; 64]))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(digits(&self.0, &mut [0; 64]))
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
    }
}

/// Bytes as hexadecimal digits, two for each, as far as there is room.
pub(crate) fn digits<'a>(bytes: &[u8], room: &'a mut [u8]) -> &'a str {
    let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' + (n - 10) };
    for (pair, byte) in room.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    str::from_utf8(room).unwrap_or_default()
}

/// A hash and a count that grow while bytes pass.
#[derive(Debug, Clone, Default)]
pub struct Hashing {
    hash: sha2::Sha256,
    bytes: u64,
}

impl Hashing {
    /// Adds what has passed.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
    }

    /// So many bytes have passed.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hash of all of them.
    #[must_use]
    pub fn end(self) -> Sha256 {
        Sha256(self.hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_goes_both_ways_and_matches_the_standard() {
        let hash = Sha256::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(Sha256::parse(text), Some(hash));
        assert_eq!(Sha256::parse(&text.to_uppercase()), Some(hash));
        for wrong in ["", "ba78", &text[1..], &format!("{text}0"), &text.replace('b', "g"), &"é".repeat(32)]
        {
            assert_eq!(Sha256::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn pieces_hash_like_the_whole() {
        let mut hashing = Hashing::default();
        for piece in [&b"a"[..], b"", b"bc"] {
            hashing.update(piece);
        }
        assert_eq!(hashing.bytes(), 3);
        assert_eq!(hashing.end(), Sha256::of(b"abc"));
    }
}
