//! What pages load: style, scripts and the icon, built in. Each has its hash in its address, so that it may be kept for ever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::refusal::{Refusal, not_found};

/// One file.
pub(super) struct Asset {
    /// Its address.
    pub(super) url: String,
    tag: String,
    kind: &'static str,
    bytes: &'static [u8],
}

/// All files.
pub(super) struct Assets {
    pub(super) style: Asset,
    pub(super) htmx: Asset,
    pub(super) clock: Asset,
    pub(super) live: Asset,
    pub(super) upload: Asset,
    pub(super) icon: Asset,
}

/// The files, hashed once.
pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    Assets {
        style: asset("style", "css", "text/css; charset=utf-8", include_bytes!("../../assets/style.css")),
        htmx: asset("htmx-4.0.0", "js", SCRIPT, include_bytes!("../../assets/htmx-4.0.0.js")),
        clock: asset("clock", "js", SCRIPT, include_bytes!("../../assets/clock.js")),
        live: asset("live", "js", SCRIPT, include_bytes!("../../assets/live.js")),
        upload: asset("upload", "js", SCRIPT, include_bytes!("../../assets/upload.js")),
        icon: asset("icon", "svg", "image/svg+xml", include_bytes!("../../assets/icon.svg")),
    }
});

fn asset(name: &str, ending: &str, kind: &'static str, bytes: &'static [u8]) -> Asset {
    let hash: String = Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Asset { url: format!("/assets/{name}-{hash}.{ending}"), tag: format!("\"{hash}\""), kind, bytes }
}

/// `GET /assets/{name}`. A name with another hash is another version's: there is none of it here.
pub(super) async fn one(
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let url = format!("/assets/{}", name.map(|Path(name)| name).unwrap_or_default());
    let all = &*ASSETS;
    let all = [&all.style, &all.htmx, &all.clock, &all.live, &all.upload, &all.icon];
    match all.into_iter().find(|asset| asset.url == url) {
        Some(asset) => Ok(asset.answer(&headers)),
        None => Err(not_found().await),
    }
}

/// Where browsers look for an icon by themselves.
pub(super) async fn icon(headers: HeaderMap) -> Response {
    let mut response = ASSETS.icon.answer(&headers);
    // This address has no hash.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    response
}

impl Asset {
    fn answer(&self, asked: &HeaderMap) -> Response {
        let known = asked.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == self.tag.as_bytes());
        let mut response = match known {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => ([(header::CONTENT_TYPE, self.kind)], self.bytes).into_response(),
        };
        let headers = response.headers_mut();
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        headers.insert(header::CACHE_CONTROL, forever);
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}
