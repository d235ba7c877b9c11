//! Removes secrets from text before it is stored, logged or shown.
//!
//! URLs lose their userinfo and the values of their query; `Bearer …`, `Basic …` and `password=…` lose what follows.
//! The rule is to cut too much rather than too little: a message is there to be read, not to be executed.

/// What stands in place of a secret.
pub const MASK: &str = "***";

const SECRET_KEYS: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "secret_key",
    "authorization",
    "cookie",
    "signature",
    "sig",
    "credential",
    "credentials",
    "session",
    "private_key",
];

/// The text with every recognised secret replaced by [`MASK`].
#[must_use]
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_scheme = false;
    for (n, word) in text.split(' ').enumerate() {
        if n > 0 {
            out.push(' ');
        }
        if std::mem::take(&mut after_scheme) && !word.is_empty() {
            out.push_str(MASK);
            continue;
        }
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        after_scheme = bare.eq_ignore_ascii_case("bearer") || bare.eq_ignore_ascii_case("basic");
        out.push_str(&redact_word(word));
    }
    out
}

/// The same for a text that is one address and nothing else, whatever is in it: also spaces, as in a password that nobody has escaped. What has no
/// scheme, and so no place where a password must be, is not shown at all.
#[must_use]
pub fn redact_address(text: &str) -> String {
    match text.find("://") {
        Some(at) => redact_url(text, at),
        None if text.contains('@') => MASK.to_owned(),
        None => redact(text),
    }
}

fn redact_word(word: &str) -> String {
    if let Some(at) = word.find("://") {
        return redact_url(word, at);
    }
    redact_pairs(word)
}

/// `scheme://user:pass@host/path?key=value#frag` → `scheme://host/path?key=***`.
fn redact_url(word: &str, scheme_end: usize) -> String {
    let (scheme, rest) = word.split_at(scheme_end + 3);
    let rest = without_slashed_password(scheme, rest);
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(authority_end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (path, query) = match tail.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (tail, None),
    };
    let mut out = format!("{scheme}{host}{path}");
    if let Some(query) = query {
        out.push('?');
        let query = query.split('#').next().unwrap_or(query);
        for (n, pair) in query.split('&').enumerate() {
            if n > 0 {
                out.push('&');
            }
            match pair.split_once('=') {
                Some((key, _)) => {
                    out.push_str(key);
                    out.push('=');
                    out.push_str(MASK);
                }
                None => out.push_str(MASK),
            }
        }
    }
    out
}

/// A password may hold what ends an authority, when nobody has escaped it: then it goes on to the last `@`. In addresses of the web an `@` may also
/// stand in a path, so there it counts only where no port could be.
fn without_slashed_password<'a>(scheme: &str, rest: &'a str) -> &'a str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    if authority.contains('@') {
        return rest;
    }
    let web = scheme.eq_ignore_ascii_case("http://") || scheme.eq_ignore_ascii_case("https://");
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let is_host = match port {
        None => web,
        Some(port) => web && port.bytes().all(|byte| byte.is_ascii_digit()) || authority.ends_with(']'),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) if !is_host => host,
        Some(_) | None => rest,
    }
}

/// `password=hunter2,` → `password=***`; also `"token":"abc"` and `secret: abc` when written without a space.
fn redact_pairs(word: &str) -> String {
    let Some(split) = word.find(['=', ':']) else { return word.to_owned() };
    let (key, value) = word.split_at(split);
    let bare: String = key
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        .collect::<String>()
        .to_ascii_lowercase();
    let secret = SECRET_KEYS
        .iter()
        .any(|k| bare == *k || bare.ends_with(&format!("_{k}")) || bare.ends_with(&format!("-{k}")));
    if secret && value.len() > 1 {
        format!("{key}{}{MASK}", value.get(..1).unwrap_or("="))
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_cut_and_the_rest_stays_readable() {
        for (from, to) in [
            (
                "GET https://u:p@h.example/a?sig=abc&x=1#f failed",
                "GET https://h.example/a?sig=***&x=*** failed",
            ),
            ("postgres://app:hunter2@db/redrive refused", "postgres://db/redrive refused"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
            ("password=hunter2 for user=ann", "password=*** for user=ann"),
            ("AWS_SECRET_KEY=xyz", "AWS_SECRET_KEY=***"),
            ("{\"token\":\"abc\"}", "{\"token\":***"),
            ("disk full: 12 bytes left", "disk full: 12 bytes left"),
            ("at 10:30:00 it broke", "at 10:30:00 it broke"),
            ("http://a@b@c/", "http://c/"),
            ("postgres://app:hun/ter2@db/redrive refused", "postgres://db/redrive refused"),
            ("postgres://app:hun?ter#2@db/redrive", "postgres://db/redrive"),
            ("http://me:se/cret@proxy:8080/", "http://proxy:8080/"),
            ("https://h.example/@ann/1", "https://h.example/@ann/1"),
            ("https://h.example:8443/@ann/1", "https://h.example:8443/@ann/1"),
            ("http://[::1]/@ann", "http://[::1]/@ann"),
        ] {
            assert_eq!(redact(from), to);
        }
    }

    #[test]
    fn an_address_is_cut_whatever_its_password_holds() {
        for (from, to) in [
            ("postgres://app:two words@db/redrive", "postgres://db/redrive"),
            ("postgres://app:two words@[::1/d?x=y z", "postgres://[::1/d?x=***"),
            ("app:two words@db/redrive", "***"),
            ("/srv/data", "/srv/data"),
        ] {
            assert_eq!(redact_address(from), to);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_planted_secret_never_survives(before in "[a-z ]{0,20}", after in "[a-z ]{0,20}") {
            let canary = "S3CR3T-CANARY";
            for planted in [
                format!("{before} https://me:{canary}@h/{after}"),
                format!("{before} https://h/p?X-Amz-Signature={canary} {after}"),
                format!("{before} bearer {canary} {after}"),
                format!("{before} api_key={canary} {after}"),
            ] {
                proptest::prop_assert!(!redact(&planted).contains(canary), "{}", planted);
            }
        }
    }
}
