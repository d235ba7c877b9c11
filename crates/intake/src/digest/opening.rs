//! A digest is opened: one mail job for each owner who has not been told everything.

use redrive_engine::model::dedupe::DedupeKey;
use redrive_engine::model::{State, WorkloadName};
use redrive_engine::store::{Enqueued, StoreError};
use redrive_engine::{Context, Done, Enqueue, Failure, Input, JobId, Workload};
use serde::{Deserialize, Serialize};

use super::mailing::OwnersDigest;
use super::{Digests, Recipients};

/// Others may hand in and end jobs of the same owner at the same time; so often it is tried.
const ROUNDS: usize = 3;

/// A digest is due: by the schedule, or because somebody asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occasion {}

impl Occasion {
    /// The schedule's name.
    pub(super) const NAME: &'static str = "digest";
}

impl Input for Occasion {
    const WORKLOAD: &'static str = "digest";

    fn label(&self) -> Option<String> {
        Some("digest".to_owned())
    }
}

/// Opens digests.
pub(super) struct Opening {
    pub(super) digests: Digests,
}

impl Workload for Opening {
    type Input = Occasion;

    fn concurrency(&self) -> usize {
        1
    }

    async fn run(&self, ctx: Context, _: Occasion) -> Result<Done, Failure> {
        let digests = &self.digests;
        let rows = digests.intake.notifications().await.map_err(lost)?;
        let (mut opened, mut waiting) = (0_u64, 0_u64);
        for owner in digests.intake.untold_owners().await.map_err(lost)? {
            if ctx.is_cancelled() {
                return Err(Failure::new(redrive_engine::Code::SystemInterrupted, "told to stop"));
            }
            if digests.mails() && Recipients::of(&owner, &rows) == Recipients::Off {
                continue;
            }
            if self.hand_in(&ctx, owner).await? {
                opened += 1;
            } else {
                waiting += 1;
            }
        }
        tracing::info!(event = "digest.opened", owners = opened, under_way = waiting);
        Ok(Done::Complete)
    }
}

impl Opening {
    /// Hands in an owner's mail, unless one is under way that has not ended. Answers whether it was handed in, now or by an earlier
    /// try.
    async fn hand_in(&self, ctx: &Context, owner: String) -> Result<bool, Failure> {
        let id = mail_id(ctx.job(), ctx.generation(), &owner);
        let mail = OwnersDigest { owner };
        for _ in 0..ROUNDS {
            let how = Enqueue::default().id(id);
            let answer = self.digests.engine.enqueue_with(&mail, how).await;
            let other = match answer.map_err(|error| Failure::new(error.code(), error))? {
                Enqueued::Created(_) | Enqueued::Existing(_) => return Ok(true),
                Enqueued::Duplicate(other) => other,
            };
            // A mail that has arrived keeps the owner's place until its row goes: it makes way for the next one.
            let done = self.digests.engine.store().job(other).await.map_err(lost)?;
            if done.is_some_and(|row| row.state != State::Complete) {
                return Ok(false);
            }
            self.digests.engine.store().expire(vec![other]).await.map_err(lost)?;
        }
        Ok(false)
    }
}

/// The same whenever this digest is opened for this owner.
fn mail_id(occasion: JobId, generation: u32, owner: &str) -> JobId {
    let draw = WorkloadName::new(OwnersDigest::WORKLOAD).map_or([0; 10], |workload| {
        let (occasion, generation) = (occasion.as_uuid(), generation.to_be_bytes());
        let parts: [&[u8]; 3] = [occasion.as_bytes(), &generation, owner.as_bytes()];
        let hash = DedupeKey::new(&workload, None, &parts);
        std::array::from_fn(|n| hash.as_bytes().get(n).copied().unwrap_or_default())
    });
    JobId::from_parts(occasion.made_at(), draw)
}

pub(super) fn lost(error: StoreError) -> Failure {
    Failure::new(error.code(), error)
}
