/**
 * #storage: the disk. Everything of Cairn that must outlive the process passes through here.
 *
 * For: LevelDB as the kv port, for the applied state and the committed log of every database.
 *
 * Not here: what the rows mean (#database) and when they are written (#cluster).
 */
export { type LevelStore, type LevelStoreOptions, openLevelStore } from './level-store.ts';
