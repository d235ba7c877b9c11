//! The numbers of the HTTP side. Each has a default that suits one machine; operators change them by settings.

use std::time::Duration;

use ipnet::IpNet;
use redrive_blob::room::Room;
use redrive_store::SessionLife;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// What clients may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest upload.
    pub max_upload: u64,
    /// How long a handler may take until its answer begins.
    pub deadline: Duration,
    /// The same where it looks at many jobs or at whole files.
    pub long_deadline: Duration,
    /// The same where it takes files in: longer than the door waits for a body.
    pub body_deadline: Duration,
    /// How long a session lives: at least as long as results are kept.
    pub session: SessionLife,
    /// How long a browser stays signed in as an operator.
    pub operator_session: SessionLife,
    /// "Last seen" is written at most this often.
    pub seen_every: Duration,
    /// Uploads at once.
    pub uploads: usize,
    /// Uploads at once of one session.
    pub uploads_per_session: usize,
    /// Uploads at once of one address, whoever relays them.
    pub uploads_per_address: usize,
    /// Proxies whose word about who asks is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Free space below which it is warned or refused.
    pub room: Room,
    /// With more jobs waiting than this nothing more is taken.
    pub queue_depth: u64,
    /// With a job that has been waiting longer than this nothing more is taken.
    pub queue_age: Duration,
    /// With more downloads waiting than this no manifest is taken.
    pub fetch_depth: u64,
    /// Batches of downloads of one session that have not ended.
    pub batches_per_session: usize,
    /// Jobs of one session in all.
    pub jobs_per_session: u64,
    /// Jobs of one session that have not ended.
    pub active_per_session: u64,
    /// Bytes that one session may upload at once, and how fast that comes back.
    pub bytes_per_session: Rate,
    /// How often what may be asked.
    pub rates: Rates,
    /// Event streams at once.
    pub streams: usize,
    /// Event streams at once of one session.
    pub streams_per_session: usize,
    /// Event streams at once of one address, whoever relays them.
    pub streams_per_address: usize,
    /// Events that may wait for a client before it is dropped.
    pub stream_buffer: usize,
    /// Between two looks at the events while somebody listens.
    pub stream_poll: Duration,
    /// Between two comments on a silent stream.
    pub stream_heartbeat: Duration,
    /// Results in one ZIP.
    pub zip_entries: usize,
    /// How long a PDF is kept after its job is complete, to say so on the pages. Retention itself is a job's business.
    pub pdf_kept: Duration,
    /// The same for a result.
    pub xml_kept: Duration,
    /// Between two questions for the gateway's mappings; more often while it has never answered.
    pub mappings_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_upload: 52_428_800,
            deadline: Duration::from_secs(30),
            long_deadline: Duration::from_secs(120),
            body_deadline: Duration::from_secs(1_800),
            session: SessionLife { idle: DAY * 90, absolute: DAY * 365 },
            operator_session: SessionLife { idle: DAY / 2, absolute: DAY * 7 },
            seen_every: Duration::from_secs(300),
            // More than one address has, so that a crowd on one keeps nobody else out.
            uploads: 384,
            uploads_per_session: 128,
            uploads_per_address: 256,
            trusted_proxies: Vec::new(),
            room: Room::default(),
            queue_depth: 100_000,
            queue_age: DAY,
            fetch_depth: 5_000_000,
            batches_per_session: 50,
            jobs_per_session: 10_000,
            active_per_session: 2_000,
            bytes_per_session: Rate { burst: 10_737_418_240.0, per_second: 1_048_576.0 },
            rates: Rates::default(),
            streams: 1_000,
            streams_per_session: 16,
            // An office shares one; half of its connections are left for everything else.
            streams_per_address: 128,
            stream_buffer: 256,
            stream_poll: Duration::from_millis(250),
            stream_heartbeat: Duration::from_secs(15),
            zip_entries: 1_000,
            pdf_kept: DAY * 7,
            xml_kept: DAY * 30,
            mappings_every: Duration::from_secs(60),
        }
    }
}

/// So much at once, and so much more each second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// At once.
    pub burst: f64,
    /// Each second.
    pub per_second: f64,
}

/// How often what may be asked; an address may ask [`Rates::address_factor`] times as often as a session, because an office
/// shares one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Uploads.
    pub upload: Rate,
    /// Lists, jobs, status.
    pub look: Rate,
    /// Downloads.
    pub download: Rate,
    /// Retries and cancellations.
    pub act: Rate,
    /// New sessions of one address.
    pub session: Rate,
    /// Wrong tokens and codes of one address.
    pub wrong_keys: Rate,
    /// How many sessions an address counts for.
    pub address_factor: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            upload: Rate { burst: 200.0, per_second: 10.0 },
            look: Rate { burst: 300.0, per_second: 50.0 },
            download: Rate { burst: 200.0, per_second: 20.0 },
            act: Rate { burst: 200.0, per_second: 20.0 },
            session: Rate { burst: 300.0, per_second: 5.0 },
            wrong_keys: Rate { burst: 10.0, per_second: 0.1 },
            address_factor: 8.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number as people write it.
    fn many(number: u64) -> String {
        let digits = number.to_string();
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
        groups.join(",")
    }

    /// `docs/limits.md` tells the numbers that hold.
    #[test]
    fn the_page_about_limits_tells_these_numbers() {
        let page = include_str!("../../../docs/limits.md");
        let (limits, door) = (Limits::default(), crate::DoorLimits::default());
        let (whole, days) = (|n: f64| many(n as u64), |time: Duration| time.as_secs() / DAY.as_secs());
        let kib = |bytes: usize| bytes / 1024;
        let size = |n: usize| many(n as u64);
        let mut rows = vec![
            format!("| connections, in all | {} |", size(door.connections)),
            format!("| connections of one address | {} |", door.per_address),
            format!("| head of a request | {} KiB |", kib(door.head_bytes)),
            format!("| time for the head | {} s |", door.head_time.as_secs()),
            format!("| idle connection | {} s |", door.idle.as_secs()),
            format!(
                "| slowest body | {} bytes a second, after the first {} s of waiting |",
                many(door.body_rate),
                door.body_grace.as_secs()
            ),
            format!("| time to wait for a body, in all | {} s |", door.body_time.as_secs()),
            format!("| answer that nobody reads | {} s |", door.write_stall.as_secs()),
            format!("| time until an answer begins | {} s |", limits.deadline.as_secs()),
            format!(
                "| the same of what looks at many jobs or whole files | {} s |",
                limits.long_deadline.as_secs()
            ),
            format!("| the same of what takes files in | {} s |", many(limits.body_deadline.as_secs())),
            format!("| small bodies (JSON and forms) | {} KiB |", kib(crate::routes::SMALL_BODY)),
            format!("| rows in one page of a list | {}, unless said 50 |", redrive_model::limits::MAX_PAGE),
            format!("| file | {} bytes |", many(limits.max_upload)),
            format!("| uploads at once, in all | {} |", limits.uploads),
            format!("| uploads at once of one session | {} |", limits.uploads_per_session),
            format!("| uploads at once of one address | {} |", limits.uploads_per_address),
            format!("| jobs that wait | {} |", many(limits.queue_depth)),
            format!("| age of the oldest job that could run | {} s |", many(limits.queue_age.as_secs())),
            format!("| free room below which it is warned | {} bytes |", many(limits.room.soft)),
            format!("| free room below which nothing new is taken | {} bytes |", many(limits.room.hard)),
            format!("| results in one ZIP | {},", size(limits.zip_entries)),
            format!("| jobs in all | {} |", many(limits.jobs_per_session)),
            format!("| jobs that have not ended | {} |", many(limits.active_per_session)),
            format!(
                "| bytes | {} at once, and {} more each second |",
                whole(limits.bytes_per_session.burst),
                whole(limits.bytes_per_session.per_second)
            ),
            format!("| batches of downloads that have not ended | {} |", limits.batches_per_session),
            format!(
                "| event streams | {}; {} of one address, {} in all |",
                limits.streams_per_session,
                limits.streams_per_address,
                size(limits.streams)
            ),
            format!("| life without use | {} days", days(limits.session.idle)),
            format!("| life in all | {} days", days(limits.session.absolute)),
            format!(
                "| sign-in of an operator | {} hours without use, {} days in all |",
                limits.operator_session.idle.as_secs() / 3600,
                days(limits.operator_session.absolute)
            ),
            format!("One address may ask {} times as often", limits.rates.address_factor),
            format!("| downloads that wait | {};", many(limits.fetch_depth)),
        ];
        let rates = limits.rates;
        for (what, rate) in [
            ("uploads and manifests", rates.upload),
            ("looking: lists, jobs, status, pages", rates.look),
            ("downloads", rates.download),
            ("acts: retry, cancel, and what operators do", rates.act),
            ("new sessions of one address", rates.session),
            ("wrong tokens and codes of one address", rates.wrong_keys),
        ] {
            rows.push(format!("| {what} | {} | {} |", rate.burst, rate.per_second));
        }
        let wrong: Vec<&String> = rows.iter().filter(|row| !page.contains(row.as_str())).collect();
        assert!(wrong.is_empty(), "docs/limits.md does not have {wrong:#?}");
    }
}
