//! The hosts file: names whose addresses are written down, so that nobody has to be asked. Every name that a URL can have is found here, also
//! those with an underscore.

use std::collections::HashMap;
use std::net::IpAddr;

/// Where it is.
const PATH: &str = "/etc/hosts";

/// What is written down, by names in small letters.
#[derive(Debug, Default)]
pub(super) struct Hosts(HashMap<String, Vec<IpAddr>>);

impl Hosts {
    /// The file of this machine. Without one nothing is written down.
    pub(super) fn of_this_machine() -> Self {
        std::fs::read(PATH).map(|text| Self::read(&text)).unwrap_or_default()
    }

    /// Lines of an address and its names. What cannot be read is passed over, as libc does.
    pub(super) fn read(text: &[u8]) -> Self {
        let mut found: HashMap<String, Vec<IpAddr>> = HashMap::new();
        for line in String::from_utf8_lossy(text).trim_start_matches('\u{feff}').lines() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else { continue };
            for name in words {
                found.entry(key(name)).or_default().push(address);
            }
        }
        Self(found)
    }

    /// All that is written down of a name. It is all there is, as with libc: nobody else is asked about the other kind.
    pub(super) fn of(&self, name: &str) -> &[IpAddr] {
        self.0.get(&key(name)).map_or(&[], Vec::as_slice)
    }
}

/// A name without the dot that ends it.
fn key(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}
