//! The alert rules, as far as the checks need them: one field a line, as our file is written. `promtool` reads it as YAML.

/// One rule.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Alert {
    pub(super) name: String,
    pub(super) expr: String,
    pub(super) runbook: String,
    summary: String,
    description: String,
    severity: String,
}

impl Alert {
    /// What every alert must have and this one has not.
    pub(super) fn lacks(&self) -> Vec<&'static str> {
        let fields = [
            ("expr", &self.expr),
            ("severity", &self.severity),
            ("summary", &self.summary),
            ("description", &self.description),
            ("runbook_url", &self.runbook),
        ];
        fields.into_iter().filter(|(_, text)| text.is_empty()).map(|(name, _)| name).collect()
    }
}

/// All rules of the file, in order.
pub(super) fn read(text: &str) -> Vec<Alert> {
    let mut alerts: Vec<Alert> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let Some((field, value)) = line.split_once(':') else { continue };
        let value = value.trim().trim_matches('"').to_owned();
        if field == "- alert" {
            alerts.push(Alert { name: value, ..Alert::default() });
            continue;
        }
        let Some(alert) = alerts.last_mut() else { continue };
        match field {
            "expr" => alert.expr = value,
            "severity" => alert.severity = value,
            "summary" => alert.summary = value,
            "description" => alert.description = value,
            "runbook_url" => alert.runbook = value,
            _ => {}
        }
    }
    alerts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_its_lines_and_what_it_lacks_is_named() {
        let text = "groups:\n  - name: g\n    rules:\n      # no\n      - alert: A\n        expr: up{a=\"b:c\"} > 1\n        \
                    labels:\n          severity: page\n        annotations:\n          summary: \"s: t\"\n      - alert: B\n";
        let alerts = read(text);
        assert_eq!(alerts.iter().map(|alert| alert.name.as_str()).collect::<Vec<_>>(), ["A", "B"]);
        assert_eq!((alerts[0].expr.as_str(), alerts[0].summary.as_str()), ("up{a=\"b:c\"} > 1", "s: t"));
        assert_eq!(alerts[0].lacks(), ["description", "runbook_url"]);
        assert_eq!(alerts[1].lacks().len(), 5);
    }
}
