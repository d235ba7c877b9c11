//! The plan: one row per package, with what it may use.
//!
//! Rows for packages that do not exist yet are drawn already, so that a new crate starts inside the plan. What is
//! absent here is the point: `model` uses nothing, workloads do not know each other, the engine knows no store, and
//! only tests and the lab see the conformance suite.

use super::graph::Kind;

/// A package and its arrows.
#[derive(Debug)]
pub(super) struct Room {
    name: &'static str,
    /// What it may use at all times.
    uses: &'static [&'static str],
    /// What its tests may use on top.
    tests_use: &'static [&'static str],
}

/// The row of a package.
pub(super) fn find(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

impl Room {
    /// Whether this arrow is drawn.
    pub(super) fn allows(&self, target: &str, kind: Kind) -> bool {
        self.list(kind).contains(&target)
    }

    /// Everything that a dependency of this kind may point at.
    pub(super) fn list(&self, kind: Kind) -> Vec<&'static str> {
        match kind {
            Kind::Normal | Kind::Build => self.uses.to_vec(),
            Kind::Dev => [self.uses, self.tests_use].concat(),
        }
    }
}

const MODEL: &str = "redrive-model";
const STORE: &str = "redrive-store";
const SQLITE: &str = "redrive-store-sqlite";
const POSTGRES: &str = "redrive-store-postgres";
const CONFORMANCE: &str = "redrive-store-conformance";
const FACADE: &str = "redrive";
const ENGINE: &str = "redrive-engine";
const BLOB: &str = "redrive-blob";
const DOOR: &str = "redrive-door";
const GATEWAY: &str = "redrive-gateway";
const PROGRAM: &str = "redrive-program";
const CLIENT: &str = "redrive-gateway-client";
const CONVERT: &str = "redrive-convert";
const FETCH: &str = "redrive-fetch";
const INTAKE: &str = "redrive-intake";
const NOTIFY: &str = "redrive-notify";
const API: &str = "redrive-api";
const SERVER: &str = "redrive-server";
const CLI: &str = "redrive-cli";
const LAB: &str = "redrive-lab";
const XTASK: &str = "xtask";

const ROOMS: &[Room] = &[
    Room { name: MODEL, uses: &[], tests_use: &[] },
    Room { name: STORE, uses: &[MODEL], tests_use: &[] },
    Room { name: SQLITE, uses: &[MODEL, STORE], tests_use: &[CONFORMANCE] },
    Room { name: POSTGRES, uses: &[MODEL, STORE], tests_use: &[CONFORMANCE, SQLITE] },
    Room { name: CONFORMANCE, uses: &[MODEL, STORE], tests_use: &[SQLITE] },
    Room { name: ENGINE, uses: &[MODEL, STORE], tests_use: &[SQLITE, POSTGRES, CONFORMANCE] },
    Room { name: FACADE, uses: &[MODEL, STORE, SQLITE, POSTGRES, ENGINE], tests_use: &[CONFORMANCE] },
    Room { name: BLOB, uses: &[MODEL, STORE], tests_use: &[SQLITE, POSTGRES] },
    Room { name: DOOR, uses: &[], tests_use: &[] },
    Room { name: GATEWAY, uses: &[MODEL, DOOR], tests_use: &[] },
    // Two workloads run programs of their users', and neither knows the other.
    Room { name: PROGRAM, uses: &[MODEL], tests_use: &[] },
    // Two workloads ask a gateway, and neither knows the other.
    Room { name: CLIENT, uses: &[MODEL, STORE, ENGINE, BLOB], tests_use: &[] },
    Room {
        name: CONVERT,
        uses: &[MODEL, STORE, ENGINE, BLOB, CLIENT],
        tests_use: &[SQLITE, POSTGRES, GATEWAY],
    },
    // It tells about its batches in the words of the wire: a server and a command line say the same.
    Room {
        name: FETCH,
        uses: &[MODEL, STORE, ENGINE, BLOB, API, PROGRAM],
        tests_use: &[SQLITE, POSTGRES, LAB],
    },
    // Its digests and reports are written by notify, which knows nothing of documents.
    Room {
        name: INTAKE,
        uses: &[MODEL, STORE, ENGINE, BLOB, CLIENT, NOTIFY, PROGRAM],
        tests_use: &[SQLITE, POSTGRES, GATEWAY, LAB],
    },
    Room { name: NOTIFY, uses: &[MODEL, STORE, ENGINE], tests_use: &[SQLITE, POSTGRES] },
    Room { name: API, uses: &[MODEL], tests_use: &[] },
    Room {
        name: SERVER,
        // Uploads are conversions: they need the workload's input and the places of its files. Manifests are fetches, and
        // dead letters travel as fetch's messages. Digests are shown and asked for in intake's words.
        uses: &[MODEL, STORE, ENGINE, API, DOOR, BLOB, CONVERT, FETCH, INTAKE],
        tests_use: &[SQLITE, POSTGRES, GATEWAY, NOTIFY],
    },
    Room {
        name: CLI,
        uses: &[
            MODEL, STORE, SQLITE, POSTGRES, FACADE, ENGINE, BLOB, GATEWAY, CONVERT, FETCH, INTAKE, NOTIFY,
            API, DOOR, SERVER,
        ],
        tests_use: &[LAB],
    },
    // The lab runs the command as a process; it never links it.
    Room {
        name: LAB,
        uses: &[
            MODEL,
            STORE,
            SQLITE,
            POSTGRES,
            CONFORMANCE,
            FACADE,
            ENGINE,
            BLOB,
            GATEWAY,
            CONVERT,
            FETCH,
            INTAKE,
            NOTIFY,
            API,
            DOOR,
            SERVER,
        ],
        tests_use: &[],
    },
    Room { name: XTASK, uses: &[MODEL], tests_use: &[] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrow_ends_in_a_room_of_the_plan() {
        for room in ROOMS {
            for target in room.list(Kind::Dev) {
                assert!(find(target).is_some(), "{} uses {target}, which has no row", room.name);
                assert_ne!(target, room.name);
            }
        }
    }

    #[test]
    fn arrows_of_the_product_make_no_circle() {
        fn walk(name: &str, way: &mut Vec<String>) {
            assert!(!way.iter().any(|seen| seen == name), "circle: {way:?} and {name} again");
            way.push(name.to_owned());
            for next in find(name).unwrap().uses {
                walk(next, way);
            }
            way.pop();
        }
        for room in ROOMS {
            walk(room.name, &mut Vec::new());
        }
    }
}
