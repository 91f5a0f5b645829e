/**
 * #objects: object stores behind the port of #archive.
 *
 * For: a directory of this machine, or of a file server that is mounted on it.
 *
 * Not here: what the objects contain (#archive), and when a failed call is repeated: every call is made once.
 *
 * A store of another kind gets a file beside this one, and its client library has its home in this folder.
 *
 * Invariants:
 *   X6  An object in a directory is there whole, under its name, or not at all; also after a power loss.
 */
export { DirectoryStore } from './directory-store.ts';
