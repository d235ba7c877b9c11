//! The event stream: one's own events as they happen, for operators those of all jobs.

use std::time::Duration;

use reqwest::{Method, Response};

use super::{Client, ClientError, Result};
use crate::Event;

/// The server says something, if only a comment, more often than this.
const SILENCE: Duration = Duration::from_secs(60);

/// Events as they come.
#[derive(Debug)]
pub struct Events {
    response: Response,
    waiting: Vec<u8>,
    position: Option<i64>,
    resets: u32,
}

impl Client {
    /// Listens, from behind this event where one is named.
    pub async fn events(&self, after: Option<i64>) -> Result<Events> {
        let mut request = self.request(Method::GET, &["api", "events", "stream"]);
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        let response = self.send(request).await?;
        Ok(Events { response, waiting: Vec::new(), position: None, resets: 0 })
    }
}

impl Events {
    /// The next event. Nothing when the stream has ended: ask again from behind the last one.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            while let Some(message) = self.message() {
                let id = message.lines().find_map(|line| line.strip_prefix("id:")?.trim().parse().ok());
                self.position = id.or(self.position);
                self.resets += u32::from(message.lines().any(|line| line == "event: reset"));
                if let Some(event) = parse(&message) {
                    return Ok(Some(event));
                }
            }
            match tokio::time::timeout(SILENCE, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.waiting.extend_from_slice(&chunk),
                Ok(Ok(None)) => return Ok(None),
                Ok(Err(error)) => return Err(ClientError::unreachable(error)),
                Err(_) => return Err(ClientError::Unreachable("the event stream is silent".to_owned())),
            }
        }
    }

    /// From behind which event to go on, as far as the server has said.
    #[must_use]
    pub const fn position(&self) -> Option<i64> {
        self.position
    }

    /// How often the server said that more was missed than it can tell.
    #[must_use]
    pub const fn resets(&self) -> u32 {
        self.resets
    }

    /// The next whole message of the stream.
    fn message(&mut self) -> Option<String> {
        let end = self.waiting.windows(2).position(|pair| pair == b"\n\n")?;
        let message: Vec<u8> = self.waiting.drain(..end + 2).collect();
        Some(String::from_utf8_lossy(&message).into_owned())
    }
}

/// What a message holds, where it is an event of a job.
fn parse(message: &str) -> Option<Event> {
    let data: Vec<&str> =
        message.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim_start).collect();
    serde_json::from_str(&data.join("\n")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_other_messages_are_no_events() {
        assert_eq!(parse(": heartbeat\n\n"), None);
        assert_eq!(parse("event: reset\ndata: {}\n\n"), None);
        let data = r#"{"sequence":7,"type":"complete","at":"2026-01-01T00:00:00Z","job_id":"x","workload":"convert","generation":1,"attempt":1,"duration_ms":5,"gateway_http_status":null,"error_code":null}"#;
        let event = parse(&format!("id: 7\nevent: complete\ndata: {data}\n\n")).unwrap();
        assert_eq!((event.sequence, event.r#type.as_str()), (7, "complete"));
    }
}
