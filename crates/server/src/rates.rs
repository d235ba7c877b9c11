//! How often a session and an address may ask, by what they ask for.

use std::net::{IpAddr, Ipv6Addr};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use redrive_model::{Code, Owner};

use crate::app::App;
use crate::limits::{Limits, Rate};
use crate::meter::Meter;
use crate::operator::Sent;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::session::Visit;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An upload.
    Upload,
    /// A list, a job, the status.
    Look,
    /// A result.
    Download,
    /// A retry, a cancellation.
    Act,
}

/// All meters.
#[derive(Debug)]
pub(crate) struct Meters {
    upload: Pair,
    look: Pair,
    download: Pair,
    act: Pair,
    /// Sessions that an address begins.
    pub(crate) sessions: Meter<IpAddr>,
    /// Wrong tokens and codes that an address brings.
    pub(crate) wrong_keys: Meter<IpAddr>,
    /// Wrong tokens that begin alike, from wherever they come.
    wrong_starts: Meter<[u8; 32]>,
    /// Bytes that a session uploads.
    pub(crate) bytes: Meter<Owner>,
}

#[derive(Debug)]
struct Pair {
    session: Meter<Owner>,
    address: Meter<IpAddr>,
}

impl Meters {
    pub(crate) fn new(limits: &Limits) -> Self {
        let rates = limits.rates;
        let pair = |rate: Rate| {
            let times = |n: f64| n * rates.address_factor;
            let shared = Rate { burst: times(rate.burst), per_second: times(rate.per_second) };
            Pair { session: Meter::new(rate), address: Meter::new(shared) }
        };
        Self {
            upload: pair(rates.upload),
            look: pair(rates.look),
            download: pair(rates.download),
            act: pair(rates.act),
            sessions: Meter::new(rates.session),
            wrong_keys: Meter::new(rates.wrong_keys),
            wrong_starts: Meter::new(rates.wrong_keys),
            bytes: Meter::new(limits.bytes_per_session),
        }
    }

    /// Counts a wrong token or code: for the address, and for its beginning, so that many addresses have no more tries at one token. A right one
    /// is never counted, so that nobody can shut its holder out.
    pub(crate) fn wrong_key(&self, from: IpAddr, sent: &Sent) -> Result<(), Refusal> {
        self.wrong_keys.take(&from, 1.0).map_err(too_often)?;
        self.wrong_starts.take(&sent.start(), 1.0).map_err(too_often)
    }

    const fn of(&self, kind: Kind) -> &Pair {
        match kind {
            Kind::Upload => &self.upload,
            Kind::Look => &self.look,
            Kind::Download => &self.download,
            Kind::Act => &self.act,
        }
    }
}

/// The answer to one who asks too often.
pub(crate) fn too_often(wait: std::time::Duration) -> Refusal {
    Refusal::new(Code::RateLimited, "You ask more often than is allowed.").retry_after(wait)
}

/// Lets a request pass, or says when to come again. The address is counted first: whoever asks too often from there is not even looked up.
pub(crate) async fn meter(State((app, kind)): State<(App, Kind)>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let address = peer.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.0);
    let visit = request.extensions().get::<Visit>().cloned();
    match allowed(&app, kind, address, visit).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn allowed(app: &App, kind: Kind, address: IpAddr, visit: Option<Visit>) -> Result<(), Refusal> {
    let pair = app.meters().of(kind);
    pair.address.take(&address, 1.0).map_err(too_often)?;
    let Some(visit) = visit else { return Ok(()) };
    match visit.known(app).await? {
        // An operator's rate is that of an address.
        Some(session) if !session.is_operator() => pair.session.take(session.owner(), 1.0).map_err(too_often),
        Some(_) | None => Ok(()),
    }
}
