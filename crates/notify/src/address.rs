//! Where the servers are, and who asks: `nats://user:password@host:4222`, several with commas. The client library does not read
//! credentials from an address, so it is given them apart.

use async_nats::ConnectOptions;
use percent_encoding::percent_decode_str;
use url::Url;

/// The addresses without secrets, and the way in with them.
pub(crate) fn read(text: &str) -> Option<(Vec<String>, ConnectOptions)> {
    let (mut addresses, mut options) = (Vec::new(), ConnectOptions::new());
    for (n, part) in text.split(',').enumerate() {
        let mut url = Url::parse(part.trim()).ok()?;
        if !matches!(url.scheme(), "nats" | "tls") || url.host_str().is_none_or(str::is_empty) {
            return None;
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(String::from).ok();
        let (user, password) = (decoded(url.username())?, url.password().map(decoded));
        url.set_username("").ok()?;
        url.set_password(None).ok()?;
        addresses.push(url.to_string());
        options = match (user.as_str(), password) {
            // Who asks is said with the first.
            _ if n > 0 => options,
            ("", None) => options,
            (_, None) => options.token(user),
            (_, Some(password)) => options.user_and_password(user, password?),
        };
    }
    Some((addresses, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_secrets_and_what_is_none_is_refused() {
        for (text, addresses) in [
            ("nats://h", Some(vec!["nats://h"])),
            ("nats://u:CANARY@h:4222", Some(vec!["nats://h:4222"])),
            ("tls://CANARY@h:4222, nats://[::1]:1", Some(vec!["tls://h:4222", "nats://[::1]:1"])),
            ("http://h", None),
            ("h:4222", None),
            ("nats://", None),
            ("nats://h,", None),
            ("", None),
        ] {
            let read = read(text).map(|(addresses, _)| addresses);
            let expected = addresses.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(read, expected, "{text}");
        }
    }
}
