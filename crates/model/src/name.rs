//! Names that come from outside: checked once, here, so that everything behind can trust them.
//!
//! A refused name is an error with a sentence; no name is silently changed. Clones share the text.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_NAME_BYTES, MAX_TARGETS};

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing there.
    #[error("{what} is empty")]
    Empty {
        /// Which kind of name.
        what: &'static str,
    },
    /// Too long to store.
    #[error("{what} has {len} bytes, at most {max} are allowed")]
    TooLong {
        /// Which kind of name.
        what: &'static str,
        /// How long it was.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// Contains a character that this kind of name may not have.
    #[error("{what} may not contain {bad:?}: {rule}")]
    Character {
        /// Which kind of name.
        what: &'static str,
        /// The first offending character.
        bad: char,
        /// What is allowed.
        rule: &'static str,
    },
    /// More targets than one job may have.
    #[error("a job may depend on at most {MAX_TARGETS} targets, not {count}")]
    TooManyTargets {
        /// How many were given.
        count: usize,
    },
}

macro_rules! checked_name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, |$c:ident| $allowed:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks and takes the name.
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                if text.is_empty() {
                    return Err(NameError::Empty { what: $what });
                }
                if text.len() > MAX_NAME_BYTES {
                    return Err(NameError::TooLong { what: $what, len: text.len(), max: MAX_NAME_BYTES });
                }
                match text.chars().find(|&$c| !($allowed)) {
                    Some(bad) => Err(NameError::Character { what: $what, bad, rule: $rule }),
                    None => Ok(Self(text.into())),
                }
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }
    };
}

checked_name!(
    /// The name of a registered kind of job.
    WorkloadName,
    "a workload name",
    "use a-z, 0-9, '-', '_', '.' and ':'",
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.' | ':')
);

impl WorkloadName {
    /// Whether this text can be a workload's name, known at compile time.
    #[must_use]
    pub const fn is_valid(text: &str) -> bool {
        let mut rest = text.as_bytes();
        if rest.is_empty() || rest.len() > MAX_NAME_BYTES {
            return false;
        }
        while let [first, tail @ ..] = rest {
            if !matches!(first, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':') {
                return false;
            }
            rest = tail;
        }
        true
    }
}

checked_name!(
    /// Who may see and act on a job: an anonymous session, a user, a tenant.
    Owner,
    "an owner",
    "control characters are not allowed",
    |c| !c.is_control()
);
checked_name!(
    /// An outside dependency that a breaker watches: `gateway`, `host:example.org`, `bucket:scans`, `disk`.
    Target,
    "a target",
    "use printable ASCII without space and comma",
    |c| c.is_ascii_graphic() && c != ','
);

impl Target {
    /// What kind of target it is: what stands before the first colon of its name, or all of it. Names come from users; their
    /// kinds come from code, so that there are few.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.as_str().split(':').next().unwrap_or_default()
    }
}

/// The targets one job depends on: sorted, without repeats, so that equal sets are equal values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TargetSet(Vec<Target>);

impl TargetSet {
    /// A job that depends on nothing outside.
    pub const NONE: Self = Self(Vec::new());

    /// Sorts and de-duplicates.
    pub fn new(targets: impl IntoIterator<Item = Target>) -> Result<Self, NameError> {
        let mut targets: Vec<Target> = targets.into_iter().collect();
        targets.sort();
        targets.dedup();
        if targets.len() > MAX_TARGETS {
            return Err(NameError::TooManyTargets { count: targets.len() });
        }
        Ok(Self(targets))
    }

    /// The set as the stores intern it: the sorted names joined by commas, which no name contains.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.iter().map(Target::as_str).collect::<Vec<_>>().join(",")
    }

    /// Reads back what [`TargetSet::key`] wrote.
    pub fn from_key(key: &str) -> Result<Self, NameError> {
        Self::new(
            key.split(',').filter(|part| !part.is_empty()).map(Target::new).collect::<Result<Vec<_>, _>>()?,
        )
    }

    /// The targets in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Target> {
        self.0.iter()
    }

    /// Whether the job depends on nothing outside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `target` is one of them.
    #[must_use]
    pub fn contains(&self, target: &Target) -> bool {
        self.0.binary_search(target).is_ok()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kind_of_a_target_stands_before_its_colon() {
        for (name, kind) in
            [("gateway", "gateway"), ("host:a.example:8080", "host"), ("bucket:scans", "bucket"), (":x", "")]
        {
            assert_eq!(Target::new(name).unwrap().kind(), kind);
        }
    }

    #[test]
    fn what_compiles_as_a_workload_name_is_one() {
        for text in ["a", "send-invoice", "a.b_c:9", "", "A", "a b", "ä", "x\0", &"x".repeat(300)] {
            assert_eq!(
                super::WorkloadName::is_valid(text),
                super::WorkloadName::new(text).is_ok(),
                "{text:?}"
            );
        }
    }

    use super::*;

    #[test]
    fn bad_names_are_refused_with_a_sentence() {
        assert_eq!(WorkloadName::new("").unwrap_err().to_string(), "a workload name is empty");
        assert!(WorkloadName::new("Convert").unwrap_err().to_string().contains("'C'"));
        assert!(Owner::new("a\0b").unwrap_err().to_string().contains("may not contain"));
        assert!(Target::new("a,b").is_err());
        assert!(Target::new("x".repeat(256)).unwrap_err().to_string().contains("256 bytes"));
    }

    #[test]
    fn equal_sets_have_equal_keys_and_read_back() {
        let t = |s: &str| Target::new(s).unwrap();
        let a = TargetSet::new([t("b"), t("a"), t("b")]).unwrap();
        let b = TargetSet::new([t("a"), t("b")]).unwrap();
        assert_eq!(a.key(), "a,b");
        assert_eq!(a, b);
        assert_eq!(TargetSet::from_key(&a.key()).unwrap(), a);
        assert_eq!(TargetSet::from_key("").unwrap(), TargetSet::NONE);
    }

    #[test]
    fn a_set_larger_than_a_job_may_have_is_refused() {
        let many = (0..17).map(|n| Target::new(format!("host:{n}")).unwrap());
        assert_eq!(TargetSet::new(many).unwrap_err(), NameError::TooManyTargets { count: 17 });
    }
}
