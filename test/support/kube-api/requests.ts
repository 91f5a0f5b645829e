// Records what the operator requests of Kubernetes in its tests, for a comparison with its rights
// (test/operator/process/rights.long.test.ts). The file is named by TEST_REQUESTS; without it nothing is recorded.
import { appendFileSync } from 'node:fs';

const PATH = /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/[^/]+)?\/([^/]+)(?:\/([^/]+))?(\/status)?$/;
const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
const seen = new Set<string>();

/** A request as Kubernetes authorizes it. `exists`: whether the object exists, which an apply creates otherwise. */
export function recordRequest(method: string, path: string, exists: boolean): void {
  const { TEST_REQUESTS: file } = process.env;
  if (file === undefined) return;
  const { pathname, searchParams } = new URL(path, 'https://kubernetes');
  const [, group = '', plural = '', name, status = ''] = PATH.exec(pathname) ?? [];
  // Discovery.
  if (plural === '') return;
  const read = searchParams.has('watch') ? 'watch' : name === undefined ? 'list' : 'get';
  const verb = VERBS[method] ?? read;
  const isCreated = verb === 'patch' && searchParams.has('fieldManager') && status === '' && !exists;
  for (const each of isCreated ? ['create', 'patch'] : [verb]) note(file, `${group} ${plural}${status} ${each}`);
}

function note(file: string, line: string): void {
  if (seen.has(line)) return;
  seen.add(line);
  appendFileSync(file, `${line}\n`);
}
