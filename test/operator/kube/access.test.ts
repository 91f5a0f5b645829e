// Goal: the operator finds its API server in a pod and by a kubeconfig file, and uses the current token. Method: the
// files that Kubernetes and kubectl write.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { accessOfFile, defaultAccess } from '../../../operator/src/kube/access.ts';
import { testDir } from '../../support/test-scope.ts';

const IN_POD = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };

function fileWith(user: object, cluster: object = {}): string {
  const path = join(testDir(), 'kubeconfig');
  const config = {
    'current-context': 'ours',
    contexts: [
      { name: 'other', context: { cluster: 'other', user: 'other' } },
      { name: 'ours', context: { cluster: 'west', user: 'ada' } },
    ],
    clusters: [{ name: 'west', cluster: { server: 'https://west.example', ...cluster } }],
    users: [{ name: 'ada', user }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

it('uses the service account of the pod, and the token that is there at each request', () => {
  const folder = testDir();
  writeFileSync(join(folder, 'ca.crt'), 'authority');
  writeFileSync(join(folder, 'token'), 'first\n');
  const { server, tls, token } = defaultAccess(IN_POD, folder);
  expect([server, String(tls.ca), token()]).toEqual(['https://10.96.0.1:443', 'authority', 'first']);
  writeFileSync(join(folder, 'token'), 'second\n');
  expect(token()).toBe('second');
  const onIPv6 = { ...IN_POD, KUBERNETES_SERVICE_HOST: 'fd00::1' };
  expect(defaultAccess(onIPv6, folder).server).toBe('https://[fd00::1]:443');
});

it('reads the current context of the file that KUBECONFIG names, with data or with files beside it', () => {
  const data = (text: string): string => Buffer.from(text).toString('base64');
  const path = fileWith(
    { 'client-certificate-data': data('cert'), 'client-key': 'ada.key' },
    { 'certificate-authority-data': data('authority'), 'tls-server-name': 'kubernetes' },
  );
  writeFileSync(join(path, '../ada.key'), 'key');
  const { server, tls, token } = defaultAccess({ ...IN_POD, KUBECONFIG: path });
  expect(server).toBe('https://west.example');
  expect([tls.ca, tls.cert, tls.key].map(String)).toEqual(['authority', 'cert', 'key']);
  expect(tls).toMatchObject({ rejectUnauthorized: true, servername: 'kubernetes' });
  expect(token()).toBeUndefined();
});

it('turns verification off only where the file says so, and takes its token', () => {
  const { tls, token } = accessOfFile(fileWith({ token: 'abc' }, { 'insecure-skip-tls-verify': true }));
  expect([tls.rejectUnauthorized, token()]).toEqual([false, 'abc']);
});

it('says how to write a file in JSON when it is YAML, and where there is none', () => {
  const path = join(testDir(), 'config');
  writeFileSync(path, 'apiVersion: v1\n');
  expect(() => accessOfFile(path)).toThrow('kubectl config view --raw --flatten --output=json');
  expect(() => defaultAccess({})).toThrow('KUBECONFIG must name a kubeconfig file in JSON');
});
