// File names of a simulated disk. A change is visible immediately, and durable once its directory is synced. After a
// power failure, a prefix of the unsynced changes survives.

type Names<Inode> = Map<string, Inode>;
type NameChange<Inode> = (names: Names<Inode>) => void;

export class FileNames<Inode> {
  readonly #live: Names<Inode>;
  #durable: Names<Inode>;
  #changes: NameChange<Inode>[] = [];

  constructor(live: Iterable<readonly [string, Inode]> = [], durable: Iterable<readonly [string, Inode]> = live) {
    this.#live = new Map(live);
    this.#durable = new Map(durable);
  }

  [Symbol.iterator](): IterableIterator<[string, Inode]> {
    return this.#live[Symbol.iterator]();
  }

  inodes(): IterableIterator<Inode> {
    return this.#live.values();
  }

  /** Number of changes that a power failure may lose. */
  get unsyncedCount(): number {
    return this.#changes.length;
  }

  inDirectory(directory: string): readonly string[] {
    return [...this.#live.keys()]
      .filter((path) => path.startsWith(`${directory}/`))
      .map((path) => path.slice(directory.length + 1));
  }

  has(path: string): boolean {
    return this.#live.has(path);
  }

  /** Throws like node:fs when the file does not exist. */
  inode(path: string): Inode {
    const inode = this.#live.get(path);
    if (inode === undefined) throw fileError('ENOENT', path);
    return inode;
  }

  /** File that the name refers to after a power failure. */
  durable(path: string): Inode | undefined {
    return this.#durable.get(path);
  }

  add(path: string, inode: Inode): void {
    this.#change((names) => names.set(path, inode));
  }

  rename(from: string, to: string): void {
    const inode = this.inode(from);
    this.#change((names) => {
      names.delete(from);
      names.set(to, inode);
    });
  }

  /** Loses a name immediately and durably, as a disk fault. */
  lose(path: string): void {
    this.#live.delete(path);
    this.#durable.delete(path);
  }

  /** Restores the name durably. */
  regain(path: string, inode: Inode): void {
    this.#live.set(path, inode);
    this.#durable.set(path, inode);
  }

  remove(path: string): void {
    this.inode(path);
    this.#change((names) => names.delete(path));
  }

  /** Moves everything in a directory to another one, as one change. */
  renameDirectory(from: string, to: string): void {
    this.#change((names) => {
      const moved = [...names].filter(([path]) => path.startsWith(`${from}/`));
      for (const [path, inode] of moved) {
        names.delete(path);
        names.set(`${to}${path.slice(from.length)}`, inode);
      }
    });
  }

  /** Removes everything in a directory, one file after the other. */
  removeDirectory(directory: string): void {
    for (const name of this.inDirectory(directory)) this.remove(`${directory}/${name}`);
  }

  sync(): void {
    this.#durable = new Map(this.#live);
    this.#changes = [];
  }

  /** Files after a power failure that the oldest `changes` changes survive. */
  surviving(changes: number): ReadonlyMap<string, Inode> {
    const names = new Map(this.#durable);
    for (const change of this.#changes.slice(0, changes)) change(names);
    return names;
  }

  /** Simulates a power failure. */
  keepOnly(changes: number): void {
    const names = this.surviving(changes);
    replaceAll(this.#live, names);
    this.sync();
  }

  /** The same names with copied files. All unsynced changes become one, which survives or not. */
  copied(copyOf: (inode: Inode) => Inode): FileNames<Inode> {
    const all = (names: Names<Inode>): Names<Inode> =>
      new Map([...names].map(([path, inode]) => [path, copyOf(inode)]));
    const copy = new FileNames(all(this.#live), all(this.#durable));
    copy.#changes = [(names): void => replaceAll(names, copy.#live)];
    return copy;
  }

  #change(change: NameChange<Inode>): void {
    change(this.#live);
    this.#changes.push(change);
  }
}

/** An error in the form of node:fs. */
export function fileError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: injected, '${path}'`), { code });
}

function replaceAll<Inode>(names: Names<Inode>, by: ReadonlyMap<string, Inode>): void {
  names.clear();
  for (const [path, inode] of by) names.set(path, inode);
}
