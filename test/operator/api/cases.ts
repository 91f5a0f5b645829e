// Test cases of the custom resources: the smallest objects, and for each rule an object that meets it and one that
// breaks it.
import type { KINDS } from '../../../operator/src/api/index.ts';

type Spec = Readonly<Record<string, unknown>>;
type KindName = (typeof KINDS)[number]['kind'];

const VIEW_SOURCE = { oci: { reference: 'registry.example.com/team/balances:1.2.0' } };
const COMPONENT = { databases: { names: ['shop'] }, source: VIEW_SOURCE };

/** Smallest valid spec of each kind. */
export const SMALLEST: Readonly<Record<KindName, Spec>> = {
  CairnCluster: { version: '0.2.0' },
  EventDatabase: { clusterRef: { name: 'events' } },
  StateView: { ...COMPONENT, contentType: 'application/json', events: [{ stream: 'accounts' }] },
  StateChange: COMPONENT,
  Presenter: { ...COMPONENT, offers: [{ contentType: 'text/csv' }] },
  EventAccess: { clusterRef: { name: 'events' }, grants: [{ role: 'reader', databases: { pattern: '*' } }] },
};

export interface Case {
  readonly kind: KindName;
  readonly message: string;
  /** Merged into the smallest spec. */
  readonly passes: Spec;
  readonly breaks: Spec;
  /** Old object of an update rule: merged into the smallest spec. `passes` and `breaks` are merged into the result. */
  readonly from?: Spec;
  /** Names of the objects, for rules that read them. */
  readonly names?: { readonly passes: string; readonly breaks: string };
}

const LONG = 'a'.repeat(129);
const SELECTOR = { matchLabels: { stage: 'canary' } };
const ISSUER = { name: 'our-clients' };

const OF_CLUSTERS: readonly Omit<Case, 'kind'>[] = [
  {
    message:
      'metadata.name must be a lowercase letter, then up to 47 lowercase letters, digits or hyphens, without a hyphen at the end',
    passes: {},
    breaks: {},
    names: { passes: 'a'.repeat(48), breaks: 'a'.repeat(49) },
  },
  {
    message:
      'metadata.name must be a lowercase letter, then up to 47 lowercase letters, digits or hyphens, without a hyphen at the end',
    passes: {},
    breaks: {},
    names: { passes: 'events-2', breaks: 'events.2' },
  },
  ...[1, 5, 7].map((replicas) => ({
    message: 'replicas must be 1, 3, 5 or 7: an even number tolerates no more failures than one less',
    passes: { replicas },
    breaks: { replicas: replicas === 7 ? 6 : replicas + 1 },
  })),
  ...['latest', '1.2.', '01.2.3', '0.1.0_1'].map((breaks) => ({
    message: 'version must be a release of Cairn, such as 0.1.0 or 0.2.0-rc.1',
    passes: { version: '0.2.0-rc.1' },
    breaks: { version: breaks },
  })),
  ...(
    [
      ['0.2.0', '0.3.0', '0.4.0'],
      ['0.2.0', '0.2.7', '1.1.0'],
      ['0.9.3', '1.0.0', '1.1.0'],
      ['1.0.0', '0.9.3', '2.1.0'],
      ['1.1.0', '1.0.0', '0.9.0'],
      ['0.5.0', '0.4.1', '0.3.9'],
      ['0.5.0-rc.1', '0.6.0-rc.1', '0.7.0'],
    ] as const
  ).map(([from, passes, breaks]) => ({
    message: 'version can go one minor release up or down at a time: set the next one first',
    from: { version: from },
    passes: { version: passes },
    breaks: { version: breaks },
  })),
  {
    message: 'size cannot be lowered, because volumes cannot shrink: set what it was, or more',
    from: { storage: { size: '20Gi' } },
    passes: { storage: { size: '21000Mi' } },
    breaks: { storage: { size: '20G' } },
  },
  {
    message: 'autoGrow.maxSize must be at least size: raise it, or remove autoGrow',
    passes: { storage: { size: '1Ti', autoGrow: { maxSize: '1024Gi' } } },
    breaks: { storage: { size: '1Ti', autoGrow: { maxSize: '1T' } } },
  },
  {
    message: 'set at most one of issuerRef and secretName',
    passes: { tls: { issuerRef: ISSUER } },
    breaks: { tls: { issuerRef: ISSUER, secretName: 'ours' } },
  },
  {
    message: 'issuerRef, secretName and clientCertificates have no effect while disabled is true: remove them',
    passes: { tls: { disabled: true } },
    breaks: { tls: { disabled: true, clientCertificates: { mode: 'Require', caSecretName: 'clients' } } },
  },
  {
    message: 'caConfigMapName needs issuerRef or secretName: set one of them, or remove caConfigMapName',
    passes: { tls: { issuerRef: ISSUER, caConfigMapName: 'bundle' }, peers: { secretName: 'a', caConfigMapName: 'b' } },
    breaks: { tls: { caConfigMapName: 'bundle' } },
  },
  {
    message: 'caConfigMapName needs issuerRef or secretName: set one of them, or remove caConfigMapName',
    passes: {},
    breaks: { peers: { caConfigMapName: 'bundle' } },
  },
  {
    message: 'disabled cannot become true, because the clients of this cluster use TLS: leave it false',
    passes: { tls: { issuerRef: ISSUER } },
    breaks: { tls: { disabled: true } },
    from: {},
  },
  {
    message: 'renewBefore must be shorter than duration: lower renewBefore, or raise duration',
    passes: { tls: { duration: '48h', renewBefore: '47h59m' } },
    breaks: { tls: { duration: '48h', renewBefore: '48h' } },
  },
  {
    message:
      'duration must be at least 1h and renewBefore at least 5m: pods see a new certificate after a minute or two',
    passes: { tls: { duration: '1h', renewBefore: '5m' } },
    breaks: { tls: { duration: '59m59s', renewBefore: '5m' } },
  },
  {
    message:
      'duration must be at least 1h and renewBefore at least 5m: pods see a new certificate after a minute or two',
    passes: { tls: { duration: '1h', renewBefore: '300s' } },
    breaks: { tls: { duration: '1h', renewBefore: '4m59s' } },
  },
  {
    message:
      'issuerRef and secretName cannot be added or removed later, because nodes with certificates and nodes with a shared secret refuse each other: set what was there',
    from: { peers: { issuerRef: ISSUER } },
    passes: { peers: { issuerRef: null, secretName: 'ours' } },
    breaks: { peers: { issuerRef: null } },
  },
  {
    message: 'roles and adminSecretName have no effect while enabled is false: remove them, or set enabled to true',
    passes: { auth: { enabled: false } },
    breaks: { auth: { enabled: false, adminSecretName: 'ours' } },
  },
  {
    message: 'gateway.passthrough needs a name for each pod: set external.domain',
    passes: {
      network: {
        gateway: { parentRefs: [{ name: 'g' }], passthrough: true },
        external: { domain: 'events.example.com' },
      },
    },
    breaks: { network: { gateway: { parentRefs: [{ name: 'g' }], passthrough: true } } },
  },
  {
    message: 'gateway.mcpPath needs mcp: set mcp to true, or remove gateway.mcpPath',
    passes: { network: { gateway: { parentRefs: [{ name: 'g' }], httpHostnames: ['a.example'], mcpPath: '/mcp' } } },
    breaks: {
      network: { mcp: false, gateway: { parentRefs: [{ name: 'g' }], httpHostnames: ['a.example'], mcpPath: '/mcp' } },
    },
  },
  {
    message: 'set hostnames or mcpHostnames',
    passes: { network: { ingress: { hostnames: ['events.example.com'] } } },
    breaks: { network: { ingress: { className: 'nginx' } } },
  },
  {
    message: 'ingress.mcpHostnames needs mcp: set mcp to true, or remove ingress.mcpHostnames',
    passes: { network: { ingress: { mcpHostnames: ['events.example.com'] } } },
    breaks: { network: { mcp: false, ingress: { mcpHostnames: ['events.example.com'] } } },
  },
  {
    message: 'set grpcHostnames, httpHostnames or passthrough: a Gateway without a route does nothing',
    passes: { network: { gateway: { parentRefs: [{ name: 'g' }], grpcHostnames: ['*.example.com'] } } },
    breaks: { network: { gateway: { parentRefs: [{ name: 'g' }] } } },
  },
  {
    message: 'mcpPath needs httpHostnames: set them, or remove mcpPath',
    passes: { network: { gateway: { parentRefs: [{ name: 'g' }], httpHostnames: ['a.example'], mcpPath: '/mcp' } } },
    breaks: { network: { gateway: { parentRefs: [{ name: 'g' }], grpcHostnames: ['a.example'], mcpPath: '/mcp' } } },
  },
  {
    message: 'clusterDomain cannot be changed later: set what it was',
    from: {},
    passes: { network: { clusterDomain: 'cluster.local' } },
    breaks: { network: { clusterDomain: 'k8s.example' } },
  },
  {
    message:
      'config cannot have settings that the operator derives from other fields, such as dataDir, join, auth, peerPort or tlsCertFile: remove them',
    passes: { config: { rateLimitPerSecond: 100, logLevel: 'debug' } },
    breaks: { config: { rateLimitPerSecond: 100, peerPort: 1 } },
  },
  {
    message: 'network.external decides where clients find each node: remove config.advertiseOutside',
    passes: { config: { advertiseOutside: '*.a.example:443' } },
    breaks: { config: { advertiseOutside: '*.a.example:443' }, network: { external: { domain: 'a.example' } } },
  },
  {
    message: 'set acknowledgeDataLoss to true: transactions that only the lost nodes had are lost by a recovery',
    passes: { recovery: { id: '1', survivor: 'events-0', acknowledgeDataLoss: true } },
    breaks: { recovery: { id: '1', survivor: 'events-0', acknowledgeDataLoss: false } },
  },
  {
    message: 'recovery.survivor must be a node that votes, such as NAME-0: a learner cannot continue a cluster alone',
    // A cluster may have such a name.
    passes: { recovery: { id: '1', survivor: 'events-learners-0', acknowledgeDataLoss: true } },
    breaks: { recovery: { id: '1', survivor: 'events-learners-0', acknowledgeDataLoss: true } },
    names: { passes: 'events-learners', breaks: 'events' },
  },
  {
    message:
      'learners must be 0 when metadata.name has more than 43 characters: the names of their pods would be too long',
    passes: { learners: 1 },
    breaks: { learners: 1 },
    names: { passes: 'a'.repeat(43), breaks: 'a'.repeat(44) },
  },
];

const OF_DATABASES: readonly Omit<Case, 'kind'>[] = [
  {
    message:
      'metadata.name cannot be the name of a database: use 1 to 63 lowercase letters, digits or hyphens, or set spec.name',
    passes: {},
    breaks: {},
    names: { passes: 'a'.repeat(63), breaks: 'shop.eu' },
  },
  {
    message: 'clusterRef cannot be changed later: set what it was',
    from: {},
    passes: { reclaimPolicy: 'Delete' },
    breaks: { clusterRef: { name: 'others' } },
  },
  {
    message: 'name cannot be changed later: set what it was',
    from: { name: 'shop' },
    passes: { name: 'shop' },
    breaks: { name: 'store' },
  },
  { message: 'name cannot be changed later: set what it was', from: {}, passes: {}, breaks: { name: 'store' } },
];

/** Rules that all kinds of components have. */
const OF_COMPONENTS: readonly Omit<Case, 'kind'>[] = [
  {
    message:
      'metadata.name cannot be the name of a component: use a letter, then up to 127 letters, digits, dots or hyphens, or set spec.name',
    passes: {},
    breaks: {},
    names: { passes: 'a'.repeat(128), breaks: '7-days' },
  },
  {
    message: 'name cannot be changed later: set what it was',
    from: { name: 'a' },
    passes: { description: 'b' },
    breaks: { name: null },
  },
  {
    message: 'set exactly one of names and selector',
    passes: { databases: { names: null, selector: SELECTOR } },
    breaks: { databases: { selector: SELECTOR } },
  },
  {
    message: 'set exactly one of oci, configMap and secret',
    passes: { source: { oci: null, configMap: { name: 'a' } } },
    breaks: { source: { oci: null } },
  },
  {
    message:
      'strategy Canary needs steps, and only Canary has steps and analysis: add steps, or remove steps and analysis',
    passes: { rollout: { strategy: 'Canary', steps: [{ percent: 10 }], analysis: { maxTraps: 0 } } },
    breaks: { rollout: { strategy: 'Canary' } },
  },
  {
    message:
      'strategy Canary needs steps, and only Canary has steps and analysis: add steps, or remove steps and analysis',
    passes: { rollout: { timeoutSeconds: 60 } },
    breaks: { rollout: { analysis: { maxTraps: 0 } } },
  },
  {
    message: 'set exactly one of selector and percent',
    passes: { rollout: { strategy: 'Canary', steps: [{ selector: SELECTOR }, { percent: 50 }] } },
    breaks: { rollout: { strategy: 'Canary', steps: [{ selector: SELECTOR }, { observeSeconds: 5 }] } },
  },
  {
    message: 'set maxErrorPercent, maxTraps or maxFoldMilliseconds',
    passes: { rollout: { strategy: 'Canary', steps: [{ percent: 10 }], analysis: { maxErrorPercent: 0 } } },
    breaks: { rollout: { strategy: 'Canary', steps: [{ percent: 10 }], analysis: { onFailure: 'Pause' } } },
  },
];

const OF_VIEWS: readonly Omit<Case, 'kind'>[] = [
  { message: 'set events or eventTypes', passes: { events: null, eventTypes: ['a'] }, breaks: { events: null } },
  {
    message: 'set exactly one of uri and json',
    passes: { contentSchema: { json: '{"type":"array"}' } },
    breaks: { contentSchema: { json: '{}', uri: 'https://example.com/a' } },
  },
];

const OF_ACCESS: readonly Omit<Case, 'kind'>[] = [
  {
    message: 'metadata.name is too long for a subject: use up to 128 characters, or set spec.subject',
    passes: { subject: 'order service' },
    breaks: {},
    names: { passes: LONG, breaks: LONG },
  },
  {
    message: 'clusterRef cannot be changed later: set what it was',
    from: {},
    passes: { rotation: { everyDays: 30 } },
    breaks: { clusterRef: { name: 'others' } },
  },
  {
    message: 'set exactly one of names, selector and pattern',
    passes: { grants: [{ role: 'writer', databases: { selector: {} } }] },
    breaks: { grants: [{ role: 'writer', databases: {} }] },
  },
  ...[
    { role: 'writer', databases: { pattern: 'acme-*' }, maxDatabases: 10 },
    { role: 'admin', databases: { names: ['shop'] }, maxDatabases: 10 },
  ].map((grant) => ({
    message: 'maxDatabases needs the role admin and databases.pattern: set both, or remove maxDatabases',
    passes: { grants: [{ ...grant, role: 'admin', databases: { pattern: 'acme-*' } }] },
    breaks: { grants: [grant] },
  })),
  {
    message: 'name cannot be changed later: set what it was',
    from: {},
    passes: { secret: { key: 'k' } },
    breaks: { secret: { name: 'a' } },
  },
];

function of(kind: KindName, cases: readonly Omit<Case, 'kind'>[]): readonly Case[] {
  return cases.map((each) => ({ kind, ...each }));
}

export const CASES: readonly Case[] = [
  ...of('CairnCluster', OF_CLUSTERS),
  ...of('CairnCluster', [
    {
      message: 'set at most one of issuerRef and secretName',
      passes: { peers: { secretName: 'ours' } },
      breaks: { peers: { secretName: 'ours', issuerRef: ISSUER } },
    },
  ]),
  ...of('EventDatabase', OF_DATABASES),
  ...['StateView', 'StateChange', 'Presenter'].flatMap((kind) => of(kind, OF_COMPONENTS)),
  ...of('StateView', OF_VIEWS),
  ...of('EventAccess', OF_ACCESS),
];

/** Fields that the schema alone rejects, and a part of the message of the API server. */
export const REFUSED: readonly (readonly [KindName, Spec, string])[] = [
  ['CairnCluster', { replica: 3 }, 'unknown field "spec.replica"'],
  ['CairnCluster', { storage: { sise: '1Gi' } }, 'unknown field "spec.storage.sise"'],
  ['CairnCluster', { version: null }, 'spec.version: Required value'],
  ['CairnCluster', { replicas: 9 }, 'should be less than or equal to 7'],
  ['CairnCluster', { reclaimPolicy: 'delete' }, 'supported values: "Retain", "Delete"'],
  ['CairnCluster', { storage: { size: '20 GB' } }, 'spec.storage.size'],
  ['CairnCluster', { resources: { limits: { memory: 'much' } } }, 'spec.resources.limits.memory'],
  ['CairnCluster', { config: { logLevel: false } }, 'spec.config.logLevel'],
  ['CairnCluster', { placement: { tolerations: [{ effekt: 'NoExecute' }] } }, 'spec.placement.tolerations[0].effekt'],
  ['CairnCluster', { tls: { dnsNames: ['a.example', 'a.example'] } }, 'Duplicate value: "a.example"'],
  ['EventDatabase', { name: 'Shop' }, 'spec.name'],
  ['StateView', { temporality: 'Time' }, 'supported values: "Revision", "EffectiveTime"'],
  ['StateView', { events: [] }, 'spec.events'],
  ['StateView', { contentType: 'json' }, 'spec.contentType'],
  ['StateView', { source: { oci: { reference: 'balances' } } }, 'spec.source.oci.reference'],
  ['StateView', { offers: [{ contentType: 'a/b' }] }, 'unknown field "spec.offers"'],
  ['Presenter', { offers: [] }, 'spec.offers'],
  ['Presenter', { offers: [{ contentType: 'a/b' }, { contentType: 'a/b' }] }, 'Duplicate value'],
  ['EventAccess', { grants: [] }, 'spec.grants'],
  ['EventAccess', { expiresAt: 'tomorrow' }, 'spec.expiresAt'],
  ['EventAccess', { secret: { key: '.next' } }, 'spec.secret.key'],
];
