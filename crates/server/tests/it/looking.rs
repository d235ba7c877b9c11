//! Looking changes nothing: every GET of both tables, and the store before and after.

use std::collections::BTreeMap;

use axum::http::Method;
use redrive_server::{page_routes, routes};
use rusqlite::{Connection, OpenFlags};

use crate::operators::sign_in;
use crate::pages::reader::{BROWSER, SCRIPT};
use crate::there::There;
use crate::world::{TOKEN, World};

/// What is noted of a look: that a session or a token was used.
const LAST_USE: &[(&str, &str)] = &[("sessions", "seen_at"), ("tokens", "used_at")];

/// Every row of every table, but for when something was last used.
fn everything(world: &World) -> BTreeMap<String, Vec<String>> {
    let file = world.folder.path().join("redrive.db");
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let names = names.query_map((), |row| row.get::<_, String>(0)).unwrap();
    names
        .map(|table| {
            let table = table.unwrap();
            let mut all = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns: Vec<String> = all.column_names().into_iter().map(str::to_owned).collect();
            let rows = all.query_map((), |row| {
                let of = |(n, column): (usize, &String)| {
                    let is_use = LAST_USE.contains(&(table.as_str(), column.as_str()));
                    (!is_use).then(|| format!("{column} {:?}", row.get_ref(n).unwrap()))
                };
                Ok(columns.iter().enumerate().filter_map(of).collect::<Vec<_>>().join(", "))
            });
            let mut rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
            rows.sort();
            (table, rows)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_changes_nothing() {
    let mut there = There::start().await;
    let mut browser = there.world.client();
    assert_eq!(sign_in(&mut browser, TOKEN).await.status, 303);
    there.world.rest().await;
    let before = everything(&there.world);
    assert!(before["jobs"].len() > 3 && before["audit"].len() > 1 && before["sessions"].len() > 1);
    let (mut looked, mut seen) = (0, 0);
    for route in routes().into_iter().chain(page_routes()).filter(|route| route.method == Method::GET) {
        let path = there.at(route.path);
        for client in [&there.ann, &there.operator, &browser] {
            for headers in [&[][..], BROWSER, SCRIPT] {
                let mut request = client.request("GET", &path);
                for (name, value) in headers {
                    request = request.header(*name, *value);
                }
                // Two of them have no end: the head of an answer is enough, and so is a body that is done.
                let answer = request.send().await.unwrap();
                looked += 1;
                seen += u32::from(answer.status() == 200);
                if !["/live", "/api/events/stream"].contains(&route.path) {
                    answer.bytes().await.unwrap();
                }
            }
        }
        for (table, rows) in everything(&there.world) {
            assert!(rows == before[&table], "GET {path} has changed {table}");
        }
    }
    assert!(seen > 300 && seen <= looked, "{seen} of {looked}");
}
