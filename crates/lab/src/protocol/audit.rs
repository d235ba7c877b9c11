//! What really happened to a job, kept beside its row by someone who trusts no column of it.
//!
//! The audit is a ghost: no statement reads it, only the properties do. In the correct protocol every field follows
//! from the row, so it adds no states; in a broken one it remembers what the row forgot.

use super::row::Row;
use super::statements::Write;
use super::worker::Task;

/// The history of one job, reduced to what the properties ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Audit {
    /// Claims in the whole life of the job; the number of the newest claim.
    pub claims_ever: u8,
    /// The claim that has authority over the job now.
    pub rightful: Option<u8>,
    /// Claims of this generation.
    pub claims: u8,
    /// Attempts of this generation that a release gave back.
    pub given_back: u8,
    /// Completions of this generation that the store took.
    pub completions: u8,
    /// The first result that was ever recorded.
    pub first_result: Option<u8>,
    /// The highest token that was ever given out.
    pub highest_token: u8,
    /// A claim was given a token that was not higher than all before it.
    pub token_did_not_rise: bool,
    /// A write without authority changed the row.
    pub stale_write_took_effect: bool,
}

impl Audit {
    /// Notes a claim and returns its number.
    pub fn claimed(&mut self, row: &Row) -> u8 {
        self.claims_ever += 1;
        self.claims += 1;
        self.rightful = Some(self.claims_ever);
        self.token_did_not_rise |= row.lease_token <= self.highest_token;
        self.highest_token = self.highest_token.max(row.lease_token);
        self.claims_ever
    }

    /// Notes a write that the fence admitted, from the row before and after it.
    pub fn wrote(&mut self, task: Task, write: Write, before: &Row, after: &Row) {
        self.stale_write_took_effect |= self.rightful != Some(task.claim) && before != after;
        match write {
            Write::Extend => return,
            Write::Complete => {
                self.completions += 1;
                self.first_result = self.first_result.or(after.result);
            }
            Write::Fail => {}
            Write::Release => self.given_back += u8::from(after.refunds > before.refunds),
        }
        self.rightful = None;
    }

    /// Notes that the sweep took the lease away.
    pub fn reclaimed(&mut self) {
        self.rightful = None;
    }

    /// Notes a new generation.
    pub fn retried(&mut self) {
        self.claims = 0;
        self.given_back = 0;
        self.completions = 0;
    }
}
