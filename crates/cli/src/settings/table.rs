//! The one table of settings: name, default, kind, who uses it, what it is.
//!
//! Flags, the environment, `redrive.toml`, `redrive config`, `--help` and `docs/configuration.md` are made from it. It is plain data and
//! uses nothing, because `xtask` reads this same file to write the page.

use Kind::{
    Address, Bytes, Clock, Count, Database, Folder, Networks, OneOf, Place, Places, Ports, Positive, Share,
    Text, Time, Url, Zone,
};

/// Who uses a setting: a sum of these. 0 is nobody yet.
pub(crate) type Use = u16;
/// Every command.
pub(crate) const LOGS: Use = 1;
/// What opens the database.
pub(crate) const STORE: Use = 2;
/// `redrive serve`.
pub(crate) const SERVE: Use = 4;
/// `redrive convert` on its own.
pub(crate) const CONVERT: Use = 8;
/// What talks to a running server.
pub(crate) const CLIENT: Use = 16;
/// `redrive worker`.
pub(crate) const WORKER: Use = 32;
/// `redrive gateway`.
pub(crate) const GATEWAY: Use = 64;
/// `redrive fetch` on its own.
pub(crate) const FETCH: Use = 128;
const BOTH: Use = SERVE | WORKER;
const WORK: Use = BOTH | CONVERT;
const DOWNLOAD: Use = BOTH | FETCH;
const NOBODY: Use = 0;

/// What a value must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Host and port.
    Address,
    /// A path.
    Folder,
    /// A folder or a bucket.
    Place,
    /// A store.
    Database,
    /// http or https.
    Url,
    /// A whole number.
    Count,
    /// A whole number above 0.
    Positive,
    /// A size.
    Bytes,
    /// A part of the whole.
    Share,
    /// A time in this unit; 0 where that makes sense.
    Time { unit: Unit, zero: bool },
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Addresses and networks, with commas.
    Networks,
    /// Ports, with commas.
    Ports,
    /// Folders and buckets, with commas.
    Places,
    /// A time of day.
    Clock,
    /// A time zone.
    Zone,
    /// Anything.
    Text,
}

/// What a time is counted in: the end of the setting's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Days,
    Seconds,
    Milliseconds,
}

impl Kind {
    /// What is accepted, to follow "must be".
    pub(crate) fn words(self) -> String {
        let unit = |unit| match unit {
            Unit::Days => "days",
            Unit::Seconds => "seconds",
            Unit::Milliseconds => "milliseconds",
        };
        match self {
            Address => "an address with its port, such as 127.0.0.1:8080".to_owned(),
            Folder => "a folder".to_owned(),
            Place => "a folder, file:///path or s3://bucket/prefix".to_owned(),
            Database => "sqlite:FILE or postgres://…".to_owned(),
            Url => "a URL that begins with http:// or https://".to_owned(),
            Count => "a whole number".to_owned(),
            Positive => "a whole number, at least 1".to_owned(),
            Bytes => "a number of bytes".to_owned(),
            Share => "a number from 0 to 1; more than 1 is never".to_owned(),
            Time { unit: of, zero: true } => format!("a number of {}, also a fraction", unit(of)),
            Time { unit: of, zero: false } => format!("a number of {} above 0, also a fraction", unit(of)),
            OneOf(words) => format!("one of {}", words.join(", ")),
            Networks => "addresses or networks such as 10.0.0.0/8, with commas between them".to_owned(),
            Ports => "port numbers with commas between them, such as 80,443".to_owned(),
            Places => "folders, file:///path or s3://bucket/prefix, with commas between them".to_owned(),
            Clock => "a time of day such as 23:55".to_owned(),
            Zone => "the name of a time zone such as Europe/Berlin or UTC".to_owned(),
            Text => "text".to_owned(),
        }
    }
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// Empty is unset. `DATA_DIR` in it stands for that setting's value.
    pub(crate) default: &'static str,
    /// What holds while it is unset.
    pub(crate) unset: &'static str,
    pub(crate) kind: Kind,
    pub(crate) used: Use,
    /// Never shown, and no flag: other people of the machine can read a command line.
    pub(crate) secret: bool,
    pub(crate) about: &'static str,
}

impl Setting {
    const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    const fn unset(self, words: &'static str) -> Self {
        Self { unset: words, ..self }
    }
}

const fn set(
    name: &'static str,
    default: &'static str,
    kind: Kind,
    used: Use,
    about: &'static str,
) -> Setting {
    Setting { name, default, unset: "", kind, used, secret: false, about }
}

const fn days() -> Kind {
    Time { unit: Unit::Days, zero: true }
}

const fn seconds(zero: bool) -> Kind {
    Time { unit: Unit::Seconds, zero }
}

const fn milliseconds(zero: bool) -> Kind {
    Time { unit: Unit::Milliseconds, zero }
}

/// Settings that belong together.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) settings: &'static [Setting],
}

/// All of them.
#[rustfmt::skip]
pub(crate) const SECTIONS: &[Section] = &[
    Section { title: "Where things are", settings: &[
        set("DATA_DIR", "redrive-data", Folder, STORE | WORK | DOWNLOAD | CLIENT, "folder for everything that is stored"),
        set("DATABASE_URL", "sqlite:DATA_DIR/redrive.db", Database, STORE | BOTH, "the store: an SQLite file, or a Postgres server for more than one machine"),
        set("UPLOADS_DIR", "DATA_DIR/uploads", Place, BOTH, "where uploaded files are kept"),
        set("RESULTS_DIR", "DATA_DIR/results", Place, BOTH, "where results are kept"),
        set("FETCH_TO", "DATA_DIR/fetched", Place, BOTH, "where fetched resources are kept"),
        set("FETCH_TO_ALSO", "", Places, BOTH, "other places that a manifest may name in `to`").unset("none"),
        set("MANIFESTS_DIR", "DATA_DIR/manifests", Place, BOTH, "where manifests are kept; they hold the headers and links that were handed in"),
        set("S3_ENDPOINT", "", Url, DOWNLOAD, "where the S3 store answers").unset("AWS in `AWS_REGION`"),
        set("AWS_REGION", "", Text, DOWNLOAD, "region of the buckets").unset("as the AWS tools"),
        set("AWS_DEFAULT_REGION", "", Text, DOWNLOAD, "region while `AWS_REGION` is unset").unset("as the AWS tools"),
        set("AWS_ACCESS_KEY_ID", "", Text, DOWNLOAD, "who asks the S3 store").unset("the machine's role").secret(),
        set("AWS_SECRET_ACCESS_KEY", "", Text, DOWNLOAD, "its key").unset("the machine's role").secret(),
        set("AWS_SESSION_TOKEN", "", Text, DOWNLOAD, "its token, where keys are lent for a time").unset("none").secret(),
        set("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "false", OneOf(&["true", "false"]), DOWNLOAD, "whether the bucket goes into the host name"),
    ]},
    Section { title: "Server", settings: &[
        set("LISTEN", "127.0.0.1:8080", Address, SERVE, "address to listen on; port 0 picks a free one"),
        set("PUBLIC_URL", "", Url, SERVE, "how people reach the server; when https, cookies are `__Host-` and Secure").unset("the address it listens on"),
        set("TRUSTED_PROXIES", "", Networks, SERVE, "proxies whose `X-Forwarded-For` is believed").unset("none"),
        set("OPERATOR_TOKEN", "", Text, SERVE | CLIENT, "what operators sign in with").unset("made at first start").secret(),
        set("METRICS_LISTEN", "127.0.0.1:9090", Address, BOTH, "address of the metrics for Prometheus; when it is in use, a free port"),
        set("MAX_UPLOAD_BYTES", "52428800", Bytes, WORK | GATEWAY, "the largest file that is taken"),
        set("DISK_SOFT_BYTES", "1073741824", Bytes, BOTH, "with less free space than this it is warned"),
        set("DISK_HARD_BYTES", "268435456", Bytes, BOTH, "with less free space than this nothing new is taken"),
    ]},
    Section { title: "Gateway", settings: &[
        set("GATEWAY_URL", "", Url, WORK, "the PDF→XML gateway").unset("the one that is built in"),
        set("GATEWAY_TIMEOUT_MS", "180000", milliseconds(false), WORK, "how long one conversion may take"),
    ]},
    Section { title: "Fetch", settings: &[
        set("FETCH_ALLOW_PRIVATE", "false", OneOf(&["true", "false"]), DOWNLOAD, "whether loopback and private addresses may be asked"),
        set("FETCH_PORTS", "80,443", Ports, DOWNLOAD, "ports that may be asked; any when `FETCH_ALLOW_PRIVATE`"),
        set("FETCH_CONCURRENCY", "64", Positive, DOWNLOAD, "downloads at once"),
        set("FETCH_PER_HOST", "16", Positive, DOWNLOAD, "downloads at once from one host, at most; it begins with fewer"),
        set("FETCH_MAX_BYTES", "5368709120", Bytes, DOWNLOAD, "the largest resource"),
        set("FETCH_TIMEOUT_SEC", "3600", seconds(false), DOWNLOAD, "how long one download may take"),
        set("FETCH_PATIENCE_SEC", "21600", seconds(false), DOWNLOAD, "how long resources wait for a host that is down; in `redrive fetch` a minute, unless set"),
        set("FETCH_MIN_SPEED", "1024", Bytes, DOWNLOAD, "slower than so many bytes a second is too slow; 0 bears everything"),
        set("FETCH_HANDLER", "", Text, DOWNLOAD, "a program that is asked about each resource, before and after it is fetched").unset("none"),
        set("FETCH_HANDLER_TIMEOUT_SEC", "30", seconds(false), DOWNLOAD, "how long it may take, each time"),
        set("DOWNLOAD_RETRY_LIMIT", "3", Count, DOWNLOAD, "how often a download is tried again"),
        set("STORAGE_RETRY_LIMIT", "3", Count, DOWNLOAD, "how often storing is tried again; nothing is downloaded for it"),
    ]},
    Section { title: "Intake", settings: &[
        set("INTAKE_URL", "", Place, BOTH, "the folder or bucket into whose `queue/` people put PDFs").unset("off"),
        set("INTAKE_MAX_RETRIES", "3", Count, BOTH, "how often a PDF is tried again; `redrive intake set-max-retries` ranks above it"),
        set("INTAKE_INTERVAL_SEC", "120", seconds(false), BOTH, "how often it is looked for new PDFs; a folder also tells by itself"),
        set("INTAKE_MAX_IN_FLIGHT", "10", Positive, BOTH, "PDFs in work at once, in all processes together"),
        set("INTAKE_MAPPING", "", Text, BOTH, "what is made of a PDF").unset("the gateway's first mapping"),
        set("INTAKE_PART_PAGES", "50", Count, BOTH, "a PDF with more pages is converted in parts of at most so many; 0 cuts nothing"),
        set("INTAKE_COMMAND", "", Text, BOTH, "a program that processes PDFs in place of the gateway").unset("convert"),
        set("INTAKE_COMMAND_TIMEOUT_SEC", "600", seconds(false), BOTH, "how long it may take for one PDF"),
        set("INTAKE_COMMAND_MEMORY_BYTES", "2147483648", Bytes, BOTH, "how much memory each of its processes may use; 0 is no limit"),
    ]},
    Section { title: "Workers", settings: &[
        set("WORKER_CONCURRENCY", "4", Positive, WORK, "jobs at once; in `redrive convert` twice as many as there are cores, unless set"),
        set("WORKER_LEASE_TTL_SEC", "60", seconds(false), WORK | FETCH, "how long a worker may be silent before its jobs are taken back"),
        set("DRAIN_TIMEOUT_SEC", "25", seconds(true), WORK | FETCH, "how long running jobs may still take when it is told to stop"),
    ]},
    Section { title: "Retries", settings: &[
        set("RETRY_POLICY", "reliability", OneOf(&["reliability", "stepped"]), WORK, "doubling waits, or 5 s, 15 s, 45 s"),
        set("RETRY_MAX_ATTEMPTS", "3", Positive, WORK, "how often a job is tried in all"),
        set("RETRY_BASE_DELAY_MS", "5000", milliseconds(true), WORK | FETCH, "the first wait of `reliability`; each further one is twice as long"),
        set("RETRY_JITTER_MAX_MS", "5000", milliseconds(true), WORK | FETCH, "what chance adds at most to a wait of `reliability`"),
    ]},
    Section { title: "Breaker", settings: &[
        set("CIRCUIT_MODE", "hold", OneOf(&["hold", "fail_fast"]), WORK | FETCH, "what happens to jobs while a target is down"),
        set("CIRCUIT_WINDOW", "20", Positive, WORK | FETCH, "how many of the last calls count"),
        set("CIRCUIT_FAIL_THRESHOLD", "0.5", Share, WORK | FETCH, "the share of failures that opens it"),
        set("CIRCUIT_CONSECUTIVE", "3", Count, WORK | FETCH, "lost connections or timeouts in a row that open it; 0 is off"),
        set("CIRCUIT_COOLDOWN_MS", "30000", milliseconds(true), WORK | FETCH, "how long it stays open before one job tries"),
    ]},
    Section { title: "Retention", settings: &[
        set("PDF_TTL_DAYS", "7", days(), BOTH, "how long an uploaded file is kept after its job is complete"),
        set("XML_TTL_DAYS", "30", days(), BOTH, "how long a result is kept"),
        set("RETENTION_INTERVAL_SEC", "3600", seconds(false), BOTH, "how often it is looked for what is too old"),
    ]},
    Section { title: "Digest", settings: &[
        set("DIGEST_AT", "23:55", Clock, BOTH, "when owners of failed PDFs are told, each day"),
        set("DIGEST_TZ", "UTC", Zone, BOTH, "in which time zone that is, and times in mails are"),
        set("SMTP_URL", "", Text, BOTH, "the mail server: `smtps://user:password@host`, `smtp://user:password@host:587`, or `smtp://host?tls=none` without encryption").unset("digests are written to files under `reports/digest/` of `INTAKE_URL`").secret(),
        set("MAIL_FROM", "", Text, BOTH, "who sends, such as `Redrive <redrive@example.org>`").unset("digests are written to files"),
    ]},
    Section { title: "Commands and logs", settings: &[
        set("REDRIVE_URL", "", Url, CLIENT | CONVERT | FETCH, "the server that commands talk to").unset("the one that runs on `DATA_DIR`, as `DATA_DIR/server.json` says"),
        set("LOG_FORMAT", "", OneOf(&["text", "json"]), LOGS, "how log lines look").unset("`text` on a terminal and for `convert` and `fetch`, else `json`"),
        set("LOG_LEVEL", "", OneOf(&["error", "warn", "info", "debug", "trace"]), LOGS, "the least weight of what is logged").unset("`info` for what serves, `warn` for other commands"),
    ]},
    Section { title: "Other systems", settings: &[
        set("NATS_URL", "", Text, BOTH, "the NATS server that is told of events and dead letters; for programs built with `--features nats`").unset("nobody is told").secret(),
    ]},
    Section { title: "Not used yet", settings: &[
        set("CIRCUIT_PROBE", "job", OneOf(&["job", "health"]), NOBODY, "what tries first after the breaker's cool-down"),
        set("WEBHOOK_URL", "", Url, NOBODY, "webhook: who is told").unset("nobody"),
        set("WEBHOOK_SECRET", "", Text, NOBODY, "webhook: what messages are signed with").unset("nobody is told").secret(),
    ]},
];
