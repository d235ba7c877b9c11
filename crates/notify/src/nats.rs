//! Events and dead letters on a NATS JetStream.
//!
//! The order of messages is that of the events, and the reader's position says what the server has acknowledged ([`window`](crate::window)). The
//! `Nats-Msg-Id` of a message is the same however often it is sent: within the stream's window the server keeps one. What is longer than the server
//! takes is shortened, or, where that is not enough, left out loudly: nothing that a stranger writes may stop everything behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::{self, ErrorCode, stream};
use futures::future::BoxFuture;
use redrive_engine::store::{DeadRow, Event, EventKind, Result as StoreResult, Store, StoreError};
use redrive_engine::{Code, Context, Failure, Handled, Projector, WorkloadName};

use crate::address;
use crate::told::Told;
use crate::window::{Message, drop_loudly};

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

/// Writes a dead letter as others read it, in at most so many bytes if it can.
pub type Encode = Arc<dyn Fn(DeadRow, usize) -> BoxFuture<'static, StoreResult<Vec<u8>>> + Send + Sync>;

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
    pub(crate) client: Client,
    pub(crate) stream: jetstream::Context,
    /// The stream is there.
    ready: AtomicBool,
    /// What message ids begin with.
    name: String,
    /// Which stream took what was sent to a subject.
    streams: Mutex<BTreeMap<&'static str, String>>,
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
        Ok(Self {
            store,
            options,
            client,
            stream,
            ready: AtomicBool::new(false),
            name,
            streams: Mutex::default(),
        })
    }

    /// What an event has to tell, in messages that the server takes.
    pub(crate) async fn messages(&self, event: &Event) -> Result<Vec<Message>, Failure> {
        if event.workload.as_ref().is_some_and(|workload| self.is_silent(workload)) {
            return Ok(Vec::new());
        }
        self.make_ready().await?;
        // Headers count too. A server that never answered has not said what it takes.
        let most = match self.client.server_info().max_payload {
            0 => usize::MAX,
            most => most.saturating_sub(HEADERS),
        };
        let failed = |error: StoreError| Failure::new(error.code(), error);
        let mut messages = Vec::new();
        if let Some(letter) = self.letter(event).await.map_err(failed)? {
            let id = format!("{}-dlq-{}", self.name, letter.offset);
            let body = (self.options.encode)(letter, most).await.map_err(failed)?;
            messages.push(Message { subject: DEAD_SUBJECT, id, body: body.into() });
        }
        let told = Told::of(event);
        let mut body = json(&told)?;
        if body.len() > most {
            tracing::warn!(
                event = "nats.cut",
                sequence = event.seq.0,
                "a payload is larger than the server takes"
            );
            body = json(&told.cut())?;
        }
        let id = format!("{}-{}", self.name, event.seq);
        messages.push(Message { subject: EVENT_SUBJECT, id, body: body.into() });
        messages.retain(|message| {
            let fits = message.body.len() <= most;
            if !fits {
                drop_loudly(message.subject, &message.id);
            }
            fits
        });
        Ok(messages)
    }

    /// The stream that took the last message of a subject.
    pub(crate) fn stream_of(&self, subject: &str) -> Option<String> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).get(subject).cloned()
    }

    /// This stream took a message of this subject.
    pub(crate) fn learn(&self, subject: &'static str, stream: String) {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).insert(subject, stream);
    }

    /// The stream is gone.
    pub(crate) fn not_ready(&self) {
        self.ready.store(false, Ordering::Relaxed);
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
    async fn on_event(&self, ctx: &Context, event: &Event) -> Result<(), Failure> {
        match self.tell(ctx, std::slice::from_ref(event)).await {
            Handled { failure: Some(failure), .. } => Err(failure),
            Handled { done: 0, failure: None } => Err(Failure::new(Code::SystemInterrupted, "told to stop")),
            Handled { .. } => Ok(()),
        }
    }

    async fn on_events(&self, ctx: &Context, events: &[Event]) -> Handled {
        self.tell(ctx, events).await
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

pub(crate) fn away(why: impl std::fmt::Display) -> Failure {
    Failure::new(Code::TargetUnreachable, format_args!("NATS: {why}; events wait in the store"))
}
