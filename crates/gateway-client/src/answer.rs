//! The gateway's answer, read piece by piece, up to a limit and a deadline.

use std::time::Duration;

use bytes::Bytes;
use redrive_engine::{Code, Failure};
use reqwest::Response;
use tokio::time::Instant;

use crate::refusal;

/// An answer whose body is on its way.
#[derive(Debug)]
pub struct Answer {
    response: Response,
    deadline: Instant,
    timeout: Duration,
    left: u64,
    most: u64,
}

impl Answer {
    pub(crate) fn new(response: Response, deadline: Instant, timeout: Duration, most: u64) -> Self {
        Self { response, deadline, timeout, left: most, most }
    }

    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A header's text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// How many pages were converted, where the gateway says.
    #[must_use]
    pub fn pages(&self) -> Option<u32> {
        self.header("x-pages")?.trim().parse().ok()
    }

    /// What the gateway warns of: short words, few of them, whatever it sent.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let plain = |word: &&str| {
            (1..=40).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
        };
        let words = self.header("x-warnings").unwrap_or_default().split(',').map(str::trim);
        words.filter(plain).take(10).map(str::to_owned).collect()
    }

    /// The next piece; nothing at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        let chunk = match tokio::time::timeout_at(self.deadline, self.response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => return Err(refusal::cut(error)),
            Err(_) => return Err(refusal::too_slow(self.timeout)),
        };
        let Some(chunk) = chunk else { return Ok(None) };
        match self.left.checked_sub(chunk.len() as u64) {
            Some(left) => {
                self.left = left;
                Ok(Some(chunk))
            }
            None => {
                let text = format!("the gateway's answer has more than {} bytes", self.most);
                Err(Failure::new(Code::GwResponseTooLarge, text).status(self.status()))
            }
        }
    }
}
