/** Objects for the Prometheus operator and for Grafana. Alerts and dashboards are those of the chart cairn. */
import api from '../../../charts/cairn/dashboards/api.json' with { type: 'json' };
import components from '../../../charts/cairn/dashboards/components.json' with { type: 'json' };
import overview from '../../../charts/cairn/dashboards/overview.json' with { type: 'json' };
import raft from '../../../charts/cairn/dashboards/raft.json' with { type: 'json' };
import runtime from '../../../charts/cairn/dashboards/runtime.json' with { type: 'json' };
import storage from '../../../charts/cairn/dashboards/storage.json' with { type: 'json' };
import type { CairnCluster } from '../api/index.ts';
import RULES from './gen/rules.json' with { type: 'json' };
import { KEYS, mountedSecrets, nodeLabels, selectorLabels, serviceHost } from './names.ts';
import { type ClusterFacts, groupOf, metadataOf, OWNED_KINDS, type OwnedObject, owned } from './owned.ts';

const DASHBOARDS: Readonly<Record<string, object>> = { api, components, overview, raft, runtime, storage };
interface RuleGroup {
  readonly name: string;
  readonly rules: readonly {
    readonly expr: string;
    readonly alert?: string;
    readonly annotations?: { readonly runbook_url: string };
  }[];
}

const GROUPS: readonly RuleGroup[] = RULES;
const SCRAPE_TIMEOUT = '10s';
/** Place of the runbooks in the repository. */
const RUNBOOKS = 'docs/operations/runbooks/';

export function monitoringOf(cluster: CairnCluster, facts: ClusterFacts): readonly OwnedObject[] {
  const { mode } = cluster.spec.monitoring;
  const isServed = facts.servedGroups.has(groupOf(OWNED_KINDS.PrometheusRule));
  const isWanted = mode === 'Always' || (mode === 'Auto' && isServed);
  return [...(isWanted ? [monitorOf(cluster, facts), rulesOf(cluster)] : []), ...dashboardsOf(cluster)];
}

function monitorOf(cluster: CairnCluster, facts: ClusterFacts): OwnedObject {
  const { labels, scrapeBy } = cluster.spec.monitoring;
  // The headless Service has pods that are not ready, too. Its labels are those of voters.
  const matchLabels = scrapeBy === 'PodMonitor' ? nodeLabels(cluster, facts) : selectorLabels(cluster);
  const common = {
    selector: { matchLabels },
    namespaceSelector: { matchNames: [cluster.metadata.namespace] },
  };
  const endpoints = { [scrapeBy === 'PodMonitor' ? 'podMetricsEndpoints' : 'endpoints']: [scrapeOf(cluster)] };
  return owned(scrapeBy, metadataOf(cluster, { labels }), { spec: { ...common, ...endpoints } });
}

function scrapeOf(cluster: CairnCluster): object {
  const { tls, monitoring } = cluster.spec;
  const scrape = { port: 'metrics', path: '/metrics', interval: monitoring.interval, scrapeTimeout: SCRAPE_TIMEOUT };
  const secret = mountedSecrets(cluster).tls;
  if (secret === undefined) return scrape;
  const [name, key] = [tls.caConfigMapName ?? secret, KEYS.authority];
  const ca = tls.caConfigMapName === undefined ? { secret: { name, key } } : { configMap: { name, key } };
  // Prometheus connects to the address of a pod; the certificate has names.
  return { ...scrape, scheme: 'https', tlsConfig: { serverName: serviceHost(cluster), ca } };
}

function rulesOf(cluster: CairnCluster): OwnedObject {
  const { labels, disabledAlerts = [], runbooksURL = RUNBOOKS } = cluster.spec.monitoring;
  const groups = GROUPS.map(({ name, rules }) => {
    const kept = rules.filter((rule) => rule.alert === undefined || !disabledAlerts.includes(rule.alert));
    return { name, rules: kept.map((rule) => withRunbook(rule, runbooksURL)) };
  });
  return owned('PrometheusRule', metadataOf(cluster, { labels }), { spec: { groups } });
}

function withRunbook(rule: RuleGroup['rules'][number], runbooks: string): object {
  if (rule.annotations === undefined) return rule;
  const page = rule.annotations.runbook_url.slice(RUNBOOKS.length);
  return { ...rule, annotations: { ...rule.annotations, runbook_url: `${runbooks}${page}` } };
}

function dashboardsOf(cluster: CairnCluster): readonly OwnedObject[] {
  if (!cluster.spec.monitoring.dashboards) return [];
  return Object.entries(DASHBOARDS).map(([file, dashboard]) => {
    const name = `${cluster.metadata.name}-dashboard-${file}`;
    const metadata = metadataOf(cluster, { name, component: 'dashboard', labels: { grafana_dashboard: '1' } });
    return owned('ConfigMap', metadata, { data: { [`${file}.json`]: JSON.stringify(dashboard) } });
  });
}
