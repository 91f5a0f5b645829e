/** EventDatabase: a database of a cluster. */
import { AGE, API_VERSION, clusterRef, commonStatus, readyColumns, reclaimPolicy } from './fragments.ts';
import * as f from './schema.ts';

const NAME_MAX = 63;
const NAME = '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$';

const SPEC: f.Shape = f.shape(
  'EventDatabaseSpec',
  {
    clusterRef,
    'name?': f.text('The name of the database; without it metadata.name. It cannot be changed.', NAME_MAX, {
      min: 1,
      pattern: NAME,
    }),
    'copies?': f.wholeNumber(
      'Number of nodes that store the database and vote for its transactions. It may exceed the number of nodes: replicas are added when there are more. The default is the setting copies of the cluster, 3.',
      1,
      7,
    ),
    adoptionPolicy: f.choice(
      'Handling of a database that exists before the resource. Create: create the database, and report an error when it exists. Adopt: take over the database that exists. Either: adopt it when it exists, else create it.',
      ['Create', 'Adopt', 'Either'],
      { default: 'Create' },
    ),
    reclaimPolicy: reclaimPolicy(
      'Whether the database is kept or deleted when the EventDatabase is deleted. Delete only deletes the database with the id in status.databaseID, never another one of the same name.',
    ),
  },
  [f.immutable('clusterRef'), f.immutable('name')],
);

const CONDITIONS = {
  Ready: 'The database exists and takes writes.',
  Created: 'The database was created or adopted, and status.databaseID is its id.',
};

const STATUS: f.Shape = f.shape('EventDatabaseStatus', {
  ...commonStatus(CONDITIONS),
  'databaseName?': f.text('The name of the database in the cluster.', NAME_MAX),
  'databaseID?': f.text('The id of the database, which no other database has, also not one of the same name.', 64),
  'createdAt?': f.time('Time at which the database was created.'),
});

export const EVENT_DATABASE: f.ResourceKind = {
  apiVersion: API_VERSION,
  kind: 'EventDatabase',
  plural: 'eventdatabases',
  shortNames: ['edb'],
  doc: 'A database of events in a cluster of Cairn.',
  spec: SPEC,
  specDoc: 'Desired state of the database.',
  status: STATUS,
  rules: [
    {
      rule: `has(self.spec.name) || (self.metadata.name.size() <= ${NAME_MAX} && self.metadata.name.matches('${NAME}'))`,
      message: `metadata.name cannot be the name of a database: use 1 to ${NAME_MAX} lowercase letters, digits or hyphens, or set spec.name`,
    },
  ],
  conditions: CONDITIONS,
  columns: [
    f.column('Cluster', '.spec.clusterRef.name', 'The CairnCluster.'),
    f.column('Database', '.status.databaseName', 'The name of the database.'),
    ...readyColumns('database', CONDITIONS.Ready),
    f.column('ID', '.status.databaseID', 'The id of the database.'),
    f.column('Copies', '.spec.copies', 'Number of replicas; empty: the default of the cluster.', {
      type: 'integer',
      isWide: true,
    }),
    f.column('Reclaim', '.spec.reclaimPolicy', 'Whether a deletion keeps the database.', { isWide: true }),
    AGE,
  ],
};
