/**
 * charts/cairn/dashboards/*.json: dashboards.ts as dashboards of Grafana, a panel on a line. Only what differs from
 * Grafana's defaults is written. Each expression is narrowed to the cluster and the pods that the viewer has chosen.
 */
import { DASHBOARDS, type Dashboard, type Panel, type Query } from './dashboards.ts';

const FOLDER = 'charts/cairn/dashboards';
/** Schema version of Grafana 10.4 and later. */
const SCHEMA_VERSION = 39;
const SOURCE = { type: 'prometheus', uid: '$datasource' };
const COLUMNS = 24;
const SIZES = { stat: { w: 4, h: 4 }, graph: { w: 8, h: 8 } };

const METRIC = /\b(ALERTS|(?:cairn[_:]|grpc_server_|http_server_|nodejs_|process_)[a-z0-9_:]*)(\{)?/g;
const CLUSTER = 'namespace=~"$namespace",job=~"$job"';

export function dashboardFiles(): readonly { readonly path: string; readonly content: string }[] {
  return DASHBOARDS.map((dashboard) => ({
    path: `${FOLDER}/${dashboard.name}.json`,
    content: dashboardFile(dashboard),
  }));
}

/** The expression for the cluster and pods of the variables; what rules derive is of whole clusters. */
export function scoped(expr: string): string {
  return expr.replaceAll(METRIC, (_match, name: string, brace: string | undefined) => {
    const selector = name === 'ALERTS' || name.includes(':') ? CLUSTER : `${CLUSTER},pod=~"$pod"`;
    return `${name}{${selector}${brace === undefined ? '}' : ','}`;
  });
}

function dashboardFile(dashboard: Dashboard): string {
  const { panels, ...rest } = {
    uid: `cairn-${dashboard.name}`,
    title: `Cairn / ${dashboard.title}`,
    tags: ['cairn'],
    schemaVersion: SCHEMA_VERSION,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    links: [
      { type: 'dashboards', tags: ['cairn'], title: 'Cairn', asDropdown: true, keepTime: true, includeVars: true },
    ],
    templating: { list: VARIABLES },
    panels: laidOut(dashboard),
  };
  const lines = panels.map((panel) => `    ${JSON.stringify(panel)}`).join(',\n');
  return `${JSON.stringify(rest, undefined, 2).slice(0, -2)},\n  "panels": [\n${lines}\n  ]\n}\n`;
}

const VARIABLES = [
  { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
  variable('namespace', 'cairn_build_info'),
  variable('job', 'cairn_build_info{namespace=~"$namespace"}'),
  variable('pod', `cairn_build_info{${CLUSTER}}`),
];

/** Values of a label; All matches series without it, as outside of Kubernetes. */
function variable(name: string, series: string): object {
  const query = { query: `label_values(${series}, ${name})`, refId: name };
  const all = { includeAll: true, allValue: '.*', current: { text: 'All', value: '$__all' } };
  return { name, type: 'query', datasource: SOURCE, query, refresh: 2, sort: 1, multi: true, ...all };
}

/** Panels from left to right, below a heading for each section. */
function laidOut({ sections }: Dashboard): readonly object[] {
  const placed: object[] = [];
  let y = 0;
  for (const [heading, panels] of Object.entries(sections)) {
    const row = { type: 'row', title: heading, panels: [] };
    placed.push({ id: placed.length + 1, gridPos: { x: 0, y, w: COLUMNS, h: 1 }, ...row });
    y += 1;
    let [x, height] = [0, 0];
    for (const panel of panels) {
      const { w, h } = SIZES[panel.kind];
      if (x + w > COLUMNS) [x, y, height] = [0, y + height, 0];
      placed.push({ id: placed.length + 1, gridPos: { x, y, w, h }, ...panelOf(panel) });
      [x, height] = [x + w, Math.max(height, h)];
    }
    y += height;
  }
  return placed;
}

function panelOf({ kind, title, unit, queries }: Panel): object {
  const common = { title, datasource: SOURCE, targets: targets(queries) };
  if (kind === 'stat') {
    const options = { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'none', graphMode: 'area' };
    return { type: 'stat', ...common, fieldConfig: { defaults: { unit }, overrides: [] }, options };
  }
  const custom = { fillOpacity: 8, showPoints: 'never', spanNulls: true };
  const options = { tooltip: { mode: 'multi', sort: 'desc' }, legend: { placement: 'bottom', displayMode: 'list' } };
  return { type: 'timeseries', ...common, fieldConfig: { defaults: { unit, custom }, overrides: [] }, options };
}

function targets(queries: readonly Query[]): readonly object[] {
  return queries.map(({ expr, legend }, at) => ({
    refId: String.fromCodePoint('A'.charCodeAt(0) + at),
    expr: scoped(expr),
    legendFormat: legend,
  }));
}
