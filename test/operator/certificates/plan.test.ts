// Goal: the Secrets of a cluster are generated once, renewed in time, and never overwrite those of the user (KS1 to
// KS3). Method: a namespace in memory, in which the actions of each plan are carried out with real keys.
import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { clusterOf } from '../objects/clusters.ts';
import { Namespace } from './namespace.ts';

const START_MS = Date.parse('2026-01-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;

const MADE_FOR_ALL = [
  'shop-peer: it does not exist',
  'shop-auth: it does not exist',
  'shop-authority: it does not exist',
  'shop-tls: new certificate: it does not exist',
  'shop-ca: it does not exist',
];

function certificateIn(namespace: Namespace, name = 'shop-tls', key = 'tls.crt'): X509Certificate {
  return new X509Certificate(namespace.text(name, key));
}

/** The certificates in a text. */
function authoritiesIn(text: string): readonly X509Certificate[] {
  return (text.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []).map((pem) => new X509Certificate(pem));
}

function isTrusted(certificate: X509Certificate, authorities: string): boolean {
  return authoritiesIn(authorities).some((each) => certificate.checkIssued(each) && certificate.verify(each.publicKey));
}

describe('the Secrets of a cluster', () => {
  it('are generated once (KS1, KS3)', async () => {
    const [namespace, cluster] = [new Namespace(), clusterOf()];
    expect(await namespace.reconcile(cluster, START_MS)).toEqual(MADE_FOR_ALL);
    const before = new Map(namespace.secrets);
    expect(await namespace.reconcile(cluster, START_MS + DAY_MS)).toEqual([]);
    expect(namespace.secrets).toEqual(before);
    expect(namespace.text('shop-peer', 'peer-secret')).toMatch(/^[A-Za-z0-9]{64}$/);
    expect(namespace.text('shop-auth', 'bootstrap-key')).toMatch(/^[A-Za-z0-9]{64}$/);
    expect(namespace.plan(cluster, START_MS).faults).toEqual([]);
  });

  it('have a certificate for the pods, the Service, and the names outside', async () => {
    const spec = { tls: { dnsNames: ['cairn.example.com'] }, network: { external: { domain: 'events.example.com' } } };
    const [namespace, cluster] = [new Namespace(), clusterOf(spec)];
    await namespace.reconcile(cluster, START_MS);
    const certificate = certificateIn(namespace);
    const names = [
      'shop-0.shop-headless.prod.svc.cluster.local',
      'shop-2.shop-headless.prod.svc',
      'shop.prod.svc.cluster.local',
      'shop.prod.svc',
      'shop.prod',
      'shop',
      'localhost',
      'shop-0.events.example.com',
      'cairn.example.com',
    ];
    expect(names.filter((name) => certificate.checkHost(name) === undefined)).toEqual([]);
    expect(certificate.checkHost('other.example.com')).toBeUndefined();
    expect(certificate.ca).toBe(false);
    expect(namespace.text('shop-ca', 'tls.key')).toBe('');
    expect(namespace.text('shop-tls', 'ca.crt')).toBe(namespace.text('shop-ca', 'ca.crt'));
  });

  it('have a new certificate when one is due, and when names change', async () => {
    const [namespace, cluster] = [new Namespace(), clusterOf({ tls: { duration: '240h', renewBefore: '80h' } })];
    await namespace.reconcile(cluster, START_MS);
    const isNew = ['shop-tls: new certificate: the one in the Secret ends soon'];
    expect(await namespace.reconcile(cluster, START_MS + 160 * HOUR_MS - 1)).toEqual([]);
    expect(await namespace.reconcile(cluster, START_MS + 160 * HOUR_MS)).toEqual(isNew);
    expect(certificateIn(namespace).validTo).toBe(formatted(START_MS + 400 * HOUR_MS));
    const renamed = clusterOf({ tls: { duration: '240h', renewBefore: '80h', dnsNames: ['new.example.com'] } });
    const found = await namespace.reconcile(renamed, START_MS + 161 * HOUR_MS);
    expect(found).toEqual(['shop-tls: new certificate: the names have changed']);
  });

  it('have a new certificate when the one in the Secret is damaged', async () => {
    const [namespace, cluster] = [new Namespace(), clusterOf()];
    await namespace.reconcile(cluster, START_MS);
    const tls = namespace.secrets.get('shop-tls');
    for (const data of [
      { ...tls?.data, 'tls.crt': 'AAAA' },
      { ...tls?.data, 'tls.key': 'AAAA' },
    ]) {
      namespace.secrets.set('shop-tls', { ...(tls as NonNullable<typeof tls>), data });
      const found = await namespace.reconcile(cluster, START_MS);
      expect(found).toEqual(['shop-tls: new certificate: the one in the Secret is damaged']);
    }
  });

  it('are kept for a cluster that is created again with the same name', async () => {
    const [namespace, cluster] = [new Namespace(), clusterOf()];
    await namespace.reconcile(cluster, START_MS);
    const again = { ...cluster, metadata: { ...cluster.metadata, uid: 'another' } };
    const key = namespace.text('shop-peer', 'peer-secret');
    const done = await namespace.reconcile(again, START_MS);
    expect(done).toContain('shop-peer: its CairnCluster is another one');
    expect(namespace.secrets.get('shop-peer')?.metadata.ownerReferences).toMatchObject([{ uid: 'another' }]);
    expect(namespace.text('shop-peer', 'peer-secret')).toBe(key);
  });
});

describe('authorities', () => {
  it.each([
    ['2160h', '720h', { stepDays: 5, years: [9, 11] }],
    ['240h', '80h', { stepDays: 2, years: [9.8, 10.2] }],
    ['43800h', '8760h', { stepDays: 200, years: [0, 25] }],
  ])(
    'replace each other with certificates of %s, renewed %s before their end (KS2)',
    async (duration, renewBefore, { stepDays, years: [from = 0, to = 0] }) => {
      const [namespace, cluster] = [new Namespace(), clusterOf({ tls: { duration, renewBefore } })];
      const renewBeforeMs = Number.parseInt(renewBefore, 10) * HOUR_MS;
      const trusted: { readonly atMs: number; readonly text: string }[] = [];
      const authorities = new Set<string>();
      await namespace.reconcile(cluster, START_MS);
      for (let atMs = START_MS + from * YEAR_MS; atMs < START_MS + to * YEAR_MS; atMs += stepDays * DAY_MS) {
        await namespace.reconcile(cluster, atMs);
        const [certificate, text] = [certificateIn(namespace), namespace.text('shop-ca', 'ca.crt')];
        expect(Date.parse(certificate.validTo)).toBeGreaterThan(atMs);
        trusted.push({ atMs, text });
        authorities.add(namespace.text('shop-authority', 'tls.crt'));
        // A client that read the authorities up to renewBefore ago trusts the nodes of today.
        const known = trusted.filter((each) => each.atMs > atMs - renewBeforeMs);
        for (const each of known) expect(isTrusted(certificate, each.text)).toBe(true);
      }
      expect(authorities.size).toBeGreaterThan(1);
      expect(authoritiesIn(namespace.text('shop-ca', 'ca.crt')).length).toBeLessThan(3);
    },
  );

  it('replace one that expired while no operator was running', async () => {
    const [namespace, cluster] = [new Namespace(), clusterOf()];
    await namespace.reconcile(cluster, START_MS);
    await namespace.reconcile(cluster, START_MS + 11 * YEAR_MS);
    const [certificate, text] = [certificateIn(namespace), namespace.text('shop-ca', 'ca.crt')];
    expect(isTrusted(certificate, text)).toBe(true);
    expect(Date.parse(certificate.validTo)).toBeGreaterThan(START_MS + 11 * YEAR_MS);
  });

  it('sign no certificate that outlives them, and do not issue one after the other shortly before they expire', async () => {
    const [namespace, cluster] = [new Namespace(), clusterOf()];
    await namespace.reconcile(cluster, START_MS);
    const end = Date.parse(certificateIn(namespace, 'shop-authority').validTo);
    const atMs = end - 2 * DAY_MS;
    await namespace.reconcile(cluster, atMs);
    expect(Date.parse(certificateIn(namespace).validTo)).toBe(end);
    expect(await namespace.reconcile(cluster, atMs + HOUR_MS)).toEqual([]);
  });

  it('are not replaced when their Secret is damaged', async () => {
    const [namespace, cluster] = [new Namespace(), clusterOf()];
    await namespace.reconcile(cluster, START_MS);
    const metadata = namespace.secrets.get('shop-authority')?.metadata;
    namespace.set(
      'shop-authority',
      { 'tls.crt': 'AAAA', 'tls.key': namespace.text('shop-authority', 'tls.key') },
      metadata,
    );
    const { actions, faults } = namespace.plan(cluster, START_MS);
    expect(actions).toEqual([]);
    expect(faults).toMatchObject([{ reason: 'SecretIncomplete' }]);
  });
});

describe('Secrets of the user', () => {
  it.each(['shop-authority', 'shop-tls', 'shop-ca'])(
    'are not overwritten when the operator would create its own %s (KS1)',
    async (name) => {
      const [namespace, cluster] = [new Namespace(), clusterOf()];
      namespace.set(name, { 'tls.crt': 'ours' });
      const before = namespace.secrets.get(name);
      await namespace.reconcile(cluster, START_MS);
      expect(namespace.secrets.get(name)).toBe(before);
      expect(namespace.plan(cluster, START_MS).faults).not.toEqual([]);
    },
  );

  it('are used unchanged when they already have a key (KS1)', async () => {
    const [namespace, cluster] = [new Namespace(), clusterOf()];
    namespace.set('shop-peer', { 'peer-secret': 'ours' });
    namespace.set('shop-auth', { other: 'x' });
    await namespace.reconcile(cluster, START_MS);
    expect(namespace.text('shop-peer', 'peer-secret')).toBe('ours');
    expect(namespace.plan(cluster, START_MS).faults).toEqual([
      {
        reason: 'SecretIncomplete',
        message: 'Secret shop-auth has no bootstrap-key: restore it, or delete the Secret for a new one',
      },
    ]);
  });

  it.each<readonly [string, object, Readonly<Record<string, string>>, readonly string[]]>([
    ['that are not there', { tls: { secretName: 'ours' } }, {}, ['Secret ours does not exist']],
    ['without a key', { tls: { secretName: 'ours' } }, { ours: 'tls.crt' }, ['Secret ours has no tls.key']],
    ['of an administrator', { auth: { adminSecretName: 'keys' } }, {}, ['Secret keys does not exist']],
    ['of peers', { peers: { secretName: 'p' } }, { p: 'ca.crt' }, ['Secret p has no tls.crt and no tls.key']],
    [
      'of clients',
      { tls: { clientCertificates: { mode: 'Require', caSecretName: 'clients' } } },
      {},
      ['Secret clients does not exist'],
    ],
    [
      'that cert-manager has not made yet',
      { tls: { issuerRef: { name: 'a' }, caConfigMapName: 'bundle' } },
      {},
      ['Secret shop-tls does not exist', 'ConfigMap bundle with ca.crt does not exist'],
    ],
  ])('%s are reported as a fault', async (_name, spec, secrets, faults) => {
    const [namespace, cluster] = [new Namespace(), clusterOf({ ...spec })];
    for (const [name, key] of Object.entries(secrets)) namespace.set(name, { [key]: 'x' });
    await namespace.reconcile(cluster, START_MS);
    expect(namespace.plan(cluster, START_MS).faults.map(({ message }) => message)).toEqual(faults);
  });

  it('provide clients with the authorities of nodes, and nodes with those of nodes and clients', async () => {
    const [namespace, own] = [new Namespace(), new Namespace()];
    await own.reconcile(clusterOf(), START_MS);
    const [authority, certificate, key] = ['ca.crt', 'tls.crt', 'tls.key'].map((each) => own.text('shop-tls', each));
    namespace.set('ours', { 'ca.crt': authority ?? '', 'tls.crt': certificate ?? '', 'tls.key': key ?? '' });
    namespace.set('clients', { 'ca.crt': own.text('shop-authority', 'tls.crt') + certificate });
    const clientCertificates = { mode: 'Require', caSecretName: 'clients' };
    await namespace.reconcile(clusterOf({ tls: { secretName: 'ours', clientCertificates } }), START_MS);
    expect(namespace.text('shop-ca', 'ca.crt')).toBe(authority);
    expect(authoritiesIn(namespace.text('shop-client-ca', 'ca.crt'))).toHaveLength(2);
    const later = namespace.plan(clusterOf({ tls: { secretName: 'ours' } }), START_MS + YEAR_MS);
    expect(later.faults).toEqual([
      { reason: 'CertificateExpired', message: 'Secret ours: the certificate has expired' },
    ]);
  });
});

function formatted(ms: number): string {
  const [, day, month, year, time] = new Date(ms).toUTCString().split(' ');
  return `${month} ${String(Number(day)).padStart(2)} ${time} ${year} GMT`;
}
