//! `Accept`: whether the client takes XML, and under which name.

use axum::http::{HeaderMap, header};

/// The media type to answer with; nothing when the client takes no XML.
pub(super) fn xml(headers: &HeaderMap) -> Option<&'static str> {
    let mut ranges = Vec::new();
    for value in headers.get_all(header::ACCEPT) {
        // What cannot be read asks for nothing that we could know.
        ranges.extend(value.to_str().unwrap_or_default().split(',').filter_map(range));
    }
    if !headers.contains_key(header::ACCEPT) {
        return Some("application/xml");
    }
    let candidates = ["application/xml", "text/xml"];
    let wanted = candidates.map(|candidate| (quality(candidate, &ranges), candidate));
    let [first, second] = wanted;
    match (first, second) {
        ((0, _), (0, _)) => None,
        ((a, _), (b, text)) if b > a => Some(text),
        ((_, application), _) => Some(application),
    }
}

/// A media range and its quality in thousandths.
fn range(text: &str) -> Option<(String, u32)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
    let quality = parts.find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse::<f32>().unwrap_or(0.0))
    });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped just before")]
    let thousandths = (quality.unwrap_or(1.0).clamp(0.0, 1.0) * 1000.0) as u32;
    Some((name, thousandths))
}

/// The quality of the most exact range that fits.
fn quality(candidate: &str, ranges: &[(String, u32)]) -> u32 {
    let kind = candidate.split('/').next().unwrap_or_default();
    let exactness = |range: &str| match range {
        exact if exact == candidate => Some(2),
        "*/*" => Some(0),
        other => (other.strip_suffix("/*") == Some(kind)).then_some(1),
    };
    ranges
        .iter()
        .filter_map(|(range, quality)| exactness(range).map(|exact| (exact, *quality)))
        .max()
        .map_or(0, |(_, quality)| quality)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_is_given_to_whom_takes_it() {
        for (accept, expected) in [
            (None, Some("application/xml")),
            (Some("*/*"), Some("application/xml")),
            (Some("application/xml"), Some("application/xml")),
            (Some("Application/XML; q=0.5"), Some("application/xml")),
            (Some("text/html, application/*;q=0.1"), Some("application/xml")),
            (Some("text/xml"), Some("text/xml")),
            (Some("text/*"), Some("text/xml")),
            (Some("application/xml;q=0.2, text/xml"), Some("text/xml")),
            (Some("application/xml;q=0, */*"), Some("text/xml")),
            (Some("application/json"), None),
            (Some("text/html"), None),
            (Some("application/xml;q=0"), None),
            (Some("*/*;q=0"), None),
            (Some("application/xml;q=nonsense"), None),
            (Some(""), None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, accept.parse().unwrap());
            }
            assert_eq!(xml(&headers), expected, "{accept:?}");
        }
    }
}
