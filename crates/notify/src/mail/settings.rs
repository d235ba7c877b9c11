//! Where mail goes: `SMTP_URL` and `MAIL_FROM`.
//!
//! | Address | Encryption | Port when none is said |
//! |---|---|--:|
//! | `smtps://user:password@host` | from the first byte | 465 |
//! | `smtp://user:password@host` | STARTTLS, or nothing is sent | 587 |
//! | `smtp://host?tls=none` | none | 25 |
//!
//! STARTTLS is required, not tried: whoever sits between could say that there is none, and would be given the password. Without encryption a
//! password goes to this machine only.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use url::Url;

/// A whole conversation takes no longer than this.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A value that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a value from being printed.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How a connection is kept from being read by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// TLS from the first byte.
    Implicit,
    /// Plain words at first, then TLS; nothing is sent without it.
    StartTls,
    /// None.
    None,
}

/// A mail server, and who sends.
#[derive(Debug, Clone, PartialEq)]
pub struct MailSettings {
    /// The server's name or address; its certificate is checked against it.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How it is spoken to.
    pub encryption: Encryption,
    /// Who signs in, and with what.
    pub user: Option<(String, Secret)>,
    /// A whole conversation takes no longer than this.
    pub timeout: Duration,
    /// Certificates, as PEM, that are trusted beside those that the machine trusts: for a server with an authority of its own.
    pub extra_roots: Vec<u8>,
    pub(super) from: Mailbox,
}

/// Why mail cannot be set up. The address is not told: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// `SMTP_URL` cannot be used.
    #[error(
        "SMTP_URL: {0}; smtps://user:password@host and smtp://user:password@host:587 are addresses of mail servers"
    )]
    Url(&'static str),
    /// `MAIL_FROM` cannot be used.
    #[error(
        "MAIL_FROM: {0:?} is no mail address; redrive@example.org and \"Redrive <redrive@example.org>\" are"
    )]
    From(String),
}

impl MailSettings {
    /// Reads the two settings.
    ///
    /// # Errors
    ///
    /// Says which of them cannot be used, and why, without a password in it.
    pub fn parse(smtp_url: &str, mail_from: &str) -> Result<Self, SettingsError> {
        let url = Url::parse(smtp_url.trim()).map_err(|_| SettingsError::Url("it is no address"))?;
        let implicit = match url.scheme() {
            "smtps" => true,
            "smtp" => false,
            _ => return Err(SettingsError::Url("its scheme is neither smtp nor smtps")),
        };
        let host = url.host_str().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || !host.is_ascii() || host.contains('%') {
            return Err(SettingsError::Url("it has no host, or one that cannot be looked up"));
        }
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(SettingsError::Url("there is something behind its port"));
        }
        let encryption = encryption(&url, implicit)?;
        let user = user(&url)?;
        if encryption == Encryption::None && user.is_some() && !is_here(host) {
            return Err(SettingsError::Url(
                "tls=none would send the password in plain words over the network",
            ));
        }
        let port = url.port().unwrap_or(match encryption {
            Encryption::Implicit => 465,
            Encryption::StartTls => 587,
            Encryption::None => 25,
        });
        let from = mailbox(mail_from).ok_or_else(|| SettingsError::From(mail_from.to_owned()))?;
        let host = host.to_owned();
        Ok(Self { host, port, encryption, user, timeout: TIMEOUT, extra_roots: Vec::new(), from })
    }
}

fn encryption(url: &Url, implicit: bool) -> Result<Encryption, SettingsError> {
    let mut encryption = if implicit { Encryption::Implicit } else { Encryption::StartTls };
    for (key, value) in url.query_pairs() {
        encryption = match (key.as_ref(), value.as_ref(), implicit) {
            ("tls", "required", _) => encryption,
            ("tls", "none", false) => Encryption::None,
            ("tls", _, _) => return Err(SettingsError::Url("tls is `required`, or, for smtp://, `none`")),
            _ => {
                return Err(SettingsError::Url(
                    "it has a parameter that nobody knows; `tls` is the only one",
                ));
            }
        };
    }
    Ok(encryption)
}

fn user(url: &Url) -> Result<Option<(String, Secret)>, SettingsError> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(String::from);
    let broken = |_| SettingsError::Url("its user or password is not UTF-8");
    let name = decoded(url.username()).map_err(broken)?;
    let password = decoded(url.password().unwrap_or_default()).map_err(broken)?;
    match (name.is_empty(), password.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => Ok(Some((name, Secret(password)))),
        (_, _) => Err(SettingsError::Url("a user needs a password, and a password a user")),
    }
}

/// A mail address without a name, as it is kept: its domain as machines write it. Nothing for what is none.
#[must_use]
pub fn plain_address(text: &str) -> Option<String> {
    let mailbox = mailbox(text)?;
    (mailbox.name.is_none() && !text.contains('<')).then(|| mailbox.email.to_string())
}

/// A mailbox with a domain that every server understands.
pub(super) fn mailbox(text: &str) -> Option<Mailbox> {
    let text = text.trim();
    if text.chars().any(char::is_control) || text.len() > 1_000 {
        return None;
    }
    let mailbox: Mailbox = text.parse().ok()?;
    let domain = mailbox.email.domain();
    let literal = domain.starts_with('[');
    let ascii = if literal { domain.to_owned() } else { url::Host::parse(domain).ok()?.to_string() };
    let email = lettre::Address::new(mailbox.email.user(), ascii).ok()?;
    Some(Mailbox::new(mailbox.name, email))
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<MailSettings, SettingsError> {
        MailSettings::parse(url, "Redrive <redrive@example.org>")
    }

    #[test]
    fn the_scheme_says_how_it_is_encrypted_and_which_port_is_meant() {
        for (url, host, port, encryption) in [
            ("smtps://mail.example", "mail.example", 465, Encryption::Implicit),
            ("smtp://mail.example", "mail.example", 587, Encryption::StartTls),
            ("smtp://mail.example:25/?tls=required", "mail.example", 25, Encryption::StartTls),
            ("smtp://mail.example?tls=none", "mail.example", 25, Encryption::None),
            ("smtp://[::1]:2525?tls=none", "::1", 2525, Encryption::None),
        ] {
            let settings = parse(url).unwrap();
            assert_eq!(
                (settings.host.as_str(), settings.port, settings.encryption),
                (host, port, encryption)
            );
            assert_eq!(settings.user, None);
        }
    }

    #[test]
    fn a_user_and_a_password_are_decoded_and_the_password_is_never_printed() {
        let settings = parse("smtp://ann%40example.org:CAN%2FARY%3A@mail.example").unwrap();
        assert_eq!(settings.user, Some(("ann@example.org".to_owned(), Secret::new("CAN/ARY:"))));
        let printed = format!("{settings:?}");
        assert!(printed.contains("***") && !printed.contains("ARY"), "{printed}");
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_telling_the_password() {
        for url in [
            "",
            "mail.example:25",
            "http://u:CANARY@mail.example",
            "smtp://",
            "smtp://u:CANARY@",
            "smtp://u:CANARY@mail.example/path",
            "smtp://u:CANARY@mail.example?tls=maybe",
            "smtp://u:CANARY@mail.example?starttls=no",
            "smtps://u:CANARY@mail.example?tls=none",
            "smtp://u:CANARY@mail.example?tls=none",
            "smtp://CANARY@mail.example",
            "smtp://:CANARY@mail.example",
            "smtp://u:CANARY%ff@mail.example",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.starts_with("SMTP_URL: ") && !error.contains("CANARY"), "{url}: {error}");
        }
        for here in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(parse(&format!("smtp://u:p@{here}?tls=none")).is_ok());
        }
    }

    #[test]
    fn a_sender_is_a_mail_address_with_a_domain_for_machines() {
        let from = |text| MailSettings::parse("smtp://h", text).map(|settings| settings.from.to_string());
        assert_eq!(from("a@example.org").unwrap(), "a@example.org");
        assert_eq!(from(" Redrive <a@example.org> ").unwrap(), "Redrive <a@example.org>");
        assert_eq!(from("a@bücher.example").unwrap(), "a@xn--bcher-kva.example");
        for bad in ["", "a", "a@", "@b", "a@b\r\nBcc: c@d", "a@b, c@d", "x <a@b"] {
            assert!(matches!(from(bad), Err(SettingsError::From(_))), "{bad:?}");
        }
    }
}
