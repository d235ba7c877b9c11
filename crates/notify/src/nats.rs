//! Events and dead letters on a NATS JetStream.
//!
//! Each message is acknowledged by the server before the next one is sent, so their order is that of the events, and the reader's position
//! says what the server has. Its `Nats-Msg-Id` is the same however often it is sent: within the stream's window the server keeps one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::context::{CreateStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::{self, ErrorCode, stream};
use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use futures::future::BoxFuture;
use redrive_engine::store::{DeadRow, Event, EventKind, Result as StoreResult, Store, StoreError};
use redrive_engine::{Code, Context, Failure, Projector, WorkloadName};

use crate::address;
use crate::told::Told;

/// The reader's name.
pub const NATS: &str = "notify.nats";
/// The stream that is made when none takes the subjects.
pub const STREAM: &str = "REDRIVE";
/// Where dead letters go.
pub const DEAD_SUBJECT: &str = "jobs.dlq";
/// Where events go.
pub const EVENT_SUBJECT: &str = "jobs.events";

/// Where the name of this store is kept: message ids of two stores never meet.
const NAME: &str = "notify/nats/store";
/// An acknowledgement takes no longer than this.
const ACK: Duration = Duration::from_secs(5);
/// Within this the server knows a message that comes again.
const WINDOW: Duration = Duration::from_secs(120);
/// More than our headers take.
const HEADERS: usize = 1024;
/// Between two tries while the server is away.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Writes a dead letter as others read it.
pub type Encode = Arc<dyn Fn(DeadRow) -> BoxFuture<'static, StoreResult<Vec<u8>>> + Send + Sync>;

/// What the sink needs to know.
#[derive(Clone)]
pub struct NatsOptions {
    /// The server: `nats://` or `tls://`, with a user and a password, or a token in place of the user; several with commas.
    pub url: String,
    /// How a dead letter is written.
    pub encode: Encode,
    /// Workloads that are nobody's business outside.
    pub silent: BTreeSet<WorkloadName>,
}

/// Why there is no sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// The address cannot be used. It is not told: it may hold a password.
    #[error("this is no address of a NATS server: nats://host:4222 is one")]
    Address,
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The sink.
pub struct Nats {
    store: Arc<dyn Store>,
    options: NatsOptions,
    client: Client,
    stream: jetstream::Context,
    /// The stream is there.
    ready: AtomicBool,
    /// What message ids begin with.
    name: String,
}

impl Nats {
    /// A sink that connects by itself, now or when the server is there. `fresh` names this store, if it has no name yet.
    pub async fn new(store: Arc<dyn Store>, fresh: &str, options: NatsOptions) -> Result<Self, NatsError> {
        let name = store.first_setting(NAME, fresh, NATS).await?;
        let (addresses, connecting) = address::read(&options.url).ok_or(NatsError::Address)?;
        let connecting = connecting
            .name("redrive")
            .retry_on_initial_connect()
            .connection_timeout(ACK)
            .event_callback(|event| async move { tracing::debug!(event = "nats.connection", "{event}") });
        let client = connecting.connect(addresses).await.map_err(|_| NatsError::Address)?;
        let mut stream = jetstream::new(client.clone());
        stream.set_timeout(ACK);
        Ok(Self { store, options, client, stream, ready: AtomicBool::new(false), name })
    }

    async fn send(&self, subject: &'static str, id: &str, body: Vec<u8>) -> Result<(), Failure> {
        // What is handed over now would wait in memory, and be sent a second time.
        if self.client.connection_state() != State::Connected {
            return Err(away("the server does not answer"));
        }
        self.make_ready().await?;
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        let sent = self.stream.publish_with_headers(subject, headers, Bytes::from(body)).await;
        let acknowledged = match sent {
            Ok(acknowledgement) => acknowledgement.await,
            Err(error) => Err(error),
        };
        acknowledged.map_err(|error| {
            if error.kind() == PublishErrorKind::StreamNotFound {
                self.ready.store(false, Ordering::Relaxed);
            }
            away(format_args!("{subject}: {error}"))
        })?;
        metrics::counter!("redrive_sink_published_total", "subject" => subject).increment(1);
        Ok(())
    }

    /// Makes the stream, unless it is there, or another one takes our subjects already.
    async fn make_ready(&self) -> Result<(), Failure> {
        if self.ready.load(Ordering::Relaxed) {
            return Ok(());
        }
        let config = stream::Config {
            name: STREAM.to_owned(),
            subjects: vec![DEAD_SUBJECT.to_owned(), EVENT_SUBJECT.to_owned()],
            duplicate_window: WINDOW,
            ..stream::Config::default()
        };
        match self.stream.get_or_create_stream(config).await {
            Ok(_) => tracing::info!(event = "nats.stream", stream = STREAM, "the stream is there"),
            Err(error) => match error.kind() {
                CreateStreamErrorKind::JetStream(told)
                    if told.error_code() == ErrorCode::STREAM_SUBJECT_OVERLAP =>
                {
                    tracing::info!(event = "nats.stream", "another stream takes our subjects already");
                }
                _ => return Err(away(format_args!("no stream {STREAM}: {error}"))),
            },
        }
        self.ready.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The dead letter that an event tells of. One that was refused at the door has none, and an old one may be gone.
    async fn letter(&self, event: &Event) -> StoreResult<Option<DeadRow>> {
        let (EventKind::Failed, Some(job)) = (event.kind, event.job) else { return Ok(None) };
        let letters = self.store.dead_letters_of(job).await?;
        Ok(letters.into_iter().find(|letter| letter.generation == event.generation))
    }
}

impl Projector for Nats {
    async fn on_event(&self, _: &Context, event: &Event) -> Result<(), Failure> {
        if event.workload.as_ref().is_some_and(|workload| self.is_silent(workload)) {
            return Ok(());
        }
        let failed = |error: StoreError| Failure::new(error.code(), error);
        if let Some(letter) = self.letter(event).await.map_err(failed)? {
            let id = format!("{}-dlq-{}", self.name, letter.offset);
            let body = (self.options.encode)(letter).await.map_err(failed)?;
            self.send(DEAD_SUBJECT, &id, body).await?;
        }
        let told = Told::of(event);
        let mut body = json(&told)?;
        // Headers count too. A server that never answered has not said what it takes.
        let most = self.client.server_info().max_payload;
        if most > 0 && body.len() + HEADERS > most {
            tracing::warn!(
                event = "nats.cut",
                sequence = event.seq.0,
                "a payload is larger than the server takes"
            );
            body = json(&told.cut())?;
        }
        self.send(EVENT_SUBJECT, &format!("{}-{}", self.name, event.seq), body).await
    }

    /// Never: nothing is left out, the stream waits.
    fn park_after(&self) -> u32 {
        0
    }

    fn longest_wait(&self) -> Duration {
        LONGEST_WAIT
    }
}

impl Nats {
    fn is_silent(&self, workload: &WorkloadName) -> bool {
        workload.as_str() == NATS
            || workload.as_str().starts_with("redrive.")
            || self.options.silent.contains(workload)
    }
}

fn json(told: &Told<'_>) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(told).map_err(|error| Failure::new(Code::SystemInternal, error))
}

fn away(why: impl std::fmt::Display) -> Failure {
    Failure::new(Code::TargetUnreachable, format_args!("NATS: {why}; events wait in the store"))
}
