//! Any edits of the SSD of a small cache, which is then recovered and begun.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::pages::recovery(bytes);
});
