//! Verdicts and warnings on the page, with the runs they belong to, before any figure.

use std::fmt::Write;

use shingle_report::chart::escaped;
use shingle_result::{Report, Said, SaidKind};

use super::names::{Names, shown};

/// Most groups of runs whose verdicts are unfolded; the others are folded.
const OPEN_GROUPS: usize = 6;

pub(super) const STYLE: &str = "\
.said p{max-width:95ch}.said h3{font-size:1rem;margin:1rem 0 .2rem}\
.warning,.note{border-left:4px solid var(--line);padding:.1rem 0 .1rem .7rem}\
.warning{border-color:var(--no)}.warning b{color:var(--no)}";

/// The remarks on the same runs.
struct Group<'a> {
    compared: &'a [usize],
    said: Vec<&'a Said>,
}

/// Writes all remarks of `report`, group by group, if there are any.
pub(super) fn section(html: &mut String, report: &Report, names: &Names) {
    let mut groups: Vec<Group> = Vec::new();
    for said in &report.said {
        match groups.iter_mut().find(|group| group.compared == said.compared) {
            Some(group) => group.said.push(said),
            None => groups.push(Group { compared: &said.compared, said: vec![said] }),
        }
    }
    let left_out = report.sweep.iter().flat_map(|sweep| &sweep.left_out);
    if groups.is_empty() && left_out.clone().next().is_none() {
        return;
    }
    html.push_str("<section class=\"said\"><h2>In words</h2>");
    // Notes on the setup of all runs come first.
    let (notes, groups): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| group.compared.is_empty());
    notes
        .iter()
        .flat_map(|group| &group.said)
        .for_each(|said| sentence(html, said.kind, &said.text));
    left_out.for_each(|text| sentence(html, SaidKind::Note, text));
    let titled = groups.len() > 1;
    let (open, folded) = groups.split_at(groups.len().min(OPEN_GROUPS));
    open.iter().for_each(|group| show(html, group, names, titled));
    if !folded.is_empty() {
        let warned = |group: &&Group| group.said.iter().any(|said| said.kind == SaidKind::Warning);
        let _ = write!(
            html,
            "<details><summary>{} more, {} of them with warnings</summary>",
            folded.len(),
            folded.iter().filter(warned).count()
        );
        folded.iter().for_each(|group| show(html, group, names, titled));
        html.push_str("</details>");
    }
    html.push_str("</section>");
}

fn show(html: &mut String, group: &Group, names: &Names, titled: bool) {
    if titled {
        let _ = write!(html, "<h3>{}</h3>", escaped(&title(group.compared, names)));
    }
    group.said.iter().for_each(|said| sentence(html, said.kind, &said.text));
}

fn sentence(html: &mut String, kind: SaidKind, text: &str) {
    let (class, before) = match kind {
        SaidKind::Verdict => ("verdict", ""),
        SaidKind::Warning => ("warning", "<b>Take care:</b> "),
        SaidKind::Note => ("note", ""),
    };
    let _ = write!(html, "<p class=\"{class}\">{before}{}</p>", escaped(text));
}

/// Returns what the compared runs have in common, of the settings that differ between runs.
fn title(compared: &[usize], names: &Names) -> String {
    let of_all = |column: usize| -> Option<&str> {
        // A run without a cache belongs to each size, and has an empty value.
        let mut values = compared.iter().map(|&run| names.values[run][column].as_str());
        let mut named = values.by_ref().filter(|value| !value.is_empty());
        let first = named.next()?;
        named.all(|value| value == first).then_some(first)
    };
    let columns = names.columns.iter().enumerate().filter(|(_, column)| *column != "policy");
    let common: Vec<String> = columns
        .filter_map(|(at, column)| Some(format!("{column} {}", shown(column, of_all(at)?))))
        .collect();
    if common.is_empty() { "All runs".into() } else { common.join(", ") }
}
