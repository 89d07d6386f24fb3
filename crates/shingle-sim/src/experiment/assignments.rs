//! Settings `OWNER.NAME=VALUE`: parsing, and lookup by owner.

/// A setting of one parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// `policy`, `translation`, `cache`, `drive`, `ssd`, or the name of a policy or translation.
    pub owner: String,
    /// Name of the parameter.
    pub name: String,
    /// The value, as written.
    pub value: String,
}

impl Assignment {
    /// Creates a setting from `OWNER.NAME` and a value.
    ///
    /// # Errors
    /// If the key names no owner: a line that says how to write it.
    pub fn new(key: &str, value: &str) -> Result<Assignment, String> {
        let Some((owner, name)) = key.split_once('.') else {
            return Err(format!(
                "--set {key}={value}: it does not say what `{key}` is a parameter of; write OWNER.{key}, where OWNER is policy, \
                 translation, cache, drive, ssd or the name of a policy or translation"
            ));
        };
        Ok(Assignment { owner: owner.into(), name: name.into(), value: value.into() })
    }

    /// Parses `OWNER.NAME=VALUE`.
    ///
    /// # Errors
    /// If the text has another form, in one line.
    pub fn parse(text: &str) -> Result<Assignment, String> {
        let (key, value) =
            text.split_once('=').ok_or("write OWNER.NAME=VALUE, as in sac.rule2=off")?;
        Assignment::new(key.trim(), value.trim())
    }

    /// Returns `OWNER.NAME`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}.{}", self.owner, self.name)
    }
}

/// All settings. Of several for one parameter the last counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assignments(Vec<Assignment>);

impl Assignments {
    /// Adds a setting.
    pub fn push(&mut self, assignment: Assignment) {
        self.0.push(assignment);
    }

    /// Keeps those for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&Assignment) -> bool) {
        self.0.retain(keep);
    }

    /// Returns all settings, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Assignment> {
        self.0.iter()
    }

    /// Returns name and value of each setting of `owner`.
    pub fn of<'a>(&'a self, owner: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        let own = self.0.iter().filter(move |set| set.owner == owner);
        own.map(|set| (set.name.as_str(), set.value.as_str()))
    }

    /// Returns the value in effect of a parameter of `owner`.
    #[must_use]
    pub fn last(&self, owner: &str, name: &str) -> Option<&str> {
        let is = |set: &&Assignment| set.owner == owner && set.name == name;
        self.0.iter().rfind(is).map(|set| set.value.as_str())
    }
}

impl FromIterator<Assignment> for Assignments {
    fn from_iter<I: IntoIterator<Item = Assignment>>(all: I) -> Assignments {
        Assignments(all.into_iter().collect())
    }
}

impl Extend<Assignment> for Assignments {
    fn extend<I: IntoIterator<Item = Assignment>>(&mut self, more: I) {
        self.0.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equals_counts_and_owners_are_apart() {
        let sets = ["drive.pb=1G", "sac.zone=40M", "drive.pb = real", "drive.extents=7"];
        let all: Assignments =
            sets.iter().map(|text| Assignment::parse(text).expect("an assignment")).collect();
        assert_eq!((all.last("drive", "pb"), all.last("ssd", "pb")), (Some("real"), None));
        let drive: Vec<_> = all.of("drive").collect();
        assert_eq!(drive, [("pb", "1G"), ("pb", "real"), ("extents", "7")]);
        assert_eq!(all.iter().next().expect("four").key(), "drive.pb");
    }

    #[test]
    fn what_names_no_owner_says_how_to() {
        for (text, told) in
            [("zone=40M", "write OWNER.zone"), ("sac.zone", "write OWNER.NAME=VALUE")]
        {
            let error = Assignment::parse(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
