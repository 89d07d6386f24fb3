//! Any text as the file of `store serve --config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    shingle::fuzzing::file(text);
});
