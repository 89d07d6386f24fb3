//! Any bytes as the native format: as they are, and with checksums that are right.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, Some("native"), None);
    shingle_fuzz::read(&shingle_fuzz::sealed(bytes), Some("native"), None);
});
