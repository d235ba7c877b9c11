//! Every mapping's output is valid: many documents, each checked by `xmllint` against the format's own schema.

use std::path::Path;
use std::process::Command;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};
use redrive_gateway::page::Document;
use redrive_gateway::write::{Mapping, Schema, write};

use crate::documents::{any_document, rich, wild};
use crate::tools;

fn documents() -> Vec<Document> {
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let any = any_document(wild());
    let mut documents: Vec<Document> =
        (0..80).map(|_| any.new_tree(&mut runner).unwrap().current()).collect();
    documents.extend([rich(), Document::default()]);
    documents
}

fn check(mapping: Mapping, schema: &Path) {
    if !tools::has("xmllint") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (number, document) in documents().iter().enumerate() {
        let file = folder.path().join(format!("{number}.xml"));
        write(mapping, document, std::fs::File::create(&file).unwrap()).unwrap();
        files.push(file);
    }
    let output = Command::new("xmllint")
        .args(["--noout", "--nonet", "--huge", "--schema"])
        .arg(schema)
        .args(&files)
        .output()
        .unwrap();
    let says = String::from_utf8_lossy(&output.stderr);
    let bad: Vec<&str> = says.lines().filter(|line| !line.ends_with(" validates")).take(20).collect();
    assert!(output.status.success(), "{}", bad.join("\n"));
    assert_eq!(says.lines().filter(|line| line.ends_with(" validates")).count(), files.len());
}

#[test]
fn text_is_valid() {
    let Schema::Own(schema) = Mapping::Text.schema() else { panic!("text has a schema of its own") };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, schema).unwrap();
    check(Mapping::Text, file.path());
}

#[test]
fn alto_is_valid() {
    if let Some(schema) = tools::schema("alto-4-4.xsd") {
        check(Mapping::Alto, &schema);
    }
}

#[test]
fn tei_is_valid() {
    if let Some(schema) = tools::schema("tei/tei_all.xsd") {
        check(Mapping::Tei, &schema);
    }
}

#[test]
fn docbook_is_valid() {
    if let Some(schema) = tools::schema("docbook5/docbook.xsd") {
        check(Mapping::Docbook, &schema);
    }
}
