//! Ids: who they name and how they are made.
//!
//! UUIDv7 ids are made from an instant and ten random bytes that the caller passes in, so that tests can make the
//! same ids again. They sort by creation time, which the stores' keyset lists and retention sweeps rely on.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::instant;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Makes a UUIDv7 from an instant and 74 bits of the given draw.
            #[must_use]
            pub fn from_parts(at: Timestamp, draw: [u8; 10]) -> Self {
                let ms = u64::try_from(instant::to_millis(at)).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(ms, &draw).into_uuid())
            }

            /// When it was made; meaningless for an id that is no UUIDv7.
            #[must_use]
            pub fn made_at(self) -> Timestamp {
                let [a, b, c, d, e, f, ..] = *self.0.as_bytes();
                instant::from_millis(i64::from_be_bytes([0, 0, a, b, c, d, e, f]))
            }

            /// Wraps an id that came from a store or from outside.
            #[must_use]
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }

            /// The id as the stores keep it.
            #[must_use]
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text).map(Self)
            }
        }
    };
}

uuid_id!(
    /// One durable unit of work.
    JobId
);
impl JobId {
    /// The smallest id that is larger than this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(Uuid::from_u128(self.0.as_u128().saturating_add(1)))
    }
}

uuid_id!(
    /// Jobs submitted together.
    BatchId
);
uuid_id!(
    /// One incarnation of a worker process. A restarted worker has a new one, whatever its name.
    WorkerId
);
uuid_id!(
    /// A supervised replay of many dead letters.
    ReplayId
);

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id!(
    /// The fence of one lease: a per-job counter that every claim raises and nothing ever lowers.
    LeaseToken
);
number_id!(
    /// Position of an event in the event stream. Grows, may have gaps, never goes back.
    EventSeq
);
number_id!(
    /// Position of a dead letter. Grows, may have gaps, never goes back.
    Offset
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_when_it_was_made() {
        let at = instant::from_millis(1_700_000_000_123);
        assert_eq!(JobId::from_parts(at, [7; 10]).made_at(), at);
    }

    #[test]
    fn ids_sort_by_the_instant_they_were_made_from() {
        let early = JobId::from_parts(instant::from_millis(1_000), [0xff; 10]);
        let late = JobId::from_parts(instant::from_millis(1_001), [0; 10]);
        assert!(early < late);
        assert_eq!(early.as_uuid().get_version_num(), 7);
    }

    #[test]
    fn the_same_parts_make_the_same_id_and_it_reads_back() {
        let a = BatchId::from_parts(instant::from_millis(5), [7; 10]);
        assert_eq!(a, BatchId::from_parts(instant::from_millis(5), [7; 10]));
        assert_eq!(a.to_string().parse::<BatchId>().unwrap(), a);
        assert!("not-an-id".parse::<JobId>().is_err());
    }
}
