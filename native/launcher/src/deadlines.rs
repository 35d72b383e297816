//! When what is due: the next moment, and a change of one, cost the logarithm of how many there are.

use std::collections::BTreeSet;
use std::time::Instant;

/// The moments at which sandboxes end by themselves, each under a sandbox's id at most once.
#[derive(Default)]
pub struct Deadlines(BTreeSet<(Instant, String)>);

impl Deadlines {
    /// Moves a sandbox from `old`, which must be what was said last, to `new`.
    pub fn set(&mut self, id: &str, old: Option<Instant>, new: Option<Instant>) {
        if old == new {
            return;
        }
        if let Some(at) = old {
            self.0.remove(&(at, id.to_string()));
        }
        if let Some(at) = new {
            self.0.insert((at, id.to_string()));
        }
    }

    /// The next one.
    pub fn next(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// The ids whose moment has come, earliest first. They stay until they are moved.
    pub fn due(&self, now: Instant) -> Vec<String> {
        self.0.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn tells_what_is_due_and_forgets_what_was_moved() {
        let start = Instant::now();
        let at = |seconds| Some(start + Duration::from_secs(seconds));
        let mut deadlines = Deadlines::default();
        assert_eq!(deadlines.next(), None);
        deadlines.set("a", None, at(2));
        deadlines.set("b", None, at(1));
        deadlines.set("c", None, at(1));
        assert_eq!(deadlines.next(), at(1));
        assert_eq!(deadlines.due(start + Duration::from_secs(1)), ["b", "c"]);
        deadlines.set("b", at(1), at(3));
        deadlines.set("c", at(1), None);
        assert_eq!(deadlines.due(start + Duration::from_secs(2)), ["a"]);
        deadlines.set("a", at(2), None);
        assert_eq!(deadlines.next(), at(3));
    }
}
