//! Readers of the event stream: permanent jobs that see every event once, in order, and go on where they were.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use redrive_model::backoff::Backoff;
use redrive_model::policy::PERMANENT_CEILING;
use redrive_model::{Code, Done, EventSeq, Failure, Policy, WorkloadName};
use redrive_store::{Event, NewJob, Store, StoreError};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::registry::{Ended, Handler, caught};
use crate::{Context, Permanent, ids};

/// Events that are read at once.
const PAGE: usize = 200;
/// One execution reads for so long, so that it leaves few rows behind.
const SHIFT: Duration = Duration::from_secs(60);
/// Positions of readers are kept under such names, for those who look and for retention.
pub(crate) const READERS: &str = "events.reader.";

/// Does something with every event: a projection, a webhook, a stream outside.
pub trait Projector: Send + Sync + 'static {
    /// Handles one event. It may see an event again after a crash: the sequence number tells.
    fn on_event(&self, ctx: &Context, event: &Event) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Handles some events in their order; one after the other, unless it knows better. What it says is done with is never given again.
    fn on_events(&self, ctx: &Context, events: &[Event]) -> impl Future<Output = Handled> + Send {
        async move {
            for (done, event) in events.iter().enumerate() {
                if ctx.is_cancelled() {
                    return Handled { done, failure: None };
                }
                if let Err(failure) = self.on_event(ctx, event).await {
                    return Handled { done, failure: Some(failure) };
                }
            }
            Handled { done: events.len(), failure: None }
        }
    }

    /// An event that failed so often is parked: it becomes a job `<name>.parked` that is retried beside the stream and
    /// waits among the dead letters in the end, and the stream goes on. 0 never parks: the stream waits.
    fn park_after(&self) -> u32 {
        5
    }

    /// The longest wait before it tries again after a failure.
    fn longest_wait(&self) -> Duration {
        PERMANENT_CEILING
    }

    /// Between two looks at a stream that has nothing new.
    fn idle(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// How far a projector came with some events.
#[derive(Debug)]
pub struct Handled {
    /// The first so many are done with.
    pub done: usize,
    /// Why the one behind them is not; nothing when it was not tried.
    pub failure: Option<Failure>,
}

/// Where a reader is: the execution state of its job.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Position {
    /// Every event up to this one is done with.
    pub(crate) seq: EventSeq,
    /// The next one failed so often.
    failures: u32,
}

/// Reads the stream.
pub(crate) struct Reading<P> {
    pub(crate) projector: Arc<P>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) name: WorkloadName,
    pub(crate) parked: WorkloadName,
}

impl<P: Projector> Permanent for Reading<P> {
    fn policy(&self) -> Policy {
        let backoff = Backoff::permanent(self.projector.longest_wait());
        Policy { attempt_timeout: SHIFT * 5, backoff, ..Policy::permanent() }
    }

    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let mut position = ctx.state::<Position>()?.unwrap_or_default();
        let mut told = Some(position.seq);
        let end = Instant::now() + SHIFT;
        while Instant::now() < end && !ctx.is_cancelled() {
            let events = self.read(&mut position).await?;
            if events.is_empty() {
                return Ok(Done::RescheduleIn(self.projector.idle()));
            }
            let done = self.page(&ctx, &mut position, &events).await;
            // Only when it got on, so that others see when that was.
            if told.replace(position.seq) != Some(position.seq) {
                self.tell(position).await;
            }
            done?;
        }
        Ok(Done::RescheduleNow)
    }
}

impl<P: Projector> Reading<P> {
    /// The next events. A reader that has never read begins with the oldest that is kept; one that has fallen behind what
    /// is kept is told, and nothing is skipped silently.
    async fn read(&self, position: &mut Position) -> Result<Vec<Event>, Failure> {
        match self.store.events_after(position.seq, PAGE).await {
            Err(StoreError::EventsGone { oldest }) if position.seq == EventSeq(0) => {
                position.seq = EventSeq(oldest.0 - 1);
                let events = self.store.events_after(position.seq, PAGE).await;
                events.map_err(|error| Failure::new(error.code(), error))
            }
            events => events.map_err(|error| Failure::new(error.code(), error)),
        }
    }

    /// Handles a page. The position is saved once for all of it, and before a failure is reported.
    async fn page(&self, ctx: &Context, position: &mut Position, events: &[Event]) -> Result<(), Failure> {
        let (before, mut rest) = (position.seq, events);
        while !rest.is_empty() && !ctx.is_cancelled() {
            let Handled { done, failure } = self.projector.on_events(ctx, rest).await;
            let (behind, ahead) = rest.split_at(done.min(rest.len()));
            if let Some(last) = behind.last() {
                *position = Position { seq: last.seq, failures: 0 };
            }
            rest = ahead;
            let (Some(failure), Some(event)) = (failure, rest.first()) else { continue };
            position.failures += 1;
            let limit = self.projector.park_after();
            if limit == 0 || position.failures < limit {
                ctx.save_state(position).await?;
                return Err(failure.with("event", event.seq.0).with("failed_before", position.failures - 1));
            }
            self.park(ctx, event, &failure).await?;
            *position = Position { seq: event.seq, failures: 0 };
            rest = rest.get(1..).unwrap_or_default();
        }
        if position.seq != before {
            ctx.save_state(position).await?;
        }
        Ok(())
    }

    /// Puts an event aside, so that it blocks nobody.
    async fn park(&self, ctx: &Context, event: &Event, failure: &Failure) -> Result<(), Failure> {
        tracing::error!(
            event = "event.parked",
            reader = %self.name,
            sequence = event.seq.0,
            error_code = failure.code.name(),
            "{}: the event is parked, the stream goes on",
            failure.message
        );
        metrics::counter!("redrive_events_parked_total", "reader" => self.name.to_string()).increment(1);
        let input = serde_json::to_vec(event).map_err(|error| Failure::new(Code::SystemInternal, error))?;
        let draw = ids::same(&self.parked, &[&event.seq.0.to_be_bytes()]);
        let mut job =
            NewJob::new(redrive_model::JobId::from_parts(event.at, draw), self.parked.clone(), input);
        job.label = Some(format!("event {} of {}", event.seq, self.name));
        ctx.hand_in(redrive_store::Enqueue::jobs(vec![job])).await
    }

    /// Tells others where this reader is. Retention keeps what it has not read.
    async fn tell(&self, position: Position) {
        let key = format!("{READERS}{}", self.name);
        let value = position.seq.to_string();
        if let Err(error) = self.store.set_setting(&key, Some(&value), self.name.as_str()).await {
            tracing::debug!(event = "reader.not_told", reader = %self.name, "{error}");
        }
    }
}

/// Tries an event that was parked.
pub(crate) struct Parked<P>(pub(crate) Arc<P>);

impl<P: Projector> Handler for Parked<P> {
    fn run(self: Arc<Self>, ctx: Context, input: Vec<u8>) -> BoxFuture<'static, Ended> {
        let run = async move {
            let event: Event = serde_json::from_slice(&input)
                .map_err(|error| Failure::new(Code::SystemUndecodable, error))?;
            self.0.on_event(&ctx, &event).await?;
            Ok(Done::Complete)
        };
        caught(run)
    }
}
