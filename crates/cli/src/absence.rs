//! A server that is away for a while is waited for: it restarts, and its work goes on with it.

use std::time::Duration;

use tokio::time::Instant;

use crate::exit::{Exit, Stop};

/// So long nobody may answer.
const AWAY: Duration = Duration::from_secs(60);
/// So long a server may not know us: a new one has a new token for its neighbours, and leaves it in a file.
const STRANGE: Duration = Duration::from_secs(5);

/// Since when a server has been away.
#[derive(Debug, Default)]
pub(crate) struct Absence {
    since: Option<Instant>,
}

impl Absence {
    /// Bears that it does not answer. Answers whether that is news; the stop itself when it is something else, or lasts too long.
    pub(crate) fn bear(&mut self, stop: Stop, now: Instant) -> Result<bool, Stop> {
        let patience = match stop.exit() {
            Exit::Unreachable | Exit::Conflict => AWAY,
            Exit::NotAllowed => STRANGE,
            _ => return Err(stop),
        };
        let since = *self.since.get_or_insert(now);
        if now - since < patience {
            return Ok(since == now);
        }
        let text = format!(
            "{}; nothing that it accepted is lost: start it again, and the same command goes on with it",
            stop.message()
        );
        Err(Stop::new(stop.exit(), text))
    }

    /// It has answered. Answers whether that is news.
    pub(crate) fn over(&mut self) -> bool {
        self.since.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_waited_for_and_not_for_ever() {
        let stop = |exit| Stop::new(exit, "nobody answers");
        let (mut absence, began) = (Absence::default(), Instant::now());
        assert!(!absence.over(), "it was never away");
        assert!(absence.bear(stop(Exit::Unreachable), began).unwrap(), "that is news");
        let later = began + AWAY - Duration::from_millis(1);
        assert!(!absence.bear(stop(Exit::Conflict), later).unwrap(), "and is not said again");
        assert!(absence.over() && !absence.over());
        assert!(absence.bear(stop(Exit::Unreachable), later).unwrap(), "a new absence");
        let end = absence.bear(stop(Exit::Unreachable), later + AWAY).unwrap_err();
        assert_eq!(end.exit(), Exit::Unreachable);
        assert!(end.message().starts_with("nobody answers; nothing that it accepted is lost"), "{end:?}");
    }

    #[tokio::test]
    async fn what_is_no_absence_is_not_borne() {
        let now = Instant::now();
        let mut absence = Absence::default();
        assert!(absence.bear(Stop::new(Exit::NotAllowed, "who are you"), now).unwrap());
        let refused = absence.bear(Stop::new(Exit::NotAllowed, "who are you"), now + STRANGE).unwrap_err();
        assert_eq!(refused.exit(), Exit::NotAllowed);
        let gone = Absence::default().bear(Stop::new(Exit::NotFound, "no such batch"), now).unwrap_err();
        assert_eq!((gone.exit(), gone.message()), (Exit::NotFound, "no such batch"));
    }
}
