//! Where a manifest's objects may go: below `FETCH_TO`, or below a place that an operator listed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use redrive_blob::{Key, Location};
use redrive_engine::BatchId;

use crate::input::Resource;

/// The places that there are, by their names.
#[derive(Debug, Clone)]
pub struct Destinations {
    usual: Location,
    listed: BTreeMap<String, Location>,
    /// Objects of every batch go right below the usual place.
    whole: bool,
}

/// Where the objects of one batch go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) place: Option<String>,
    pub(crate) bucket: Option<String>,
    pub(crate) prefix: String,
    pub(crate) shared: bool,
}

impl Destinations {
    /// `FETCH_TO` and the listed places, by the names that [`Places`](crate::Places) knows them by.
    #[must_use]
    pub fn new(usual: Location, listed: BTreeMap<String, Location>) -> Self {
        let listed = listed.into_iter().map(|(name, place)| (name, absolute(place))).collect();
        Self { usual: absolute(usual), listed, whole: false }
    }

    /// One place alone, which is used as a whole: a batch gets no prefix of its own in it.
    #[must_use]
    pub fn whole(place: Location) -> Self {
        Self { usual: absolute(place), listed: BTreeMap::new(), whole: true }
    }

    /// What `to` means. What has a scheme or begins with `/` is a place; anything else is a prefix below `FETCH_TO`. Without it, and
    /// where it names a place as a whole, the batch gets a prefix of its own.
    pub(crate) fn resolve(&self, to: Option<&str>, batch: BatchId) -> Result<Destination, String> {
        let (place, prefix) = match to {
            None => (None, None),
            Some(to) if to.contains("://") || to.starts_with('/') => self.find(to)?,
            Some(to) => (None, Some(key(to)?)),
        };
        let location = place.and_then(|name| self.listed.get(name)).unwrap_or(&self.usual);
        let bucket = match location {
            Location::S3 { bucket, .. } => Some(bucket.clone()),
            Location::Folder(_) => None,
        };
        let shared = prefix.is_some() || self.whole;
        let own = || if self.whole { String::new() } else { batch.to_string() };
        let prefix = prefix.unwrap_or_else(own);
        Ok(Destination { place: place.map(str::to_owned), bucket, prefix, shared })
    }

    /// Where the objects of a resource go, from the bucket's root or the machine's: what leads to a place and what is below it.
    pub(crate) fn prefix_of(&self, resource: &Resource) -> String {
        let place = resource.place.as_ref().and_then(|name| self.listed.get(name));
        let above = match place.unwrap_or(&self.usual) {
            Location::S3 { prefix, .. } => prefix.as_ref().map_or("", Key::as_str).to_owned(),
            Location::Folder(path) => path.display().to_string(),
        };
        match (above.is_empty(), resource.prefix.is_empty()) {
            (true, _) => resource.prefix.clone(),
            (false, true) => above,
            (false, false) => format!("{above}/{}", resource.prefix),
        }
    }

    fn find(&self, to: &str) -> Result<(Option<&str>, Option<String>), String> {
        let refused = || self.refused();
        let wanted: Location = to.parse().map_err(|_| refused())?;
        let listed = self.listed.iter().map(|(name, place)| (Some(name.as_str()), place));
        let all = std::iter::once((None, &self.usual)).chain(listed);
        // The nearest place above it is meant.
        let below = all.filter_map(|(name, place)| Some((name, below(place, &wanted)?)));
        let (name, rest) = below.min_by_key(|(_, rest)| rest.len()).ok_or_else(refused)?;
        let prefix = if rest.is_empty() { None } else { Some(key(&rest)?) };
        Ok((name, prefix))
    }

    fn refused(&self) -> String {
        match self.whole {
            true => "lies outside of the place that --to or FETCH_TO names: leave it out, or name that place"
                .into(),
            false => {
                "lies neither under the server's FETCH_TO nor under a place that its operator listed".into()
            }
        }
    }
}

fn key(text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/');
    Key::parse(text)
        .map(|key| key.as_str().to_owned())
        .map_err(|error| format!("is not a usable prefix: {error}"))
}

/// What is left of a place below another; nothing when it does not lie there.
fn below(place: &Location, wanted: &Location) -> Option<String> {
    match (place, wanted) {
        (Location::Folder(place), Location::Folder(wanted)) => {
            let rest = wanted.strip_prefix(place).ok()?.components();
            let names: Option<Vec<&str>> = rest.map(|name| name.as_os_str().to_str()).collect();
            Some(names?.join("/"))
        }
        (Location::S3 { bucket, prefix }, Location::S3 { bucket: other, prefix: wanted }) => {
            let wanted = wanted.as_ref().map_or("", Key::as_str);
            let rest = match prefix {
                None => wanted,
                Some(prefix) => match wanted.strip_prefix(prefix.as_str())? {
                    "" => "",
                    rest => rest.strip_prefix('/')?,
                },
            };
            (bucket == other).then(|| rest.to_owned())
        }
        (Location::Folder(_), Location::S3 { .. }) | (Location::S3 { .. }, Location::Folder(_)) => None,
    }
}

fn absolute(place: Location) -> Location {
    match place {
        Location::Folder(path) => Location::Folder(whole(&path)),
        s3 @ Location::S3 { .. } => s3,
    }
}

fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use redrive_engine::model::instant;

    use super::*;

    fn destinations() -> Destinations {
        let listed = BTreeMap::from([
            ("scans".to_owned(), "s3://scans/in".parse().unwrap()),
            ("deep".to_owned(), "/srv/fetched/deep".parse().unwrap()),
        ]);
        Destinations::new("/srv/fetched".parse().unwrap(), listed)
    }

    fn batch() -> BatchId {
        BatchId::from_parts(instant::from_millis(1_800_000_000_000), [7; 10])
    }

    #[test]
    fn what_is_told_of_a_place_names_everything_above_it() {
        let to = |usual: &str| Destinations::new(usual.parse().unwrap(), destinations().listed);
        for (usual, place, prefix, told) in [
            ("s3://bucket", None, "b", "b"),
            ("s3://bucket/in/2026", None, "b", "in/2026/b"),
            ("/srv/fetched", None, "b", "/srv/fetched/b"),
            ("/srv/fetched", None, "", "/srv/fetched"),
            ("/srv/fetched", Some("scans"), "b", "in/b"),
            ("s3://bucket/in", Some("deep"), "b/c", "/srv/fetched/deep/b/c"),
        ] {
            let resource = serde_json::json!({"manifest_key": "m", "id": "1", "url": "u", "place": place, "prefix": prefix});
            let resource: Resource = serde_json::from_value(resource).unwrap();
            assert_eq!(to(usual).prefix_of(&resource), told, "{usual} {place:?}");
        }
    }

    #[test]
    fn a_place_is_found_below_those_that_are_listed_and_nowhere_else() {
        let own = batch().to_string();
        for (to, place, bucket, prefix, shared) in [
            (None, None, None, own.as_str(), false),
            (Some("a/b"), None, None, "a/b", true),
            (Some("a/b/"), None, None, "a/b", true),
            (Some("/srv/fetched"), None, None, own.as_str(), false),
            (Some("/srv/fetched/"), None, None, own.as_str(), false),
            (Some("file:///srv/fetched/x//y/"), None, None, "x/y", true),
            (Some("/srv/fetched/deep/x"), Some("deep"), None, "x", true),
            (Some("/srv/fetched/deeper/x"), None, None, "deeper/x", true),
            (Some("s3://scans/in/2026"), Some("scans"), Some("scans"), "2026", true),
            (Some("s3://scans/in"), Some("scans"), Some("scans"), own.as_str(), false),
        ] {
            let found = destinations().resolve(to, batch()).unwrap();
            let expected = Destination {
                place: place.map(str::to_owned),
                bucket: bucket.map(str::to_owned),
                prefix: prefix.to_owned(),
                shared,
            };
            assert_eq!(found, expected, "{to:?}");
        }
        for to in [
            "/srv",
            "/etc/passwd",
            "/srv/fetchedx",
            "/srv/fetched/../x",
            "/srv/fetched/a/../../x",
            "../x",
            "a/../../x",
            "a//b",
            ".redrive-x",
            "s3://scans",
            "s3://scans/inner",
            "s3://other/in/x",
            "http://a.example/",
            "file://x",
            "a\0b",
            "a\\b",
        ] {
            assert!(destinations().resolve(Some(to), batch()).is_err(), "{to}");
        }
    }
}
