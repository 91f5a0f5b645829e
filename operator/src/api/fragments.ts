/** Parts that several kinds have. */
import * as f from './schema.ts';

/** The version of the API that all kinds belong to. */
export const GROUP = 'cairn.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION: string = `${GROUP}/${VERSION}`;

/** Longest name of a Kubernetes object, in bytes (RFC 1123 subdomain). */
const OBJECT_NAME_MAX = 253;
const OBJECT_NAME = '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$';
/** Names of objects that are made of it must fit, such as NAME-headless. */
export const CLUSTER_NAME_MAX = 48;
export const CLUSTER_NAME = '^[a-z]([-a-z0-9]*[a-z0-9])?$';
const LABEL_KEY_MAX = 317;
const LABEL_MAX = 63;
const DATA_KEY = '^[-._a-zA-Z0-9]+$';
const INT64_MAX = Number.MAX_SAFE_INTEGER;

export function objectName(doc: string, options: { readonly default?: string } = {}): f.Field {
  return f.text(doc, OBJECT_NAME_MAX, { min: 1, pattern: OBJECT_NAME, ...options });
}

export function dataKey(doc: string, options: { readonly default?: string } = {}): f.Field {
  return f.text(doc, OBJECT_NAME_MAX, { min: 1, pattern: DATA_KEY, ...options });
}

export function annotations(doc: string): f.Field {
  return f.map(doc, f.text('The value.', 16_384), 64);
}

export function labels(doc: string): f.Field {
  return f.map(doc, f.text('The value.', LABEL_MAX), 64);
}

/** A field for a Kubernetes quantity of bytes, such as 10Gi. */
export function size(doc: string, options: { readonly default?: string } = {}): f.Field {
  return f.text(doc, 32, { min: 1, pattern: '^[0-9]+(\\.[0-9]+)?(k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$', ...options });
}

/** A field for a duration in Go's notation, such as 1h30m. */
export function duration(doc: string, options: { readonly default?: string } = {}): f.Field {
  return f.text(doc, 32, { min: 2, pattern: '^([0-9]+(h|m|s))+$', ...options });
}

export function databasePattern(doc: string, options: { readonly default?: string } = {}): f.Field {
  return f.text(doc, 127, { min: 1, pattern: '^[a-z0-9*-]+$', ...options });
}

const QUANTITY = '^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$';

function quantities(doc: string): f.Field {
  const value = f.numberOrText('An amount, such as 2, 250m or 1Gi.', 32, { pattern: QUANTITY });
  return f.map(doc, value, 16);
}

export const RESOURCES: f.Shape = f.shapeOfKubernetes('Resources', {
  'requests?': quantities('Amounts that are reserved for the container, by resource.'),
  'limits?': quantities('Amounts that the container may use at most, by resource.'),
});

const REQUIREMENT: f.Shape = f.shapeOfKubernetes('LabelRequirement', {
  key: f.text('The label.', LABEL_KEY_MAX, { min: 1 }),
  operator: f.choice('Comparison with the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
  'values?': f.list('The values, for In and NotIn.', f.text('A value.', LABEL_MAX), 64, { merge: 'atomic' }),
});

export const LABEL_SELECTOR: f.Shape = f.shapeOfKubernetes('LabelSelector', {
  'matchLabels?': labels('Labels that objects must have, with these values.'),
  'matchExpressions?': f.list(
    'Requirements that labels must meet, all of them.',
    f.object('A requirement.', REQUIREMENT),
    32,
  ),
});

const CONDITION: f.Shape = f.shapeOfKubernetes('Condition', {
  type: f.text('Type of the condition.', 316, { min: 1, pattern: '^[A-Za-z][A-Za-z0-9]*$' }),
  status: f.choice('Status of the condition.', ['True', 'False', 'Unknown']),
  observedGeneration: f.wholeNumber('metadata.generation that the condition was set for.', 0, INT64_MAX),
  lastTransitionTime: f.time('Time at which the status of the condition last changed.'),
  reason: f.text('Reason as one word, for programs.', 1024, {
    min: 1,
    pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
  }),
  message: f.text('Reason as a sentence, for people.', 32_768),
});

export function commonStatus(conditions: Readonly<Record<string, string>>): f.Fields {
  return {
    'observedGeneration?': f.wholeNumber('metadata.generation that the status describes.', 0, INT64_MAX),
    'conditions?': f.list(
      `Observed conditions. Types: ${Object.keys(conditions).join(', ')}.`,
      f.object('One condition.', CONDITION),
      32,
      { merge: { keys: ['type'] } },
    ),
  };
}

export function readyColumns(subject: string, meaning: string): readonly f.Column[] {
  return [
    f.column('Ready', '.status.conditions[?(@.type=="Ready")].status', meaning),
    f.column('Reason', '.status.conditions[?(@.type=="Ready")].reason', `Why the ${subject} is ready or not.`),
  ];
}

export const AGE: f.Column = f.column('Age', '.metadata.creationTimestamp', 'Time since the object was created.', {
  type: 'date',
});

const CLUSTER_REF: f.Shape = f.shape('ClusterRef', {
  name: f.text('The name of the CairnCluster.', CLUSTER_NAME_MAX, { min: 1, pattern: CLUSTER_NAME }),
});

export const clusterRef: f.Field = f.object('The CairnCluster, in the same namespace.', CLUSTER_REF);

const databaseNames: f.Field = f.list(
  'The names of EventDatabases in the same namespace.',
  objectName('The name of an EventDatabase.'),
  256,
  { min: 1, merge: 'set' },
);

const databaseSelector: f.Field = f.object(
  'Labels of EventDatabases in the same namespace; {} selects all of them.',
  LABEL_SELECTOR,
);

export const DATABASES: f.Shape = f.shape('Databases', { 'names?': databaseNames, 'selector?': databaseSelector }, [
  f.exactlyOne('names', 'selector'),
]);

export const GRANTED_DATABASES: f.Shape = f.shape(
  'GrantedDatabases',
  {
    'names?': databaseNames,
    'selector?': databaseSelector,
    'pattern?': databasePattern(
      'Names of databases in the cluster, where * stands for any characters; * alone is all of them.',
    ),
  },
  [f.exactlyOne('names', 'selector', 'pattern')],
);

export const ROLES: readonly string[] = ['reader', 'writer', 'deployer', 'admin'];

/** A field that chooses whether deleting the custom resource also deletes the object that it manages. */
export function reclaimPolicy(doc: string): f.Field {
  return f.choice(doc, ['Retain', 'Delete'], { default: 'Retain' });
}
