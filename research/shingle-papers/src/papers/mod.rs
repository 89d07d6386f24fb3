//! The papers: one module, and one line in [`ALL`], for each.

mod amphisbaena;
mod bare;
mod compare;
mod mcm;
pub mod metrics;
mod pore;
mod roco;
mod rows;
mod sac;
mod written;

use shingle_core::params::nearest;

use crate::experiment::{Figure, Paper};

/// All papers that can be reproduced.
pub const ALL: &[&Paper] =
    &[&sac::PAPER, &pore::PAPER, &roco::PAPER, &amphisbaena::PAPER, &mcm::PAPER];

/// Finds the paper called `name`.
///
/// # Errors
/// If there is none. The message lists all papers.
pub fn named(name: &str) -> Result<&'static Paper, String> {
    ALL.iter().copied().find(|paper| paper.name == name).ok_or_else(|| {
        let names = nearest(name, ALL.iter().map(|paper| paper.name)).join(", ");
        format!(
            "there is no paper `{name}`; there are {names} (and `own`, the policy of this project)"
        )
    })
}

impl Paper {
    /// Finds the figure with this identifier; also accepts `fig14`, `Figure 14` and `table5`.
    ///
    /// # Errors
    /// If there is none. The message lists all figures.
    pub fn figure(&self, id: &str) -> Result<&'static Figure, String> {
        let plain = |text: &str| {
            let text = text.to_lowercase().replace([' ', '-', '.'], "");
            text.trim_start_matches("figure").trim_start_matches("fig").to_owned()
        };
        self.figures.iter().find(|figure| plain(figure.id) == plain(id)).ok_or_else(|| {
            let ids: Vec<&str> = self.figures.iter().map(|figure| figure.id).collect();
            format!("{} has no figure `{id}` here; there are {}", self.name, ids.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn papers_and_figures_are_found_by_several_spellings() {
        let sac = named("sac").expect("it is listed");
        for id in ["14", "fig14", "Figure 14", "fig. 14"] {
            assert_eq!(sac.figure(id).map(|figure| figure.id), Ok("14"), "{id}");
        }
        for id in ["table-5", "table5", "Table 5"] {
            assert_eq!(sac.figure(id).map(|figure| figure.id), Ok("table-5"), "{id}");
        }
        assert!(named("sca").unwrap_err().contains("there are sac"));
        assert!(sac.figure("99").unwrap_err().contains("13"));
    }

    #[test]
    fn every_statement_says_where_it_is_from() {
        for paper in ALL {
            let ids: BTreeSet<&str> = paper.figures.iter().map(|figure| figure.id).collect();
            assert_eq!(ids.len(), paper.figures.len(), "{} has a figure twice", paper.name);
            for figure in paper.figures {
                assert!(!figure.rows.is_empty(), "{} {}", paper.name, figure.id);
                for row in figure.rows {
                    assert!(!row.says.is_empty(), "{} {}", paper.name, figure.id);
                    assert!(row.at.contains(['§', 'T', 'F']), "{} {}", paper.name, row.says);
                }
            }
        }
    }
}
