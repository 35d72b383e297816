//! The folders of a watch. Each knows the folder that it lies in and its own name, so that a rename of one folder moves all
//! beneath it, and memory is bounded by the number of folders.

use std::collections::{BTreeMap, BTreeSet};

/// Folders deeper than this are not looked at.
pub const MAX_DEPTH: usize = 256;
/// Longer paths cannot be told.
const MAX_PATH: usize = 4096;

struct Folder {
    parent: i32,
    name: Box<[u8]>,
}

/// Folders by the kernel's number of their watch.
#[derive(Default)]
pub struct Tree {
    root: i32,
    folders: BTreeMap<i32, Folder>,
}

impl Tree {
    /// Names the watched folder itself.
    pub fn set_root(&mut self, root: i32) {
        self.root = root;
    }

    /// The number of the watched folder itself.
    pub fn root(&self) -> i32 {
        self.root
    }

    /// Takes out all folders but the root.
    pub fn clear(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.folders).into_keys().collect()
    }

    /// Folders in it, without the root.
    pub fn len(&self) -> usize {
        self.folders.len()
    }

    /// Adds a folder, or moves one that was there.
    pub fn put(&mut self, number: i32, parent: i32, name: &[u8]) {
        if number != self.root {
            self.folders.insert(number, Folder { parent, name: name.into() });
        }
    }

    /// Forgets one; what lies beneath it has no path from now on.
    pub fn remove(&mut self, number: i32) {
        self.folders.remove(&number);
    }

    /// The folder `name` in `parent`.
    pub fn find(&self, parent: i32, name: &[u8]) -> Option<i32> {
        self.folders
            .iter()
            .find(|(_, folder)| folder.parent == parent && *folder.name == *name)
            .map(|(number, _)| *number)
    }

    /// Path of `name` in the folder `number`, relative to the root; `None` when the folder is not, or too far, beneath it.
    pub fn path(&self, number: i32, name: &[u8]) -> Option<Vec<u8>> {
        let mut parts = vec![name];
        let mut at = number;
        while at != self.root {
            let folder = self.folders.get(&at).filter(|_| parts.len() <= MAX_DEPTH)?;
            parts.push(&folder.name);
            at = folder.parent;
        }
        parts.reverse();
        let mut path = parts.join(&b'/');
        if name.is_empty() {
            path.pop();
        }
        (path.len() < MAX_PATH).then_some(path)
    }

    /// Takes out every folder that lies in `lost` or beneath one of them.
    pub fn prune(&mut self, lost: &BTreeSet<i32>) -> Vec<i32> {
        let gone: Vec<i32> = self.folders.keys().copied().filter(|number| self.lies_in(*number, lost)).collect();
        for number in &gone {
            self.folders.remove(number);
        }
        gone
    }

    fn lies_in(&self, number: i32, lost: &BTreeSet<i32>) -> bool {
        let mut at = number;
        for _ in 0..=MAX_DEPTH {
            if at == self.root {
                return false;
            }
            if lost.contains(&at) {
                return true;
            }
            let Some(folder) = self.folders.get(&at) else { return true };
            at = folder.parent;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.set_root(1);
        tree.put(2, 1, b"a");
        tree.put(3, 2, b"b");
        tree
    }

    #[test]
    fn a_moved_folder_takes_along_what_lies_beneath_it() {
        let mut tree = tree();
        assert_eq!(tree.path(3, b"f").unwrap(), b"a/b/f");
        assert_eq!(tree.path(3, b"").unwrap(), b"a/b");
        assert_eq!(tree.path(1, b"").unwrap(), b"");
        tree.put(2, 1, b"c");
        assert_eq!(tree.path(3, b"f").unwrap(), b"c/b/f");
        assert_eq!(tree.find(2, b"b"), Some(3));
    }

    #[test]
    fn a_lost_folder_is_taken_out_with_what_lies_beneath_it() {
        let mut tree = tree();
        tree.put(4, 1, b"stays");
        assert_eq!(tree.prune(&BTreeSet::from([2])), [2, 3]);
        assert_eq!(tree.len(), 1);
        assert_eq!(tree.path(3, b"f"), None);
    }

    #[test]
    fn folders_in_a_circle_have_no_path() {
        let mut tree = tree();
        tree.put(2, 3, b"a");
        assert_eq!(tree.path(3, b"f"), None);
        assert_eq!(tree.prune(&BTreeSet::new()), [2, 3]);
    }
}
