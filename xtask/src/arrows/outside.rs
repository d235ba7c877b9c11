//! Libraries from outside that only some rooms may hold: no I/O in `model`, no SQL in `engine`, one home per database.
//!
//! Tests are free to use them; the lab is a test.

use super::graph::{Kind, Package};
use crate::problem::Problem;

/// Finds libraries in rooms that must do without them.
pub(super) fn check(package: &Package) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dependency in package.dependencies.iter().filter(|dependency| dependency.kind != Kind::Dev) {
        let library = dependency.name.as_str();
        for rule in
            FORBIDDEN.iter().filter(|rule| rule.room == package.name && rule.libraries.contains(&library))
        {
            problems.push(Problem::at(rule.room, format!("must not depend on {library}: {}", rule.because)));
        }
        for home in HOMES.iter().filter(|home| home.library == library && home.room != package.name) {
            if package.name != LAB {
                let what = format!("must not depend on {library}: its one home is {}", home.room);
                problems.push(Problem::at(&package.name, what));
            }
        }
    }
    problems
}

struct Forbidden {
    room: &'static str,
    libraries: &'static [&'static str],
    because: &'static str,
}

const FORBIDDEN: &[Forbidden] = &[
    Forbidden {
        room: "redrive-model",
        libraries: &["tokio", "rusqlite", "sqlx", "reqwest", "rand", "getrandom"],
        because: "it has no I/O, no clock and no randomness",
    },
    Forbidden {
        room: "redrive-engine",
        libraries: &["rusqlite", "sqlx", "reqwest", "axum"],
        because: "it knows no SQL and no HTTP",
    },
];

const LAB: &str = "redrive-lab";

struct Home {
    library: &'static str,
    room: &'static str,
}

const HOMES: &[Home] = &[
    Home { library: "object_store", room: "redrive-blob" },
    Home { library: "rusqlite", room: "redrive-store-sqlite" },
    Home { library: "sqlx", room: "redrive-store-postgres" },
];
