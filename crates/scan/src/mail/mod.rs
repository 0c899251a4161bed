//! Mail: bytes of an archive in, messages, classes, threads and patch series out.
