//! A refusal as a page: what happened, what we do, what you can do.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use maud::html;
use redrive_model::Code;

use super::layout::{Shell, sentences};
use super::viewer::Viewer;
use crate::operator::Wanted;
use crate::refusal::Refusal;

/// Whether whoever asks reads pages. Programs get problem documents, and so does a script of ours, which shows the sentence in
/// its place. A browser that goes to an address of the API (a download that is gone) gets a page as well.
pub(crate) fn wants_page(headers: &HeaderMap, path: &str) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if headers.contains_key("hx-request") {
        return false;
    }
    let navigates = text("sec-fetch-mode") == "navigate";
    navigates || (!path.starts_with("/api/") && text(header::ACCEPT.as_str()).contains("text/html"))
}

/// The page, for one who wanted another.
pub(crate) fn problem(refusal: &Refusal, viewer: Viewer, wanted: &Wanted) -> Response {
    let problem = refusal.problem();
    let code = Code::parse(&problem.code).unwrap_or(Code::Unknown);
    let body = html! {
        h1 { (problem.title) }
        @if problem.detail != problem.title { p.lead { (problem.detail) } }
        (sentences(code, None))
        p.actions {
            @if code == Code::AuthRequired { a.button href=(wanted.door()) { "Sign in as an operator" } }
            a.button.quiet[code == Code::AuthRequired] href="/" { "Upload files" }
            a.button.quiet href="/jobs" { "Your jobs" }
        }
        p.fine {
            "Code " a href={ "/failures/" (problem.code) } { (problem.code) }
            @if let Some(id) = &problem.request_id { ". Tell the operator this number if it happens again: " code { (id) } }
        }
    };
    let mut response = Shell::new(&problem.title, viewer).page(&body);
    *response.status_mut() =
        StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(ms) = problem.retry_after_ms {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000)));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_pages_and_programs_get_documents() {
        for (path, given, page) in [
            ("/jobs/1", &[("accept", "text/html,*/*;q=0.8")][..], true),
            ("/jobs/1", &[("accept", "*/*")], false),
            ("/jobs/1", &[], false),
            ("/jobs/1", &[("accept", "text/html"), ("hx-request", "true")], false),
            ("/nothing", &[("accept", "text/html")], true),
            ("/api/jobs/1/download", &[("accept", "text/html")], false),
            ("/api/jobs/1/download", &[("accept", "text/html"), ("sec-fetch-mode", "navigate")], true),
            ("/api/jobs", &[("sec-fetch-mode", "cors")], false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            assert_eq!(wants_page(&headers, path), page, "{path} {given:?}");
        }
    }
}
