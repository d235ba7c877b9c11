//! The failure registry: one table that drives everything.
//!
//! A row is: variant, name, category, class, public code, HTTP status, retries, budget, then three sentences: what
//! happened · what we do · what you can do. Inner codes map to a public one and stay visible to operators. Each row
//! has a page `docs/failures/NAME.md`; `xtask` fails when one is missing or `docs/failures.md` is stale.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::class::{Budget, Category, Class, Retries};

/// One row of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The code this row is about.
    pub code: Code,
    /// Its name in rows, answers, logs and metrics.
    pub name: &'static str,
    /// The family.
    pub category: Category,
    /// What policy does with it.
    pub class: Class,
    /// What people outside see in its place; itself for a public code.
    pub public: Code,
    /// The status of a problem answer with this code.
    pub http_status: u16,
    /// How often policy may retry it.
    pub retries: Retries,
    /// Which allowance a retry spends.
    pub budget: Budget,
    /// One short sentence for people.
    pub what_happened: &'static str,
    /// What Redrive does about it.
    pub what_we_do: &'static str,
    /// The next step for the person.
    pub what_you_can_do: &'static str,
}

macro_rules! registry {
    ($($variant:ident $name:literal $category:ident $class:ident $public:ident $http:literal ($($retries:tt)+) $budget:ident
        $happened:literal, $we:literal, $you:literal;)+) => {
        /// Every failure code there is. The set is closed: metric labels and answers come from it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $happened] $variant),+
        }

        /// The registry, in the order people read it.
        pub const REGISTRY: &[Entry] = &[$(Entry {
            code: Code::$variant,
            name: $name,
            category: Category::$category,
            class: Class::$class,
            public: Code::$public,
            http_status: $http,
            retries: Retries::$($retries)+,
            budget: Budget::$budget,
            what_happened: $happened,
            what_we_do: $we,
            what_you_can_do: $you,
        }),+];

        impl Code {
            /// The name in rows, answers, logs and metrics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The code with this name. A name that a newer version wrote has none; see [`Code::of_stored`].
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

registry! {
    // --- public codes of convert -------------------------------------------------------------------------------
    NotPdf "NOT_PDF" Validation Permanent NotPdf 400 (None) Attempts
        "Only PDF files are supported.",
        "The file is not kept; the row stays so that you can see it.",
        "Check that the file opens in a PDF viewer, then upload the PDF itself.";
    TooLarge "TOO_LARGE" Validation Permanent TooLarge 413 (None) Attempts
        "File exceeds 50 MB limit.",
        "Reading stopped at the limit; nothing of the file is kept.",
        "Split the document or reduce its images, or ask the operator to raise MAX_UPLOAD_BYTES.";
    Gw4xx "GW_4XX" Gateway Permanent Gw4xx 422 (None) Attempts
        "Couldn’t convert this file with the selected mapping.",
        "We do not retry: the same file would be refused again.",
        "Try another mapping, or check that the PDF opens and is not protected.";
    Gw5xx "GW_5XX" Gateway Transient Gw5xx 502 (Policy) Attempts
        "Converter service is having an issue.",
        "We’ll retry shortly.",
        "Nothing for now; if it stays failed, use Retry later.";
    GwTimeout "GW_TIMEOUT" Gateway Transient GwTimeout 504 (Policy) Attempts
        "Conversion is taking too long.",
        "We’ll retry.",
        "Nothing for now; a very long document may need to be split.";
    IoError "IO_ERROR" Storage Transient IoError 500 (AtMost(1)) Attempts
        "Temporary storage issue.",
        "We’ll retry.",
        "Try again in a moment; if it stays, tell the operator.";
    NotReady "NOT_READY" Request Request NotReady 409 (None) Attempts
        "Conversion not finished yet.",
        "The job goes on.",
        "Download again when the job is complete.";
    Expired "EXPIRED" Storage Permanent Expired 404 (None) Attempts
        "File was removed by retention.",
        "The record stays for a few days.",
        "Re-upload to regenerate.";
    Forbidden "FORBIDDEN" Authorization Request Forbidden 403 (None) Attempts
        "This file isn’t yours.",
        "Nothing was changed.",
        "Open it in the browser that uploaded it, or ask an operator.";
    Unknown "UNKNOWN" System Transient Unknown 500 (Policy) Attempts
        "Something unexpected went wrong.",
        "We’ll retry.",
        "If it stays failed, tell the operator the job’s id.";

    // --- inner codes of the gateway ----------------------------------------------------------------------------
    GwUnavailable "GW_UNAVAILABLE" Gateway Transient Gw5xx 503 (Policy) Attempts
        "Converter service could not be reached.",
        "We’ll retry, and hold the others while it stays away.",
        "Nothing for now.";
    GwBusy "GW_BUSY" Gateway Transient Gw5xx 503 (Policy) Attempts
        "Converter service is busy.",
        "We’ll retry when it said it would be free.",
        "Nothing for now.";
    GwThrottled "GW_THROTTLED" Gateway Throttled Gw5xx 503 (Policy) Attempts
        "Converter service asked us to slow down.",
        "All its jobs wait as long as it asked; no attempt is lost.",
        "Nothing for now.";
    GwRequestTimeout "GW_REQUEST_TIMEOUT" Gateway Transient GwTimeout 504 (Policy) Attempts
        "Converter service gave up waiting for the file.",
        "We’ll retry.",
        "Nothing for now.";
    GwTruncated "GW_TRUNCATED" Gateway Transient Gw5xx 502 (Policy) Attempts
        "The converter’s answer broke off.",
        "We’ll retry; a part is never kept as a result.",
        "Nothing for now.";
    GwBadResponse "GW_BAD_RESPONSE" Gateway Permanent Gw5xx 502 (None) Attempts
        "The converter’s answer was not usable XML.",
        "The answer is refused and not kept.",
        "Tell the operator; another mapping may work.";
    GwResponseTooLarge "GW_RESPONSE_TOO_LARGE" Gateway Permanent Gw5xx 502 (None) Attempts
        "The converter’s answer was larger than allowed.",
        "Reading stopped at the limit; nothing is kept.",
        "Split the document.";
    GwUnauthorized "GW_UNAUTHORIZED" Gateway Permanent Gw4xx 422 (None) Attempts
        "The converter refused our credentials.",
        "We do not retry until somebody changes the settings.",
        "Tell the operator: the gateway’s access settings are wrong.";
    InvalidMapping "INVALID_MAPPING" Gateway Permanent Gw4xx 422 (None) Attempts
        "The converter does not know this mapping.",
        "We do not retry.",
        "Choose one of the mappings in the list.";
    ParseError "PARSE_ERROR" Gateway Permanent Gw4xx 422 (None) Attempts
        "The PDF is damaged and could not be read.",
        "We do not retry.",
        "Open it in a viewer and save it again, or export it anew.";
    ValidationError "VALIDATION_ERROR" Gateway Permanent Gw4xx 422 (None) Attempts
        "The converter refused the request as invalid.",
        "We do not retry.",
        "Try another mapping; if it stays, tell the operator.";
    GwPasswordRequired "GW_PASSWORD_REQUIRED" Gateway Permanent Gw4xx 422 (None) Attempts
        "The PDF needs a password.",
        "We do not retry.",
        "Save a copy without a password and upload that.";
    GwUnsupportedEncryption "GW_UNSUPPORTED_ENCRYPTION" Gateway Permanent Gw4xx 422 (None) Attempts
        "The PDF is encrypted in a way the converter cannot open.",
        "We do not retry.",
        "Save a copy without protection and upload that.";
    GwTooManyPages "GW_TOO_MANY_PAGES" Gateway Permanent Gw4xx 422 (None) Attempts
        "The PDF has more pages than the converter takes.",
        "We do not retry.",
        "Split the document.";
    GwLimitExceeded "GW_LIMIT_EXCEEDED" Gateway Permanent Gw4xx 422 (None) Attempts
        "The PDF needs more time or memory than one file may use.",
        "We do not retry: it would use them up again.",
        "Split the document, or save it again with simpler graphics.";
    GwBreakerOpen "GW_BREAKER_OPEN" Gateway Transient Gw5xx 503 (Policy) Attempts
        "Converter service is down, and this system is set to fail fast.",
        "The job was not tried.",
        "Use Retry when the converter is back.";
    MemoryError "MEMORY_ERROR" System Transient Unknown 500 (Policy) Attempts
        "Not enough memory to do this.",
        "We’ll retry.",
        "If it stays failed, tell the operator the job’s id.";

    // --- storage of our own ------------------------------------------------------------------------------------
    DiskFull "DISK_FULL" Storage Environment IoError 503 (Policy) Attempts
        "The disk is full.",
        "The job waits and loses no attempt; work goes on when there is room.",
        "Tell the operator to free space.";
    SourceMissing "SOURCE_MISSING" Storage Permanent Expired 404 (None) Attempts
        "The file this job works on is gone.",
        "We do not retry without it.",
        "Upload it again.";
    SourceChanged "SOURCE_CHANGED" Storage Permanent SourceChanged 409 (None) Attempts
        "The file was replaced by another one while it was being worked on.",
        "We stop working on the old one; the new one is taken in as a document of its own.",
        "Nothing, if you replaced it on purpose; else put the right file into queue/ again.";
    ResultCorrupt "RESULT_CORRUPT" Storage Transient IoError 500 (AtMost(1)) Attempts
        "A stored result did not match its checksum.",
        "It is not handed out; we make it again.",
        "Tell the operator: the disk may be failing.";

    // --- downloads ---------------------------------------------------------------------------------------------
    DownloadTimeout "DOWNLOAD_TIMEOUT" Download Transient DownloadTimeout 504 (Policy) Download
        "The server did not answer in time.",
        "We’ll retry under the download limit.",
        "Check that the address answers, then replay it.";
    DownloadHttp4xx "DOWNLOAD_HTTP_4XX" Download Permanent DownloadHttp4xx 502 (None) Download
        "The server refused the request.",
        "We do not retry: the server’s answer will not change.",
        "Check the address and any credentials it needs.";
    DownloadHttp4xxTransient "DOWNLOAD_HTTP_4XX_TRANSIENT" Download Transient DownloadHttp4xx 502 (Policy) Download
        "The server asked to try again (408, 425 or 499).",
        "We’ll retry under the download limit.",
        "Nothing for now.";
    DownloadHttp5xx "DOWNLOAD_HTTP_5XX" Download Transient DownloadHttp5xx 502 (Policy) Download
        "The server had an error.",
        "We’ll retry under the download limit.",
        "Replay it when the server is well again.";
    DownloadHttp5xxPermanent "DOWNLOAD_HTTP_5XX_PERMANENT" Download Permanent DownloadHttp5xx 502 (None) Download
        "The server cannot answer this request (501, 505 or another 5xx that does not pass).",
        "We do not retry.",
        "Check the address.";
    DownloadBusy "DOWNLOAD_BUSY" Download Transient DownloadHttp5xx 502 (Policy) Download
        "The server is busy and said when to come again.",
        "We’ll retry then, under the download limit.",
        "Nothing for now.";
    DownloadBadResponse "DOWNLOAD_BAD_RESPONSE" Download Transient DownloadHttp5xx 502 (Policy) Download
        "The server’s answer could not be understood.",
        "We’ll retry under the download limit; nothing of it is kept.",
        "Check what is at the address; replay it when the server is well again.";
    DownloadRateLimited "DOWNLOAD_RATE_LIMITED" Download Throttled DownloadRateLimited 502 (Policy) Download
        "The server asked us to slow down.",
        "Its whole host waits as long as it asked; no attempt is lost.",
        "Nothing for now; lower the rate for this host if it stays.";
    DownloadDns "DOWNLOAD_DNS" Download Transient DownloadDns 502 (Policy) Download
        "The server’s name could not be looked up.",
        "We’ll retry under the download limit.",
        "Check the name and the machine’s DNS.";
    DownloadDnsNxdomain "DOWNLOAD_DNS_NXDOMAIN" Download Transient DownloadDns 502 (AtMost(1)) Download
        "There is no server of this name.",
        "We try once more, then give up.",
        "Check the spelling of the address.";
    DownloadConnect "DOWNLOAD_CONNECT" Download Transient DownloadConnect 502 (Policy) Download
        "No connection to the server.",
        "We’ll retry under the download limit.",
        "Check that the server is up, then replay it.";
    DownloadTls "DOWNLOAD_TLS" Download Permanent DownloadTls 502 (None) Download
        "The server’s certificate or encryption is not acceptable.",
        "We do not retry and do not weaken the check.",
        "Ask the server’s owner to mend its certificate.";
    DownloadTruncated "DOWNLOAD_TRUNCATED" Download Transient DownloadTruncated 502 (Policy) Download
        "The download broke off.",
        "We go on where it stopped, under the download limit.",
        "Nothing for now.";
    DownloadTooLarge "DOWNLOAD_TOO_LARGE" Download Permanent DownloadTooLarge 502 (None) Download
        "The resource is larger than allowed.",
        "Reading stopped at the limit; nothing is kept.",
        "Raise the limit if the size is right.";
    DownloadTooSlow "DOWNLOAD_TOO_SLOW" Download Transient DownloadTooSlow 504 (Policy) Download
        "The download was slower than the minimum.",
        "We’ll retry under the download limit.",
        "Try at another time or through another proxy.";
    DownloadChecksum "DOWNLOAD_CHECKSUM" Download Permanent DownloadChecksum 502 (None) Download
        "The content does not match the checksum in the manifest.",
        "It is not stored.",
        "Check the manifest, or ask the origin which content is right.";
    DownloadRedirectLoop "DOWNLOAD_REDIRECT_LOOP" Download Permanent DownloadRedirectLoop 502 (None) Download
        "The server sends us on again and again.",
        "We stop after five redirects.",
        "Put the final address into the manifest.";
    DownloadBlockedAddress "DOWNLOAD_BLOCKED_ADDRESS" Download Permanent DownloadBlockedAddress 502 (None) Download
        "The address is not allowed.",
        "No connection was made.",
        "Use a public address, or ask the operator about FETCH_ALLOW_PRIVATE.";
    DownloadProxyFailed "DOWNLOAD_PROXY_FAILED" Download Transient DownloadProxyExhausted 502 (Policy) Proxy
        "The proxy did not work.",
        "We try the next proxy; the download limit is not touched.",
        "Nothing for now.";
    DownloadProxyExhausted "DOWNLOAD_PROXY_EXHAUSTED" Download Throttled DownloadProxyExhausted 502 (Policy) Proxy
        "No proxy of the pool works.",
        "The pool is held and probed; its tasks wait.",
        "Check the proxies of this pool.";
    DownloadInvalidUrl "DOWNLOAD_INVALID_URL" Download Permanent DownloadInvalidUrl 400 (None) Download
        "The address is not a usable URL.",
        "We do not retry.",
        "Correct the address in the manifest.";

    // --- uploads and manifests ---------------------------------------------------------------------------------
    UploadS3Error "UPLOAD_S3_ERROR" Upload Transient UploadS3Error 502 (Policy) Storage
        "The object store had an error.",
        "We’ll retry the upload; the download is not repeated.",
        "Nothing for now.";
    UploadTimeout "UPLOAD_TIMEOUT" Upload Transient UploadTimeout 504 (Policy) Storage
        "The object store did not answer in time.",
        "We’ll retry the upload; the download is not repeated.",
        "Nothing for now.";
    UploadThrottled "UPLOAD_THROTTLED" Upload Throttled UploadThrottled 503 (Policy) Storage
        "The object store asked us to slow down.",
        "The bucket waits as long as it asked; no attempt is lost.",
        "Nothing for now.";
    UploadAccessDenied "UPLOAD_ACCESS_DENIED" Upload Permanent UploadAccessDenied 502 (None) Storage
        "The object store denies us access.",
        "We do not retry.",
        "Ask the operator to mend the credentials or the bucket’s policy, then replay.";
    UploadNoBucket "UPLOAD_NO_BUCKET" Upload Permanent UploadNoBucket 502 (None) Storage
        "The bucket does not exist.",
        "We do not retry.",
        "Create the bucket or correct its name, then replay.";
    UploadConflict "UPLOAD_CONFLICT" Upload Permanent UploadConflict 409 (None) Storage
        "Another object already has this name.",
        "It is not overwritten.",
        "Choose another prefix, or move the old object away.";
    UploadChecksum "UPLOAD_CHECKSUM" Upload Transient UploadChecksum 502 (Policy) Storage
        "The stored object does not match what we sent.",
        "It is removed and sent again.",
        "Nothing for now; tell the operator if it stays.";
    StorageUnavailable "STORAGE_UNAVAILABLE" Storage Transient StorageUnavailable 503 (Policy) Storage
        "Storage cannot be reached.",
        "We’ll retry.",
        "Try again in a moment.";
    StorageAccessDenied "STORAGE_ACCESS_DENIED" Storage Permanent StorageAccessDenied 502 (None) Storage
        "Storage denies us access.",
        "We do not retry.",
        "Ask the operator to mend the credentials.";
    StorageManifestMissing "STORAGE_MANIFEST_MISSING" Storage Permanent StorageManifestMissing 404 (None) Storage
        "The manifest of this job is gone.",
        "We do not retry without it.",
        "Submit the manifest again.";
    StorageManifestInvalid "STORAGE_MANIFEST_INVALID" Storage Permanent StorageManifestInvalid 422 (None) Storage
        "The stored manifest cannot be read.",
        "We do not retry.",
        "Submit the manifest again.";

    // --- code that users plug in -------------------------------------------------------------------------------
    HandlerFailed "HANDLER_FAILED" Handler Permanent HandlerFailed 500 (None) Attempts
        "A custom step failed.",
        "The job goes to the dead letters at once.",
        "Mend the step, then replay.";
    HandlerRefused "HANDLER_REFUSED" Handler Permanent HandlerRefused 422 (None) Attempts
        "A custom step refused this item.",
        "We do not retry.",
        "Read the step’s reason; change the item or the step.";
    HandlerTimeout "HANDLER_TIMEOUT" Handler Permanent HandlerTimeout 504 (None) Attempts
        "A custom step took too long.",
        "It was stopped; the job goes to the dead letters.",
        "Make the step faster or raise its limit, then replay.";

    // --- the engine itself -------------------------------------------------------------------------------------
    TargetUnreachable "TARGET_UNREACHABLE" Handler Transient TargetUnreachable 503 (Policy) Attempts
        "A system this job depends on does not answer.",
        "We’ll retry; while it stays silent, such jobs wait.",
        "Nothing for now.";
    TargetError "TARGET_ERROR" Handler Transient TargetError 502 (Policy) Attempts
        "A system this job depends on answered with an error of its own.",
        "We’ll retry; while it goes on, such jobs wait.",
        "Nothing for now.";
    TargetBusy "TARGET_BUSY" Handler Transient TargetBusy 503 (Policy) Attempts
        "A system this job depends on is busy.",
        "We’ll retry when it asked us to.",
        "Nothing for now.";
    TargetThrottled "TARGET_THROTTLED" Handler Throttled TargetThrottled 503 (Policy) Attempts
        "A system this job depends on asked for time.",
        "We wait as long as it asked, and use up no attempt.",
        "Nothing for now.";
    SystemPanic "SYSTEM_PANIC" System Transient Unknown 500 (Policy) Attempts
        "The code that ran this job hit a bug.",
        "We’ll retry; other jobs are not affected.",
        "Tell the operator the job’s id.";
    SystemTimeout "SYSTEM_TIMEOUT" System Transient Unknown 504 (Policy) Attempts
        "The attempt ran longer than an attempt may.",
        "It was stopped; we’ll retry.",
        "If it stays failed, tell the operator the job’s id.";
    Cancelled "CANCELLED" System Permanent Cancelled 409 (None) Attempts
        "Somebody stopped it.",
        "Nothing more is done with it; what was handed in is kept.",
        "Start it again if that was not meant.";
    SystemWorkerLost "SYSTEM_WORKER_LOST" System Crash Unknown 500 (Policy) Attempts
        "The process that ran this job ended unexpectedly.",
        "The job runs again; after a second crash it runs alone.",
        "Nothing for now.";
    SystemLeaseLost "SYSTEM_LEASE_LOST" System Transient Unknown 500 (Policy) Attempts
        "The worker lost its right to this job in the middle.",
        "Its result is refused; the job runs again.",
        "Nothing for now.";
    SystemInterrupted "SYSTEM_INTERRUPTED" System Transient Unknown 500 (Policy) Attempts
        "Workers were stopped again and again while this job ran.",
        "We stop trying.",
        "Run it again when the system is quiet.";
    SystemQuarantined "SYSTEM_QUARANTINED" System Permanent Unknown 500 (None) Attempts
        "This job ends the process that runs it, even when it runs alone.",
        "It is kept aside so that it cannot harm others.",
        "Tell the operator the job’s id.";
    SystemUndecodable "SYSTEM_UNDECODABLE" System Permanent Unknown 422 (None) Attempts
        "The job’s input cannot be read by this version.",
        "It is kept as it is.",
        "Replay it with a version that knows it.";
    SystemDeadline "SYSTEM_DEADLINE" System Permanent Unknown 504 (None) Attempts
        "The job was not finished before its deadline.",
        "We stop trying.",
        "Replay it if it is still wanted.";
    SystemThrottledTooLong "SYSTEM_THROTTLED_TOO_LONG" System Permanent Unknown 503 (None) Attempts
        "The other side asked us to wait for more than a day.",
        "We stop waiting.",
        "Talk to whoever runs the other side, then replay.";
    SystemBreakerOpen "SYSTEM_BREAKER_OPEN" System Transient SystemBreakerOpen 503 (Policy) Attempts
        "A dependency is down, and this system is set to fail fast.",
        "The job was not tried.",
        "Replay it when the dependency is back.";
    SystemGivenUp "SYSTEM_GIVEN_UP" System Permanent SystemGivenUp 409 (None) Attempts
        "An operator gave this job up.",
        "It stays among the dead letters.",
        "Ask the operator, or replay it.";
    SystemUnavailable "SYSTEM_UNAVAILABLE" System Request SystemUnavailable 503 (None) Attempts
        "The service cannot reach its database.",
        "Nothing was accepted.",
        "Try again in a moment.";
    SystemInternal "SYSTEM_INTERNAL" System Request SystemInternal 500 (None) Attempts
        "The service hit a bug while answering.",
        "It is logged with the request’s id.",
        "Try again; if it stays, tell the operator the request’s id.";

    // --- validation --------------------------------------------------------------------------------------------
    ValidationMissingField "VALIDATION_MISSING_FIELD" Validation Permanent ValidationMissingField 400 (None) Attempts
        "A required field is missing.",
        "Nothing was accepted.",
        "Add the field named in the detail.";
    ValidationInvalidField "VALIDATION_INVALID_FIELD" Validation Permanent ValidationInvalidField 400 (None) Attempts
        "A field has a value that is not allowed.",
        "Nothing was accepted.",
        "Correct the field named in the detail.";
    ValidationUnknownField "VALIDATION_UNKNOWN_FIELD" Validation Permanent ValidationUnknownField 400 (None) Attempts
        "There is a field that nobody knows.",
        "Nothing was accepted.",
        "Remove it, or correct its spelling.";
    ValidationMalformed "VALIDATION_MALFORMED" Validation Permanent ValidationMalformed 400 (None) Attempts
        "The request could not be read.",
        "Nothing was accepted.",
        "Check the syntax at the place named in the detail.";
    ValidationTooLarge "VALIDATION_TOO_LARGE" Validation Permanent ValidationTooLarge 413 (None) Attempts
        "The request or one of its parts is too large.",
        "Nothing was accepted.",
        "Make it smaller, or send it in parts.";
    ValidationTooMany "VALIDATION_TOO_MANY" Validation Permanent ValidationTooMany 413 (None) Attempts
        "There are more items than one request may have.",
        "Nothing was accepted.",
        "Send them in parts.";
    ValidationDuplicateId "VALIDATION_DUPLICATE_ID" Validation Permanent ValidationDuplicateId 400 (None) Attempts
        "Two items have the same id.",
        "Nothing was accepted.",
        "Give each item an id of its own.";
    ValidationUnknownMapping "VALIDATION_UNKNOWN_MAPPING" Validation Permanent ValidationUnknownMapping 400 (None) Attempts
        "There is no mapping of this name.",
        "The file was not accepted.",
        "Choose one of the mappings in the list.";
    ValidationUnsupportedVersion "VALIDATION_UNSUPPORTED_VERSION" Validation Permanent ValidationUnsupportedVersion 400 (None) Attempts
        "The manifest has a version we do not know.",
        "Nothing was accepted.",
        "Use manifest_version 1.";
    ValidationDestination "VALIDATION_DESTINATION" Validation Permanent ValidationDestination 400 (None) Attempts
        "The destination is not one that is allowed here.",
        "Nothing was accepted.",
        "Use a place under FETCH_TO, or ask the operator to list another.";
    ValidationCursor "VALIDATION_CURSOR" Validation Permanent ValidationCursor 400 (None) Attempts
        "The page cursor is not one of ours.",
        "Nothing was changed.",
        "Start from the first page.";
    ValidationFilterRequired "VALIDATION_FILTER_REQUIRED" Validation Permanent ValidationFilterRequired 400 (None) Attempts
        "An act on many jobs needs a filter.",
        "Nothing was changed.",
        "Say which ones, or say explicitly that you mean all.";

    // --- telling people ----------------------------------------------------------------------------------------
    MailUnavailable "MAIL_UNAVAILABLE" Notify Transient MailUnavailable 503 (Policy) Attempts
        "The mail server could not be reached, or asked us to come later.",
        "We’ll retry; nothing counts as told before the server takes the mail.",
        "Nothing for now; if it stays, check SMTP_URL and the mail server.";
    MailRefused "MAIL_REFUSED" Notify Permanent MailRefused 502 (None) Attempts
        "The mail server refused the mail.",
        "This mail is not tried again; nothing in it counts as told.",
        "Check the recipient’s address and MAIL_FROM against what the server said.";
    MailAuth "MAIL_AUTH" Notify Permanent MailAuth 502 (None) Attempts
        "The mail server refused our user name or password.",
        "We do not retry until somebody changes the settings.",
        "Ask the operator to mend the user and the password in SMTP_URL.";
    MailTls "MAIL_TLS" Notify Permanent MailTls 502 (None) Attempts
        "The mail server’s certificate or encryption is not acceptable.",
        "We do not retry and do not weaken the check; no password and no mail was sent.",
        "Ask the operator to mend the certificate, or the scheme and the port in SMTP_URL.";

    // --- answers to requests -----------------------------------------------------------------------------------
    AuthRequired "AUTH_REQUIRED" Authorization Request AuthRequired 401 (None) Attempts
        "This needs an operator’s token.",
        "Nothing was changed.",
        "Sign in with the link that serve printed, or send a Bearer token.";
    AuthScope "AUTH_SCOPE" Authorization Request AuthScope 403 (None) Attempts
        "This token may not do that.",
        "Nothing was changed.",
        "Use a token with the scope named in the detail.";
    AuthCrossSite "AUTH_CROSS_SITE" Authorization Request AuthCrossSite 403 (None) Attempts
        "The request came from another site.",
        "Nothing was changed.",
        "Open the page itself and try there.";
    NotFound "NOT_FOUND" Request Request NotFound 404 (None) Attempts
        "There is nothing at this address.",
        "Nothing was changed.",
        "Check the id or the address.";
    MethodNotAllowed "METHOD_NOT_ALLOWED" Request Request MethodNotAllowed 405 (None) Attempts
        "This address does not take that method.",
        "Nothing was changed.",
        "Use one of the methods in the Allow header.";
    UnsupportedMediaType "UNSUPPORTED_MEDIA_TYPE" Request Request UnsupportedMediaType 415 (None) Attempts
        "The request’s content type or encoding is not taken here.",
        "Nothing was accepted.",
        "Use the type named in the API docs.";
    ConflictState "CONFLICT_STATE" Request Request ConflictState 409 (None) Attempts
        "That is not possible in the present state.",
        "Nothing was changed.",
        "Look at the job again; somebody may have been faster.";
    ConflictDuplicate "CONFLICT_DUPLICATE" Request Request ConflictDuplicate 409 (None) Attempts
        "A twin of this job is alive already.",
        "Nothing was changed.",
        "Use the job named in the answer.";
    IdempotencyMismatch "IDEMPOTENCY_MISMATCH" Request Request IdempotencyMismatch 422 (None) Attempts
        "This Idempotency-Key was used for another request.",
        "Nothing was accepted.",
        "Use a new key for a new request.";
    IdempotencyInFlight "IDEMPOTENCY_IN_FLIGHT" Request Request IdempotencyInFlight 409 (None) Attempts
        "A request with this Idempotency-Key is still being answered.",
        "Nothing was accepted twice.",
        "Try again in a moment with the same key.";
    RateLimited "RATE_LIMITED" Request Request RateLimited 429 (None) Attempts
        "Too many requests.",
        "Nothing was accepted.",
        "Wait as long as Retry-After says.";
    Overloaded "OVERLOADED" Request Request Overloaded 503 (None) Attempts
        "There is more work than this system may take on now.",
        "Nothing was accepted; what was accepted before goes on.",
        "Try again as Retry-After says.";
    RequestTimeout "REQUEST_TIMEOUT" Request Request RequestTimeout 408 (None) Attempts
        "The request arrived too slowly.",
        "Nothing was accepted.",
        "Check the connection and send it again.";
    AnswerTimeout "ANSWER_TIMEOUT" Request Request AnswerTimeout 503 (None) Attempts
        "The answer took longer than an answer may.",
        "We stopped looking; what was being written is finished.",
        "Look whether it was done, then ask again, or for less at a time.";
    EventsGone "EVENTS_GONE" Request Request EventsGone 410 (None) Attempts
        "The events you ask for are no longer kept.",
        "No gap is hidden.",
        "Read the present state, then follow from the newest event.";
}

impl Code {
    /// The row of this code.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        // Variants are numbered in the order of the table, which the macro writes from the same list.
        match REGISTRY.get(self as usize) {
            Some(entry) => entry,
            None => &FALLBACK,
        }
    }

    /// The code that a stored name stands for. A name that only a newer version knows is treated as `UNKNOWN`; the
    /// second value says that this happened, so that it can be shown.
    #[must_use]
    pub fn of_stored(name: &str) -> (Self, bool) {
        match Self::parse(name) {
            Some(code) => (code, true),
            None => (Self::Unknown, false),
        }
    }

    /// What people outside see in place of this code.
    #[must_use]
    pub fn public(self) -> Self {
        self.entry().public
    }

    /// Whether trying again could help at all.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        match self.class() {
            Class::Transient | Class::Throttled | Class::Environment | Class::Crash => true,
            Class::Permanent | Class::Request => false,
        }
    }

    /// The names of this code and of every inner code that shows as it, for filters.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        REGISTRY.iter().filter(|e| e.code == self || e.public == self).map(|e| e.name).collect()
    }

    /// What policy does with it.
    #[must_use]
    pub fn class(self) -> Class {
        self.entry().class
    }
}

const FALLBACK: Entry = Entry {
    code: Code::Unknown,
    name: "UNKNOWN",
    category: Category::System,
    class: Class::Transient,
    public: Code::Unknown,
    http_status: 500,
    retries: Retries::Policy,
    budget: Budget::Attempts,
    what_happened: "Something unexpected went wrong.",
    what_we_do: "We’ll retry.",
    what_you_can_do: "If it stays failed, tell the operator the job’s id.",
};

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("no failure code is called {name:?}")))
    }
}

#[cfg(test)]
mod tests;
