//! What the child may ask of the kernel: to read and write what is open, to have memory, to know the time, to end.
//!
//! Everything else is answered with "not permitted": no socket, no file, no program, no thread. An answer and not a kill, so
//! that a library that asks for something needless (such as the number of cores) goes on.

/// Takes the rest away, for ever. Says why where the kernel cannot.
#[cfg(target_os = "linux")]
pub(super) fn apply() -> Result<(), String> {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter_all_threads};

    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let rules = allowed().iter().map(|&call| (call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter =
        SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch).map_err(|error| error.to_string())?;
    let program = BpfProgram::try_from(filter).map_err(|error| error.to_string())?;
    apply_filter_all_threads(&program).map_err(|error| error.to_string())
}

/// The system calls of a program that computes.
#[cfg(target_os = "linux")]
fn allowed() -> &'static [i64] {
    &[
        // What is open already.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_pread64,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_pwrite64,
        libc::SYS_lseek,
        libc::SYS_fstat,
        libc::SYS_ftruncate,
        libc::SYS_close,
        // Memory.
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        // Time, chance, locks.
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        // To end, well or badly: `abort` sends a signal to its own thread.
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_tgkill,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ]
}

/// There is no such filter here.
#[cfg(not(target_os = "linux"))]
pub(super) fn apply() -> Result<(), String> {
    Err("this system has no seccomp".to_owned())
}
