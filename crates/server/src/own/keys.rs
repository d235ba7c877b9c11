//! Idempotency keys of what is no upload: taken before it is done, settled after.

use redrive_store::{ActFilter, Idempotency, Keyed, PageRequest};

use super::Desk;
use crate::refusal::Refusal;
use crate::request::RequestId;

impl Desk {
    pub(crate) async fn take_key(&self, asked: &Idempotency, by: RequestId) -> Result<Keyed, Refusal> {
        Ok(self.engine.store().take_key(asked, &by.to_string()).await?)
    }

    pub(crate) async fn settle_key(
        &self,
        asked: &Idempotency,
        by: RequestId,
        answer: Option<&str>,
    ) -> Result<(), Refusal> {
        Ok(self.engine.store().settle_key(asked, &by.to_string(), answer).await?)
    }

    /// Whether a request has begun anything: whatever it does is written to the trail first.
    pub(crate) async fn has_acted(&self, by: RequestId) -> Result<bool, Refusal> {
        let filter = ActFilter { request_id: Some(by.to_string()), ..ActFilter::default() };
        let page = PageRequest { limit: 1, cursor: None };
        Ok(!self.engine.store().acts(filter, page).await?.rows.is_empty())
    }
}
