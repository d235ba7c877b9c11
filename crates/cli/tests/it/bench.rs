//! `redrive bench`.

use std::io::BufRead;

use crate::process::run;

#[test]
fn every_figure_is_a_line_of_json_and_nothing_stays() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let all = "drain,failures,pickup,enqueue,bulk,rest,kill";
    let small = ["--jobs", "80", "--samples", "2", "--runs", "1", "--watch", "1", "--ttl", "1"];
    let output = run(&[&["bench", "--sqlite", place, "--only", all, "--json"], &small[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<serde_json::Value> =
        output.stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let what: Vec<&str> = lines.iter().map(|line| line["what"].as_str().unwrap()).collect();
    let wanted = [
        "drain",
        "failures",
        "pickup_p50",
        "pickup_p99",
        "enqueue",
        "bulk",
        "rest_core",
        "rest_memory",
        "kill",
        "kill_beyond_ttl",
    ];
    assert_eq!(what, wanted);
    for line in &lines {
        assert_eq!((line["who"].as_str(), line["on"].as_str()), (Some("redrive"), Some("sqlite")));
        assert!(line["value"].is_f64(), "{line}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_place_that_cannot_be_used_is_one_clear_line() {
    let output = run(&["bench", "--sqlite", "/nowhere", "--only", "bulk"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("redrive: cannot make a database in /nowhere: "), "{said}");
    let output = run(&["bench", "--postgres", "postgres://ann:secret@127.0.0.1:1/x", "--only", "bulk"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("redrive: cannot make a database on postgres://"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}
