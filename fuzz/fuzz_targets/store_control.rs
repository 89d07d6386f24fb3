//! Any bytes as what an operator asks, and as what he is answered.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::store::control(bytes);
});
