/** Fields that State Views, State Changes and presenters share: source, databases, rollout and status. */
import {
  AGE,
  API_VERSION,
  commonStatus,
  DATABASES,
  dataKey,
  LABEL_SELECTOR,
  objectName,
  readyColumns,
  reclaimPolicy,
} from './fragments.ts';
import * as f from './schema.ts';

const NAME_MAX = 128;
const NAME = '^[A-Za-z][A-Za-z0-9_.-]*$';
const DAY_SECONDS = 86_400;
const VERSION_MAX = Number.MAX_SAFE_INTEGER;
const DATABASES_MAX = 1000;

/** Names and values of events, in characters; the server counts bytes. */
export const EVENT_TEXT_MAX = 255;

export function componentName(doc: string): f.Field {
  return f.text(doc, NAME_MAX, { min: 1, pattern: NAME });
}

export function uri(doc: string): f.Field {
  return f.text(doc, 2048, { min: 1 });
}

export function contentType(doc: string): f.Field {
  return f.text(doc, 255, { min: 3, pattern: '^[^/;\\s]+/[^/;\\s]+(\\s*;.*)?$' });
}

export function versionNumber(doc: string): f.Field {
  return f.wholeNumber(doc, 1, VERSION_MAX);
}

const OCI: f.Shape = f.shape('OCISource', {
  reference: f.text(
    'The artifact, by a tag or a digest: registry.example.com/team/balances:1.2.0. A tag is resolved when the resource changes. Its single layer is the component, of the type application/wasm or application/octet-stream.',
    512,
    {
      min: 3,
      pattern:
        '^[a-z0-9][a-zA-Z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)+(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?$',
    },
  ),
  'pullSecretName?': objectName(
    'A Secret of the type kubernetes.io/dockerconfigjson with the credential for the registry.',
  ),
});

const KEY_OF = (what: string): f.Shape =>
  f.shape(`${what}Source`, {
    name: objectName(`The name of the ${what}, in the same namespace.`),
    key: dataKey(`The key whose value is the component.`, { default: 'component.wasm' }),
  });

const SOURCE: f.Shape = f.shape(
  'ComponentSource',
  {
    'oci?': f.object('An artifact in an OCI registry.', OCI),
    'configMap?': f.object('A key of binaryData of a ConfigMap; it has 1 MiB at most.', KEY_OF('ConfigMap')),
    'secret?': f.object('A key of a Secret; it has 1 MiB at most.', KEY_OF('Secret')),
  },
  [f.exactlyOne('oci', 'configMap', 'secret')],
);

const STEP: f.Shape = f.shape(
  'RolloutStep',
  {
    'selector?': f.object('The databases of this step, by labels of their EventDatabases.', LABEL_SELECTOR),
    'percent?': f.wholeNumber('Share of all databases that have the new version after this step.', 1, 100),
    observeSeconds: f.wholeNumber('Time that the new version is observed before the next step.', 0, 7 * DAY_SECONDS, {
      default: 300,
    }),
  },
  [f.exactlyOne('selector', 'percent')],
);

const ANALYSIS: f.Shape = f.shape(
  'RolloutAnalysis',
  {
    'maxErrorPercent?': f.wholeNumber(
      'Share of calls that may fail. A command that the component refuses is not a failure.',
      0,
      100,
    ),
    'maxTraps?': f.wholeNumber('Number of calls that may trap.', 0, 1_000_000),
    'maxFoldMilliseconds?': f.wholeNumber('Time within which 99 of 100 folds must end.', 1, 600_000),
    onFailure: f.choice(
      'RollBack: the previous version becomes active again. Pause: the rollout stops until the spec changes.',
      ['RollBack', 'Pause'],
      { default: 'RollBack' },
    ),
  },
  [f.atLeastOne('maxErrorPercent', 'maxTraps', 'maxFoldMilliseconds')],
);

const ROLLOUT: f.Shape = f.shape(
  'Rollout',
  {
    strategy: f.choice(
      'All: all databases at once. Canary: databases step by step, then the rest.',
      ['All', 'Canary'],
      { default: 'All' },
    ),
    'steps?': f.list('The steps, in this order.', f.object('One step.', STEP), 16, { min: 1 }),
    'analysis?': f.object(
      'Limits that the new version must meet before the next step. Without them only time passes.',
      ANALYSIS,
    ),
    timeoutSeconds: f.wholeNumber(
      'Time that the nodes have to compile a version before the rollout counts as stuck.',
      30,
      DAY_SECONDS,
      { default: 600 },
    ),
  },
  [
    {
      rule: "self.strategy == 'Canary' ? has(self.steps) : (!has(self.steps) && !has(self.analysis))",
      message:
        'strategy Canary needs steps, and only Canary has steps and analysis: add steps, or remove steps and analysis',
    },
  ],
);

/** Before and after the fields of a kind of its own. */
export function componentFields(own: f.Fields): f.Fields {
  return {
    databases: f.object('The databases that the component is published in.', DATABASES),
    'name?': componentName('The name of the component; without it metadata.name. It cannot be changed.'),
    'description?': f.text('Purpose of the component.', 4096, { min: 1 }),
    'sourceCodeURI?': uri('URI of the source code.'),
    source: f.object('Origin of the WebAssembly component.', SOURCE),
    ...own,
    rollout: f.object('Order in which databases get a new version.', ROLLOUT, { default: {} }),
    'retainVersions?': f.wholeNumber(
      'Number of versions before the active one that are kept in each database; older ones are deleted. By default all are kept.',
      0,
      1000,
    ),
    reclaimPolicy: reclaimPolicy('Whether the component stays in the databases when the resource is deleted.'),
  };
}

export const SPEC_RULES: readonly f.Rule[] = [f.immutable('name')];

const DATABASE_STATUS: f.Shape = f.shape('ComponentDatabase', {
  name: f.text('The name of the EventDatabase.', 253),
  'version?': f.wholeNumber('Active version. Each database numbers its versions itself.', 1, VERSION_MAX),
  'digest?': f.text('The digest of that version.', 71),
  'publishedVersion?': f.wholeNumber(
    'Version of the component of the source, also before it is active.',
    1,
    VERSION_MAX,
  ),
  'publication?': f.text('SHA-256 of the component and the metadata that this version was published of.', 71),
  'nodesReady?': f.wholeNumber('Number of nodes that have compiled it.', 0, 100),
  'nodesTotal?': f.wholeNumber('Number of nodes.', 0, 100),
  'message?': f.text('Error of the component in this database.', 1024),
});

const CONDITIONS = {
  Ready: 'The component of the source is active in all databases, and compiled on all nodes.',
  SourceReady: 'The source was read, and its digest is status.digest.',
  Published: 'All databases of the current step have the version.',
  Distributed: 'All nodes have compiled the version.',
  Progressing: 'A rollout is under way.',
  Healthy: 'The analysis of the rollout has found no fault.',
};

function componentStatus(name: string): f.Shape {
  return f.shape(name, {
    ...commonStatus(CONDITIONS),
    'digest?': f.text('SHA-256 of the component of the source, as sha256: and 64 digits.', 71),
    'shortDigest?': f.text('First 12 digits of the digest.', 12),
    'previousDigest?': f.text('The SHA-256 of the component that a rollback activates.', 71),
    'step?': f.wholeNumber('The step of the rollout, from 1 on; absent without a rollout.', 1, 17),
    'stepSince?': f.time('Time at which the step began; absent when all databases have the component.'),
    'observedSince?': f.time('Time since which the databases of the step are observed.'),
    'databasesTotal?': f.wholeNumber('Number of databases that are selected.', 0, DATABASES_MAX),
    'databasesReady?': f.wholeNumber(
      'Number of databases in which the component of the source is active.',
      0,
      DATABASES_MAX,
    ),
    'databases?': f.list(
      'Databases, in the order of their names.',
      f.object('One database.', DATABASE_STATUS),
      DATABASES_MAX,
      { merge: { keys: ['name'] } },
    ),
  });
}

const COLUMNS: readonly f.Column[] = [
  f.column('Databases', '.status.databasesTotal', 'Number of databases that are selected.', { type: 'integer' }),
  f.column('Updated', '.status.databasesReady', 'Number of databases in which this component is active.', {
    type: 'integer',
  }),
  f.column('Digest', '.status.shortDigest', 'The first digits of the SHA-256.'),
  ...readyColumns('component', CONDITIONS.Ready),
  f.column('Step', '.status.step', 'The step of the rollout.', { type: 'integer', isWide: true }),
  AGE,
];

type Own = Pick<f.ResourceKind, 'kind' | 'plural' | 'shortNames' | 'doc' | 'spec' | 'specDoc'>;

/** A kind of component, with what all of them have. */
export function componentKind(own: Own): f.ResourceKind {
  return {
    apiVersion: API_VERSION,
    ...own,
    status: componentStatus(`${own.kind}Status`),
    rules: [
      {
        rule: `has(self.spec.name) || (self.metadata.name.size() <= ${NAME_MAX} && self.metadata.name.matches('${NAME}'))`,
        message: `metadata.name cannot be the name of a component: use a letter, then up to ${NAME_MAX - 1} letters, digits, dots or hyphens, or set spec.name`,
      },
    ],
    conditions: CONDITIONS,
    columns: COLUMNS,
  };
}
