//! A dead letter as JSON: the message's fields by their own names, and where the letter is.

use redrive_api::{DeadLetter, DownloadTask, HttpHeader, ProxyHint, StorageHint, TaskAttributes};
use redrive_fetch::wire;
use redrive_store::DeadRow;

/// The row with its message.
pub(super) fn letter(dead: &DeadRow, sent: wire::DeadLetterTask) -> DeadLetter {
    DeadLetter {
        offset: dead.offset.0,
        state: dead.state.as_str().to_owned(),
        job_id: dead.job.to_string(),
        generation: dead.generation,
        workload: dead.workload.to_string(),
        owner: dead.owner.as_ref().map(ToString::to_string),
        reason: dead.reason.as_str().to_owned(),
        group: dead.fingerprint.to_string(),
        task: task(sent.task.unwrap_or_default()),
        failure_code: sent.failure_code,
        failure_message: sent.failure_message,
        attempts: sent.attempts,
        failed_at: dead.at,
        failed_at_ms: sent.failed_at_ms,
        metadata: sent.metadata,
        closed_at: dead.closed_at,
        replay_id: dead.replay.map(|replay| replay.to_string()),
        previous_offset: dead.previous.map(|offset| offset.0),
    }
}

fn task(task: wire::DownloadTask) -> DownloadTask {
    let header = |header: wire::HttpHeader| HttpHeader { name: header.name, value: header.value };
    let proxies =
        |hint: wire::ProxyHint| ProxyHint { primary_pool: hint.primary_pool, fallbacks: hint.fallbacks };
    let place = |hint: wire::StorageHint| StorageHint {
        bucket: hint.bucket,
        key_prefix: hint.key_prefix,
        metadata: hint.metadata,
    };
    let said = |said: wire::TaskAttributes| TaskAttributes {
        tags: said.tags,
        checksum_hint: said.checksum_hint,
        mime_hint: said.mime_hint,
    };
    DownloadTask {
        job_id: task.job_id,
        job_type: task.job_type,
        resource_id: task.resource_id,
        url: task.url,
        headers: task.headers.into_iter().map(header).collect(),
        proxy_hint: task.proxy_hint.map(proxies),
        storage_hint: task.storage_hint.map(place),
        attributes: task.attributes.map(said),
        manifest_key: task.manifest_key,
        attempt: task.attempt,
        tenant: task.tenant,
        trace_id: task.trace_id,
    }
}
