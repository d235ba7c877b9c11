//! The operator of the demo: tells what becomes of the gateway's breaker, and replays what was refused once that is mended.

use std::time::Duration;

use redrive_api::client::{Client, ClientError};
use redrive_api::{Group, GroupQuery, NewReplay, PageQuery, ReplayFilter};
use redrive_model::Code;

use super::{Stage, tell};
use crate::say;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// How a replay goes: so many first, then so many a second.
const CANARY: u32 = 2;
const RATE: u32 = 2;

/// Looks and acts until it is dropped.
pub(super) async fn watch(stage: &Stage, client: &Client) {
    let mut known = String::from("closed");
    let mut replay = stage.schedule.next_replay(stage.since());
    loop {
        if let Ok(Some((state, held))) = breaker(client).await
            && state != known
        {
            if let Some(words) = words(&state, held) {
                tell(stage, &words);
            }
            known = state;
        }
        if stage.since() >= replay {
            replay = stage.schedule.next_replay(stage.since());
            match mended(client).await {
                Ok(Some((group, id))) => tell(
                    stage,
                    &format!(
                        "a replay of {} dead letters begins ({}), {CANARY} of them first: see /replays/{id}",
                        group.open, group.code
                    ),
                ),
                Ok(None) => {}
                Err(error) => say::note(&format!("no replay was started: {error}")),
            }
        }
        stage.rest(LOOK).await;
    }
}

/// How the gateway's breaker is, and how many jobs wait for it.
async fn breaker(client: &Client) -> Result<Option<(String, u64)>, ClientError> {
    let list = client.breakers(&PageQuery::default()).await?;
    let gateway = list.breakers.into_iter().find(|one| one.breaker.target == redrive_convert::TARGET);
    Ok(gateway.map(|one| (one.breaker.state, one.breaker.held_jobs)))
}

fn words(state: &str, held: u64) -> Option<String> {
    Some(match state {
        "open" => format!("the breaker opens: {held} jobs wait, and lose no attempt"),
        "half_open" => "the breaker lets one job try".to_owned(),
        "ramp" => "that job came back with its XML: 1, 2, 4 … follow".to_owned(),
        "closed" => "the breaker is closed: work goes on as ever".to_owned(),
        _ => return None,
    })
}

/// Starts again what was refused while the licence had run out.
async fn mended(client: &Client) -> Result<Option<(Group, String)>, ClientError> {
    let wanted = GroupQuery { workload: Some("convert".to_owned()), ..GroupQuery::default() };
    let groups = client.groups(&wanted).await?.groups;
    let refused = |group: &Group| group.code == Code::GwUnauthorized.name() && group.open > 0;
    let Some(group) = groups.into_iter().find(refused) else { return Ok(None) };
    let replay = client
        .start_replay(&NewReplay {
            filter: ReplayFilter { group: Some(group.fingerprint.clone()), ..ReplayFilter::default() },
            canary: Some(CANARY),
            rate_per_sec: Some(RATE),
            name: Some("TEI after the licence was renewed".to_owned()),
            reason: Some("the licence for TEI was renewed".to_owned()),
            ..NewReplay::default()
        })
        .await?;
    Ok(Some((group, replay.id)))
}
