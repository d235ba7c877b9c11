//! A folder, and the commands about it.

use serde_json::Value;

use super::{Folders, pdf};
use crate::jobs::ask;
use crate::process::redrive;
use crate::running::wait_for;

#[test]
fn pdfs_end_in_result_with_their_xml_and_a_broken_one_in_failed_with_a_record_and_a_report() {
    let folders = Folders::new();
    let server = folders.serve(&[]);
    for folder in ["queue", "pdf", "result", "failed", "reports"] {
        assert!(folders.at(folder).is_dir(), "{folder} is made at the start");
    }
    folders.put("queue/a.pdf", &pdf(1));
    folders.put("queue/team/März.pdf", &pdf(2));
    folders.put("queue/team/broken.pdf", b"%PDF-1.7\nnothing\n%%EOF\n");
    let names = wait_for("all three to end", || {
        let names = folders.names();
        let report = names.iter().any(|name| name.starts_with("reports/"));
        (names.iter().any(|name| name == "result/team/März.xml")
            && names.iter().any(|name| name == "result/a.xml")
            && names.iter().any(|name| name == "failed/team/broken.pdf")
            && report
            && !names.iter().any(|name| name.starts_with("queue/") || name.starts_with("pdf/")))
        .then_some(names)
    });
    let report: Vec<&String> = names.iter().filter(|name| name.starts_with("reports/")).collect();
    assert_eq!(report.len(), 1);
    assert!(report[0].starts_with("reports/failure_analysis/team/broken_analysis_"), "{report:?}");
    assert!(report[0].ends_with(".docx") && folders.files()[report[0]].starts_with(b"PK"));
    assert!(String::from_utf8_lossy(&folders.files()["result/a.xml"]).contains("document"));
    let data = folders.data();
    let records = server.operate(&data, "GET", "/api/failure-records").json();
    let records = records["failure_records"].as_array().unwrap().clone();
    assert_eq!(records.len(), 4, "{records:#?}");
    for (n, record) in (1..).zip(records.iter().rev()) {
        assert_eq!((&record["retry_count"], &record["iam_username"]), (&n.min(3).into(), &"default".into()));
        assert_eq!(record["pdf_key"], "pdf/team/broken.pdf");
        let key = if n < 4 { "queue" } else { "failed" };
        assert_eq!(record[format!("{key}_key")], format!("{key}/team/broken.pdf"), "{record:#}");
        assert_eq!(record["max_retries_exceeded"], n == 4);
    }
    // The line of the log has the words of the original.
    let lines: Vec<Value> = server.err().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let lines: Vec<&Value> =
        lines.iter().filter(|line| line["event_type"] == "PIPELINE_FAILURE_CLEANUP").collect();
    let actions: Vec<&str> = lines.iter().map(|line| line["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["MOVED_TO_QUEUE", "MOVED_TO_QUEUE", "MOVED_TO_QUEUE", "MOVED_TO_FAILED"]);
    for name in ["timestamp", "execution_arn", "failure_reason", "pdf_key", "uploaded_by"] {
        assert!(lines[0][name].is_string(), "{name}: {:#}", lines[0]);
    }
    assert_eq!(
        (&lines[0]["queue_key"], &lines[0]["retry_count"]),
        (&"queue/team/broken.pdf".into(), &1.into())
    );
    let (code, out, said) = ask(&data, &["intake", "status", "--json"]);
    let status: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error} {out}{said}"));
    assert_eq!((code, &status["documents"]), (Some(0), &serde_json::json!({"done": 2, "failed": 1})));
    assert_eq!((&status["in_flight"], &status["open_moves"]), (&0.into(), &0.into()));
    server.stop();
}

#[test]
fn commands_change_the_number_of_retries_and_pause_intake() {
    let folders = Folders::new();
    let server = folders.serve(&[]);
    let data = folders.data();
    let (code, _, said) = ask(&data, &["intake", "set-max-retries", "1001"]);
    assert!(code != Some(0) && said.contains("1000"), "{code:?} {said}");
    assert_eq!(ask(&data, &["intake", "set-max-retries", "0"]).0, Some(0));
    let (code, out, said) = ask(&data, &["config", "show"]);
    let line = out.lines().find(|line| line.starts_with("INTAKE_MAX_RETRIES "));
    let words: Option<Vec<&str>> = line.map(|line| line.split_whitespace().collect());
    assert_eq!((code, words), (Some(0), Some(vec!["INTAKE_MAX_RETRIES", "0", "store"])), "{said}");
    assert_eq!(ask(&data, &["intake", "pause"]).0, Some(0));
    folders.put("queue/broken.pdf", b"%PDF-1.7\nnothing\n%%EOF\n");
    wait_for("a look that says why", || {
        let (_, out, _) = ask(&data, &["intake", "status"]);
        (out.contains("in queue   1") && out.contains("held       paused")).then_some(())
    });
    assert_eq!(folders.names(), ["queue/broken.pdf"]);
    assert_eq!(ask(&data, &["intake", "resume"]).0, Some(0));
    wait_for("one run", || folders.at("failed/broken.pdf").is_file().then_some(()));
    let records = || server.operate(&data, "GET", "/api/failure-records").json();
    let records = wait_for("its record", || {
        let records = records()["failure_records"].clone();
        (records.as_array().unwrap().len() == 1).then_some(records)
    });
    assert_eq!(records[0]["max_retries_exceeded"], true);
    let (code, out, said) = ask(&data, &["intake", "clear-inflight", "--dry-run"]);
    assert_eq!((code, out.as_str(), said.as_str()), (Some(0), "0 would be cleared, 0 in flight\n", ""));
    let (code, out, said) = ask(&data, &["intake", "clear-inflight"]);
    assert_eq!((code, out.as_str()), (Some(0), "0 cleared, 0 in flight\n"));
    assert!(said.contains("0 of 0 in flight are taken for nothing"), "{said}");
    server.stop();
}

#[test]
fn a_report_is_written_when_it_is_asked_for_by_path_by_place_or_by_id() {
    let folders = Folders::new();
    let server = folders.serve(&[("INTAKE_MAX_RETRIES", "0")]);
    let data = folders.data();
    folders.put("queue/team/broken.pdf", b"%PDF-1.7\nnothing\n%%EOF\n");
    folders.put("queue/fine.pdf", &pdf(1));
    let reports =
        || folders.names().into_iter().filter(|name| name.starts_with("reports/")).collect::<Vec<_>>();
    wait_for("both to end", || {
        (reports().len() == 1 && folders.at("result/fine.pdf").is_file()).then_some(())
    });
    let first = reports().remove(0);
    std::fs::remove_file(folders.at(&first)).unwrap();
    let (code, out, said) = ask(&data, &["intake", "report", "team/broken.pdf"]);
    assert_eq!((code, out.trim_end()), (Some(0), first.as_str()), "{said}");
    assert!(folders.files()[&first].starts_with(b"PK"), "it is there again");
    let (code, out, said) = ask(&data, &["intake", "report", "failed/team/broken.pdf", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error} {out}{said}"));
    assert_eq!((code, &document["path"]), (Some(0), &"team/broken.pdf".into()));
    let id = document["id"].as_str().unwrap();
    assert_eq!(ask(&data, &["intake", "report", id]).0, Some(0));
    assert_eq!(reports(), [first], "nothing happened in between, so it is the same");
    let nobody = format!("00000000{}", &id[8..]);
    for (what, expected, word) in [
        ("broken.pdf", 3, "no document"),
        ("fine.pdf", 5, "has not failed"),
        (&nobody, 3, "no such document"),
    ] {
        let (code, _, said) = ask(&data, &["intake", "report", what]);
        assert!(code == Some(expected) && said.contains(word), "{what}: {code:?} {said}");
    }
    server.stop();
}

#[test]
fn places_and_numbers_that_cannot_be_are_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    for (name, value, word) in [
        ("INTAKE_URL", "ftp://host/x", "s3://bucket"),
        ("INTAKE_MAX_RETRIES", "many", "whole number"),
        ("INTAKE_MAX_RETRIES", "1001", "1000"),
        ("INTAKE_MAX_IN_FLIGHT", "0", "at least 1"),
        ("INTAKE_INTERVAL_SEC", "0", "above 0"),
    ] {
        let data = dir.path().to_str().unwrap();
        let out = redrive(&["serve", "--data-dir", data]).env(name, value).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{name} {said}");
        assert!(said.contains(name) && said.contains(word), "{name}: {said}");
    }
}
