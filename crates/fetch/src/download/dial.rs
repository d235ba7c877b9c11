//! Connections: only to addresses that the guard has let through, and always the ones that were judged.
//!
//! This is the one place that opens a socket. A name is looked up, each of its addresses is judged, and one of exactly these is
//! dialled; TLS is verified against the name. Connections are kept and used again per scheme, name and port.
//!
//! Each step has its own time, so that whoever kept us waiting is known: the name servers, the proxy, the proxy and the origin together,
//! or the origin.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::FuturesUnordered;
use hyper::Uri;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::wire::Wire;
use crate::dns::{Lookup, LookupError};
use crate::guard::{Guard, Refused};
use crate::proxy::{Member, TunnelError, open};

/// An address has so long before the next one of the same name is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);

/// A proxy is asked for so many addresses of one name.
const THROUGH: usize = 4;

/// Why there is no connection. Told apart by what is to be done about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    /// The guard does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The name has no address, or nobody could say.
    #[error(transparent)]
    Name(#[from] LookupError),
    /// Nobody took the call.
    #[error("no connection")]
    Unreached(#[source] io::Error),
    /// Nobody took it in time, or the handshake did not end.
    #[error("no connection")]
    TooSlow,
    /// The proxy did not do its part.
    #[error("{0}")]
    Proxy(String),
    /// The proxy took the call and said nothing to our wish: it may be the one that waits for the other side.
    #[error("the proxy did not answer")]
    ProxySilent,
    /// The proxy does not let us reach this host.
    #[error("it answered {0}")]
    ProxyForbids(u16),
    /// The proxy did its part, and the other side could not be reached from there.
    #[error("the proxy answered {0}")]
    ProxyUnreached(u16),
    /// The other side's certificate or encryption is not acceptable.
    #[error("no trust: {0}")]
    Tls(#[source] io::Error),
}

impl DialError {
    /// The same once more: the client below lends its errors and does not give them away.
    pub(crate) fn again(&self) -> Self {
        let kind = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
        match self {
            Self::Refused(refused) => Self::Refused(*refused),
            Self::Name(error) => Self::Name(error.clone()),
            Self::Unreached(error) => Self::Unreached(kind(error)),
            Self::TooSlow => Self::TooSlow,
            Self::Proxy(reason) => Self::Proxy(reason.clone()),
            Self::ProxySilent => Self::ProxySilent,
            Self::ProxyForbids(status) => Self::ProxyForbids(*status),
            Self::ProxyUnreached(status) => Self::ProxyUnreached(*status),
            Self::Tls(error) => Self::Tls(kind(error)),
        }
    }
}

/// Opens connections.
#[derive(Clone)]
pub(crate) struct Dial(Arc<Inner>);

struct Inner {
    guard: Guard,
    names: Arc<dyn Lookup>,
    tls: TlsConnector,
    /// How long each step may take.
    patience: Duration,
    /// The proxy that it goes through.
    via: Option<Arc<Member>>,
}

impl Dial {
    pub(crate) fn new(guard: Guard, names: Arc<dyn Lookup>, tls: TlsConnector, patience: Duration) -> Self {
        Self(Arc::new(Inner { guard, names, tls, patience, via: None }))
    }

    /// The same through a proxy.
    pub(crate) fn through(&self, member: &Arc<Member>) -> Self {
        let Inner { guard, names, tls, patience, via: _ } = &*self.0;
        let (guard, names, tls) = (guard.clone(), Arc::clone(names), tls.clone());
        Self(Arc::new(Inner { guard, names, tls, patience: *patience, via: Some(Arc::clone(member)) }))
    }
}

impl tower_service::Service<Uri> for Dial {
    type Response = TokioIo<Wire>;
    type Error = DialError;
    type Future = BoxFuture<'static, Result<Self::Response, DialError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let inner = Arc::clone(&self.0);
        async move { inner.dial(&uri).await.map(TokioIo::new) }.boxed()
    }
}

impl Inner {
    async fn dial(&self, uri: &Uri) -> Result<Wire, DialError> {
        let host = uri.host().ok_or(Refused::Host)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let https = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        let name = if https { Some(certified(bare)?) } else { None };
        let addresses = self.judged(bare).await?;
        let stream = match &self.via {
            None => {
                let reached = self.in_time(reach(addresses, port)).await.ok_or(DialError::TooSlow)?;
                reached.map_err(DialError::Unreached)?
            }
            Some(member) => self.tunnel(member, addresses, port).await?,
        };
        let _ = stream.set_nodelay(true);
        let Some(name) = name else { return Ok(Wire::Plain(stream)) };
        let shaken = self.in_time(self.tls.connect(name, stream)).await.ok_or(DialError::TooSlow)?;
        let tls = shaken.map_err(trust)?;
        Ok(Wire::Tls(Box::new(tls)))
    }

    /// A way through a proxy to the first of these that it reaches. Who does not answer us, or forbids the host, is not asked about another.
    async fn tunnel(&self, member: &Member, to: Vec<IpAddr>, port: u16) -> Result<TcpStream, DialError> {
        let mut ended = Err(DialError::Refused(Refused::Host));
        for address in turns(to).into_iter().take(THROUGH) {
            ended = self.tunnel_to(member, SocketAddr::new(address, port)).await;
            if !matches!(ended, Err(DialError::ProxyUnreached(_))) {
                break;
            }
        }
        ended
    }

    /// A way through a proxy to this address. Where the proxy itself is, the operator has said: nobody judges that.
    async fn tunnel_to(&self, member: &Member, to: SocketAddr) -> Result<TcpStream, DialError> {
        let failed =
            |error: &dyn std::fmt::Display| DialError::Proxy(format!("the proxy did not work: {error}"));
        let proxy = &member.proxy;
        let at = match proxy.host.parse::<IpAddr>() {
            Ok(literal) => vec![literal],
            Err(_) => self.look_up(&proxy.host).await.map_err(|error| failed(&error))?,
        };
        let reached = self.in_time(reach(at, proxy.port)).await.ok_or_else(|| failed(&"it took too long"))?;
        let mut stream = reached.map_err(|error| failed(&error.kind()))?;
        let answered = self.in_time(open(&mut stream, proxy, to)).await.ok_or(DialError::ProxySilent)?;
        match answered {
            Ok(()) => Ok(stream),
            Err(TunnelError::Forbidden(status)) => Err(DialError::ProxyForbids(status)),
            Err(TunnelError::Unreached(status)) => Err(DialError::ProxyUnreached(status)),
            Err(error @ TunnelError::Proxy(_)) => Err(failed(&error)),
        }
    }

    /// The addresses behind a host, all of which may be dialled. One that may not refuses all: a name that mixes them is up
    /// to something.
    async fn judged(&self, host: &str) -> Result<Vec<IpAddr>, DialError> {
        let addresses = match host.parse::<IpAddr>() {
            Ok(literal) => vec![literal],
            Err(_) => self.look_up(host).await?,
        };
        addresses.iter().try_for_each(|address| self.guard.permits(*address))?;
        Ok(addresses)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, LookupError> {
        let late = || LookupError::Failed("no answer in time".to_owned());
        self.in_time(self.names.lookup(name)).await.unwrap_or_else(|| Err(late()))
    }

    /// One step. Nothing when it takes too long.
    async fn in_time<T>(&self, step: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(self.patience, step).await.ok()
    }
}

/// The name that a certificate has to be for. Some names that can be looked up can stand in none: then nobody is called.
fn certified(host: &str) -> Result<ServerName<'static>, Refused> {
    // The dot that ends a name is none of the certificate's.
    let name = host.strip_suffix('.').unwrap_or(host).to_owned();
    ServerName::try_from(name).map_err(|_| Refused::Uncertified)
}

/// A fault of the encryption is told from a connection that broke during the handshake.
fn trust(error: io::Error) -> DialError {
    let is_tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
    if is_tls { DialError::Tls(error) } else { DialError::Unreached(error) }
}

/// Both kinds take turns.
fn turns(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let (mut six, mut four): (Vec<IpAddr>, Vec<IpAddr>) = addresses.into_iter().partition(IpAddr::is_ipv6);
    six.reverse();
    four.reverse();
    let mut turns = Vec::with_capacity(four.len() + six.len());
    while let Some(next) = if four.len() >= six.len() { four.pop().or_else(|| six.pop()) } else { six.pop() }
    {
        turns.push(next);
    }
    turns
}

/// The first of these that answers, each with a head start.
async fn reach(addresses: Vec<IpAddr>, port: u16) -> io::Result<TcpStream> {
    let mut waiting = turns(addresses).into_iter();
    let mut tries = FuturesUnordered::new();
    let mut why = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        match waiting.next() {
            Some(address) => tries.push(TcpStream::connect(SocketAddr::new(address, port))),
            None if tries.is_empty() => return Err(why),
            None => {}
        }
        let more = waiting.len() > 0;
        tokio::select! {
            Some(tried) = tries.next() => match tried {
                Ok(stream) => return Ok(stream),
                Err(error) => why = error,
            },
            () = tokio::time::sleep(HEAD_START), if more => {}
        }
    }
}

#[cfg(test)]
mod tests;
