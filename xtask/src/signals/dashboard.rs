//! The queries of a Grafana dashboard: of its panels, also those inside rows, and of its variables.

use anyhow::{Context, Result};
use serde_json::Value;

/// One query and where it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) query: String,
}

/// All queries of the dashboard.
pub(super) fn queries(text: &str) -> Result<Vec<Panel>> {
    let dashboard: Value = serde_json::from_str(text).context("the dashboard is no JSON")?;
    let mut found = Vec::new();
    panels(&dashboard, &mut found);
    for variable in list(&dashboard, "/templating/list") {
        let definition = string(variable, "/definition");
        if let Some(query) = label_values(definition) {
            found.push(Panel { title: format!("${}", string(variable, "/name")), query });
        }
    }
    Ok(found)
}

fn panels(of: &Value, found: &mut Vec<Panel>) {
    for panel in list(of, "/panels") {
        let title = string(panel, "/title");
        let queries = list(panel, "/targets").iter().map(|target| string(target, "/expr").to_owned());
        found.extend(queries.map(|query| Panel { title: title.to_owned(), query }));
        panels(panel, found);
    }
}

/// `label_values(metric, label)` as a query that needs the same.
fn label_values(definition: &str) -> Option<String> {
    let inside = definition.strip_prefix("label_values(")?.strip_suffix(')')?;
    let (metric, label) = inside.rsplit_once(',')?;
    Some(format!("count by ({}) ({metric})", label.trim()))
}

fn list<'a>(of: &'a Value, pointer: &str) -> &'a [Value] {
    of.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn string<'a>(of: &'a Value, pointer: &str) -> &'a str {
    of.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_in_rows_and_variables_are_found() {
        let text = r#"{"panels": [{"title": "row", "panels": [{"title": "a", "targets": [{"expr": "x"}, {"expr": "y"}]}]}],
            "templating": {"list": [{"name": "w", "definition": "label_values(m, l)"}, {"name": "datasource"}]}}"#;
        let found: Vec<(String, String)> =
            queries(text).unwrap().into_iter().map(|panel| (panel.title, panel.query)).collect();
        let pair = |title: &str, query: &str| (title.to_owned(), query.to_owned());
        assert_eq!(found, [pair("a", "x"), pair("a", "y"), pair("$w", "count by (l) (m)")]);
    }
}
