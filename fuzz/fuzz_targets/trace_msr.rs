//! Any bytes as the msr format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, Some("msr"), None);
});
