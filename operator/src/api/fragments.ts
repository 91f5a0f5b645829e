/** Parts that several kinds have. */
import {
  type Column,
  choice,
  column,
  exactlyOne,
  type Field,
  type Fields,
  list,
  map,
  numberOrText,
  object,
  optional,
  type Shape,
  shape,
  shapeOfKubernetes,
  text,
  time,
  wholeNumber,
} from './schema.ts';

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
/** A key of a ConfigMap or Secret. */
const DATA_KEY = '^[-._a-zA-Z0-9]+$';
const INT64_MAX = Number.MAX_SAFE_INTEGER;

export function objectName(doc: string, options: { readonly default?: string } = {}): Field {
  return text(doc, OBJECT_NAME_MAX, { min: 1, pattern: OBJECT_NAME, ...options });
}

export function dataKey(doc: string, options: { readonly default?: string } = {}): Field {
  return text(doc, OBJECT_NAME_MAX, { min: 1, pattern: DATA_KEY, ...options });
}

export function annotations(doc: string): Field {
  return optional(map(doc, text('The value.', 16_384), 64));
}

export function labels(doc: string): Field {
  return optional(map(doc, text('The value.', LABEL_MAX), 64));
}

/** A field for a Kubernetes quantity of bytes, such as 10Gi. */
export function size(doc: string, options: { readonly default?: string } = {}): Field {
  return text(doc, 32, { min: 1, pattern: '^[0-9]+(\\.[0-9]+)?(k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$', ...options });
}

/** A field for a duration in Go's notation, such as 1h30m. */
export function duration(doc: string, options: { readonly default?: string } = {}): Field {
  return text(doc, 32, { min: 2, pattern: '^([0-9]+(h|m|s))+$', ...options });
}

export function databasePattern(doc: string, options: { readonly default?: string } = {}): Field {
  return text(doc, 127, { min: 1, pattern: '^[a-z0-9*-]+$', ...options });
}

const QUANTITY = '^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$';

function quantities(doc: string): Field {
  const value = numberOrText('An amount, such as 2, 250m or 1Gi.', 32, { pattern: QUANTITY });
  return optional(map(doc, value, 16));
}

export const RESOURCES: Shape = shapeOfKubernetes('Resources', {
  requests: quantities('Amounts that are reserved for the container, by resource.'),
  limits: quantities('Amounts that the container may use at most, by resource.'),
});

const REQUIREMENT: Shape = shapeOfKubernetes('LabelRequirement', {
  key: text('The label.', LABEL_KEY_MAX, { min: 1 }),
  operator: choice('Comparison with the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
  values: optional(list('The values, for In and NotIn.', text('A value.', LABEL_MAX), 64, { merge: 'atomic' })),
});

export const LABEL_SELECTOR: Shape = shapeOfKubernetes('LabelSelector', {
  matchLabels: labels('Labels that objects must have, with these values.'),
  matchExpressions: optional(
    list('Requirements that labels must meet, all of them.', object('A requirement.', REQUIREMENT), 32),
  ),
});

const CONDITION: Shape = shapeOfKubernetes('Condition', {
  type: text('Type of the condition.', 316, { min: 1, pattern: '^[A-Za-z][A-Za-z0-9]*$' }),
  status: choice('Status of the condition.', ['True', 'False', 'Unknown']),
  observedGeneration: wholeNumber('metadata.generation that the condition was set for.', 0, INT64_MAX),
  lastTransitionTime: time('Time at which the status of the condition last changed.'),
  reason: text('Reason as one word, for programs.', 1024, {
    min: 1,
    pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
  }),
  message: text('Reason as a sentence, for people.', 32_768),
});

/** The fields that every status has. */
export function commonStatus(conditions: Readonly<Record<string, string>>): Fields {
  return {
    observedGeneration: optional(wholeNumber('metadata.generation that the status describes.', 0, INT64_MAX)),
    conditions: optional(
      list(
        `Observed conditions. Types: ${Object.keys(conditions).join(', ')}.`,
        object('One condition.', CONDITION),
        32,
        { merge: { keys: ['type'] } },
      ),
    ),
  };
}

/** Columns of every kind. */
export function readyColumns(subject: string, meaning: string): readonly Column[] {
  return [
    column('Ready', '.status.conditions[?(@.type=="Ready")].status', meaning),
    column('Reason', '.status.conditions[?(@.type=="Ready")].reason', `Why the ${subject} is ready or not.`),
  ];
}

export const AGE: Column = column('Age', '.metadata.creationTimestamp', 'Time since the object was created.', {
  type: 'date',
});

const CLUSTER_REF: Shape = shape('ClusterRef', {
  name: text('The name of the CairnCluster.', CLUSTER_NAME_MAX, { min: 1, pattern: CLUSTER_NAME }),
});

export const clusterRef: Field = object('The CairnCluster, in the same namespace.', CLUSTER_REF);

/** EventDatabases of the same namespace. */
const databaseNames: Field = optional(
  list('The names of EventDatabases in the same namespace.', objectName('The name of an EventDatabase.'), 256, {
    min: 1,
    merge: 'set',
  }),
);

const databaseSelector: Field = optional(
  object('Labels of EventDatabases in the same namespace; {} selects all of them.', LABEL_SELECTOR),
);

export const DATABASES: Shape = shape('Databases', { names: databaseNames, selector: databaseSelector }, [
  exactlyOne('names', 'selector'),
]);

export const GRANTED_DATABASES: Shape = shape(
  'GrantedDatabases',
  {
    names: databaseNames,
    selector: databaseSelector,
    pattern: optional(
      databasePattern('Names of databases in the cluster, where * stands for any characters; * alone is all of them.'),
    ),
  },
  [exactlyOne('names', 'selector', 'pattern')],
);

export const ROLES: readonly string[] = ['reader', 'writer', 'deployer', 'admin'];

/** A field that chooses whether deleting the custom resource also deletes the object that it manages. */
export function reclaimPolicy(doc: string): Field {
  return choice(doc, ['Retain', 'Delete'], { default: 'Retain' });
}
