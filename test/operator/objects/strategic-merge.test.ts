// Goal: podTemplate is merged like a patch of `kubectl patch`. Method: a table of patches of one template.
import { describe, expect, it } from 'vitest';
import { merged } from '../../../operator/src/objects/strategic-merge.ts';

const CAIRN = { name: 'cairn', image: 'x', env: [{ name: 'A', value: '1' }], args: ['--a'] };
const BASE = {
  labels: { app: 'cairn' },
  securityContext: { runAsUser: 1, fsGroup: 1 },
  tolerations: [{ key: 'a' }],
  containers: [CAIRN],
  volumes: [{ name: 'tmp', emptyDir: {} }],
};
const OURS = { name: 'ours', secret: { secretName: 'ours' } };
const TAIL = { name: 'tail', image: 'y' };
const [A, B] = [
  { name: 'A', value: '1' },
  { name: 'B', value: '2' },
];

describe('a podTemplate', () => {
  it.each<readonly [string, object, object]>([
    ['nothing', {}, {}],
    ['a label', { labels: { team: 'shop' } }, { labels: { app: 'cairn', team: 'shop' } }],
    ['an object that is not there', { dnsConfig: { a: 1 } }, { dnsConfig: { a: 1 } }],
    ['null, which deletes a field', { securityContext: { runAsUser: null } }, { securityContext: { fsGroup: 1 } }],
    [
      'a directive that replaces an object',
      { securityContext: { $patch: 'replace', runAsUser: 2 } },
      { securityContext: { runAsUser: 2 } },
    ],
    ['a list without a merge key', { tolerations: [{ key: 'b' }] }, { tolerations: [{ key: 'b' }] }],
    [
      'a variable and arguments of the container, and a container beside it',
      { containers: [TAIL, { name: 'cairn', args: ['--b'], env: [B] }] },
      { containers: [{ ...CAIRN, args: ['--b'], env: [A, B] }, TAIL] },
    ],
    [
      'a volume that changes, and one that is deleted',
      { volumes: [{ name: 'tmp', $patch: 'delete' }, OURS] },
      { volumes: [OURS] },
    ],
    ['a directive that replaces a list', { volumes: [{ $patch: 'replace' }, OURS] }, { volumes: [OURS] }],
  ])('is merged with %s', (_name, patch, changed) => {
    expect(merged(BASE, { ...patch })).toEqual({ ...BASE, ...changed });
  });
});
