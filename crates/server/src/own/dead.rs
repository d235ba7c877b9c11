//! Dead letters, for operators alone.

use futures::{StreamExt, TryStreamExt, stream};
use redrive_fetch::wire::{DeadLetterTask, dead_letter};
use redrive_model::{JobId, Offset};
use redrive_store::{DeadFilter, DeadRow, DeadState, Matching, Page, PageRequest};

use super::Desk;
use crate::operator::Operator;
use crate::refusal::Refusal;
use crate::session::Session;

/// Letters that are looked up at once.
const AT_ONCE: usize = 8;

impl Desk {
    /// A page of them.
    pub(crate) async fn dead_letters(
        &self,
        _: Operator,
        filter: DeadFilter,
        page: PageRequest,
    ) -> Result<Page<DeadRow>, Refusal> {
        Ok(self.engine.store().dead_letters(filter, page).await?)
    }

    /// How many match, and the newest of them.
    pub(crate) async fn matching_dead(
        &self,
        _: Operator,
        filter: DeadFilter,
    ) -> Result<Matching<Offset>, Refusal> {
        Ok(self.engine.store().matching_dead(filter).await?)
    }

    /// How many match.
    pub(crate) async fn count_dead(&self, _: Operator, filter: DeadFilter) -> Result<u64, Refusal> {
        Ok(self.engine.store().count_dead(filter).await?)
    }

    /// How many match, for a page that is an operator's or not; of others nothing is told.
    pub(crate) async fn count_letters(&self, session: &Session, filter: DeadFilter) -> Result<u64, Refusal> {
        if session.is_operator() { Ok(self.engine.store().count_dead(filter).await?) } else { Ok(0) }
    }

    /// One of them.
    pub(crate) async fn dead_letter(&self, _: Operator, offset: Offset) -> Result<Option<DeadRow>, Refusal> {
        Ok(self.engine.store().dead_letter(offset).await?)
    }

    /// Puts away what is open of a session's own jobs that failed: nobody is to start them again.
    pub(crate) async fn put_away(&self, session: &Session, failed: Vec<JobId>) -> Result<(), Refusal> {
        let mut open = Vec::new();
        for job in failed {
            let letters = self.engine.store().dead_letters_of(job).await?;
            open.extend(letters.iter().filter(|row| row.state == DeadState::Open).map(|row| row.offset));
        }
        if !open.is_empty() {
            self.engine.discard(open, &session.by()).await?;
        }
        Ok(())
    }

    /// What they are to other systems, in their order.
    pub(crate) async fn letters(
        &self,
        _: Operator,
        rows: &[DeadRow],
    ) -> Result<Vec<DeadLetterTask>, Refusal> {
        let store = self.engine.store();
        let letters = stream::iter(rows.iter().cloned()).map(|row| {
            let store = store.clone();
            let places = self.fetch.as_ref().map(|fetch| &fetch.manifests.options().destinations);
            let pools = self.fetch.as_ref().map(|fetch| &*fetch.pools);
            async move { dead_letter(&*store, places, pools, &row).await }
        });
        Ok(letters.buffered(AT_ONCE).try_collect().await?)
    }
}
