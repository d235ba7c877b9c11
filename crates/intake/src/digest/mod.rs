//! The daily digest: from rows to one mail for each owner.
//!
//! ```text
//! schedule ─▶ digest (one job a day) ─▶ digest.mail (one job for each owner) ─▶ 250 ─▶ told
//! ```
//!
//! What is told is what counts as not told yet, never what is of today: a digest that could not be sent is made up for by the next
//! one. Nothing counts as told before the mail server has said 250, or the file is there. At most one mail for an owner is under way,
//! whoever asked for it: the job's dedupe key is the owner.

mod facts;
mod files;
mod frozen;
mod mailing;
mod opening;
mod recipients;

use std::sync::Arc;

use jiff::tz::TimeZone;
use redrive_blob::Blobs;
use redrive_engine::store::intake::{Delivery, DeliveryState, IntakeStore, Notification};
use redrive_engine::store::{PageRequest, Store, StoreError};
use redrive_engine::{Engine, JobId, Missed, Policy, Schedule, Timestamp};
use redrive_notify::mail::Mailer;

pub use mailing::OwnersDigest;
pub use opening::Occasion;
pub use recipients::{DEFAULT, Recipients};
/// What people read.
pub use redrive_notify::digest::{Kind, Letter};

/// How a digest reaches people.
#[derive(Debug, Clone)]
pub enum Post {
    /// By a mail server.
    Mail(Mailer),
    /// As files under `reports/digest/` of this place.
    Files(Arc<dyn Blobs>),
}

/// How digests are made.
#[derive(Debug, Clone)]
pub struct DigestOptions {
    /// In which zone times are told.
    pub zone: TimeZone,
    /// Where the pages are, for links; none without it.
    pub base_url: Option<String>,
    /// How they reach people.
    pub post: Post,
    /// What is done about a mail that could not be sent; [`DigestOptions::policy`] unless there is a reason.
    pub policy: Policy,
}

/// What is asked and done about digests. Clones are the same.
#[derive(Clone)]
pub struct Digests {
    intake: Arc<dyn IntakeStore>,
    store: Arc<dyn Store>,
    options: Arc<DigestOptions>,
}

/// What an owner would be told now.
#[derive(Debug, Clone)]
pub struct Preview {
    /// Who.
    pub owner: String,
    /// Where it would go.
    pub to: Recipients,
    /// How many documents of each kind there are, in the order in which they are counted.
    pub counts: Vec<(Kind, u64)>,
    /// What would be sent.
    pub letter: Letter,
}

impl Digests {
    /// Digests of what these rows tell. Both are the same database.
    #[must_use]
    pub fn new(intake: Arc<dyn IntakeStore>, store: Arc<dyn Store>, options: DigestOptions) -> Self {
        Self { intake, store, options: Arc::new(options) }
    }

    /// Registers the jobs and their schedule: one digest at each of its times in the whole fleet, and the newest of those that
    /// passed while nobody was there.
    pub async fn register(&self, engine: &Engine, schedule: Schedule) -> redrive_engine::Result<()> {
        self.handle(engine);
        engine.schedule(Occasion::NAME, schedule, Missed::Once, &Occasion::default()).await.map(drop)
    }

    /// Registers the jobs alone.
    pub fn handle(&self, engine: &Engine) {
        engine.register(opening::Opening { digests: self.clone(), engine: engine.clone() });
        engine.register(mailing::Mailing { digests: self.clone() });
    }

    /// Whether there is a mail server.
    #[must_use]
    pub fn mails(&self) -> bool {
        matches!(self.options.post, Post::Mail(_))
    }

    /// Asks for a digest now, beside those of the schedule. Answers the job that opens it.
    pub async fn open(&self, engine: &Engine) -> redrive_engine::Result<JobId> {
        engine.enqueue(&Occasion::default()).await
    }

    /// What each owner would be told now, sorted; nothing is sent and nothing is marked.
    pub async fn preview(&self) -> Result<Vec<Preview>, StoreError> {
        let rows = self.intake.notifications().await?;
        let made = self.store.now().await?;
        let mut previews = Vec::new();
        for owner in self.intake.untold_owners().await? {
            let Some(gathered) = self.gather(&owner, made).await? else { continue };
            let to = Recipients::of(&owner, &rows);
            previews.push(Preview { owner, to, counts: gathered.counts, letter: gathered.letter });
        }
        Ok(previews)
    }

    /// Who is told, sorted by owner and address.
    pub async fn notifications(&self) -> Result<Vec<Notification>, StoreError> {
        self.intake.notifications().await
    }

    /// Adds an address, or switches it.
    pub async fn set_notification(&self, notification: Notification) -> Result<(), StoreError> {
        self.intake.set_notification(notification).await
    }

    /// Removes an address. Answers whether it was there.
    pub async fn remove_notification(&self, owner: &str, address: &str) -> Result<bool, StoreError> {
        self.intake.remove_notification(owner, address).await
    }

    /// How digests went, newest first.
    pub async fn deliveries(
        &self,
        page: PageRequest,
    ) -> Result<redrive_engine::store::Page<Delivery>, StoreError> {
        self.intake.deliveries(page).await
    }

    /// What an owner has not been told yet, as a letter; nothing when nothing changed.
    async fn gather(&self, owner: &str, made: Timestamp) -> Result<Option<facts::Gathered>, StoreError> {
        let items = self.intake.untold(owner, facts::MOST).await?;
        if items.is_empty() {
            return Ok(None);
        }
        let since = self.last_of(owner).await?;
        Ok(facts::gather(&items, owner, made, since, &self.options))
    }

    /// When an owner was told last, as far as the newest deliveries know.
    async fn last_of(&self, owner: &str) -> Result<Option<Timestamp>, StoreError> {
        let newest = self.intake.deliveries(PageRequest { limit: 200, cursor: None }).await?;
        let told = |row: &&Delivery| match row.state {
            DeliveryState::Sent | DeliveryState::Written => row.owner == owner,
            DeliveryState::Waiting | DeliveryState::Failed => false,
        };
        Ok(newest.rows.iter().find(told).map(|row| row.at))
    }
}

impl std::fmt::Debug for Digests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Digests").field("options", &self.options).finish_non_exhaustive()
    }
}
