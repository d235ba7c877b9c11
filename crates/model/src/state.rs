//! The life of a job and of a batch: stored states, the one table of legal moves, and the one function that turns a
//! row into the state people see.
//!
//! A test walks all pairs: what is not in [`MOVES`] is refused everywhere.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// Every one of them, in the order people read them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in SQL, JSON, metrics and pages.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Reads the word back.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words!(
    /// What a job's row says.
    State {
        /// Waits: for a worker, a due time, a batch of its own, or a breaker.
        Queued = "queued",
        /// A worker holds a lease on it.
        Processing = "processing",
        /// Done; the result is recorded.
        Complete = "complete",
        /// Policy or a person gave up on it.
        Failed = "failed",
        /// A person stopped it.
        Cancelled = "cancelled",
    }
);

impl State {
    /// Nothing more happens by itself.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Processing => false,
            Self::Complete | Self::Failed | Self::Cancelled => true,
        }
    }
}

words!(
    /// What a batch's row says.
    BatchState {
        /// Members are still to be added or to end.
        Processing = "processing",
        /// Every member completed.
        Complete = "complete",
        /// A mix, under the batch's end rule.
        Partial = "partial",
        /// Nothing useful came of it, or strict and something could never have worked.
        Failed = "failed",
        /// Every member was cancelled.
        Cancelled = "cancelled",
    }
);

impl BatchState {
    /// The batch has ended (it can open again when a member gets a new generation).
    #[must_use]
    pub const fn is_ended(self) -> bool {
        match self {
            Self::Processing => false,
            Self::Complete | Self::Partial | Self::Failed | Self::Cancelled => true,
        }
    }
}

words!(
    /// Why a job moves from one state to another.
    Move {
        /// A producer hands it in.
        Enqueue = "enqueue",
        /// Refused at the door, kept so that the person sees the row.
        Reject = "reject",
        /// A worker takes it.
        Claim = "claim",
        /// The handler finished it.
        Complete = "complete",
        /// Policy gave up after an attempt.
        Fail = "fail",
        /// Policy tries again later.
        Retry = "retry",
        /// A worker gives it back while draining.
        Release = "release",
        /// Its lease ran out.
        Reclaim = "reclaim",
        /// The handler asks to run later.
        Snooze = "snooze",
        /// The handler asks for another run.
        Reschedule = "reschedule",
        /// The handler waits for a batch of its own.
        AwaitBatch = "await_batch",
        /// A failed breaker probe gives the attempt back.
        ProbeRefund = "probe_refund",
        /// Given up while waiting: fail-fast breaker, deadline, undecodable, crash budget, or by hand.
        GiveUp = "give_up",
        /// A person stops it.
        Cancel = "cancel",
        /// A person or a replay starts a new generation.
        RetryByHand = "retry_by_hand",
    }
);

/// The one table of legal moves: from, why, to. `None` is "no row yet".
pub const MOVES: &[(Option<State>, Move, State)] = &[
    (None, Move::Enqueue, State::Queued),
    (None, Move::Reject, State::Failed),
    (Some(State::Queued), Move::Claim, State::Processing),
    (Some(State::Processing), Move::Complete, State::Complete),
    (Some(State::Processing), Move::Fail, State::Failed),
    (Some(State::Processing), Move::Reclaim, State::Failed),
    (Some(State::Processing), Move::Retry, State::Queued),
    (Some(State::Processing), Move::Release, State::Queued),
    (Some(State::Processing), Move::Reclaim, State::Queued),
    (Some(State::Processing), Move::Snooze, State::Queued),
    (Some(State::Processing), Move::Reschedule, State::Queued),
    (Some(State::Processing), Move::AwaitBatch, State::Queued),
    (Some(State::Processing), Move::ProbeRefund, State::Queued),
    (Some(State::Queued), Move::GiveUp, State::Failed),
    (Some(State::Queued), Move::Cancel, State::Cancelled),
    (Some(State::Processing), Move::Cancel, State::Cancelled),
    (Some(State::Failed), Move::RetryByHand, State::Queued),
];

/// Whether a job may go from one state to another for this reason.
#[must_use]
pub fn may_move(from: Option<State>, why: Move, to: State) -> bool {
    MOVES.iter().any(|&(f, w, t)| f == from && w == why && t == to)
}

/// Whether a batch may go from one state to another.
#[must_use]
pub fn batch_may_move(from: BatchState, to: BatchState) -> bool {
    match (from.is_ended(), to.is_ended()) {
        (false, true) | (true, false) => true,
        (false, false) | (true, true) => false,
    }
}

words!(
    /// What people see: stored states, and the four ways a queued job can be waiting.
    Shown {
        /// Will run as soon as a worker is free.
        Queued = "queued",
        /// Due in the future, not tried yet.
        Scheduled = "scheduled",
        /// Tried, and due again in the future.
        WaitingRetry = "waiting_retry",
        /// Waits for a batch of its own.
        WaitingBatch = "waiting_batch",
        /// A target's breaker is open.
        Held = "held",
        /// Running now.
        Processing = "processing",
        /// Done.
        Complete = "complete",
        /// A batch that ended as a mix.
        Partial = "partial",
        /// Given up.
        Failed = "failed",
        /// Stopped by a person.
        Cancelled = "cancelled",
    }
);

impl Shown {
    /// What the rows say of jobs that look like this; nothing for what only batches look like.
    #[must_use]
    pub const fn stored(self) -> Option<State> {
        match self {
            Self::Queued | Self::Scheduled | Self::WaitingRetry | Self::WaitingBatch | Self::Held => {
                Some(State::Queued)
            }
            Self::Processing => Some(State::Processing),
            Self::Complete => Some(State::Complete),
            Self::Failed => Some(State::Failed),
            Self::Cancelled => Some(State::Cancelled),
            Self::Partial => None,
        }
    }
}

/// The parts of a row that decide what people see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The stored state.
    pub state: State,
    /// When the job may run.
    pub due_at: Timestamp,
    /// Charged executions in this generation.
    pub attempt: u32,
    /// It has run before in this generation, charged or not.
    pub ran_before: bool,
    /// Waits for a batch of its own.
    pub awaits_batch: bool,
    /// A breaker or a manual hold blocks one of its targets.
    pub held: bool,
}

/// The one function that says what people see. A wait has one reason: the batch, then the breaker, then the due time.
#[must_use]
pub fn shown(facts: &Facts, now: Timestamp) -> Shown {
    match facts.state {
        State::Processing => Shown::Processing,
        State::Complete => Shown::Complete,
        State::Failed => Shown::Failed,
        State::Cancelled => Shown::Cancelled,
        State::Queued if facts.awaits_batch => Shown::WaitingBatch,
        State::Queued if facts.held => Shown::Held,
        State::Queued if facts.due_at > now && (facts.attempt > 0 || facts.ran_before) => Shown::WaitingRetry,
        State::Queued if facts.due_at > now => Shown::Scheduled,
        State::Queued => Shown::Queued,
    }
}

impl From<BatchState> for Shown {
    fn from(state: BatchState) -> Self {
        match state {
            BatchState::Processing => Self::Processing,
            BatchState::Complete => Self::Complete,
            BatchState::Partial => Self::Partial,
            BatchState::Failed => Self::Failed,
            BatchState::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::from_millis;

    /// The moves of `decisions.md`, written again by hand: the table must say exactly this.
    fn allowed(from: Option<State>, to: State) -> bool {
        use State::*;
        matches!(
            (from, to),
            (None, Queued | Failed)
                | (Some(Queued), Processing | Failed | Cancelled)
                | (Some(Processing), Complete | Failed | Queued | Cancelled)
                | (Some(Failed), Queued)
        )
    }

    #[test]
    fn all_pairs_of_states_are_either_drawn_or_refused() {
        let froms = std::iter::once(None).chain(State::ALL.iter().copied().map(Some));
        for from in froms {
            for &to in State::ALL {
                let drawn = Move::ALL.iter().any(|&why| may_move(from, why, to));
                assert_eq!(drawn, allowed(from, to), "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn every_move_has_a_place_and_terminal_states_are_left_only_by_hand() {
        for &why in Move::ALL {
            assert!(MOVES.iter().any(|m| m.1 == why), "{why} is never legal");
        }
        for &(from, why, _) in MOVES {
            if from.is_some_and(State::is_terminal) {
                assert_eq!(why, Move::RetryByHand);
            }
        }
    }

    #[test]
    fn a_batch_ends_and_opens_again_but_never_changes_its_end() {
        for &a in BatchState::ALL {
            for &b in BatchState::ALL {
                let legal = (a == BatchState::Processing) != (b == BatchState::Processing);
                assert_eq!(batch_may_move(a, b), legal, "{a} -> {b}");
            }
        }
    }

    #[test]
    fn words_read_back() {
        for &s in State::ALL {
            assert_eq!(State::parse(s.as_str()), Some(s));
            assert_eq!(serde_json::to_value(s).unwrap(), s.as_str());
        }
        for &s in Shown::ALL {
            assert_eq!(Shown::parse(s.as_str()), Some(s));
            assert_eq!(serde_json::to_value(s).unwrap(), s.as_str());
        }
        assert_eq!(State::parse("Queued"), None);
    }

    #[test]
    fn waiting_never_looks_like_plain_queued() {
        let now = from_millis(100);
        let base = Facts {
            state: State::Queued,
            due_at: from_millis(0),
            attempt: 0,
            ran_before: false,
            awaits_batch: false,
            held: false,
        };
        let later = from_millis(101);
        assert_eq!(shown(&base, now), Shown::Queued);
        assert_eq!(shown(&Facts { due_at: later, ..base }, now), Shown::Scheduled);
        assert_eq!(shown(&Facts { due_at: later, attempt: 1, ..base }, now), Shown::WaitingRetry);
        assert_eq!(shown(&Facts { due_at: later, ran_before: true, ..base }, now), Shown::WaitingRetry);
        assert_eq!(shown(&Facts { due_at: later, held: true, attempt: 1, ..base }, now), Shown::Held);
        assert_eq!(shown(&Facts { held: true, ..base }, now), Shown::Held);
        assert_eq!(shown(&Facts { awaits_batch: true, held: true, ..base }, now), Shown::WaitingBatch);
        assert_eq!(shown(&Facts { attempt: 2, ..base }, now), Shown::Queued);
        for &state in State::ALL.iter().filter(|s| **s != State::Queued) {
            assert_eq!(shown(&Facts { state, held: true, ..base }, now).as_str(), state.as_str());
        }
    }
}
