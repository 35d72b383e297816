//! Seccomp lists as classic BPF, made at build time.
