//! The life of a failure group: the same fault in ten thousand jobs is one row.

use crate::state::words;
use serde::{Deserialize, Serialize};

words!(
    /// Where people are with a group.
    GroupState {
        /// Nobody has looked yet.
        New = "new",
        /// Somebody has.
        Acknowledged = "acknowledged",
        /// Somebody says it is mended.
        Resolved = "resolved",
        /// It came back after that.
        Regressed = "regressed",
    }
);

impl GroupState {
    /// The state after the fault was seen once more.
    #[must_use]
    pub const fn on_failure(self) -> Self {
        match self {
            Self::New => Self::New,
            Self::Acknowledged => Self::Acknowledged,
            Self::Resolved | Self::Regressed => Self::Regressed,
        }
    }

    /// Whether a person may move the group there by hand.
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        match (self, to) {
            (Self::New | Self::Regressed, Self::Acknowledged | Self::Resolved)
            | (Self::Acknowledged, Self::Resolved) => true,
            (Self::New | Self::Regressed | Self::Acknowledged | Self::Resolved, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_resolved_group_regresses() {
        for &state in GroupState::ALL {
            let after = state.on_failure();
            let was_resolved = matches!(state, GroupState::Resolved | GroupState::Regressed);
            assert_eq!(after == GroupState::Regressed, was_resolved, "{state}");
        }
    }

    #[test]
    fn nobody_makes_a_group_new_or_regressed_by_hand() {
        for &from in GroupState::ALL {
            assert!(!from.may_become(GroupState::New) && !from.may_become(GroupState::Regressed));
            assert!(!from.may_become(from));
        }
    }
}
