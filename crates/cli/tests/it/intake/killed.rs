//! A server that is killed in the middle, again and again: every PDF is there exactly once in the end.

use super::{Folders, census, each_once, pdf};
use crate::running::wait_for;

const MANY: usize = 40;

/// Also covers: M41.
#[test]
fn a_server_that_is_killed_again_and_again_loses_no_pdf_and_doubles_none() {
    let folders = Folders::new();
    for n in 0..MANY {
        folders.put(&format!("queue/{}/{n}.pdf", n % 4), &pdf(n));
    }
    let settings = [("WORKER_LEASE_TTL_SEC", "2"), ("WORKER_CONCURRENCY", "2")];
    let done = || {
        folders.names().iter().filter(|name| name.starts_with("result/") && name.ends_with(".xml")).count()
    };
    for kills in 1..=3 {
        let mut server = folders.serve(&settings);
        wait_for("some to be done", || (done() >= kills * 6).then_some(()));
        server.signal("-KILL");
        server.ended();
        assert_eq!(census(&folders.files()), each_once(MANY), "after kill {kills}");
    }
    assert!(done() < MANY, "it was killed in the middle");
    let server = folders.serve(&settings);
    wait_for("all to be done", || {
        let files = folders.names();
        let home = files.iter().filter(|name| name.starts_with("result/") && name.ends_with(".pdf")).count();
        (home == MANY).then_some(())
    });
    assert_eq!(census(&folders.files()), each_once(MANY));
    for n in 0..MANY {
        assert!(folders.at(&format!("result/{}/{n}.xml", n % 4)).is_file(), "{n}");
    }
    assert_eq!(folders.names().len(), MANY * 2, "{:?}", folders.names());
    server.stop();
}
