//! What every request gets: an id that its answer, the log and the audit trail carry, and headers that keep browsers from guessing.

use std::fmt;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rand::Rng;

use crate::operator::Wanted;
use crate::pages;
use crate::refusal::Refusal;

/// The header that carries the id.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Which request. Whoever acts has it with them from the visit on, so that no handler can forget it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestId(u64);

impl RequestId {
    /// A fresh one.
    pub(crate) fn fresh() -> Self {
        Self(rand::rng().random())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The outermost layer. The id is always ours: what a client sends could be anything.
pub(crate) async fn identify(mut request: Request, next: Next) -> Response {
    let id = RequestId::fresh();
    request.extensions_mut().insert(id);
    let id = id.to_string();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let reader = pages::wants_page(request.headers(), &path);
    // An act is not done again by signing in; a page is shown.
    let wanted = match request.uri().path_and_query() {
        Some(place) if method == Method::GET => Wanted::of(place.as_str()),
        Some(_) | None => Wanted::of(""),
    };
    let mut response = next.run(request).await;
    let viewer = response.extensions_mut().remove::<pages::Viewer>().unwrap_or_default();
    if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
        tracing::info!(event = "request.refused", request_id = id, %method, path, error_code = refusal.code());
        let refusal = refusal.request_id(&id);
        let named = if reader { pages::problem(&refusal, viewer, &wanted) } else { refusal.into_response() };
        // What other layers have added stays: a cookie, a header.
        let (mut parts, old) = (named.into_parts(), response.into_parts().0);
        for (name, value) in &old.headers {
            if name != header::CONTENT_LENGTH && name != header::CONTENT_TYPE && name != header::RETRY_AFTER {
                if parts.0.headers.contains_key(name) {
                    continue;
                }
                parts.0.headers.append(name.clone(), value.clone());
            }
        }
        response = Response::from_parts(parts.0, parts.1);
    }
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Without a referrer browsers hide the origin of our own forms too.
    headers.entry(header::REFERRER_POLICY).or_insert(HeaderValue::from_static("same-origin"));
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
