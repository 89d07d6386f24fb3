//! Any bytes as a drive profile.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::profile::profile(bytes);
});
