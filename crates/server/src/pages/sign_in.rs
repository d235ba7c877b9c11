//! The page on which operators sign in: one field, and no script, because the link that leads here may hold a code.

use axum::http::{HeaderValue, header};
use axum::response::Response;
use maud::html;

use super::layout::Shell;
use super::viewer::Viewer;
use crate::operator::Wanted;

/// Our style, and a form that goes back to us.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The page, with a code that was sent with the link, or with what was wrong.
pub(crate) fn sign_in(code: &str, wanted: &Wanted, trouble: Option<&str>) -> Response {
    // Only what can be a code is shown back.
    let plain = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let body = html! {
        h1 { "Sign in as an operator" }
        p.lead { "Operators see everybody’s jobs. To upload PDFs and to see your own jobs you need not sign in." }
        @if let Some(text) = trouble { p.why role="alert" { (text) } }
        form method="post" action="/sign-in" {
            input type="hidden" name="to" value=(wanted.as_str());
            div.field {
                label for="key" { "Code or operator token" }
                input #key name="key" type="password" value=(if plain { code } else { "" }) required
                    autocomplete="current-password";
                button { "Sign in" }
            }
        }
    };
    let mut response = Shell::new("Sign in", Viewer::STRANGER).plain().page(&body);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
    response
}
