//! The daily digest: from rows to one mail for each owner.
//!
//! ```text
//! schedule ─▶ digest (one job a day) ─▶ digest.mail (one job for each owner) ─▶ 250 ─▶ told
//! ```
//!
//! What is told is what counts as not told yet, never what is of today: a digest that could not be sent is made up for by the next
//! one. Nothing counts as told before the mail server has said 250, or the file is there. At most one mail for an owner is under way,
//! whoever asked for it: the job's dedupe key is the owner.

mod acts;
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
use redrive_engine::store::{PageRequest, StoreError};
use redrive_engine::{Engine, Missed, Policy, Schedule, Timestamp};

pub use acts::AddressError;
pub use mailing::OwnersDigest;
pub use opening::Occasion;
pub use recipients::{DEFAULT, Recipients};
/// What people read.
pub use redrive_notify::digest::{Kind, Letter};
/// How it is sent.
pub use redrive_notify::mail;

/// How a digest reaches people.
#[derive(Debug, Clone)]
pub enum Post {
    /// By a mail server.
    Mail(mail::Mailer),
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
    engine: Engine,
    intake: Arc<dyn IntakeStore>,
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
    /// Digests of what these rows tell; they are in the engine's own database.
    #[must_use]
    pub fn new(engine: Engine, intake: Arc<dyn IntakeStore>, options: DigestOptions) -> Self {
        Self { engine, intake, options: Arc::new(options) }
    }

    /// Registers the jobs and their schedule: one digest at each of its times in the whole fleet, and the newest of those that
    /// passed while nobody was there.
    pub async fn register(&self, schedule: Schedule) -> redrive_engine::Result<()> {
        self.handle();
        self.engine.schedule(Occasion::NAME, schedule, Missed::Once, &Occasion::default()).await.map(drop)
    }

    /// Registers the jobs alone.
    pub fn handle(&self) {
        self.engine.register(opening::Opening { digests: self.clone() });
        self.engine.register(mailing::Mailing { digests: self.clone() });
    }

    /// Whether there is a mail server.
    #[must_use]
    pub fn mails(&self) -> bool {
        matches!(self.options.post, Post::Mail(_))
    }

    /// What each owner would be told now, sorted; nothing is sent and nothing is marked.
    pub async fn preview(&self) -> Result<Vec<Preview>, StoreError> {
        let mut previews = Vec::new();
        for owner in self.intake.untold_owners().await? {
            previews.extend(self.preview_of(&owner).await?);
        }
        Ok(previews)
    }

    /// What one owner would be told now; nothing when nothing changed.
    pub async fn preview_of(&self, owner: &str) -> Result<Option<Preview>, StoreError> {
        let made = self.engine.store().now().await?;
        let Some(gathered) = self.gather(owner, made).await? else { return Ok(None) };
        let to = Recipients::of(owner, &self.intake.notifications().await?);
        let facts::Gathered { letter, counts, .. } = gathered;
        Ok(Some(Preview { owner: owner.to_owned(), to, counts, letter }))
    }

    /// Who is told, sorted by owner and address.
    pub async fn notifications(&self) -> Result<Vec<Notification>, StoreError> {
        self.intake.notifications().await
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
