//! The numbers of one model run and the one deliberate mistake it may contain.
//!
//! A broken protocol is the same model with another [`Variant`], never a copy: what the tests prove about the mistakes
//! therefore says something about the correct protocol too. Each variant changes exactly one decision.

use super::row::{JobState, Row};
use super::worker::WorkerId;

/// Crashes after which a job runs alone; a crash while it runs alone quarantines it.
pub const CRASHES_BEFORE_ALONE: u8 = 2;

/// The protocol as decided, or the protocol with one mistake in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// The protocol as decided.
    Correct,
    /// Workers' writes are taken as they come.
    NoFence,
    /// A write is taken when the writer's name is in `leased_by`; its token is ignored.
    OwnerOnlyFence,
    /// A write is taken when its token is the last one given out, whatever the state is.
    TokenOnlyFence,
    /// The attempt is counted when it finishes, so that one which never finishes is never counted.
    ChargedLate,
    /// Retry by hand starts the tokens again from 1.
    TokenResetByRetry,
    /// Every release gives the attempt back, however many there were.
    UnlimitedReleases,
    /// A release that may no longer give back puts the job into the queue even when its attempts are spent.
    SpentReleaseQueues,
    /// The store decides from its leases whether a worker is empty and does not ask about tasks that lost theirs.
    AloneByLeases,
}

impl Variant {
    /// Whether an attempt is charged when it is claimed; otherwise it is charged when it finishes.
    pub fn charges_at_claim(self) -> bool {
        self != Self::ChargedLate
    }
}

/// What one model run allows: the policy's numbers, kept small, and the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Which protocol is checked.
    pub variant: Variant,
    /// `max_attempts`: executions charged per generation.
    pub cap: u8,
    /// How many releases per generation give their attempt back (5 in production).
    pub refunds: u8,
    /// Generations a job may reach by hand; the limit exists only to keep the model finite.
    pub generations: u8,
}

impl Rules {
    /// Whether the store takes this worker's write to this row. It is the `WHERE` clause of every worker statement.
    pub fn admits(self, row: &Row, worker: WorkerId, token: u8) -> bool {
        match self.variant {
            Variant::NoFence => true,
            Variant::OwnerOnlyFence => row.leased_by == Some(worker),
            Variant::TokenOnlyFence => row.lease_token == token,
            Variant::Correct
            | Variant::ChargedLate
            | Variant::TokenResetByRetry
            | Variant::UnlimitedReleases
            | Variant::SpentReleaseQueues
            | Variant::AloneByLeases => row.state == JobState::Processing && row.lease_token == token,
        }
    }

    /// The most claims a job of the correct protocol can see in its whole life.
    pub fn most_claims(self) -> u8 {
        self.generations.saturating_mul(self.cap.saturating_add(self.refunds))
    }
}
