//! Exact counts per lane: gathered while a group runs, written once when it commits.

use std::collections::BTreeMap;

use redrive_model::State;
use rusqlite::{Connection, params};

/// How counts change with this group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tallies(BTreeMap<(i64, &'static str), i64>);

impl Tallies {
    /// A job appeared in this state.
    pub(crate) fn add(&mut self, lane: i64, state: State) {
        self.change(lane, state, 1);
    }

    /// A job of this state is gone.
    pub(crate) fn remove(&mut self, lane: i64, state: State) {
        self.change(lane, state, -1);
    }

    /// Whether something changed in this lane.
    pub(crate) fn knows(&self, lane: i64) -> bool {
        self.0.keys().any(|(of, _)| *of == lane)
    }

    /// Writes the changes.
    pub(crate) fn write(&self, conn: &Connection) -> rusqlite::Result<()> {
        let mut statement = conn.prepare_cached(
            "INSERT INTO tallies (lane, kind, n) VALUES (?1, ?2, ?3) ON CONFLICT (lane, kind) DO UPDATE SET n = n + excluded.n",
        )?;
        for ((lane, kind), n) in self.0.iter().filter(|(_, n)| **n != 0) {
            statement.execute(params![lane, kind, n])?;
        }
        Ok(())
    }

    fn change(&mut self, lane: i64, state: State, by: i64) {
        *self.0.entry((lane, kind(state))).or_insert(0) += by;
    }
}

/// Queued and processing are counted together, so that a claim changes nothing.
const fn kind(state: State) -> &'static str {
    match state {
        State::Queued | State::Processing => "live",
        State::Complete | State::Failed | State::Cancelled => state.as_str(),
    }
}
