//! The metrics that there are: as the table of the documentation tells them, and as the sources name them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::query;
use crate::repo::Repo;

/// What Prometheus adds to whatever it reads.
const ADDED: [&str; 2] = ["instance", "job"];
/// Prometheus' own, about whether it could read.
const UP: &str = "up";

/// Metrics with their labels.
#[derive(Debug, Default)]
pub(super) struct Metrics(BTreeMap<String, Vec<String>>);

impl Metrics {
    /// Rows whose first column holds names of ours; their labels are in the second.
    pub(super) fn read(page: &str) -> Self {
        let mut metrics = BTreeMap::new();
        for line in page.lines().filter(|line| line.starts_with("| `redrive_")) {
            let mut columns = line.trim_matches('|').split('|').map(quoted);
            let (names, labels) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
            metrics.extend(names.into_iter().map(|name| (name, labels.clone())));
        }
        Self(metrics)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What a query names that is not there.
    pub(super) fn wrong_in(&self, query: &str) -> Vec<String> {
        let named = query::read(query);
        let (mut wrong, mut all) = (Vec::new(), BTreeSet::from(ADDED.map(str::to_owned)));
        for metric in &named.metrics {
            let mut labels: Vec<&str> = ADDED.to_vec();
            match self.0.get(base(&metric.name)) {
                Some(own) => labels.extend(own.iter().map(String::as_str)),
                None if metric.name == UP => {}
                None => wrong.push(format!("{} is not exported", metric.name)),
            }
            if metric.name.ends_with("_bucket") {
                labels.push("le");
            }
            let unknown = metric.by.iter().filter(|label| !labels.contains(&label.as_str()));
            wrong.extend(unknown.map(|label| format!("{} has no label {label}", metric.name)));
            all.extend(labels.into_iter().map(str::to_owned));
        }
        let unknown = named.grouped.iter().filter(|label| !all.contains(*label));
        wrong.extend(unknown.map(|label| format!("nothing in it has a label {label}")));
        if named.metrics.is_empty() {
            wrong.push("asks for nothing".to_owned());
        }
        wrong
    }
}

/// A histogram is told as three series.
pub(super) fn base(name: &str) -> &str {
    let series = ["_bucket", "_sum", "_count"].into_iter().find_map(|end| name.strip_suffix(end));
    series.filter(|base| base.ends_with("_seconds")).unwrap_or(name)
}

/// Every name that a room which is shipped counts under.
pub(super) fn exported(repo: &Repo) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for room in repo.names("crates")?.into_iter().filter(|room| room != "lab") {
        for file in repo.files_below(&format!("crates/{room}/src"), ".rs")? {
            let text = repo.read(&file)?.unwrap_or_default();
            for kind in ["counter!(", "gauge!(", "histogram!("] {
                let named = text.split(kind).skip(1).filter_map(|after| after.trim_start().strip_prefix('"'));
                let names_of = named.filter_map(|after| after.split('"').next());
                names.extend(names_of.filter(|name| name.starts_with("redrive_")).map(str::to_owned));
            }
        }
    }
    Ok(names)
}

/// What stands between backticks.
fn quoted(column: &str) -> Vec<String> {
    column.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_held_to_the_names_and_labels_of_the_table() {
        let metrics = Metrics::read(
            "| `redrive_a_total`, `redrive_b` | `x`, `y` | tells |\n| `redrive_c_seconds` | | … |\n",
        );
        assert_eq!(
            metrics.names().collect::<Vec<_>>(),
            ["redrive_a_total", "redrive_b", "redrive_c_seconds"]
        );
        for good in [
            "sum by (x, instance) (redrive_a_total{y=\"1\"})",
            "sum by (le) (redrive_c_seconds_bucket{le=\"1\"}) / redrive_c_seconds_count",
            "up{job=\"redrive\"} == 0",
        ] {
            assert_eq!(metrics.wrong_in(good), Vec::<String>::new(), "{good}");
        }
        for (bad, why) in [
            ("redrive_d", "redrive_d is not exported"),
            ("redrive_b_count", "redrive_b_count is not exported"),
            ("redrive_b{z=\"1\"}", "redrive_b has no label z"),
            ("sum by (z) (redrive_b)", "nothing in it has a label z"),
            ("vector(1)", "asks for nothing"),
        ] {
            assert_eq!(metrics.wrong_in(bad), [why], "{bad}");
        }
    }
}
