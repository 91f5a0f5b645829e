// Goal: certificates of the operator work for TLS between nodes and clients, also during the rotation of an authority.
// Method: real handshakes in which both sides present certificates.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { clusterOf } from '../objects/clusters.ts';
import { Namespace } from './namespace.ts';

const POD = 'shop-1.shop-headless.prod.svc.cluster.local';
const DAY_MS = 86_400_000;
/** Days after the authority was made at which the next one is trusted, and at which it signs (plan.ts). */
const NEXT_DAY = 3501;
const SWITCH_DAY = 3532;

interface Files {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

function filesOf(namespace: Namespace): Files {
  const [cert = '', key = '', ca = ''] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) =>
    namespace.text('shop-tls', name),
  );
  return { cert, key, ca };
}

/** Returns the name of the error of the handshake, or `none`. */
async function handshake(server: Files, client: Partial<Files>, servername = POD): Promise<string> {
  const listener = createServer({ ...server, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' });
  // The server ends the connection after the handshake: only then the client knows that its certificate was accepted.
  listener.on('secureConnection', (socket) => socket.end('welcome'));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', servername, ...client });
  try {
    return await greeting(socket);
  } finally {
    socket.destroy();
    listener.close();
  }
}

function greeting(socket: TLSSocket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.on('error', (error: Error & { readonly code?: string }) => resolve(error.code ?? error.message));
  socket.on('data', () => resolve('none'));
  socket.on('close', () => resolve('closed'));
  return promise;
}

it('certificates of the operator are accepted by both sides, for the names of the cluster', async () => {
  const namespace = new Namespace();
  await namespace.reconcile(clusterOf(), Date.now());
  const files = filesOf(namespace);
  expect(await handshake(files, files)).toBe('none');
  expect(await handshake(files, files, 'shop.prod.svc')).toBe('none');
  expect(await handshake(files, files, 'shop-0.other-headless.prod.svc.cluster.local')).toBe(
    'ERR_TLS_CERT_ALTNAME_INVALID',
  );
  expect(await handshake(files, { ca: files.ca })).toBe('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED');
  const stranger = new Namespace();
  await stranger.reconcile(clusterOf(), Date.now());
  expect(await handshake(files, { ...files, ca: filesOf(stranger).ca })).toBe('SELF_SIGNED_CERT_IN_CHAIN');
});

it('nodes with certificates of two authorities accept each other during a rotation (KS2)', async () => {
  const [namespace, cluster] = [new Namespace(), clusterOf()];
  // The rotation is now, so that all certificates are valid for the handshake.
  const startMs = Date.now() - SWITCH_DAY * DAY_MS;
  await namespace.reconcile(cluster, startMs);
  await namespace.reconcile(cluster, startMs + NEXT_DAY * DAY_MS);
  const before = filesOf(namespace);
  const done = await namespace.reconcile(cluster, startMs + SWITCH_DAY * DAY_MS);
  expect(done).toContain('shop-authority: the next authority signs from now on');
  const after = filesOf(namespace);
  expect(await handshake(before, after)).toBe('none');
  expect(await handshake(after, before)).toBe('none');
});
