/**
 * Strategic merge of a patch into a pod template, as the API server does it for `kubectl patch`: objects are merged,
 * null deletes, lists of objects with a merge key are merged by it, other lists are replaced. `$patch: delete` and
 * `$patch: replace` work in objects. Items that are new come last, so that a variable may refer to those of the node.
 */
type Members = Readonly<Record<string, unknown>>;

/** Merge keys of the lists in a pod template, by the name of the list. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  volumes: 'name',
  imagePullSecrets: 'name',
  resourceClaims: 'name',
  schedulingGates: 'name',
  ports: 'containerPort',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
};

const DIRECTIVE = '$patch';

export function merged(base: Members, patch: Members): Members {
  const { [DIRECTIVE]: directive, ...members } = patch;
  if (directive === 'replace') return members;
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(members)) {
    const found = Object.hasOwn(result, key) ? result[key] : undefined;
    if (value === null || isDeletion(value)) delete result[key];
    else if (isMembers(value)) result[key] = merged(isMembers(found) ? found : {}, value);
    else if (Array.isArray(value)) result[key] = mergedList(key, Array.isArray(found) ? found : [], value);
    else result[key] = value;
  }
  return result;
}

function mergedList(name: string, base: readonly unknown[], patch: readonly unknown[]): readonly unknown[] {
  const key = MERGE_KEYS[name];
  const isReplaced = patch.some(
    (item) => isMembers(item) && item[DIRECTIVE] === 'replace' && Object.keys(item).length === 1,
  );
  const items = patch.filter(isMembers);
  if (key === undefined || items.length < patch.length) return patch;
  if (isReplaced) return items.filter((item) => item[DIRECTIVE] !== 'replace');
  const isSame = (one: unknown, other: unknown): boolean =>
    isMembers(one) && isMembers(other) && one[key] === other[key];
  const kept = base.flatMap((found) => {
    const change = items.find((item) => isSame(item, found));
    if (change === undefined || !isMembers(found)) return [found];
    return isDeletion(change) ? [] : [merged(found, change)];
  });
  const added = items.filter((item) => !isDeletion(item) && !base.some((found) => isSame(item, found)));
  return [...kept, ...added.map((item) => merged({}, item))];
}

function isDeletion(value: unknown): boolean {
  return isMembers(value) && value[DIRECTIVE] === 'delete';
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
