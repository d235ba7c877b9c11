//! What resources are called where people read it.
//!
//! People call their resources by their URLs, and a signed URL is a key to what it names. So what we call a resource that nobody gave a name
//! is made from its URL and does not hold it, and what people gave is shown like everything else, without its secrets. Jobs carry the real
//! id: it makes the object's key.

use redrive_blob::Sha256;
use redrive_engine::model::limits::MAX_LABEL_BYTES;
use redrive_engine::model::redact::{MASK, redact};
use redrive_engine::model::text::{head, one_line};
use url::Url;

/// So much of a URL is in the id that we make of it.
const MAX_ADDRESS: usize = 160;
/// Before the hash.
const BEFORE_HASH: &str = " ~";
/// So many digits: a million URLs that look alike have ids of their own.
const HASH_DIGITS: usize = 16;

/// The id of a resource whose URL is all that was said: the URL itself where it is short and holds nothing to hide, else what may be seen of
/// it and a hash of all of it. The same URL always has the same id, and two URLs never share one.
#[must_use]
pub fn id_of_url(url: &str) -> String {
    let mut told = address(url);
    if told == url && url.len() <= MAX_ADDRESS {
        return told;
    }
    if told.len() > MAX_ADDRESS
        && let Some((path, _)) = told.split_once('?')
    {
        // A mask that is cut would be masked again.
        let room = MAX_ADDRESS.saturating_sub(MASK.len() + 1);
        told = if path.len() > room { path.to_owned() } else { format!("{path}?{MASK}") };
    }
    let hash = Sha256::of(url.as_bytes()).to_string();
    let hash = hash.get(..HASH_DIGITS).unwrap_or_default();
    let more = if told.len() > MAX_ADDRESS { "..." } else { "" };
    format!("{}{more}{BEFORE_HASH}{hash}", head(&told, MAX_ADDRESS))
}

/// An id as it is shown: without secrets. What has none is shown as it is.
#[must_use]
pub fn shown_id(id: &str) -> String {
    let (name, hash) = match id.rsplit_once(BEFORE_HASH) {
        Some((name, hash)) if is_hash(hash) => (name, Some(hash)),
        Some(_) | None => (id, None),
    };
    let told = match name.contains("://") && Url::parse(name).is_ok() {
        true => same_or_address(name),
        false => redact(name),
    };
    hash.map_or(told.clone(), |hash| format!("{told}{BEFORE_HASH}{hash}"))
}

/// The same in one line that is short enough for the job's row.
pub(crate) fn label(id: &str) -> String {
    one_line(&shown_id(id), MAX_LABEL_BYTES, false)
}

/// The URL as its parser reads it, without user, fragment and the values of its query. What is no URL may be anything.
pub(crate) fn address(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return MASK.to_owned() };
    url.set_fragment(None);
    // A scheme without an authority has no user; then there is nothing to remove either.
    let _ = (url.set_username(""), url.set_password(None));
    if url.cannot_be_a_base() {
        return format!("{}:{MASK}", url.scheme());
    }
    redact(url.as_str())
}

/// People know their URLs as they wrote them: how a parser would write one is told only where something has to go.
fn same_or_address(url: &str) -> String {
    let plain = !url.contains(['?', '#', '@', ' ']);
    if plain { redact(url) } else { address(url) }
}

fn is_hash(text: &str) -> bool {
    text.len() == HASH_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::MAX_ID_BYTES;

    #[test]
    fn an_address_keeps_where_it_leads_and_loses_what_opens_it() {
        for (url, told) in [
            (
                "https://u:CANARY@h.example/a/b?X-Amz-Signature=CANARY&x=1#CANARY",
                "https://h.example/a/b?X-Amz-Signature=***&x=***",
            ),
            ("https://h.example/a#token=CANARY", "https://h.example/a"),
            ("https://h.example/a b?sig=CANARY", "https://h.example/a%20b?sig=***"),
            ("https://h.example/a?b c=CANARY d", "https://h.example/a?b%20c=***"),
            ("https://h.example/a?CANARY", "https://h.example/a?***"),
            ("https://h.example/a\t?sig=CANARY", "https://h.example/a?sig=***"),
            ("data:text/plain,CANARY", "data:***"),
            ("CANARY", "***"),
        ] {
            assert_eq!(address(url), told, "{url}");
        }
    }

    #[test]
    fn a_plain_url_is_its_own_id_and_any_other_has_a_short_one_without_its_secrets() {
        assert_eq!(id_of_url("https://a.example/b/1.pdf"), "https://a.example/b/1.pdf");
        let signed = |signature: &str| {
            let more = "&X-Amz-Credential=CANARY%2F20261118%2Fus-east-1".repeat(20);
            format!("https://b.s3.example/k.pdf?X-Amz-Signature={signature}{more}")
        };
        let (one, other) = (id_of_url(&signed("CANARY1")), id_of_url(&signed("CANARY2")));
        assert!(one.starts_with("https://b.s3.example/k.pdf?*** ~") && one.len() < MAX_ID_BYTES, "{one}");
        assert_ne!(one, other, "they are two resources");
        assert_eq!(one, id_of_url(&signed("CANARY1")), "and each is always the same");
        let long = id_of_url(&format!("https://a.example/{}", "x".repeat(8_000)));
        assert!(long.len() < MAX_ID_BYTES, "{long}");
        for url in [
            "https://u:CANARY@a.example/",
            "https://a.example/#CANARY",
            "https://a.example/?q=CANARY",
            "CANARY",
        ] {
            let id = id_of_url(url);
            assert!(!id.contains("CANARY") && id.contains(BEFORE_HASH), "{id}");
        }
    }

    #[test]
    fn ids_that_people_gave_are_shown_without_secrets_and_else_as_they_are() {
        for (id, shown) in [
            ("cat-1", "cat-1"),
            ("Märchen, 2. Band", "Märchen, 2. Band"),
            ("https://a.example", "https://a.example"),
            ("https://a.example/ä", "https://a.example/ä"),
            ("https://u:CANARY@a.example/x", "https://a.example/x"),
            ("https://a.example/x?sig=CANARY&b=1", "https://a.example/x?sig=***&b=***"),
            ("https://a.example/x?b c=CANARY d", "https://a.example/x?b%20c=***"),
            ("https://a.example/x#token=CANARY", "https://a.example/x"),
            ("page 1 of https://a.example/x?sig=CANARY", "page 1 of https://a.example/x?sig=***"),
            ("token=CANARY", "token=***"),
            ("https://a.example/x?y=*** ~0123456789abcdef", "https://a.example/x?y=*** ~0123456789abcdef"),
        ] {
            assert_eq!(shown_id(id), shown, "{id}");
        }
        // Every mark of a query may become four.
        assert!(label(&format!("https://a.example/?{}", "&".repeat(400))).len() <= MAX_LABEL_BYTES);
    }

    proptest! {
        #[test]
        fn what_we_make_is_an_id_and_is_shown_as_it_is(path in "\\PC{0,600}") {
            for url in [format!("https://a.example/{path}"), format!("https://u:p@a.example/x?{path}"), path.clone()] {
                let id = id_of_url(&url);
                prop_assert!(!id.is_empty() && id.len() <= MAX_ID_BYTES && !id.chars().any(char::is_control), "{}", id);
                prop_assert_eq!(shown_id(&id), id);
            }
        }
    }
}
