/** EventAccess: an API key in a Secret, with roles on databases. */
import {
  AGE,
  API_VERSION,
  annotations,
  clusterRef,
  commonStatus,
  GRANTED_DATABASES,
  labels,
  objectName,
  ROLES,
  readyColumns,
} from './fragments.ts';
import * as f from './schema.ts';

const SUBJECT_MAX = 128;

const GRANT: f.Shape = f.shape(
  'AccessGrant',
  {
    role: f.choice(
      'reader reads; writer also writes; deployer reads and publishes components; admin may do everything.',
      ROLES,
    ),
    databases: f.object('The databases that the role is given on.', GRANTED_DATABASES),
    'maxDatabases?': f.wholeNumber(
      'Number of databases that the pattern may name before admin creates no more of them.',
      1,
      1_000_000,
    ),
  },
  [
    {
      rule: "!has(self.maxDatabases) || (self.role == 'admin' && has(self.databases.pattern))",
      message: 'maxDatabases needs the role admin and databases.pattern: set both, or remove maxDatabases',
    },
  ],
);

const SECRET: f.Shape = f.shape(
  'KeySecret',
  {
    'name?': objectName('The name of the Secret; without it metadata.name. It cannot be changed.'),
    key: f.text('Key of the Secret that has the API key. It does not begin with a dot.', 253, {
      min: 1,
      pattern: '^[-_a-zA-Z0-9][-._a-zA-Z0-9]*$',
      default: 'api-key',
    }),
    'labels?': labels('Labels of the Secret.'),
    'annotations?': annotations('Annotations of the Secret.'),
  },
  [f.immutable('name')],
);

const ROTATION: f.Shape = f.shape('Rotation', {
  'everyDays?': f.wholeNumber(
    'Days after which the key is replaced. By default it is replaced only when rotateKey changes.',
    1,
    3650,
  ),
  overlapSeconds: f.wholeNumber(
    'Time for which a replaced key stays valid, also when the grants change.',
    0,
    2_592_000,
    { default: 86_400 },
  ),
  'rotateKey?': f.text('Any text. A change replaces the key.', 63, { min: 1 }),
});

const SPEC: f.Shape = f.shape(
  'EventAccessSpec',
  {
    clusterRef,
    'subject?': f.text('Name of the client in the audit log. The default is metadata.name.', SUBJECT_MAX, {
      min: 1,
      pattern: '^[^\\s](.*[^\\s])?$',
    }),
    grants: f.list('Roles that the key gives.', f.object('A role on databases.', GRANT), 32, { min: 1 }),
    secret: f.object('The Secret that the key is written to, in the same namespace.', SECRET, { default: {} }),
    rotation: f.object('Replacement of the key.', ROTATION, { default: {} }),
    'expiresAt?': f.time('Time at which the key expires. By default it does not expire.'),
  },
  [f.immutable('clusterRef')],
);

const CONDITIONS = {
  Ready: 'The Secret has a key that is valid and has these grants.',
  SecretReady: 'The Secret is there, and belongs to this EventAccess.',
};

const STATUS: f.Shape = f.shape('EventAccessStatus', {
  ...commonStatus(CONDITIONS),
  'keyID?': f.text('Id of the key in the cluster.', 64),
  'secretName?': f.text('The Secret that has the key.', 253),
  'rotatedAt?': f.time('Time at which the key was last issued or replaced.'),
  'rotateKey?': f.text('The rotateKey that the key was last replaced for.', 63),
});

export const EVENT_ACCESS: f.ResourceKind = {
  apiVersion: API_VERSION,
  kind: 'EventAccess',
  plural: 'eventaccesses',
  shortNames: ['eac'],
  doc: 'An API key for a client of a cluster of Cairn, kept in a Secret. Deleting the EventAccess revokes the key.',
  spec: SPEC,
  specDoc: 'Desired key and its roles.',
  status: STATUS,
  rules: [
    {
      rule: `has(self.spec.subject) || self.metadata.name.size() <= ${SUBJECT_MAX}`,
      message: `metadata.name is too long for a subject: use up to ${SUBJECT_MAX} characters, or set spec.subject`,
    },
  ],
  conditions: CONDITIONS,
  columns: [
    f.column('Cluster', '.spec.clusterRef.name', 'The CairnCluster.'),
    f.column('Secret', '.status.secretName', 'The Secret that has the key.'),
    ...readyColumns('key', CONDITIONS.Ready),
    f.column('Rotated', '.status.rotatedAt', 'Time since the key was issued.', { type: 'date' }),
    f.column('Key', '.status.keyID', 'The id of the key.', { isWide: true }),
    AGE,
  ],
};
