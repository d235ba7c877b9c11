//! Whether a request that changes something comes from our own pages or from a program, and not from another site.
//!
//! Browsers say where a request comes from (`Sec-Fetch-Site`); older ones say the origin. A program that says neither has no
//! cookies of anybody's browser, and passes.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use redrive_model::Code;
use url::Url;

use crate::app::App;
use crate::refusal::Refusal;

/// Refuses what comes from elsewhere.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let harmless = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE);
    if harmless || is_own(request.headers(), app.public_url()) {
        return next.run(request).await;
    }
    Refusal::new(Code::AuthCrossSite, "This request comes from another site.").into_response()
}

fn is_own(headers: &HeaderMap, public: Option<&Url>) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("not readable"));
    match (text("sec-fetch-site"), text(header::ORIGIN.as_str())) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, None) => true,
        (None, Some(origin)) => is_origin(origin, text(header::HOST.as_str()), public),
    }
}

/// Whether an origin is the host that was asked, or the address that the operator gave.
fn is_origin(origin: &str, host: Option<&str>, public: Option<&Url>) -> bool {
    let Ok(origin) = Url::parse(origin) else { return false };
    if !matches!(origin.scheme(), "http" | "https") {
        return false;
    }
    if public.is_some_and(|public| public.origin() == origin.origin()) {
        return true;
    }
    let Some(host) = host else { return false };
    // The host says no scheme; with the origin's own both have the same default port.
    Url::parse(&format!("{}://{host}/", origin.scheme())).is_ok_and(|asked| asked.origin() == origin.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_and_programs_pass() {
        let public = Url::parse("https://convert.example.org").unwrap();
        for (site, origin, passes) in [
            (Some("same-origin"), None, true),
            (Some("none"), None, true),
            (Some("same-origin"), Some("https://evil.example"), true),
            (Some("same-site"), Some("http://host:8080"), false),
            (Some("cross-site"), Some("http://host:8080"), false),
            (Some("SAME-ORIGIN"), None, false),
            (Some("\u{7f}"), None, false),
            (None, None, true),
            (None, Some("http://host:8080"), true),
            (None, Some("https://convert.example.org"), true),
            (None, Some("http://host:8081"), false),
            (None, Some("http://host"), false),
            (None, Some("http://other:8080"), false),
            (None, Some("null"), false),
            (None, Some("file://host:8080"), false),
            (None, Some("http://host:8080.evil.example"), false),
            (None, Some("http://host:8080@evil.example"), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "host:8080".parse().unwrap());
            if let Some(site) = site {
                headers.insert(
                    "sec-fetch-site",
                    axum::http::HeaderValue::from_bytes(site.as_bytes()).unwrap_or("x".parse().unwrap()),
                );
            }
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(is_own(&headers, Some(&public)), passes, "{site:?} {origin:?}");
        }
    }
}
