//! The cookies that hold secrets: of a session, and of an operator who has signed in.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

use super::secret::Secret;

/// How the cookie is called and marked. Over https a browser takes a `__Host-` cookie only from us alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jar {
    secure: bool,
    operator: bool,
}

impl Jar {
    /// For a public address on https, or not.
    pub(crate) const fn new(secure: bool) -> Self {
        Self { secure, operator: false }
    }

    /// The operators' jar. Theirs comes with no request that another site has begun.
    pub(crate) const fn operator(self) -> Self {
        Self { operator: true, ..self }
    }

    const fn name(self) -> &'static str {
        match (self.operator, self.secure) {
            (false, true) => "__Host-redrive",
            (false, false) => "redrive",
            (true, true) => "__Host-redrive-operator",
            (true, false) => "redrive-operator",
        }
    }

    const fn marks(self) -> &'static str {
        match (self.operator, self.secure) {
            (false, true) => "; Path=/; HttpOnly; SameSite=Lax; Secure",
            (false, false) => "; Path=/; HttpOnly; SameSite=Lax",
            (true, true) => "; Path=/; HttpOnly; SameSite=Strict; Secure",
            (true, false) => "; Path=/; HttpOnly; SameSite=Strict",
        }
    }

    /// The secret that a request brings. The first one that can be ours counts.
    pub(crate) fn secret(self, headers: &HeaderMap) -> Option<Secret> {
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == self.name())
            .find_map(|(_, value)| Secret::parse(value))
    }

    /// The cookie of a fresh session.
    pub(crate) fn cookie(self, secret: &Secret, life: Duration) -> Option<HeaderValue> {
        let text = format!("{}={}{}; Max-Age={}", self.name(), secret.text(), self.marks(), life.as_secs());
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The cookie that takes it away.
    pub(crate) fn removed(self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("{}={}; Max-Age=0", self.name(), self.marks())).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_marked_and_reads_back() {
        let secret = Secret::parse(&"ab".repeat(32)).unwrap();
        let (people, operators) = (|secure| Jar::new(secure), |secure| Jar::new(secure).operator());
        for (jar, other, expected) in [
            (
                people(true),
                people(false),
                "__Host-redrive=SECRET; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=60",
            ),
            (people(false), people(true), "redrive=SECRET; Path=/; HttpOnly; SameSite=Lax; Max-Age=60"),
            (
                operators(true),
                people(true),
                "__Host-redrive-operator=SECRET; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=60",
            ),
            (
                operators(false),
                people(false),
                "redrive-operator=SECRET; Path=/; HttpOnly; SameSite=Strict; Max-Age=60",
            ),
        ] {
            let cookie = jar.cookie(&secret, Duration::from_secs(60)).unwrap();
            assert!(cookie.is_sensitive());
            assert_eq!(cookie.to_str().unwrap().replace(&secret.text(), "SECRET"), expected);
            let mut headers = HeaderMap::new();
            let sent = cookie.to_str().unwrap().split(';').next().unwrap();
            headers.insert(header::COOKIE, format!("a=b; {sent}; c=d").parse().unwrap());
            assert_eq!(jar.secret(&headers), Some(secret.clone()));
            assert_eq!(other.secret(&headers), None, "another name is not believed");
        }
    }
}
