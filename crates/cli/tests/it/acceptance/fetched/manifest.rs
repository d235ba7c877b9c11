//! What is asked for, how the origin answers, and what must become of it.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_lab::origin::{Answer, Origin, body_of};

/// One resource in a hundred is bad, each time in another of these ways.
const BAD: [Bad; 4] = [Bad::Gone, Bad::Circle, Bad::NoName, Bad::Reset];

/// Why a resource can never come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    /// 404.
    Gone,
    /// It leads to itself.
    Circle,
    /// Its host has no address.
    NoName,
    /// Every connection is reset.
    Reset,
}

impl Bad {
    /// The code that the owner reads, and how many attempts it is worth.
    pub(super) const fn told(self) -> (&'static str, usize) {
        match self {
            Self::Gone => ("DOWNLOAD_HTTP_4XX", 1),
            Self::Circle => ("DOWNLOAD_REDIRECT_LOOP", 1),
            Self::NoName => ("DOWNLOAD_DNS", 2),
            Self::Reset => ("DOWNLOAD_CONNECT", 4),
        }
    }
}

/// One resource.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) path: String,
    pub(super) url: String,
    pub(super) bad: Option<Bad>,
}

/// All of them, by their ids.
#[derive(Debug)]
pub(super) struct Manifest(pub(super) BTreeMap<String, Wanted>);

impl Manifest {
    /// So many, and an origin that does with them what it is told.
    pub(super) fn new(total: usize, origin: &Origin) -> Self {
        Self((0..total).map(|n| (format!("r{n:05}"), wanted(n, origin))).collect())
    }

    /// As it is sent.
    pub(super) fn lines(&self) -> String {
        let line = |(id, wanted): (&String, &Wanted)| {
            format!("{}\n", serde_json::json!({"id": id, "url": wanted.url}))
        };
        self.0.iter().map(line).collect()
    }

    pub(super) fn bad(&self) -> BTreeMap<&str, Bad> {
        self.0.iter().filter_map(|(id, wanted)| Some((id.as_str(), wanted.bad?))).collect()
    }

    /// How many fail with which code.
    pub(super) fn failures(&self) -> BTreeMap<String, u64> {
        let mut failures = BTreeMap::new();
        for bad in self.bad().values() {
            *failures.entry(bad.told().0.to_owned()).or_default() += 1;
        }
        failures
    }

    /// The origin is well again. A name that does not exist is not its business.
    pub(super) fn heal(&self, origin: &Origin) {
        for wanted in self.0.values() {
            origin.say(&wanted.path, [Answer::Right]);
        }
    }
}

fn wanted(n: usize, origin: &Origin) -> Wanted {
    let bad = (n % 100 == 37).then(|| BAD[n / 100 % BAD.len()]);
    let path = format!("/{}/{n}.bin", bad.map_or("right".to_owned(), |bad| format!("{bad:?}")));
    let mut url = origin.url(&path);
    match bad {
        None if n.is_multiple_of(10) => {
            // Some take a while, so that whoever is killed had something half.
            origin.say(&path, [Answer::Drip(body_of(&path), 200, Duration::from_millis(30))]);
        }
        None => {}
        Some(Bad::Gone) => origin.say(&path, [Answer::status(404)]),
        Some(Bad::Circle) => origin.say(&path, [Answer::redirect(302, &path)]),
        Some(Bad::NoName) => url = format!("http://nobody.invalid:{}{path}", origin.address().port()),
        Some(Bad::Reset) => origin.say(&path, [Answer::Reset]),
    }
    Wanted { path, url, bad }
}
