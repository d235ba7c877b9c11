//! The messages of `proto/jobs.proto` as Rust types. That file is the truth; the test below compares the two.

use std::collections::BTreeMap;

use prost::{Enumeration, Message};

/// One resource to be fetched, without its secrets.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct DownloadTask {
    /// The batch's id, as in the fetch API; the job's own where it has no batch.
    #[prost(string, tag = "1")]
    pub job_id: String,
    /// The workload.
    #[prost(string, tag = "2")]
    pub job_type: String,
    /// What the manifest calls it; for other workloads what people call the job.
    #[prost(string, tag = "3")]
    pub resource_id: String,
    /// Where it is; empty for other workloads.
    #[prost(string, tag = "4")]
    pub url: String,
    /// What is said with the request.
    #[prost(message, repeated, tag = "5")]
    pub headers: Vec<HttpHeader>,
    /// Which proxies.
    #[prost(message, optional, tag = "6")]
    pub proxy_hint: Option<ProxyHint>,
    /// Where the object goes.
    #[prost(message, optional, tag = "7")]
    pub storage_hint: Option<StorageHint>,
    /// What was said about it.
    #[prost(message, optional, tag = "8")]
    pub attributes: Option<TaskAttributes>,
    /// The manifest it came with.
    #[prost(string, tag = "9")]
    pub manifest_key: String,
    /// Which execution this was.
    #[prost(uint32, tag = "10")]
    pub attempt: u32,
    /// Whose it is.
    #[prost(string, tag = "11")]
    pub tenant: String,
    /// W3C trace id, where one is known.
    #[prost(string, tag = "12")]
    pub trace_id: String,
}

/// A job that policy gave up on.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct DeadLetterTask {
    /// What was to be done.
    #[prost(message, optional, tag = "1")]
    pub task: Option<DownloadTask>,
    /// The public failure code.
    #[prost(string, tag = "2")]
    pub failure_code: String,
    /// One line about it.
    #[prost(string, tag = "3")]
    pub failure_message: String,
    /// Charged executions it had.
    #[prost(uint32, tag = "4")]
    pub attempts: u32,
    /// When it died.
    #[prost(uint64, tag = "5")]
    pub failed_at_ms: u64,
    /// Small facts beside it.
    #[prost(btree_map = "string, string", tag = "6")]
    pub metadata: BTreeMap<String, String>,
}

/// A header of the request.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct HttpHeader {
    /// In lower case.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it says, or `***`.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// Which proxies.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ProxyHint {
    /// The pool that is asked.
    #[prost(string, tag = "1")]
    pub primary_pool: String,
    /// Pools that stand in for it.
    #[prost(string, repeated, tag = "2")]
    pub fallbacks: Vec<String>,
}

/// Where the object goes.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct StorageHint {
    /// The bucket, where it is one.
    #[prost(string, tag = "1")]
    pub bucket: String,
    /// The prefix below the place.
    #[prost(string, tag = "2")]
    pub key_prefix: String,
    /// `place`: which of the listed places.
    #[prost(btree_map = "string, string", tag = "3")]
    pub metadata: BTreeMap<String, String>,
}

/// What was said about a resource.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct TaskAttributes {
    /// As the manifest has them.
    #[prost(btree_map = "string, string", tag = "1")]
    pub tags: BTreeMap<String, String>,
    /// The SHA-256 that it must have.
    #[prost(string, tag = "2")]
    pub checksum_hint: String,
    /// The type that it should have.
    #[prost(string, tag = "3")]
    pub mime_hint: String,
    /// Whatever else.
    #[prost(bytes = "vec", tag = "4")]
    pub extra: Vec<u8>,
}

/// How far the resources of one manifest are.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct JobStatus {
    /// The batch.
    #[prost(string, tag = "1")]
    pub job_id: String,
    /// The workload.
    #[prost(string, tag = "2")]
    pub job_type: String,
    /// Where it is.
    #[prost(enumeration = "JobState", tag = "3")]
    pub state: i32,
    /// All of them.
    #[prost(uint64, tag = "4")]
    pub resources_total: u64,
    /// Those that are stored.
    #[prost(uint64, tag = "5")]
    pub resources_completed: u64,
    /// Those that are not and will not be.
    #[prost(uint64, tag = "6")]
    pub resources_failed: u64,
    /// The manifest.
    #[prost(string, tag = "7")]
    pub manifest_key: String,
    /// Whose it is.
    #[prost(string, tag = "8")]
    pub tenant: String,
    /// The newest failure.
    #[prost(string, tag = "9")]
    pub last_error_code: String,
    /// One line about it.
    #[prost(string, tag = "10")]
    pub last_error_message: String,
    /// Its dead letter.
    #[prost(uint64, tag = "11")]
    pub log_offset: u64,
    /// When this was true.
    #[prost(uint64, tag = "12")]
    pub timestamp_ms: u64,
}

/// Where a manifest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum JobState {
    /// Nobody knows.
    Unknown = 0,
    /// It waits.
    Queued = 1,
    /// It goes on.
    InProgress = 2,
    /// Some are stored, some are not.
    Partial = 3,
    /// All are stored.
    Completed = 4,
    /// It failed.
    Failed = 5,
}

#[cfg(test)]
mod tests {
    use protox::prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage, Value};

    use super::*;

    fn pool() -> DescriptorPool {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/proto");
        let files = protox::compile(["jobs.proto"], [folder]).unwrap();
        DescriptorPool::from_file_descriptor_set(files).unwrap()
    }

    /// Every field of every message said something: read by the file's own rules nothing is unknown, nothing is left out, and
    /// written by them it is the same bytes.
    #[test]
    fn the_types_are_those_of_the_file() {
        let pairs = || BTreeMap::from([("k".to_owned(), "v".to_owned())]);
        let text = |n: u32| format!("text {n}");
        let task = DownloadTask {
            job_id: text(1),
            job_type: text(2),
            resource_id: text(3),
            url: text(4),
            headers: vec![HttpHeader { name: text(1), value: text(2) }],
            proxy_hint: Some(ProxyHint { primary_pool: text(1), fallbacks: vec![text(2), text(3)] }),
            storage_hint: Some(StorageHint { bucket: text(1), key_prefix: text(2), metadata: pairs() }),
            attributes: Some(TaskAttributes {
                tags: pairs(),
                checksum_hint: text(2),
                mime_hint: text(3),
                extra: vec![0xff, 0],
            }),
            manifest_key: text(9),
            attempt: 10,
            tenant: text(11),
            trace_id: text(12),
        };
        let dead = DeadLetterTask {
            task: Some(task),
            failure_code: text(2),
            failure_message: text(3),
            attempts: 4,
            failed_at_ms: u64::from(u32::MAX) + 5,
            metadata: pairs(),
        };
        let status = JobStatus {
            job_id: text(1),
            job_type: text(2),
            state: JobState::Failed.into(),
            resources_total: u64::MAX,
            resources_completed: 5,
            resources_failed: 6,
            manifest_key: text(7),
            tenant: text(8),
            last_error_code: text(9),
            last_error_message: text(10),
            log_offset: 11,
            timestamp_ms: 12,
        };
        for (name, bytes) in [("DeadLetterTask", dead.encode_to_vec()), ("JobStatus", status.encode_to_vec())]
        {
            let descriptor = pool().get_message_by_name(&format!("fetchbox.jobs.{name}")).unwrap();
            let read = DynamicMessage::decode(descriptor, bytes.as_slice()).unwrap();
            whole(&read);
            assert_eq!(read.encode_to_vec(), bytes, "{name}");
        }
        let states = pool().get_enum_by_name("fetchbox.jobs.JobState").unwrap();
        for value in states.values() {
            let ours = JobState::try_from(value.number()).unwrap();
            assert_eq!(format!("{ours:?}").to_uppercase(), value.name().replace('_', ""));
        }
        assert_eq!(states.values().len(), 6);
    }

    fn whole(message: &DynamicMessage) {
        assert_eq!(message.unknown_fields().count(), 0, "{message}");
        for field in message.descriptor().fields() {
            assert!(message.has_field(&field), "{} is not there", field.full_name());
            match &*message.get_field(&field) {
                Value::Message(inner) => whole(inner),
                Value::List(items) => items.iter().filter_map(Value::as_message).for_each(whole),
                _ => {}
            }
        }
    }

    /// The numbers of the origin.
    #[test]
    fn numbers_are_fixed() {
        let task = DownloadTask { url: "u".into(), trace_id: "t".into(), ..DownloadTask::default() };
        assert_eq!(task.encode_to_vec(), [4 << 3 | 2, 1, b'u', 12 << 3 | 2, 1, b't']);
        let metadata = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
        let dead = DeadLetterTask { attempts: 3, metadata, ..DeadLetterTask::default() };
        assert_eq!(dead.encode_to_vec(), [4 << 3, 3, 6 << 3 | 2, 6, 0x0a, 1, b'k', 0x12, 1, b'v']);
    }
}
