//! Block traces in, requests out.
