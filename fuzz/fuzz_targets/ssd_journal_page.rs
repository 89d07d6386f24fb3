//! Any bytes as a page of the journal: as they are, and sealed.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::pages::journal_page(bytes);
});
