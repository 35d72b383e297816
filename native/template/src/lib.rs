//! The root file system made from the host's own /usr.
