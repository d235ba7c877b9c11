//! One question and where it leads: requests, and redirects followed by hand.
//!
//! At most five redirects; each is judged like the first URL. What a manifest says beside the URL goes to the host that it names:
//! at the first hop elsewhere only harmless headers go along, also when a later hop leads back.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, HeaderMap, HeaderName, HeaderValue, IF_RANGE, LOCATION, RANGE,
    USER_AGENT,
};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::connect::capture_connection;
use redrive_engine::store::clock::{Clock, SystemClock};
use tokio::time::Instant;
use url::Position;

use super::head::retry_after;
use super::trouble::{Trouble, of_request};
use super::{Ask, HEAD_BYTES, Http, Inner};
use crate::guard::{Checked, Refused};
use crate::proxy::Member;

/// So many redirects are followed.
const MAX_HOPS: usize = 5;
/// So much of a body that nobody wants is read, so that its connection can be used again.
const DRAINED: usize = 64 << 10;
/// And for so long.
const DRAIN_TIME: Duration = Duration::from_millis(50);
/// Headers of the manifest that other hosts may see too.
const HARMLESS: &[HeaderName] = &[ACCEPT, ACCEPT_LANGUAGE, USER_AGENT];

/// Where the rest of a download begins, and what it must belong to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest<'a> {
    pub(super) from: u64,
    pub(super) etag: &'a str,
}

/// An answer, and who gave it.
pub(super) struct Answered {
    pub(super) response: Response<Incoming>,
    pub(super) by: Checked,
}

/// Something that went wrong, and where.
pub(super) type At<T> = Result<T, (Trouble, Option<Checked>)>;

impl Inner {
    /// Asks, and follows redirects to the one that has an answer.
    pub(super) async fn ask(
        &self,
        ask: &Ask<'_>,
        via: Option<&Member>,
        rest: Option<Rest<'_>>,
        until: Instant,
    ) -> At<Answered> {
        let http = via.and_then(|member| self.through.get(member.at)).unwrap_or(&self.direct);
        let mut url = self.guard.parse(ask.url).map_err(|refused| (Trouble::Refused(refused), None))?;
        let all = ask.header_map().map_err(|trouble| (trouble, Some(url.clone())))?;
        let (mut trusted, mut been) = (true, Vec::new());
        loop {
            let sent = self.send(http, &url, &all, trusted, rest, until).await;
            let response = sent.map_err(|trouble| (trouble, Some(url.clone())))?;
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(Answered { response, by: url });
            }
            let failed = |trouble| (trouble, Some(url.clone()));
            let location = response.headers().get(LOCATION).map(HeaderValue::as_bytes).map(str::from_utf8);
            let Some(Ok(location)) = location else {
                return Err(failed(Trouble::BadAnswer("a redirect leads to no address")));
            };
            let next =
                self.guard.follow(&url, location).map_err(|refused| failed(Trouble::Refused(refused)))?;
            been.push(url);
            if been.contains(&next) {
                return Err((Trouble::Circle, Some(next)));
            }
            if been.len() > MAX_HOPS {
                return Err((Trouble::Redirects(MAX_HOPS), Some(next)));
            }
            trusted = trusted && been.first().is_none_or(|first| first.trusts(&next));
            drain(response).await;
            url = next;
        }
    }

    async fn send(
        &self,
        http: &Http,
        url: &Checked,
        all: &HeaderMap,
        trusted: bool,
        rest: Option<Rest<'_>>,
        until: Instant,
    ) -> Result<Response<Incoming>, Trouble> {
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = uri(url)?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("redrive/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in all.iter().filter(|(name, _)| trusted || HARMLESS.contains(name)) {
            headers.insert(name, value.clone());
        }
        // What is stored is what the origin has: lengths, ranges and hashes then mean the same on both sides, and nothing can
        // unfold to more than was sent.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(rest) = rest {
            let etag =
                HeaderValue::from_str(rest.etag).map_err(|_| Trouble::BadAnswer("an unusable ETag"))?;
            let range = HeaderValue::try_from(format!("bytes={}-", rest.from));
            headers.insert(RANGE, range.map_err(|_| Trouble::BadAnswer("an unusable range"))?);
            headers.insert(IF_RANGE, etag);
        }
        let response = self.answer(http, request, until).await?;
        if head_bytes(response.headers()) > HEAD_BYTES { Err(Trouble::HeadTooLarge) } else { Ok(response) }
    }

    /// The head of an answer. Its time begins when there is a connection: until then each step has its own.
    async fn answer(
        &self,
        http: &Http,
        mut request: Request<Empty<Bytes>>,
        until: Instant,
    ) -> Result<Response<Incoming>, Trouble> {
        let mut connection = capture_connection(&mut request);
        let mut answer = pin!(http.request(request));
        let late = || Err(Trouble::Deadline(self.options.deadline));
        tokio::select! {
            biased;
            answer = &mut answer => return answer.map_err(of_request),
            _ = connection.wait_for_connection_metadata() => {}
            () = tokio::time::sleep_until(until) => return late(),
        }
        let patience = self.options.answer_timeout;
        let within = Instant::now().checked_add(patience).map_or(until, |at| at.min(until));
        match tokio::time::timeout_at(within, answer).await {
            Ok(answer) => answer.map_err(of_request),
            Err(_) if within == until => late(),
            Err(_) => Err(Trouble::Silent(patience)),
        }
    }
}

/// The URL as the client below takes it: put together from the parts that were judged, not read again as a text.
fn uri(url: &Checked) -> Result<Uri, Trouble> {
    let unusable = |_| Trouble::Refused(Refused::Unusable);
    let url = url.url();
    let path = &url[Position::BeforePath..Position::AfterQuery];
    Uri::builder()
        .scheme(url.scheme())
        .authority(url.authority())
        .path_and_query(path)
        .build()
        .map_err(unusable)
}

/// The client below reads a head in pieces and may take one that is somewhat larger than it should.
fn head_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// What a refusal means.
pub(super) fn status(response: &Response<Incoming>) -> Trouble {
    let wish = retry_after(response.headers(), SystemClock.now());
    match response.status().as_u16() {
        status @ 400..=599 => Trouble::Status { status, retry_after: wish },
        _ => Trouble::BadAnswer("a status that brings no content"),
    }
}

/// Reads away a short body that nobody wants. A long or slow one costs its connection.
pub(super) async fn drain(response: Response<Incoming>) {
    let mut body = response.into_body();
    let reading = async {
        let mut left = DRAINED;
        while let Some(Ok(frame)) = body.frame().await {
            match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                Some(less) => left = less,
                None => return,
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIME, reading).await;
}
