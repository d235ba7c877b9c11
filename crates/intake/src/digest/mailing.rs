//! One owner's digest: gathered once, sent until the server says 250, and told only then.
//!
//! The order is gather, freeze, send, note who has it, mark. A crash before the freeze sends nothing; one between 250 and the note sends
//! the same letter with the same key again; one after the note only marks.

use std::time::Duration;

use redrive_engine::model::backoff::{Backoff, Curve, Jitter};
use redrive_engine::store::intake::{Delivery, DeliveryState};
use redrive_engine::{Code, Context, Done, Failure, Input, Policy, Timestamp, Workload};
use redrive_notify::mail::{Mail, Mailer, Refused};
use serde::{Deserialize, Serialize};

use super::frozen::{Frozen, Progress};
use super::opening::lost;
use super::{DigestOptions, Digests, Post, Recipients, files};

/// The digest of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnersDigest {
    /// Whose.
    pub owner: String,
}

impl Input for OwnersDigest {
    const WORKLOAD: &'static str = "digest.mail";

    fn label(&self) -> Option<String> {
        Some(format!("digest for {}", self.owner))
    }

    fn unique_by(&self) -> Option<String> {
        Some(self.owner.clone())
    }
}

impl DigestOptions {
    /// Tried again for most of a day: after that the next digest tells it.
    #[must_use]
    pub fn policy() -> Policy {
        let curve = Curve::Doubling { base: Duration::from_secs(30), ceiling: Duration::from_secs(3_600) };
        Policy {
            max_attempts: Some(20),
            backoff: Backoff { curve, jitter: Jitter::Percent(20) },
            deadline: Some(Duration::from_secs(20 * 3_600)),
            ..Policy::on_demand()
        }
    }
}

/// Sends digests.
pub(super) struct Mailing {
    pub(super) digests: Digests,
}

impl Workload for Mailing {
    type Input = OwnersDigest;

    fn policy(&self) -> Policy {
        self.digests.options.policy.clone()
    }

    fn concurrency(&self) -> usize {
        4
    }

    async fn run(&self, ctx: Context, input: OwnersDigest) -> Result<Done, Failure> {
        let mut progress = Progress::of(&ctx)?;
        let digests = &self.digests;
        let rows = digests.intake.notifications().await.map_err(lost)?;
        let to = Recipients::of(&input.owner, &rows);
        let got_by_none = progress.frozen.as_ref().is_none_or(|frozen| frozen.got.is_empty());
        if digests.mails() && got_by_none && to.addresses().is_empty() {
            return self.to_nobody(&ctx, &progress, &input.owner, &to).await;
        }
        let frozen = match progress.frozen.take() {
            Some(frozen) => frozen,
            None => {
                let made = digests.engine.store().now().await.map_err(lost)?;
                let Some(gathered) = digests.gather(&input.owner, made).await.map_err(lost)? else {
                    return Ok(Done::Complete);
                };
                Frozen::new(gathered, made)
            }
        };
        let more = frozen.more;
        progress.frozen = Some(frozen.clone());
        ctx.save_state(&progress).await?;
        let sending = Sending { digests, ctx: &ctx, owner: &input.owner, key: progress.key(&ctx) };
        match &digests.options.post {
            Post::Mail(mailer) => sending.mail(mailer, &to, frozen, &mut progress).await?,
            Post::Files(blobs) => {
                let key = files::write(&**blobs, &input.owner, &sending.key, &frozen).await?;
                sending.told(&frozen, key, DeliveryState::Written, None).await?;
            }
        }
        if !more {
            return Ok(Done::Complete);
        }
        ctx.save_state(&progress.next()).await?;
        Ok(Done::RescheduleNow)
    }
}

impl Mailing {
    /// There is no address: it is shown, nothing counts as told, and the next digest tries again.
    async fn to_nobody(
        &self,
        ctx: &Context,
        progress: &Progress,
        owner: &str,
        to: &Recipients,
    ) -> Result<Done, Failure> {
        let items = self.digests.intake.untold(owner, super::facts::MOST).await.map_err(lost)?;
        if *to == Recipients::Off || items.is_empty() {
            return Ok(Done::Complete);
        }
        let shown = redrive_engine::model::text::one_line_chars(owner, 60);
        let error = format!(
            "there is no address for {shown}, and none for default: add one, and the next digest tells it"
        );
        tracing::warn!(event = "digest.nobody", job_id = %ctx.job(), owner = %shown, "{error}");
        let delivery = Delivery {
            key: progress.key(ctx),
            owner: owner.to_owned(),
            address: String::new(),
            state: DeliveryState::Failed,
            tries: 0,
            error: Some(error),
            documents: items.len() as u64,
            at: Timestamp::UNIX_EPOCH,
        };
        self.digests.intake.note_delivery(delivery).await.map_err(lost)?;
        Ok(Done::Complete)
    }
}

/// One letter on its way.
struct Sending<'a> {
    digests: &'a Digests,
    ctx: &'a Context,
    owner: &'a str,
    key: String,
}

impl Sending<'_> {
    /// Sends it to whoever has not got it yet.
    async fn mail(
        &self,
        mailer: &Mailer,
        to: &Recipients,
        mut frozen: Frozen,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let left = |got: &[String]| -> Vec<String> {
            to.addresses().iter().filter(|address| !got.contains(address)).cloned().collect()
        };
        let wanted = left(&frozen.got);
        if wanted.is_empty() {
            return self.told(&frozen, frozen.got.join(", "), DeliveryState::Sent, None).await;
        }
        let letter = frozen.letter();
        let mail = Mail {
            to: wanted.clone(),
            subject: letter.subject,
            text: letter.text,
            html: letter.html,
            date: frozen.made(),
            key: format!("digest/{}", self.key),
        };
        let sent = match mailer.send(&mail).await {
            Ok(sent) => sent,
            Err(error) => {
                self.not_sent(&frozen, &wanted, error.code, &error.to_string()).await?;
                return Err(error.failure());
            }
        };
        let refused: Vec<&str> = sent.refused.iter().map(|one| one.address.as_str()).collect();
        frozen.got.extend(wanted.into_iter().filter(|address| !refused.contains(&address.as_str())));
        progress.frozen = Some(frozen.clone());
        self.ctx.save_state(progress).await?;
        let words = (!sent.is_whole()).then(|| said(&sent.refused));
        self.told(&frozen, frozen.got.join(", "), DeliveryState::Sent, words.clone()).await?;
        match (words, sent.refused.iter().find(|one| one.code.is_retryable())) {
            // Some have it. Those who were asked to wait are asked again, alone.
            (Some(words), Some(later)) => Err(Failure::new(later.code, format_args!("mail: {words}"))),
            (Some(_), None) | (None, _) => Ok(()),
        }
    }

    /// It arrived: what it tells counts as told, and the delivery is noted, all or nothing.
    async fn told(
        &self,
        frozen: &Frozen,
        address: String,
        state: DeliveryState,
        error: Option<String>,
    ) -> Result<(), Failure> {
        let delivery = self.delivery(frozen, address, state, error);
        self.digests.intake.mark_told(frozen.told(), delivery).await.map_err(lost)?;
        tracing::info!(event = "digest.delivered", job_id = %self.ctx.job(), state = state.as_str(), documents = frozen.documents());
        Ok(())
    }

    /// It did not: that is noted for people, and nothing counts as told.
    async fn not_sent(&self, frozen: &Frozen, to: &[String], code: Code, words: &str) -> Result<(), Failure> {
        let most = self.digests.options.policy.max_attempts.unwrap_or(u32::MAX);
        let last = !code.is_retryable() || self.ctx.attempt() >= most;
        let state = match (frozen.got.is_empty(), last) {
            (false, _) => DeliveryState::Sent,
            (true, true) => DeliveryState::Failed,
            (true, false) => DeliveryState::Waiting,
        };
        let error = Some(format!("{}: {words}", code.name()));
        let delivery = self.delivery(frozen, to.join(", "), state, error);
        self.digests.intake.note_delivery(delivery).await.map_err(lost)
    }

    fn delivery(
        &self,
        frozen: &Frozen,
        address: String,
        state: DeliveryState,
        error: Option<String>,
    ) -> Delivery {
        Delivery {
            key: self.key.clone(),
            owner: self.owner.to_owned(),
            address,
            state,
            tries: self.ctx.attempt(),
            error,
            documents: frozen.documents(),
            // The store fills it in.
            at: Timestamp::UNIX_EPOCH,
        }
    }
}

/// Who was refused, and why.
fn said(refused: &[Refused]) -> String {
    let one = |one: &Refused| format!("{} was refused: {}", one.address, one.words);
    refused.iter().map(one).collect::<Vec<_>>().join("; ")
}
