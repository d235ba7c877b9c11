use std::path::PathBuf;

use super::graph::{Dependency, Kind};
use super::*;
use crate::problem::assert_none;

/// Parses `name: dep, dev dep, build dep` into a package.
fn package(line: &str) -> Package {
    let (name, list) = line.split_once(':').unwrap();
    let dependencies = list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(|word| match word.split_once(' ') {
            Some(("dev", name)) => Dependency { name: name.to_owned(), kind: Kind::Dev },
            Some(("build", name)) => Dependency { name: name.to_owned(), kind: Kind::Build },
            Some(other) => panic!("{other:?}"),
            None => Dependency { name: word.to_owned(), kind: Kind::Normal },
        })
        .collect();
    Package { name: name.to_owned(), manifest: PathBuf::new(), dependencies }
}

/// Checks the graph. Packages that are only pointed at become members without dependencies of their own.
fn problems(lines: &[&str]) -> Vec<String> {
    let mut packages: Vec<Package> = lines.iter().map(|line| package(line)).collect();
    for line in lines {
        for word in line.split([':', ',', ' ']).filter(|word| word.starts_with("redrive") || *word == "xtask")
        {
            if !packages.iter().any(|known| known.name == word) {
                packages.push(package(&format!("{word}:")));
            }
        }
    }
    check(&packages).iter().map(ToString::to_string).collect()
}

fn allowed(lines: &[&str]) {
    assert_eq!(problems(lines), Vec::<String>::new());
}

fn refused(line: &str, part: &str) {
    let found = problems(&[line]);
    assert!(found.iter().any(|problem| problem.contains(part)), "{line}: {found:?}");
}

#[test]
fn the_workspace_has_only_drawn_arrows() {
    assert_none(&check(&read(&Repo::here().unwrap()).unwrap()));
}

#[test]
fn the_drawn_house_stands() {
    allowed(&[
        "redrive-model: serde",
        "redrive-store: redrive-model",
        "redrive-store-sqlite: redrive-model, redrive-store, rusqlite, dev redrive-store-conformance",
        "redrive-store-postgres: redrive-model, redrive-store, sqlx, dev redrive-store-conformance",
        "redrive-store-conformance: redrive-model, redrive-store",
        "redrive-engine: redrive-model, redrive-store, tokio, dev redrive-store-sqlite",
        "redrive: redrive-engine, redrive-store-sqlite, redrive-store-postgres, redrive-store, redrive-model",
        "redrive-blob: redrive-model, redrive-store",
        "redrive-door: axum, hyper",
        "redrive-gateway: redrive-model, redrive-door",
        "redrive-convert: redrive-model, redrive-store, redrive-engine, redrive-blob",
        "redrive-fetch: redrive-engine, redrive-blob, reqwest",
        "redrive-intake: redrive-engine, redrive-blob",
        "redrive-notify: redrive-model, redrive-store, redrive-engine",
        "redrive-api: redrive-model",
        "redrive-server: redrive-model, redrive-store, redrive-engine, redrive-api, redrive-door, redrive-blob, redrive-convert, axum",
        "redrive-cli: redrive, redrive-convert, redrive-fetch, redrive-intake, redrive-gateway, dev redrive-lab",
        "redrive-lab: redrive-store-conformance, redrive-server, rusqlite, sqlx",
        "xtask: redrive-model",
    ]);
}

#[test]
fn model_uses_no_other_room() {
    refused("redrive-model: redrive-store", "normal arrow to redrive-store is not drawn; drawn: nothing");
}

#[test]
fn a_build_script_counts_like_the_package() {
    refused("redrive-store: build redrive-store-sqlite", "build arrow to redrive-store-sqlite");
}

#[test]
fn a_test_may_use_more_but_not_everything() {
    allowed(&["redrive-engine: dev redrive-store-sqlite, dev redrive-store-conformance"]);
    refused("redrive-engine: redrive-store-sqlite", "normal arrow to redrive-store-sqlite");
    refused("redrive-engine: dev redrive-convert", "dev arrow to redrive-convert");
    refused("redrive-model: dev redrive-store", "dev arrow to redrive-store");
}

#[test]
fn only_tests_and_the_lab_use_the_conformance_suite() {
    refused("redrive-store-sqlite: redrive-store-conformance", "normal arrow to redrive-store-conformance");
    refused("redrive-cli: redrive-store-conformance", "normal arrow to redrive-store-conformance");
    allowed(&["redrive-lab: redrive-store-conformance"]);
}

#[test]
fn workloads_do_not_know_each_other() {
    for (a, b) in [("convert", "fetch"), ("fetch", "intake"), ("intake", "convert")] {
        refused(&format!("redrive-{a}: redrive-{b}"), &format!("normal arrow to redrive-{b}"));
        refused(&format!("redrive-{b}: redrive-{a}"), &format!("normal arrow to redrive-{a}"));
    }
}

#[test]
fn the_gateway_stands_alone() {
    refused("redrive-gateway: redrive-store", "normal arrow to redrive-store");
    refused("redrive-convert: redrive-gateway", "normal arrow to redrive-gateway");
}

#[test]
fn the_server_sees_no_concrete_store_and_only_the_workloads_it_has_doors_for() {
    refused("redrive-server: redrive-store-postgres", "normal arrow to redrive-store-postgres");
    refused("redrive-server: redrive-notify", "normal arrow to redrive-notify");
    refused("redrive-server: redrive-gateway", "normal arrow to redrive-gateway");
}

#[test]
fn the_door_knows_nothing_of_what_stands_behind_it() {
    refused("redrive-door: redrive-model", "normal arrow to redrive-model is not drawn; drawn: nothing");
}

#[test]
fn nothing_links_the_lab_and_the_lab_does_not_link_the_command() {
    refused("redrive-cli: redrive-lab", "normal arrow to redrive-lab");
    refused("redrive-lab: redrive-cli", "normal arrow to redrive-cli");
    refused("redrive-lab: dev redrive-cli", "dev arrow to redrive-cli");
}

#[test]
fn xtask_reads_the_model_and_nothing_else() {
    refused("xtask: redrive-store", "xtask: the normal arrow to redrive-store");
}

#[test]
fn a_package_off_the_plan_is_found() {
    refused("redrive-surprise: redrive-model", "redrive-surprise: is not on the plan");
}

#[test]
fn names_that_say_nothing_are_found() {
    for name in ["redrive-utils", "redrive-common", "redrive-test-helpers"] {
        refused(&format!("{name}:"), &format!("{name}: a package called *"));
    }
}

#[test]
fn model_does_no_io_and_draws_no_lots() {
    for library in ["tokio", "rusqlite", "sqlx", "reqwest", "rand", "getrandom"] {
        refused(
            &format!("redrive-model: {library}"),
            &format!("redrive-model: must not depend on {library}"),
        );
        refused(&format!("redrive-model: build {library}"), &format!("must not depend on {library}"));
        allowed(&[&format!("redrive-model: dev {library}")]);
    }
}

#[test]
fn engine_knows_no_sql_and_no_http() {
    for library in ["rusqlite", "sqlx", "reqwest", "axum"] {
        refused(&format!("redrive-engine: {library}"), "redrive-engine: must not depend on");
    }
}

#[test]
fn each_database_has_one_home() {
    for (library, home) in [("rusqlite", "redrive-store-sqlite"), ("sqlx", "redrive-store-postgres")] {
        allowed(&[&format!("{home}: {library}"), &format!("redrive-lab: {library}")]);
        allowed(&[&format!("redrive-server: dev {library}")]);
        for room in ["redrive-server", "redrive-cli", "redrive", "redrive-store-conformance", "xtask"] {
            refused(&format!("{room}: {library}"), &format!("its one home is {home}"));
        }
    }
    refused("redrive-store-sqlite: sqlx", "its one home is redrive-store-postgres");
}
