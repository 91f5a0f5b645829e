/**
 * Writes test/charts/third-party-kinds.jsonl: the kinds of other operators that the chart renders, as their definitions
 * in pinned Go modules have them (all under the Apache License 2.0), one in a line, without descriptions and status.
 *
 *   node --conditions=source scripts/third-party-kinds.ts
 *
 * Needs Go, which downloads the modules. Tests read the file and need neither.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import type { Json } from './chart/value.ts';

interface Definition {
  readonly metadata: { readonly name: string; readonly annotations?: Json };
  readonly spec: { readonly versions: readonly Version[]; readonly [key: string]: unknown };
}

interface Version {
  readonly name: string;
  readonly schema: { readonly openAPIV3Schema: { readonly properties: Readonly<Record<string, Json>> } };
}

/** Files by module. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'servicemonitors',
    'podmonitors',
    'prometheusrules',
  ].map((kind) => `example/prometheus-operator-crd/monitoring.coreos.com_${kind}.yaml`),
  'github.com/cert-manager/cert-manager@v1.21.2': ['deploy/crds/cert-manager.io_certificates.yaml'],
  'sigs.k8s.io/gateway-api@v1.6.3': ['grpcroutes', 'httproutes', 'tlsroutes'].map(
    (kind) => `config/crd/standard/gateway.networking.k8s.io_${kind}.yaml`,
  ),
};
/** The version that the chart renders; an API server keeps objects in it. */
const VERSION = 'v1';

const lines = Object.entries(SOURCES).flatMap(([module, files]) => {
  const dir = download(module);
  return files.map((file) => {
    const definition: Definition = parse(readFileSync(join(dir, file), 'utf8'));
    return JSON.stringify(short(definition));
  });
});
writeFileSync(resolve(import.meta.dirname, '../test/charts/third-party-kinds.jsonl'), `${lines.join('\n')}\n`);

/** The folder of a module. Its sum is verified by the database of sums. */
function download(module: string): string {
  const { Dir }: { readonly Dir: string } = JSON.parse(
    execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' }),
  );
  return Dir;
}

function short({ metadata: { name, annotations = {} }, spec }: Definition): object {
  const versions = spec.versions
    .filter((version) => version.name === VERSION)
    .map((version) => {
      const { status: _status, ...properties } = version.schema.openAPIV3Schema.properties;
      const openAPIV3Schema = { ...version.schema.openAPIV3Schema, properties };
      return { ...version, storage: true, schema: { openAPIV3Schema: withoutTexts(openAPIV3Schema) } };
    });
  // The API server asks for the annotation of groups of Kubernetes itself.
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, annotations },
    spec: { ...spec, versions },
  };
}

/** A schema without its descriptions. A property may have that name, too. */
function withoutTexts(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutTexts);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(([key, value]) => key !== 'description' || typeof value !== 'string');
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutTexts(value)]));
}
