//! Whether a worker may judge that another one is gone.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// When the store last answered this worker, and whether it was away before that.
///
/// After an outage nobody's lease was extended and nobody has been heard, so that all workers look dead to whoever comes
/// back first. Each of them gets half a lease to say that it lives before a lease is taken back as a crash.
#[derive(Debug)]
pub(crate) struct Contact {
    half: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    heard: Instant,
    back: Option<Instant>,
}

impl Contact {
    pub(crate) fn new(lease_ttl: Duration) -> Self {
        Self { half: lease_ttl / 2, state: Mutex::new(State { heard: Instant::now(), back: None }) }
    }

    /// The store has answered our heartbeat.
    pub(crate) fn heard(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if now - state.heard >= self.half {
            state.back = Some(now);
        }
        state.heard = now;
    }

    /// Whether the store has been there long enough for everybody who lives to have said so.
    pub(crate) fn is_steady(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.heard.elapsed() < self.half && state.back.is_none_or(|back| back.elapsed() >= self.half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_silence_others_get_half_a_lease_to_say_that_they_live() {
        let contact = Contact::new(Duration::from_secs(60));
        assert!(contact.is_steady(), "a new process has seen no outage");
        tokio::time::advance(Duration::from_secs(29)).await;
        contact.heard();
        assert!(contact.is_steady());
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(!contact.is_steady(), "who hears nothing judges nobody");
        for _ in 0..3 {
            contact.heard();
            assert!(!contact.is_steady(), "the others may not have been heard yet");
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        contact.heard();
        assert!(contact.is_steady());
    }
}
