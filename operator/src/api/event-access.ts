/** EventAccess: an API key in a Secret, with roles on databases. */
import {
  AGE,
  API_VERSION,
  annotations,
  clusterRef,
  commonStatus,
  dataKey,
  GRANTED_DATABASES,
  labels,
  objectName,
  ROLES,
  readyColumns,
} from './fragments.ts';
import {
  choice,
  column,
  immutable,
  list,
  object,
  optional,
  type ResourceKind,
  type Shape,
  shape,
  text,
  time,
  wholeNumber,
} from './schema.ts';

const SUBJECT_MAX = 128;

const GRANT: Shape = shape(
  'AccessGrant',
  {
    role: choice(
      'reader reads; writer also writes; deployer reads and publishes components; admin may do everything.',
      ROLES,
    ),
    databases: object('The databases that the role is given on.', GRANTED_DATABASES),
    maxDatabases: optional(
      wholeNumber('Number of databases that the pattern may name before admin creates no more of them.', 1, 1_000_000),
    ),
  },
  [
    {
      rule: "!has(self.maxDatabases) || (self.role == 'admin' && has(self.databases.pattern))",
      message: 'maxDatabases belongs to the role admin and a pattern of databases',
    },
  ],
);

const SECRET: Shape = shape(
  'KeySecret',
  {
    name: optional(objectName('The name of the Secret; without it metadata.name. It cannot be changed.')),
    key: dataKey('Key of the Secret that has the API key.', { default: 'api-key' }),
    labels: labels('Labels of the Secret.'),
    annotations: annotations('Annotations of the Secret.'),
  },
  [immutable('name')],
);

const ROTATION: Shape = shape('Rotation', {
  everyDays: optional(
    wholeNumber(
      'Days after which the key is replaced. By default it is replaced only when rotateKey changes.',
      1,
      3650,
    ),
  ),
  overlapSeconds: wholeNumber('Time for which a replaced key stays valid, also when the grants change.', 0, 2_592_000, {
    default: 86_400,
  }),
  rotateKey: optional(text('Any text. A change replaces the key.', 63, { min: 1 })),
});

const SPEC: Shape = shape(
  'EventAccessSpec',
  {
    clusterRef,
    subject: optional(
      text('Name of the client in the audit log. The default is metadata.name.', SUBJECT_MAX, {
        min: 1,
        pattern: '^[^\\s](.*[^\\s])?$',
      }),
    ),
    grants: list('Roles that the key gives.', object('A role on databases.', GRANT), 32, { min: 1 }),
    secret: object('The Secret that the key is written to, in the same namespace.', SECRET, { default: {} }),
    rotation: object('Replacement of the key.', ROTATION, { default: {} }),
    expiresAt: optional(time('Time at which the key expires. By default it does not expire.')),
  },
  [immutable('clusterRef')],
);

const CONDITIONS = {
  Ready: 'The Secret has a key that is valid and has these grants.',
  SecretReady: 'The Secret is there, and belongs to this EventAccess.',
};

const STATUS: Shape = shape('EventAccessStatus', {
  ...commonStatus(CONDITIONS),
  keyID: optional(text('Id of the key in the cluster.', 64)),
  secretName: optional(text('The Secret that has the key.', 253)),
  rotatedAt: optional(time('Time at which the key was last issued or replaced.')),
  rotateKey: optional(text('The rotateKey that the key was last replaced for.', 63)),
});

export const EVENT_ACCESS: ResourceKind = {
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
    column('Cluster', '.spec.clusterRef.name', 'The CairnCluster.'),
    column('Secret', '.status.secretName', 'The Secret that has the key.'),
    ...readyColumns('key', CONDITIONS.Ready),
    column('Rotated', '.status.rotatedAt', 'Time since the key was issued.', { type: 'date' }),
    column('Key', '.status.keyID', 'The id of the key.', { isWide: true }),
    AGE,
  ],
};
