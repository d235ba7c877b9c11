//! How a manifest comes, and how one is wanted.

use axum::http::{HeaderMap, header};
use redrive_fetch::{Format, Shape};
use redrive_model::Code;

use crate::refusal::Refusal;

/// What a request says about its body.
pub(super) fn of_request(headers: &HeaderMap) -> Result<Shape, Refusal> {
    let unsupported = |text: &str| Refusal::new(Code::UnsupportedMediaType, text);
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let format = said.and_then(format).ok_or_else(|| {
        unsupported(
            "Send application/json for one document, or application/x-ndjson for one resource a line.",
        )
    })?;
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let gzip = match (codings.next().map(|coding| coding.as_bytes().to_ascii_lowercase()), codings.next()) {
        (None, _) => false,
        (Some(coding), None) if coding == b"identity" => false,
        (Some(coding), None) if coding == b"gzip" || coding == b"x-gzip" => true,
        (Some(_), _) => return Err(unsupported("A manifest is packed with gzip, or not at all.")),
    };
    Ok(Shape { format, gzip })
}

/// The format that an answer is wanted in; nothing when any will do.
pub(super) fn wanted(headers: &HeaderMap) -> Option<Format> {
    let accept = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accept.flat_map(|value| value.split(',')).find_map(format)
}

/// The media types.
pub(super) const fn media(format: Format) -> &'static str {
    match format {
        Format::Json => "application/json",
        Format::Ndjson => "application/x-ndjson",
    }
}

fn format(media: &str) -> Option<Format> {
    let essence = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" => Some(Format::Json),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/x-jsonlines" => {
            Some(Format::Ndjson)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), header::HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn what_comes_is_told_by_its_type_and_its_coding() {
        for (media, coding, shape) in [
            ("application/json", None, Some((Format::Json, false))),
            ("Application/JSON; charset=utf-8", Some("identity"), Some((Format::Json, false))),
            ("application/x-ndjson", Some("gzip"), Some((Format::Ndjson, true))),
            ("application/jsonl", Some("GZIP"), Some((Format::Ndjson, true))),
            ("application/ndjson", None, Some((Format::Ndjson, false))),
            ("text/plain", None, None),
            ("application/json", Some("br"), None),
            ("application/json", Some("gzip, gzip"), None),
        ] {
            let mut sent = headers(&[(header::CONTENT_TYPE, media)]);
            if let Some(coding) = coding {
                sent.insert(header::CONTENT_ENCODING, header::HeaderValue::from_static(coding));
            }
            let found = of_request(&sent).ok().map(|shape| (shape.format, shape.gzip));
            assert_eq!(found, shape, "{media} {coding:?}");
        }
        assert!(of_request(&HeaderMap::new()).is_err());
    }

    #[test]
    fn what_is_wanted_is_the_first_that_we_have() {
        for (accept, format) in [
            ("*/*", None),
            ("text/html", None),
            ("application/x-ndjson", Some(Format::Ndjson)),
            ("text/html, application/json;q=0.9, application/x-ndjson", Some(Format::Json)),
        ] {
            assert_eq!(wanted(&headers(&[(header::ACCEPT, accept)])), format, "{accept}");
        }
    }
}
