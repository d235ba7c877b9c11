//! The event stream: one reader of the events table for everybody who listens.
//!
//! While nobody listens nothing is read. Each listener has a bounded buffer; one that does not keep up is dropped and comes
//! again with `Last-Event-ID`. What it missed it gets from the last events in memory, or from the table when it was away longer.

pub(crate) mod stream;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use redrive_model::EventSeq;
use redrive_store::{Event, StoreError};
use tokio::sync::{Mutex, Notify, Semaphore, mpsc};

pub(crate) use stream::stream;

use crate::limits::Limits;
use crate::own::Desk;
use crate::refusal::Refusal;
use crate::session::{Ended, Session};
use crate::slots::{Slot, Slots};
use crate::upload::overloaded;

/// Events that are read at once.
const PAGE: usize = 500;
/// Events that are kept for those who come back.
const KEPT: usize = 4_096;
/// One who was away longer than so many events starts anew.
const MOST_MISSED: usize = 50_000;
/// So many read the table for themselves at once.
const CATCHING_UP: usize = 2;

/// See the module.
pub(crate) struct Feed {
    desk: Desk,
    poll: Duration,
    buffer: usize,
    places: Slots,
    state: Mutex<State>,
    wake: Notify,
    catching_up: Semaphore,
}

#[derive(Default)]
struct State {
    /// Everything up to here was handed out.
    position: EventSeq,
    /// The newest events, and behind which one they begin.
    kept: VecDeque<Arc<Event>>,
    kept_after: EventSeq,
    listeners: HashMap<u64, Listener>,
    next: u64,
}

struct Listener {
    session: Session,
    sender: mpsc::Sender<Arc<Event>>,
}

/// What a listener gets.
pub(crate) struct Listening {
    /// What it missed.
    pub(crate) missed: Vec<Arc<Event>>,
    /// It missed more than can be told: it must look at everything anew.
    pub(crate) reset: bool,
    /// From where it goes on.
    pub(crate) position: EventSeq,
    /// What comes from now on.
    pub(crate) coming: Coming,
}

/// What a listener hears. As long as it is there the listener has its place.
pub(crate) struct Coming {
    events: mpsc::Receiver<Arc<Event>>,
    _place: Slot,
}

impl Coming {
    /// The next event; nothing when the feed has let the listener go.
    pub(crate) async fn next(&mut self) -> Option<Arc<Event>> {
        self.events.recv().await
    }
}

impl Feed {
    pub(crate) fn new(desk: Desk, limits: &Limits) -> Self {
        Self {
            desk,
            poll: limits.stream_poll,
            buffer: limits.stream_buffer.max(1),
            places: Slots::of_streams(limits),
            state: Mutex::default(),
            wake: Notify::new(),
            catching_up: Semaphore::new(CATCHING_UP),
        }
    }

    /// Reads as long as somebody listens.
    pub(crate) async fn run(&self) {
        loop {
            match self.read().await {
                Ok(Some(PAGE)) => {}
                Ok(Some(_)) => tokio::time::sleep(self.poll).await,
                Ok(None) => self.wake.notified().await,
                Err(error) => {
                    tracing::warn!(event = "feed.waits", "{error}");
                    tokio::time::sleep(self.poll.max(Duration::from_secs(1))).await;
                }
            }
        }
    }

    /// One page; how many events it had, or nothing when nobody listens.
    async fn read(&self) -> redrive_store::Result<Option<usize>> {
        let position = {
            let mut state = self.state.lock().await;
            state.listeners.retain(|_, listener| !listener.sender.is_closed());
            if state.listeners.is_empty() {
                return Ok(None);
            }
            state.position
        };
        let events = match self.desk.events_after(position, PAGE).await {
            Ok(events) => events,
            Err(StoreError::EventsGone { .. }) => {
                // Retention was faster than we. Whoever listens must look anew, and comes back for that.
                let newest = self.desk.last_event().await?;
                self.state.lock().await.start_at(newest);
                return Ok(Some(0));
            }
            Err(error) => return Err(error),
        };
        let mut state = self.state.lock().await;
        // Nobody else moves the position while somebody listens.
        if state.position == position {
            for event in &events {
                state.hand_out(&Arc::new(event.clone()), self.desk.is_chore(event));
            }
        }
        Ok(Some(events.len()))
    }

    /// Begins to listen from this address, behind the event that the client saw last, or now.
    pub(crate) async fn listen(
        &self,
        session: &Session,
        from: IpAddr,
        after: Option<EventSeq>,
    ) -> Result<Listening, Refusal> {
        let place = self.places.take(session.owner(), from);
        let place = place.ok_or_else(|| overloaded("Too many event streams at once."))?;
        let (position, events, missed) = {
            let mut state = self.state.lock().await;
            state.listeners.retain(|_, listener| !listener.sender.is_closed());
            if state.listeners.is_empty() {
                let newest = self.desk.last_event().await?;
                state.start_at(newest);
            }
            let (sender, events) = mpsc::channel(self.buffer);
            let id = state.next;
            state.next += 1;
            state.listeners.insert(id, Listener { session: session.clone(), sender });
            (state.position, events, state.kept_since(after, session))
        };
        self.wake.notify_one();
        let coming = Coming { events, _place: place };
        let mut listening = Listening { missed: Vec::new(), reset: false, position, coming };
        match (after, missed) {
            (None, _) => {}
            // It saw events that are not there: those of a database before a backup was restored.
            (Some(after), _) if after > position => listening.reset = true,
            (Some(_), Some(missed)) => listening.missed = missed,
            (Some(after), None) => match self.missed(session, after, position).await? {
                Some(missed) => listening.missed = missed,
                None => listening.reset = true,
            },
        }
        Ok(listening)
    }

    /// Lets go whoever listens by what has ended. What another server ends is noticed by [`crate::session::ends`].
    pub(crate) async fn let_go(&self, ended: Ended) {
        let mut state = self.state.lock().await;
        state.listeners.retain(|_, listener| !listener.session.rests_on(ended));
    }

    /// What a session missed, from the table; nothing when it is too much or no longer there.
    async fn missed(
        &self,
        session: &Session,
        after: EventSeq,
        upto: EventSeq,
    ) -> Result<Option<Vec<Arc<Event>>>, Refusal> {
        let Ok(_place) = self.catching_up.acquire().await else { return Ok(None) };
        let (mut missed, mut position, mut seen) = (Vec::new(), after, 0);
        while position < upto {
            let events = match self.desk.events_after(position, PAGE).await {
                Ok(events) => events,
                Err(StoreError::EventsGone { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let Some(last) = events.last().map(|event| event.seq) else { break };
            seen += events.len();
            if seen > MOST_MISSED {
                return Ok(None);
            }
            let own = events
                .into_iter()
                .filter(|e| e.seq <= upto && session.may_see(e.owner.as_ref()) && !self.desk.is_chore(e));
            missed.extend(own.map(Arc::new));
            position = last;
        }
        Ok(Some(missed))
    }
}

impl State {
    /// Begins anew behind this event. Whoever listens is let go: it has missed something, and comes back to hear what.
    fn start_at(&mut self, position: EventSeq) {
        self.listeners.clear();
        self.kept.clear();
        (self.position, self.kept_after) = (position, position);
    }

    fn hand_out(&mut self, event: &Arc<Event>, is_chore: bool) {
        self.position = event.seq;
        if is_chore {
            return;
        }
        self.kept.push_back(Arc::clone(event));
        if self.kept.len() > KEPT
            && let Some(old) = self.kept.pop_front()
        {
            self.kept_after = old.seq;
        }
        // One who does not keep up is dropped.
        self.listeners.retain(|_, listener| {
            !listener.session.may_see(event.owner.as_ref())
                || listener.sender.try_send(Arc::clone(event)).is_ok()
        });
    }

    /// What a session missed, when memory goes back that far.
    fn kept_since(&self, after: Option<EventSeq>, session: &Session) -> Option<Vec<Arc<Event>>> {
        let after = after.filter(|after| *after >= self.kept_after)?;
        let own = self.kept.iter().filter(|e| e.seq > after && session.may_see(e.owner.as_ref()));
        Some(own.cloned().collect())
    }
}
