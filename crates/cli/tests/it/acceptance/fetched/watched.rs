//! What must hold whenever somebody looks while a batch runs: what has ended is never more than there is, and never less than before.

use serde_json::Value;

use crate::acceptance::kit::Browser;

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Watched {
    ended: [u64; 3],
    over: bool,
    pub(super) looks: usize,
}

impl Watched {
    /// Looks once: how many have ended. Nothing when nobody answers.
    pub(super) async fn look(&mut self, browser: &Browser, batch: &str, total: u64) -> Option<u64> {
        let answer = browser.try_send(browser.request("GET", &format!("/api/fetch/{batch}"))).await.ok()?;
        match answer.status {
            200 => Some(self.judge(&answer.json(), total)),
            // It has no time for us, or not yet.
            429 | 503 => None,
            _ => panic!("{}", answer.text()),
        }
    }

    fn judge(&mut self, snapshot: &Value, total: u64) -> u64 {
        assert_eq!(snapshot["resources_total"], total, "{snapshot:#}");
        let names = ["resources_completed", "resources_failed", "resources_cancelled"];
        let ended = names.map(|name| snapshot[name].as_u64().unwrap());
        let sum = ended.iter().sum();
        assert!(sum <= total, "more have ended than there are: {snapshot:#}");
        for (was, is) in self.ended.iter().zip(&ended) {
            assert!(was <= is, "a count fell from {:?}: {snapshot:#}", self.ended);
        }
        let over = snapshot["status"] != "processing";
        assert_eq!(over, sum == total, "it is over exactly when everybody is back: {snapshot:#}");
        assert!(over || !self.over, "it was over: {snapshot:#}");
        let by_code: u64 =
            snapshot["failures_by_code"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        // The codes are read a moment later.
        assert!(by_code >= ended[1] && by_code <= total, "{snapshot:#}");
        (self.ended, self.over) = (ended, over);
        self.looks += 1;
        sum
    }

    pub(super) const fn is_over(&self) -> bool {
        self.over
    }
}
