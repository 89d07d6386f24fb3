//! The frame of a page: one file that loads nothing from elsewhere, light, dark or for paper as the
//! reader prefers.

use std::borrow::Cow;
use std::fmt::Write;

use crate::chart::escaped;

/// How a page was made.
#[derive(Clone, Debug)]
pub struct Making {
    /// The command that makes the page again.
    pub command: String,
    /// Version of the program.
    pub version: Cow<'static, str>,
}

/// Returns a page from its `<!DOCTYPE>` to its first heading. `style` follows [`STYLE`].
#[must_use]
pub fn head(title: &str, style: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_POLICY}\">\
         <link rel=\"icon\" href=\"data:,\">\
         <title>{title}</title><style>{STYLE}{style}</style></head><body><main>\
         <h1>{title}</h1>"
    )
}

/// Appends the end of a page.
pub fn foot(html: &mut String, making: &Making) {
    let _ = writeln!(
        html,
        "<footer><p>Made by <code>{}</code>, shingle {}.</p></footer></main></body></html>",
        escaped(&making.command),
        making.version
    );
}

/// The content security policy: a page may load nothing that is not in it.
const CONTENT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The style of every page.
pub const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1c1e;--paper:#fff;--line:#d7d7db;--soft:#f4f4f6;\
--yes:#0a7d4f;--no:#b3261e}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e9;--paper:#17181a;--line:#3a3b40;\
--soft:#212226;--yes:#5fd3a2;--no:#ff8a80}}\
body{margin:0;background:var(--paper);color:var(--ink);\
font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif}\
main{max-width:1320px;margin:0 auto;padding:1.5rem}\
h1{font-size:1.7rem;margin:.2rem 0}h2{font-size:1.2rem;margin:2.2rem 0 .4rem}\
p{max-width:80ch;margin:.4rem 0}.citation{font-style:italic}\
a{color:inherit}code{background:var(--soft);padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}\
section{border-top:1px solid var(--line);margin-top:1.5rem}\
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:.8rem}\
figure{margin:.4rem 0;max-width:640px}svg{display:block;height:auto}\
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.6rem 0;font-size:.92em}\
th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top}\
th{background:var(--soft)}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
.yes{color:var(--yes)}.no{color:var(--no)}.why{color:var(--ink);max-width:50ch;font-size:.92em}\
.matrix td:first-child{max-width:42ch}.matrix td{white-space:nowrap}\
.matrix td:first-child{white-space:normal}\
details{margin:.4rem 0}summary{cursor:pointer}footer{margin-top:2rem;font-size:.9em}h1{overflow-wrap:anywhere}\
@media(max-width:620px){.pictures{grid-template-columns:minmax(0,1fr)}\
figure{overflow-x:auto}figure svg{min-width:560px}}\
@media print{main{max-width:none}details{display:none}section{break-inside:avoid-page}}";
