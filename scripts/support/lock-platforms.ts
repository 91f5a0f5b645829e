/**
 * Keeps package-lock.json whole for every platform.
 *
 * Tools that ship machine code name one optional package for each platform. npm leaves out of the lock file those that
 * the registry at hand does not carry, and `npm ci` then refuses the lock file everywhere. An entry needs only the
 * version (the parent pins it exactly) and the platform, which tells npm on whose machine to skip it.
 */

export interface LockEntry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly peer?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** `packages` of package-lock.json: from a path such as `node_modules/a/node_modules/b` to its entry. */
export type LockPackages = Readonly<Record<string, LockEntry>>;

const PLATFORM =
  /(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)-([a-z0-9]+)(?:-([a-z0-9]+))?$/;
const CPUS = new Map([
  ['aarch64', 'arm64'],
  ['armv7', 'arm'],
]);
const LIBCS = new Map([
  ['gnu', 'glibc'],
  ['gnueabihf', 'glibc'],
  ['musl', 'musl'],
  ['musleabihf', 'musl'],
]);

/** The optional packages that have no entry: from the path where their entry belongs to the entry. */
export function missingPlatforms(packages: LockPackages): ReadonlyMap<string, LockEntry> {
  const missing = new Map<string, LockEntry>();
  for (const [path, parent] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      if (!isResolved(packages, path, name)) missing.set(`node_modules/${name}`, platformEntry(parent, name, version));
    }
  }
  return missing;
}

/** The packages with the missing ones added, in npm's order. */
export function withPlatforms(packages: LockPackages): LockPackages {
  const all = [...Object.entries(packages), ...missingPlatforms(packages)];
  return Object.fromEntries(all.toSorted(([left], [right]) => left.localeCompare(right, 'en')));
}

// Node's own rule: the nearest node_modules on the way up.
function isResolved(packages: LockPackages, from: string, name: string): boolean {
  const parts = from.split('/node_modules/');
  const places = parts.map((_part, depth) => [...parts.slice(0, parts.length - depth), name].join('/node_modules/'));
  return [...places, `node_modules/${name}`].some((place) => place in packages);
}

function platformEntry(parent: LockEntry, name: string, version: string): LockEntry {
  const [, os, cpu, abi] = PLATFORM.exec(name) ?? [];
  if (os === undefined || cpu === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
    throw new Error(`${name}@${version} is optional, is not in package-lock.json, and does not name its platform`);
  }
  const libc = LIBCS.get(abi ?? '');
  return {
    version,
    cpu: [CPUS.get(cpu) ?? cpu],
    ...(parent.dev === true && { dev: true }),
    ...(libc !== undefined && os === 'linux' && { libc: [libc] }),
    optional: true,
    os: [os],
    ...(parent.peer === true && { peer: true }),
  };
}
