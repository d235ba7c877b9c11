//! Operators' tokens: what a store keeps of one, and what it may do.
//!
//! The store sees the hash of a token, never the token. The id is the beginning of that hash: whoever holds a token can be found by it, and
//! whoever reads an id in the audit trail has learnt nothing that opens a door.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use redrive_model::Timestamp;

/// At most so many tokens are listed, the newest first.
pub const MAX_TOKENS: usize = 1_000;

/// Which token: the first six bytes of its hash, written as twelve digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId([u8; 6]);

impl TokenId {
    /// The id of the token with this hash.
    #[must_use]
    pub const fn of(hash: &[u8; 32]) -> Self {
        let [a, b, c, d, e, f, ..] = *hash;
        Self([a, b, c, d, e, f])
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// It is no id of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the id of a token has twelve digits, 0 to 9 and a to f")]
pub struct NoTokenId;

impl FromStr for TokenId {
    type Err = NoTokenId;

    fn from_str(text: &str) -> Result<Self, NoTokenId> {
        let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 12 || !text.bytes().all(plain) {
            return Err(NoTokenId);
        }
        let mut bytes = [0; 6];
        for (n, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(n * 2..n * 2 + 2).ok_or(NoTokenId)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoTokenId)?;
        }
        Ok(Self(bytes))
    }
}

/// What a token may do. Each one may also do what stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Look at everything.
    Read,
    /// Act on jobs, dead letters, targets, workers.
    Act,
    /// Change settings, who is told, and tokens.
    Admin,
}

impl Scope {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Act, Self::Admin];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Act => "act",
            Self::Admin => "admin",
        }
    }

    /// Reads its word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }

    /// Whether one who has this may do what needs that.
    #[must_use]
    pub fn covers(self, needed: Self) -> bool {
        self >= needed
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The longest name.
const LONGEST: usize = 40;

/// How people call a token. Letters, digits and a few signs, so that it can stand in any log and any page; it is small and copied with whoever
/// acts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenName {
    bytes: [u8; LONGEST],
    len: usize,
}

impl TokenName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl fmt::Debug for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// It is no name for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a name has 1 to {LONGEST} letters, digits, dots, dashes, underscores, @ or spaces, and no space at its ends"
)]
pub struct NoTokenName;

impl FromStr for TokenName {
    type Err = NoTokenName;

    fn from_str(text: &str) -> Result<Self, NoTokenName> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_@ ".contains(&byte);
        let mut bytes = [0; LONGEST];
        let Some(place) = bytes.get_mut(..text.len()) else { return Err(NoTokenName) };
        if text.is_empty() || text.trim() != text || !text.bytes().all(plain) {
            return Err(NoTokenName);
        }
        place.copy_from_slice(text.as_bytes());
        Ok(Self { bytes, len: text.len() })
    }
}

/// A token that is to be known from now on.
#[derive(Clone)]
pub struct NewToken {
    /// How people call it.
    pub name: TokenName,
    /// What it may do.
    pub scope: Scope,
    /// SHA-256 of it.
    pub hash: [u8; 32],
    /// When it stops to be good, by the store's clock; never unless said.
    pub expires_at: Option<Timestamp>,
    /// Who made it.
    pub by: String,
}

impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewToken({}, {:?}, {})", TokenId::of(&self.hash), self.name, self.scope)
    }
}

/// A token as the store knows it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Which.
    pub id: TokenId,
    /// How people call it.
    pub name: TokenName,
    /// What it may do.
    pub scope: Scope,
    /// SHA-256 of it.
    pub hash: [u8; 32],
    /// When it was made.
    pub made_at: Timestamp,
    /// By whom.
    pub made_by: String,
    /// When it stops to be good.
    pub expires_at: Option<Timestamp>,
    /// When somebody took it back.
    pub revoked_at: Option<Timestamp>,
    /// When it was last noted as used.
    pub used_at: Option<Timestamp>,
    /// How long ago that was; nothing when it never was.
    pub unused: Option<Duration>,
    /// Whether it opens anything, by the store's clock.
    pub standing: Standing,
}

impl fmt::Debug for TokenRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenRow({}, {:?}, {}, {:?})", self.id, self.name, self.scope, self.standing)
    }
}

/// Whether a token opens anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Good,
    /// Its time is over.
    Expired,
    /// Somebody took it back.
    Revoked,
}

impl Standing {
    /// As the store's clock says now.
    #[must_use]
    pub fn at(now: Timestamp, expires_at: Option<Timestamp>, revoked_at: Option<Timestamp>) -> Self {
        match (revoked_at, expires_at) {
            (Some(_), _) => Self::Revoked,
            (None, Some(end)) if end <= now => Self::Expired,
            (None, Some(_) | None) => Self::Good,
        }
    }

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_beginning_of_a_hash_and_reads_back() {
        let id = TokenId::of(&[0xab; 32]);
        assert_eq!((id.to_string().as_str(), "abababababab".parse()), ("abababababab", Ok(id)));
        for bad in ["", "ab", "ABABABABABAB", "abababababag", "ababababababab", "éééééé"] {
            assert_eq!(bad.parse::<TokenId>(), Err(NoTokenId), "{bad}");
        }
    }

    #[test]
    fn a_name_can_stand_anywhere() {
        for good in ["a", "nightly replay", "Ann.B-2_x@example.org", &"x".repeat(40)] {
            assert_eq!(good.parse::<TokenName>().unwrap().as_str(), good);
        }
        for bad in ["", " a", "a ", "a\nb", "<b>", "ä", "a\"b", &"x".repeat(41)] {
            assert_eq!(bad.parse::<TokenName>(), Err(NoTokenName), "{bad:?}");
        }
    }

    #[test]
    fn a_larger_scope_may_do_what_a_smaller_one_may() {
        for (has, n) in Scope::ALL.into_iter().zip(1..) {
            assert_eq!(Scope::ALL.into_iter().filter(|needed| has.covers(*needed)).count(), n, "{has}");
            assert_eq!(Scope::parse(has.as_str()), Some(has));
        }
        assert_eq!(Scope::parse("Admin"), None);
    }

    #[test]
    fn nothing_that_holds_a_hash_prints_it() {
        let new = NewToken {
            name: "n".parse().unwrap(),
            scope: Scope::Read,
            hash: [7; 32],
            expires_at: None,
            by: "me".into(),
        };
        assert_eq!(format!("{new:?}"), "NewToken(070707070707, \"n\", read)");
    }
}
