// Goal: the API server accepts the declared custom resources, and people can read them. Method: rules for every part of
// every kind; api-server.long.test.ts tests the rules of the API server itself.
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { KINDS, SET_BY_OPERATOR } from '../../../operator/src/api/index.ts';
import { SET_BY_CHART } from '../../../scripts/chart/settings.ts';
import { definitionOf } from '../../../scripts/crds/open-api.ts';
import { allFields, allRules, type OpenApi, openApiOf, schemasIn } from './walk.ts';

const schemas = KINDS.flatMap((kind) => schemasIn(openApiOf(kind), kind.kind));

/** Keywords that a structural schema may have. */
const KEYWORDS =
  /^(?:type|description|default|required|properties|additionalProperties|items|format|enum|pattern|m(?:in|ax)imum|m(?:in|ax)Length|m(?:in|ax)Items|maxProperties|anyOf|x-kubernetes-(?:validations|int-or-string|preserve-unknown-fields|list-type|list-map-keys))$/;
/** Names that kubectl has in every cluster, and names that are reserved for future backups (KA3). */
const TAKEN = ['sc', 'sts', 'svc', 'sa', 'po', 'pv', 'pvc', 'pdb', 'cm', 'crd', 'csr', 'ep', 'ev', 'hpa', 'ing', 'ns'];
const KEPT_FREE = ['EventBackup', 'EventBackupSchedule', 'EventRestore'];

/** Maximum number of evaluations of a rule in one object, from the maximum sizes of the lists and maps around it. */
const RUNS_MAX = 512;

function faults(isFaulty: (schema: OpenApi, path: string) => boolean): readonly string[] {
  return schemas.filter(({ schema, path }) => isFaulty(schema, path)).map(({ path }) => path);
}

describe('the schemas of the custom resources', () => {
  it('document every field with a sentence that a terminal can show', () => {
    const isSentence = (text: string): boolean =>
      /^\S(?:.*\S)?\.$/.test(text) && !/ {2}/.test(text) && text.length < 420;
    expect(allFields().flatMap(({ path, field }) => (isSentence(field.doc) ? [] : [`${path}: ${field.doc}`]))).toEqual(
      [],
    );
    const undocumented = (schema: OpenApi, path: string): boolean =>
      schema.description === undefined && !path.endsWith('.metadata');
    expect(faults(undocumented)).toEqual([]);
  });

  it('are structural', () => {
    const unknown = (schema: OpenApi): boolean => Object.keys(schema).some((keyword) => !KEYWORDS.test(keyword));
    const isTyped = (schema: OpenApi): boolean =>
      (schema.type !== undefined) !== (schema['x-kubernetes-int-or-string'] === true);
    const isEither = ({ properties, additionalProperties }: OpenApi): boolean =>
      properties === undefined || additionalProperties === undefined;
    expect(faults((schema) => unknown(schema) || !isTyped(schema) || !isEither(schema))).toEqual([]);
  });

  it('limit every text, list, map and number', () => {
    const isLimited = (schema: OpenApi): boolean => {
      const { type, enum: words, format, maxLength, maxItems, maxProperties, minimum, maximum } = schema;
      if (type === 'array') return maxItems !== undefined;
      if (type === 'integer') return minimum !== undefined && maximum !== undefined;
      if (type === 'object') return schema.additionalProperties === undefined || maxProperties !== undefined;
      return type === 'boolean' || words !== undefined || format === 'date-time' || maxLength !== undefined;
    };
    const ofKubernetes = /^\w+\.(?:apiVersion|kind|metadata)$/;
    expect(faults((schema, path) => !isLimited(schema) && !ofKubernetes.test(path))).toEqual([]);
  });

  it('allow unknown fields only in the overlay of the pod template', () => {
    expect(faults((schema) => schema['x-kubernetes-preserve-unknown-fields'] === true)).toEqual([
      'CairnCluster.spec.podTemplate',
    ]);
  });

  it('require the keys of items in keyed lists', () => {
    const lacks = ({ items, ...schema }: OpenApi): boolean =>
      (schema['x-kubernetes-list-map-keys'] ?? []).some((key) => items?.required?.includes(key) !== true);
    expect(faults(lacks)).toEqual([]);
  });

  it('accept their own defaults', () => {
    const ajv = new Ajv({ strict: false, formats: { int32: true, int64: true } });
    formats.default(ajv);
    const refused = schemas.filter(({ schema }) => {
      const value: unknown = JSON.parse(JSON.stringify(schema.default ?? null));
      return schema.default !== undefined && !ajv.validate(schema, value);
    });
    expect(refused.map(({ path }) => path)).toEqual([]);
  });
});

describe('the rules in CEL', () => {
  it('are in places where few evaluations are possible', () => {
    const limits = new Map(schemas.map(({ path, schema }) => [path, schema.maxItems ?? schema.maxProperties ?? 1]));
    const runs = (path: string): number =>
      [...path.matchAll(/\[\]|\{\}/g)].reduce(
        (product, { index }) => product * (limits.get(path.slice(0, index)) ?? 1),
        1,
      );
    expect(allRules().filter(({ path }) => runs(path) > RUNS_MAX)).toEqual([]);
  });

  it('read the old object only where the API server can correlate it', () => {
    const atomic = /\[\]|\{\}/;
    expect(allRules().filter(({ rule, path }) => rule.includes('oldSelf') && atomic.test(path))).toEqual([]);
  });

  it('have a message that states the valid value, without a full stop', () => {
    const isMessage = (text: string): boolean => /^\S.*[^.\s]$/.test(text) && text.length < 200;
    expect(allRules().filter(({ message }) => !isMessage(message))).toEqual([]);
  });

  it('reject the settings that the operator sets itself, which are those that the chart sets', () => {
    expect(SET_BY_OPERATOR).toEqual(SET_BY_CHART);
  });
});

describe('the names of the custom resources', () => {
  const names = KINDS.flatMap(({ plural, kind, shortNames }) => [plural, kind.toLowerCase(), ...shortNames]);

  it('are unique, and are neither names of Kubernetes nor reserved (KA3)', () => {
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => TAKEN.includes(name))).toEqual([]);
    expect(KINDS.filter(({ kind }) => KEPT_FREE.includes(kind))).toEqual([]);
  });
});

describe('columns and the scale subresource', () => {
  /** True when a path such as `.status.conditions[?(@.type=="Ready")].status` leads to a field. */
  function leads(root: OpenApi, path: string): boolean {
    const steps = path
      .replaceAll(/\[\?[^\]]*\]/g, '[]')
      .split('.')
      .slice(1);
    let at: OpenApi | undefined = root;
    for (const step of steps) {
      const inner: OpenApi | undefined = at?.properties?.[step.replace('[]', '')];
      at = step.endsWith('[]') ? inner?.items : inner;
    }
    return at !== undefined;
  }

  it.each(KINDS)('of $kind lead to fields, include Ready, and end with Age', (kind) => {
    const root = openApiOf(kind);
    const { scale } = kind;
    const paths = [
      ...kind.columns.map(({ path }) => path),
      ...(scale ? [scale.spec, scale.status, scale.selector] : []),
    ];
    const ofMetadata = '.metadata.creationTimestamp';
    expect(paths.filter((path) => path !== ofMetadata && !leads(root, path))).toEqual([]);
    const shown = kind.columns.filter(({ isWide = false }) => !isWide).map(({ name }) => name);
    expect(shown).toContain('Ready');
    expect(shown.at(-1)).toBe('Age');
    expect(shown.length).toBeLessThanOrEqual(7);
  });

  it('name conditions that the kind has', () => {
    const asked = KINDS.flatMap(({ kind, columns, conditions }) =>
      columns.flatMap(({ path }) => {
        const type = /@\.type=="(\w+)"/.exec(path)?.[1];
        return type === undefined || type in conditions ? [] : [`${kind}: ${type}`];
      }),
    );
    expect(asked).toEqual([]);
  });
});

describe('a status', () => {
  it('has no field whose value changes all the time (KA2)', () => {
    const restless = /(?:revision|index|lag|bytes|heartbeat|probe|seen|checked|uptime|lastUpdate)/i;
    const found = allFields().filter(({ path }) => path.includes('.status.') && restless.test(path));
    expect(found.map(({ path }) => path)).toEqual([]);
  });
});

it('definitions fit into the annotation of kubectl apply', () => {
  for (const kind of KINDS) expect(JSON.stringify(definitionOf(kind)).length).toBeLessThan(200_000);
});
