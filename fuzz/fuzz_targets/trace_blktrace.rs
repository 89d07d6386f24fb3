//! Any bytes as the blktrace format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, Some("blktrace"), Some("*"));
    shingle_fuzz::read(bytes, Some("blktrace:D"), None);
});
