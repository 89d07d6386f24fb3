//! Any bytes as the req format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, Some("req"), None);
});
