/**
 * Every generated page of the docs and content of the charts and the operator, every generated part of a hand-written
 * page, and what they should contain now.
 */
import { join } from 'node:path';
import { operatorChartFiles } from '../chart/operator-files.ts';
import { OPERATOR_VALUES } from '../chart/operator-values.ts';
import { renderSchema, renderValuesFile, renderValuesTable } from '../chart/render.ts';
import { chartFiles } from '../crds/chart-files.ts';
import { renderResourceReference } from '../crds/reference.ts';
import { TYPES_PATH, typesFile } from '../crds/types-file.ts';
import { CRD_VALUES } from '../crds/values.ts';
import { dashboardFiles } from '../observability/dashboard-file.ts';
import {
  OPERATOR_ALERTS_PATH,
  OPERATOR_RULES_PATH,
  operatorAlertsFile,
  operatorRulesFile,
  RULES_PATH,
  RUNBOOKS_PATH,
  rulesFile,
  runbooksIndex,
} from '../observability/rules-file.ts';
import { adrIndex } from './adr-index.ts';
import { renderConfigReference } from './config-reference.ts';
import { renderLimitsReference } from './limits-reference.ts';
import { operatorMetricsTable, renderMetricsReference } from './metrics-reference.ts';
import { permissionsTable } from './permissions-reference.ts';

export interface GeneratedPage {
  readonly path: string;
  readonly content: string;
}

/** The content of one block; see generated-block.ts. */
export interface GeneratedPart {
  readonly page: string;
  readonly block: string;
  readonly content: string;
}

export function generatedPages(root: string): readonly GeneratedPage[] {
  return [
    { path: 'docs/configuration.md', content: renderConfigReference() },
    { path: 'docs/limits.md', content: renderLimitsReference() },
    { path: 'docs/metrics.md', content: renderMetricsReference() },
    { path: 'charts/cairn/values.yaml', content: renderValuesFile() },
    { path: 'charts/cairn/values.schema.json', content: renderSchema() },
    ...chartFiles(),
    ...operatorChartFiles(root),
    { path: TYPES_PATH, content: typesFile() },
    { path: 'docs/operations/resources.md', content: renderResourceReference() },
    { path: RULES_PATH, content: rulesFile() },
    { path: OPERATOR_ALERTS_PATH, content: operatorAlertsFile() },
    { path: OPERATOR_RULES_PATH, content: operatorRulesFile() },
    { path: `${RUNBOOKS_PATH}/README.md`, content: runbooksIndex() },
    ...dashboardFiles(),
  ];
}

/** But for the layer graph, which takes a reading of every import: layer-graph.ts. */
export function generatedParts(root: string): readonly GeneratedPart[] {
  return [
    { page: 'docs/security.md', block: 'permissions', content: permissionsTable() },
    { page: 'charts/cairn/README.md', block: 'values', content: renderValuesTable() },
    { page: 'charts/cairn-crds/README.md', block: 'values', content: renderValuesTable(CRD_VALUES) },
    { page: 'charts/cairn-operator/README.md', block: 'values', content: renderValuesTable(OPERATOR_VALUES) },
    { page: 'docs/operations/operator.md', block: 'operator-metrics', content: operatorMetricsTable() },
    { page: 'docs/adr/README.md', block: 'adr-index', content: adrIndex(join(root, 'docs/adr')) },
  ];
}
