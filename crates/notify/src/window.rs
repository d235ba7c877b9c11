//! Messages on their way: many are sent before the first is acknowledged, in their order, and only what is acknowledged without a gap is done with.
//!
//! A connection that breaks loses some messages and, when it is made again, brings those that waited behind them. So each message of a
//! window names the one before it, and the server takes it only right behind that one. Where somebody else writes into the same stream that
//! says nothing; then the next event goes out alone.

use std::collections::BTreeMap;
use std::error::Error as _;

use async_nats::HeaderMap;
use async_nats::connection::State;
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use bytes::Bytes;
use redrive_engine::store::Event;
use redrive_engine::{Context, Failure, Handled};

use crate::nats::{Nats, away};

/// So many messages are on their way at most.
const MESSAGES: usize = 64;
/// And about so many bytes.
const BYTES: usize = 4 << 20;

/// One message, ready to go.
pub(crate) struct Message {
    pub(crate) subject: &'static str,
    pub(crate) id: String,
    pub(crate) body: Bytes,
}

/// What became of a message.
enum Outcome {
    /// The server has it, or will never take it: it is done with.
    Done,
    /// What it names is not the newest in the stream.
    Behind,
    /// Nobody knows, or not now.
    Failed(Failure),
}

/// The first event that is not told, and why.
type Stop = (usize, Outcome);

impl Outcome {
    fn or_stop(self, event: usize) -> Result<(), Stop> {
        match self {
            Self::Done => Ok(()),
            Self::Behind | Self::Failed(_) => Err((event, self)),
        }
    }
}

/// A message that is not acknowledged yet, and the event that it tells of.
struct Sent {
    event: usize,
    subject: &'static str,
    id: String,
    acknowledgement: PublishAckFuture,
}

impl Nats {
    /// Tells of these events, a window at a time.
    pub(crate) async fn tell(&self, ctx: &Context, events: &[Event]) -> Handled {
        let (mut done, mut alone) = (0, false);
        while let Some(rest) = events.get(done..).filter(|rest| !rest.is_empty()) {
            if ctx.is_cancelled() {
                break;
            }
            let mut window = Window { nats: self, sent: Vec::new(), newest: BTreeMap::new() };
            let (told, outcome) = window.run(rest, alone).await;
            done += told;
            match outcome {
                Outcome::Done => alone = false,
                Outcome::Behind => alone = true,
                Outcome::Failed(failure) => return Handled { done, failure: Some(failure) },
            }
        }
        Handled { done, failure: None }
    }

    async fn publish(
        &self,
        message: &Message,
        behind: Option<&str>,
    ) -> Result<PublishAckFuture, PublishError> {
        let mut headers = HeaderMap::new();
        headers.insert(async_nats::header::NATS_MESSAGE_ID, message.id.as_str());
        if let Some(behind) = behind {
            headers.insert(async_nats::header::NATS_EXPECTED_LAST_MESSAGE_ID, behind);
        }
        self.stream.publish_with_headers(message.subject, headers, message.body.clone()).await
    }

    fn refused(&self, subject: &'static str, id: &str, error: &PublishError) -> Outcome {
        let told = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>());
        let too_long =
            told.is_some_and(|told| told.error_code() == ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM);
        match error.kind() {
            PublishErrorKind::WrongLastMessageId => Outcome::Behind,
            kind if kind == PublishErrorKind::MaxPayloadExceeded || too_long => {
                drop_loudly(subject, id);
                Outcome::Done
            }
            PublishErrorKind::StreamNotFound => {
                self.not_ready();
                Outcome::Failed(away(format_args!("{subject}: {error}")))
            }
            PublishErrorKind::WrongLastSequence
            | PublishErrorKind::TimedOut
            | PublishErrorKind::BrokenPipe
            | PublishErrorKind::MaxAckPending
            | PublishErrorKind::MaxPayloadExceeded
            | PublishErrorKind::Other => Outcome::Failed(away(format_args!("{subject}: {error}"))),
        }
    }
}

/// Says that a message goes to nobody: waiting would not make it shorter, and everything behind it would wait too.
pub(crate) fn drop_loudly(subject: &'static str, id: &str) {
    tracing::error!(
        event = "nats.dropped",
        subject,
        id,
        "a message is longer than the server takes and cannot be shortened: it is not told; raise the server's max_payload or the stream's largest message"
    );
    metrics::counter!("redrive_sink_dropped_total", "subject" => subject).increment(1);
}

struct Window<'a> {
    nats: &'a Nats,
    sent: Vec<Sent>,
    /// The newest message that was sent to each stream from here.
    newest: BTreeMap<String, String>,
}

impl Window<'_> {
    /// Sends what fits, and waits for all of it: how many events are done with, and why not more.
    async fn run(&mut self, events: &[Event], alone: bool) -> (usize, Outcome) {
        let (mut told, mut bytes, mut stopped) = (0, 0, Outcome::Done);
        for (n, event) in events.iter().enumerate() {
            if let Err((n, outcome)) = self.send(n, event, alone, &mut bytes).await {
                (told, stopped) = (n, outcome);
                break;
            }
            told = n + 1;
            if alone || self.sent.len() >= MESSAGES || bytes >= BYTES {
                break;
            }
        }
        match self.acknowledged().await {
            Ok(()) => (told, stopped),
            Err((n, outcome)) => (n, outcome),
        }
    }

    /// Sends what one event has to tell. The number of an error is that of the first event that is not told.
    async fn send(&mut self, n: usize, event: &Event, alone: bool, bytes: &mut usize) -> Result<(), Stop> {
        // What is handed over while there is no connection would wait in memory, and be sent a second time.
        let connected = || match self.nats.client.connection_state() {
            State::Connected => Ok(()),
            State::Pending | State::Disconnected => {
                Err((n, Outcome::Failed(away("the server does not answer"))))
            }
        };
        connected()?;
        let messages = self.nats.messages(event).await;
        for message in messages.map_err(|failure| (n, Outcome::Failed(failure)))? {
            connected()?;
            let stream = self.nats.stream_of(message.subject);
            let alone = alone || stream.is_none();
            if alone {
                // Everything before it is there: nobody can overtake, and nobody need be named.
                self.acknowledged().await?;
                self.newest.clear();
            }
            let behind = stream.as_ref().filter(|_| !alone).and_then(|stream| self.newest.get(stream));
            let sent = self.nats.publish(&message, behind.map(String::as_str)).await;
            let Message { subject, id, body } = message;
            match sent {
                Ok(acknowledgement) => {
                    *bytes += body.len();
                    if let Some(stream) = stream {
                        self.newest.insert(stream, id.clone());
                    }
                    self.sent.push(Sent { event: n, subject, id, acknowledgement });
                }
                Err(error) => self.nats.refused(subject, &id, &error).or_stop(n)?,
            }
            if alone {
                self.acknowledged().await?;
            }
        }
        Ok(())
    }

    /// Waits for everything that is on its way, in its order.
    async fn acknowledged(&mut self) -> Result<(), Stop> {
        for Sent { event, subject, id, acknowledgement } in std::mem::take(&mut self.sent) {
            match acknowledgement.await {
                Ok(told) => {
                    self.nats.learn(subject, told.stream);
                    metrics::counter!("redrive_sink_published_total", "subject" => subject).increment(1);
                }
                Err(error) => self.nats.refused(subject, &id, &error).or_stop(event)?,
            }
        }
        Ok(())
    }
}
