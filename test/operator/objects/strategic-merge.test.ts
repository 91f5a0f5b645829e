// Goal: podTemplate is merged as `kubectl patch` merges it. Method: a table of patches of one template.
import { describe, expect, it } from 'vitest';
import { merged } from '../../../operator/src/objects/strategic-merge.ts';

const BASE = {
  metadata: { labels: { app: 'cairn' } },
  spec: {
    securityContext: { runAsUser: 1, fsGroup: 1 },
    tolerations: [{ key: 'a' }],
    containers: [{ name: 'cairn', image: 'x', env: [{ name: 'A', value: '1' }], args: ['--a'] }],
    volumes: [{ name: 'tmp', emptyDir: {} }],
  },
};
const [CAIRN] = BASE.spec.containers;

describe('a podTemplate', () => {
  it.each<readonly [string, object, object]>([
    ['nothing', {}, {}],
    ['a label', { metadata: { labels: { team: 'shop' } } }, { metadata: { labels: { app: 'cairn', team: 'shop' } } }],
    ['an object that is not there', { spec: { dnsConfig: { a: 1 } } }, { spec: { ...BASE.spec, dnsConfig: { a: 1 } } }],
    [
      'null, which deletes a field',
      { spec: { securityContext: { runAsUser: null } } },
      { spec: { ...BASE.spec, securityContext: { fsGroup: 1 } } },
    ],
    [
      'a directive that replaces an object',
      { spec: { securityContext: { $patch: 'replace', runAsUser: 2 } } },
      { spec: { ...BASE.spec, securityContext: { runAsUser: 2 } } },
    ],
    [
      'a list without a merge key, which is replaced',
      { spec: { tolerations: [{ key: 'b' }] } },
      { spec: { ...BASE.spec, tolerations: [{ key: 'b' }] } },
    ],
    [
      'a variable and arguments of the container, and a container beside it',
      {
        spec: {
          containers: [
            { name: 'tail', image: 'y' },
            { name: 'cairn', args: ['--b'], env: [{ name: 'B', value: '2' }] },
          ],
        },
      },
      {
        spec: {
          ...BASE.spec,
          containers: [
            {
              ...CAIRN,
              args: ['--b'],
              env: [
                { name: 'A', value: '1' },
                { name: 'B', value: '2' },
              ],
            },
            { name: 'tail', image: 'y' },
          ],
        },
      },
    ],
    [
      'a volume that changes, and one that is deleted',
      {
        spec: {
          volumes: [
            { name: 'tmp', $patch: 'delete' },
            { name: 'ours', secret: { secretName: 'ours' } },
          ],
        },
      },
      { spec: { ...BASE.spec, volumes: [{ name: 'ours', secret: { secretName: 'ours' } }] } },
    ],
    [
      'a directive that replaces a list',
      { spec: { volumes: [{ $patch: 'replace' }, { name: 'a', emptyDir: {} }] } },
      { spec: { ...BASE.spec, volumes: [{ name: 'a', emptyDir: {} }] } },
    ],
  ])('is merged with %s', (_name, patch, changed) => {
    expect(merged(BASE, { ...patch })).toEqual({ ...BASE, ...changed });
  });
});
