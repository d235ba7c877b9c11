//! A user's own statements and our enqueues in one transaction.

use redrive_store::{Enqueue, EnqueueReply, NewEvent, Result};
use rusqlite::Connection;

use crate::verb::{act, enqueue};
use crate::writer::{Tx, in_savepoint};

/// Handed to the closure of [`SqliteStore::transaction`](crate::SqliteStore::transaction). What the closure does is
/// committed with its enqueues, or none of it is.
pub struct Transaction<'a, 'b> {
    pub(crate) tx: &'a mut Tx<'b>,
}

impl Transaction<'_, '_> {
    /// The write connection, for the user's own tables. Do not commit or roll back: return an error instead.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        self.tx.conn
    }

    /// Enqueues as part of the transaction: all of the call, or nothing of it when it answers with an error.
    pub fn enqueue(&mut self, call: &Enqueue) -> Result<EnqueueReply> {
        in_savepoint(self.tx, |tx| enqueue::enqueue(tx, call))
    }

    /// Publishes events as part of the transaction.
    pub fn publish(&mut self, events: &[NewEvent]) -> Result<()> {
        act::publish(self.tx, events)
    }
}
