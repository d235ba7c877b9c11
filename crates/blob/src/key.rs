//! Names of artifacts, checked once.
//!
//! A [`Key`] is segments joined by `/`. It cannot name a parent, the root, or anything outside: whatever a hostile client
//! calls its file, no key exists that leaves the place it is put into. Human names pass: spaces, Unicode, sub-folders.

use std::fmt;
use std::sync::Arc;

/// Longest key, in bytes: what S3 takes.
pub const MAX_KEY_BYTES: usize = 1_024;
/// Longest segment, in bytes: what file systems take.
pub const MAX_SEGMENT_BYTES: usize = 255;
/// Segments that begin so belong to the backends: temps and probes. No key does.
pub(crate) const RESERVED: &str = ".redrive-";

/// The name of one artifact under its place. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is nothing, or nothing between two slashes, or a slash at an end.
    #[error("a segment is empty")]
    Empty,
    /// The whole is longer than [`MAX_KEY_BYTES`].
    #[error("it is longer than {MAX_KEY_BYTES} bytes")]
    TooLong,
    /// One segment is longer than [`MAX_SEGMENT_BYTES`].
    #[error("a segment is longer than {MAX_SEGMENT_BYTES} bytes")]
    SegmentTooLong,
    /// A segment is `.` or `..`.
    #[error("a segment is . or ..")]
    Dots,
    /// A character that hides, splits or ends names: NUL, control characters, backslash.
    #[error("it holds the character {0:?}")]
    Character(char),
    /// A segment begins like the names that backends use for themselves.
    #[error("a segment begins with {RESERVED}")]
    Reserved,
}

impl Key {
    /// Checks a text.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if text.len() > MAX_KEY_BYTES {
            return Err(KeyError::TooLong);
        }
        text.split('/').try_for_each(check)?;
        Ok(Self(text.into()))
    }

    /// This key with more segments behind it.
    pub fn join(&self, more: &str) -> Result<Self, KeyError> {
        Self::parse(&format!("{}/{more}", self.0))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments in order; there is at least one.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether the first segments are those of another key, and there are more.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        self.0.strip_prefix(&*other.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The folders, and the last segment.
    pub(crate) fn split(&self) -> (Option<&str>, &str) {
        self.0.rsplit_once('/').map_or((None, &self.0), |(folders, name)| (Some(folders), name))
    }
}

/// What no segment may be. C1 controls are refused with the C0 ones: terminals act on both.
fn check(segment: &str) -> Result<(), KeyError> {
    if segment.is_empty() {
        return Err(KeyError::Empty);
    }
    if segment.len() > MAX_SEGMENT_BYTES {
        return Err(KeyError::SegmentTooLong);
    }
    if segment == "." || segment == ".." {
        return Err(KeyError::Dots);
    }
    if segment.starts_with(RESERVED) {
        return Err(KeyError::Reserved);
    }
    match segment.chars().find(|c| c.is_control() || *c == '\\') {
        Some(c) => Err(KeyError::Character(c)),
        None => Ok(()),
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", &*self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_people_give_are_keys() {
        for name in [
            "a",
            "job/7",
            "Rechnungen 2026/März (final).pdf",
            "日本語/報告.pdf",
            "..a",
            "a..",
            "...",
            ".hidden",
            "%2e%2e",
            "a b",
        ] {
            assert_eq!(Key::parse(name).map(|key| key.to_string()), Ok(name.to_owned()));
        }
    }

    #[test]
    fn hostile_names_are_no_keys() {
        use KeyError::{Character, Dots, Empty, Reserved, SegmentTooLong, TooLong};
        let long = "x".repeat(256);
        let longer = "x/".repeat(513);
        for (name, error) in [
            ("", Empty),
            ("/", Empty),
            ("/etc/passwd", Empty),
            ("a//b", Empty),
            ("a/", Empty),
            ("..", Dots),
            (".", Dots),
            ("../../x", Dots),
            ("a/../../b", Dots),
            ("a/./b", Dots),
            ("C:\\x", Character('\\')),
            ("a\0b", Character('\0')),
            ("a\nb", Character('\n')),
            ("a\u{85}b", Character('\u{85}')),
            ("a\u{7f}b", Character('\u{7f}')),
            (".redrive-temp/x", Reserved),
            ("a/.redrive-probe", Reserved),
            (&long, SegmentTooLong),
            (&longer, TooLong),
        ] {
            assert_eq!(Key::parse(name), Err(error), "{name:?}");
        }
    }

    #[test]
    fn the_limits_themselves_are_allowed() {
        let segment = "é".repeat(127) + "x";
        assert_eq!(segment.len(), MAX_SEGMENT_BYTES);
        let key = [segment.as_str(); 4].join("/") + "/";
        assert!(Key::parse(&segment).is_ok());
        assert_eq!(key.len(), MAX_KEY_BYTES);
        assert!(
            Key::parse(&format!("{}y", &key[..MAX_KEY_BYTES - 1]))
                .is_err_and(|e| e == KeyError::SegmentTooLong)
        );
        assert!(Key::parse(&key[..MAX_KEY_BYTES - 1]).is_ok());
    }

    proptest! {
        /// Whatever the text: a key that came out of it has no way up, no way to the root and no character that hides.
        #[test]
        fn no_key_leaves_its_place(text in "\\PC{0,40}|[./\\\\a\u{0}-\u{1f}]{0,12}") {
            if let Ok(key) = Key::parse(&text) {
                prop_assert_eq!(key.as_str(), text.as_str());
                let path = std::path::Path::new(key.as_str());
                prop_assert!(path.components().all(|c| matches!(c, std::path::Component::Normal(_))));
                prop_assert!(!key.as_str().chars().any(char::is_control));
            }
        }
    }
}
