//! Errors of the local disk, told apart.

use std::io;

use rustix::io::Errno;

use crate::error::{Act, BlobError, Place};

/// An error of a plain file operation.
pub(crate) fn io(act: Act, what: &str, error: io::Error) -> BlobError {
    match Errno::from_io_error(&error) {
        Some(errno) => folder(act, what, errno),
        None => BlobError::Io { reason: what.to_owned(), source: Some(error) },
    }
}

/// An error of a call below a folder. Not-found is the caller's to recognise: only it knows which key is meant.
pub(crate) fn folder(act: Act, what: &str, errno: Errno) -> BlobError {
    match errno {
        Errno::NOSPC | Errno::DQUOT => BlobError::Full,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => BlobError::Denied {
            act,
            place: Place::Folder,
            reason: format!("{what}: {}", io::Error::from(errno)),
        },
        Errno::LOOP => linked(act, what),
        _ => BlobError::Io { reason: what.to_owned(), source: Some(errno.into()) },
    }
}

/// A link stands in the way. It is never followed.
pub(crate) fn linked(act: Act, what: &str) -> BlobError {
    BlobError::Denied { act, place: Place::Folder, reason: format!("{what}: a link stands in the way") }
}

#[cfg(test)]
mod tests {
    use redrive_model::Code;

    use super::*;

    #[test]
    fn disk_errors_are_told_apart() {
        for (errno, code) in [
            (Errno::NOSPC, Code::DiskFull),
            (Errno::DQUOT, Code::DiskFull),
            (Errno::ACCESS, Code::StorageAccessDenied),
            (Errno::ROFS, Code::StorageAccessDenied),
            (Errno::LOOP, Code::StorageAccessDenied),
            (Errno::IO, Code::IoError),
            (Errno::NOENT, Code::IoError),
        ] {
            assert_eq!(folder(Act::Put, "x", errno).code(), code, "{errno:?}");
            assert_eq!(io(Act::Put, "x", errno.into()).code(), code, "{errno:?}");
        }
        assert_eq!(io(Act::Put, "x", io::Error::other("odd")).code(), Code::IoError);
    }
}
