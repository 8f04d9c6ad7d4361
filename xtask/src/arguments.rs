//! Command-line options: `--name value` and `--name`, in any order.

use crate::Failure;

/// The command line. Options are taken out one by one; [`Arguments::finish`] refuses what is left.
pub struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    /// Creates arguments from the words after the subcommand.
    pub fn new(words: impl Iterator<Item = String>) -> Arguments {
        Arguments { words: words.collect() }
    }

    /// Takes every value given as `--name value`, in order.
    pub fn values(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let mut values = Vec::new();
        while let Some(place) = self.words.iter().position(|word| word == name) {
            if place + 1 == self.words.len() {
                return Err(format!("{name} needs a value").into());
            }
            values.push(self.words.remove(place + 1));
            self.words.remove(place);
        }
        Ok(values)
    }

    /// Takes the value given as `--name value`, which may be given once.
    pub fn value(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let mut values = self.values(name)?;
        if values.len() > 1 {
            return Err(format!("{name} is given more than once").into());
        }
        Ok(values.pop())
    }

    /// Takes the flag `--name` and returns whether it was given.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() != before
    }

    /// Takes the next word that is not an option. Options with values must be taken first.
    pub fn word(&mut self) -> Option<String> {
        let place = self.words.iter().position(|word| !word.starts_with('-'))?;
        Some(self.words.remove(place))
    }

    /// Fails if any argument is left.
    pub fn finish(self) -> Result<(), Failure> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(format!("unknown argument {word:?}").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_taken_in_any_order() {
        let mut given = arguments("--arch sm_80 --cubin --arch sm_90 --out folder");
        assert_eq!(given.values("--arch").unwrap(), ["sm_80", "sm_90"]);
        assert_eq!(given.value("--out").unwrap().as_deref(), Some("folder"));
        assert!(given.flag("--cubin"));
        assert!(!given.flag("--cubin"));
        given.finish().unwrap();
    }

    #[test]
    fn words_are_what_options_leave() {
        let mut given = arguments("--target calls 60 --keep more");
        assert_eq!(given.value("--target").unwrap().as_deref(), Some("calls"));
        assert!(given.flag("--keep"));
        assert_eq!(
            [given.word(), given.word(), given.word()],
            [Some("60".into()), Some("more".into()), None]
        );
        given.finish().unwrap();
    }

    #[test]
    fn what_is_wrong_is_refused() {
        assert!(arguments("--out").value("--out").is_err());
        assert!(arguments("--out a --out b").value("--out").is_err());
        assert!(arguments("--other").finish().is_err());
    }
}
