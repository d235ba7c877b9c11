//! Dead letters: pages of them, one, and all of them as a stream.

use reqwest::Method;
use reqwest::header::ACCEPT;

use super::{Client, Download, QUICK, Result, read};
use crate::{DeadLetter, DeadLetterList, DeadQuery};

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
}
