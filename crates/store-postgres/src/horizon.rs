//! How far readers may see.
//!
//! Sequence numbers are given out before their transactions commit, so a reader that simply takes what is there can pass
//! a number that appears later. Whoever gets a number has a transaction id already (the statements see to that). So: read
//! the newest number, then take a transaction id of our own; once everything up to that id has ended, nothing up to that
//! number can appear any more. A snapshot's own xmax will not do in its place: it knows nothing of transactions that
//! began after the newest one that has ended.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::PgPool;

use crate::row::bad;
use crate::sql::Sql;

/// More open questions than this are not kept; the newest ones matter.
const PENDING: usize = 64;

/// The newest sequence number that readers may see.
#[derive(Debug, Default)]
pub(crate) struct Horizon(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    safe: i64,
    /// Numbers that are safe once every transaction up to the second value has ended.
    pending: VecDeque<(i64, u64)>,
}

impl Horizon {
    /// Looks again and answers how far readers may see now. With nothing new it costs one cheap question.
    pub(crate) async fn look(&self, pool: &PgPool, sql: &Sql) -> sqlx::Result<i64> {
        // The order matters: first the newest number, then the id, then what is still open.
        let head: i64 = sqlx::query_scalar(sql.event_head.text()).fetch_one(pool).await?;
        let safe = self.state().safe;
        if head <= safe {
            return Ok(safe);
        }
        let id = number(sqlx::query_scalar(sql.fresh_xid.text()).fetch_one(pool).await?)?;
        let open = number(sqlx::query_scalar(sql.oldest_xid.text()).fetch_one(pool).await?)?;
        Ok(self.note(head, id, open))
    }

    /// `head` was the newest number before `id` was given out; every transaction below `open` has ended.
    fn note(&self, head: i64, id: u64, open: u64) -> i64 {
        let mut state = self.state();
        if state.pending.back().is_none_or(|(newest, _)| *newest < head) {
            state.pending.push_back((head, id));
        }
        if state.pending.len() > PENDING {
            state.pending.pop_front();
        }
        while let Some(&(number, upto)) = state.pending.front()
            && upto < open
        {
            state.safe = state.safe.max(number);
            state.pending.pop_front();
        }
        state.safe
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn number(text: String) -> sqlx::Result<u64> {
    text.parse().map_err(|e| bad(0, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_nothing_open_everything_is_seen_at_once() {
        assert_eq!(Horizon::default().note(7, 100, 101), 7);
    }

    #[test]
    fn an_open_transaction_holds_back_what_it_might_still_add() {
        let h = Horizon::default();
        // Transaction 10 is open and may have number 5; 6 is committed already.
        assert_eq!(h.note(6, 12, 10), 0);
        assert_eq!(h.note(6, 15, 10), 0, "still open");
        assert_eq!(h.note(9, 20, 13), 6, "all that had begun by then have ended");
        assert_eq!(h.note(9, 21, 22), 9);
    }

    #[test]
    fn a_busy_system_still_moves_on() {
        let h = Horizon::default();
        let mut seen = 0;
        for n in 0..1_000u64 {
            seen = h.note(n as i64, n + 3, n);
        }
        assert!(seen > 900, "{seen}");
    }
}
