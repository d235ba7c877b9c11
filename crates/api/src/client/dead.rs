//! Dead letters: pages of them, one, all of them as a stream; started again, or not wanted.

use reqwest::Method;
use reqwest::header::ACCEPT;

use super::{Client, Download, QUICK, Result, read, with_json};
use crate::{
    Because, DeadLetter, DeadLetterList, DeadQuery, DiscardLetters, DiscardedLetters, Job, JobReply,
    Matching, ReplayFilter,
};

impl Client {
    /// One page of dead letters, newest first.
    pub async fn dead_letters(&self, wanted: &DeadQuery) -> Result<DeadLetterList> {
        let request = self.request(Method::GET, &["api", "dead-letters"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// One dead letter.
    pub async fn dead_letter(&self, offset: &str) -> Result<DeadLetter> {
        self.get(&["api", "dead-letters", offset]).await
    }

    /// Everything that matches, oldest first, in this form: [`NDJSON`](crate::NDJSON) or [`PROTOBUF`](crate::PROTOBUF). A stream that
    /// is cut ends with an error.
    pub async fn export_dead_letters(&self, wanted: &DeadQuery, form: &str) -> Result<Download> {
        let request = self.request(Method::GET, &["api", "dead-letters"]).query(wanted).header(ACCEPT, form);
        Ok(Download(self.send(request).await?))
    }

    /// Starts the job of a dead letter again.
    pub async fn replay_letter(&self, offset: &str, why: &Because) -> Result<Job> {
        let reply: JobReply = self.tell(&["api", "dead-letters", offset, "replay"], why).await?;
        Ok(reply.job)
    }

    /// Marks a dead letter as not wanted.
    pub async fn discard_letter(&self, offset: &str, why: &Because) -> Result<DeadLetter> {
        self.tell(&["api", "dead-letters", offset, "discard"], why).await
    }

    /// How many open dead letters match, and up to which.
    pub async fn count_discard(&self, filter: &ReplayFilter) -> Result<Matching> {
        let asked = DiscardLetters { filter: filter.clone(), dry_run: true, ..DiscardLetters::default() };
        let request = self.request(Method::POST, &["api", "dead-letters", "discard"]);
        read(self.send(with_json(request, &asked)?).await?).await
    }

    /// Marks dead letters that match as not wanted. It takes as long as that takes.
    pub async fn discard_letters(&self, how: &DiscardLetters) -> Result<DiscardedLetters> {
        let request = self.request(Method::POST, &["api", "dead-letters", "discard"]);
        read(self.send(with_json(request, how)?).await?).await
    }
}
