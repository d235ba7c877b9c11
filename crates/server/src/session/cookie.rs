//! The cookie that holds a session's secret.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

use super::secret::Secret;

/// How the cookie is called and marked. Over https a browser takes a `__Host-` cookie only from us alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jar {
    secure: bool,
}

impl Jar {
    /// For a public address on https, or not.
    pub(crate) const fn new(secure: bool) -> Self {
        Self { secure }
    }

    const fn name(self) -> &'static str {
        if self.secure { "__Host-redrive" } else { "redrive" }
    }

    const fn marks(self) -> &'static str {
        if self.secure {
            "; Path=/; HttpOnly; SameSite=Lax; Secure"
        } else {
            "; Path=/; HttpOnly; SameSite=Lax"
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
    pub(crate) fn removed(self) -> HeaderValue {
        HeaderValue::from_static(if self.secure {
            "__Host-redrive=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0"
        } else {
            "redrive=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_marked_and_reads_back() {
        let secret = Secret::parse(&"ab".repeat(32)).unwrap();
        for (secure, expected) in [
            (true, "__Host-redrive=SECRET; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=60"),
            (false, "redrive=SECRET; Path=/; HttpOnly; SameSite=Lax; Max-Age=60"),
        ] {
            let jar = Jar::new(secure);
            let cookie = jar.cookie(&secret, Duration::from_secs(60)).unwrap();
            assert!(cookie.is_sensitive());
            assert_eq!(cookie.to_str().unwrap().replace(&secret.text(), "SECRET"), expected);
            let mut headers = HeaderMap::new();
            let sent = cookie.to_str().unwrap().split(';').next().unwrap();
            headers.insert(header::COOKIE, format!("a=b; {sent}; c=d").parse().unwrap());
            assert_eq!(jar.secret(&headers), Some(secret.clone()));
            assert_eq!(Jar::new(!secure).secret(&headers), None, "the other name is not believed");
        }
    }
}
