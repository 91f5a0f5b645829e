// Goal: the files of a ConfigMap in a pod change all at once, and only when the ConfigMap has changed. Method: a
// stub of the API server has the ConfigMap; the test reads the folder of the volume as a container does.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { reply, startApiServer } from '../operator/kube/api-server.ts';
import { testDir } from '../support/test-scope.ts';
import { mountVolumes } from './kubelet/volumes.ts';
import type { Pod } from './objects.ts';

const POD: Pod = {
  metadata: { name: 'pod', namespace: 'default', uid: 'pod', resourceVersion: '1', labels: { zone: 'a' } },
  spec: {
    containers: [],
    volumes: [
      {
        name: 'all',
        projected: {
          sources: [
            { configMap: { name: 'settings' } },
            { downwardAPI: { items: [{ path: 'pod/zone', fieldRef: { fieldPath: "metadata.labels['zone']" } }] } },
          ],
        },
      },
    ],
  },
  status: {},
};

it('a projected volume is replaced as a whole when its object has changed', async () => {
  let data: Record<string, string> = { level: 'info', old: 'yes' };
  const api = await startApiServer(({ path }, response) => {
    if (path.endsWith('/configmaps/settings')) reply(response, { data });
    else reply(response, { message: 'not found' }, 404);
  });
  const dir = testDir();
  const referrer = { api, pod: POD };
  const volumes = await mountVolumes(referrer, dir);
  const root = volumes.get('all') ?? '';
  const before = readlinkSync(join(root, '..data'));
  expect(readdirSync(root).filter((name) => !name.startsWith('..'))).toEqual(['level', 'old', 'pod']);
  expect(readFileSync(join(root, 'pod/zone'), 'utf8')).toBe('a');

  await mountVolumes(referrer, dir);
  expect(readlinkSync(join(root, '..data'))).toBe(before);

  data = { level: 'debug' };
  await mountVolumes(referrer, dir);
  expect(readlinkSync(join(root, '..data'))).not.toBe(before);
  expect(readFileSync(join(root, 'level'), 'utf8')).toBe('debug');
  expect(readdirSync(root).filter((name) => !name.startsWith('..'))).toEqual(['level', 'pod']);
  expect(readdirSync(root)).not.toContain(before);
});
