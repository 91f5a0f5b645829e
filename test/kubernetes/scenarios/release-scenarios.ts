/** Scenarios of the Helm release: changed values, and uninstall and install again. */
import { PODS, uninstallCairn } from './install.ts';
import { ALL, type Scenarios, SOME, withoutRestart } from './scenario.ts';

/** Values that nodes do not read, or only at their start, one upgrade after the other. */
const CHANGES: readonly (readonly string[])[] = [
  [
    'cluster.bootstrap=never',
    'cluster.join[0]=cairn-1.cairn-headless:50052',
    'service.type=NodePort',
    'service.annotations.team=shop',
    'service.spec.sessionAffinity=ClientIP',
    'perPod.enabled=true',
    'perPod.type=ClusterIP',
    'networkPolicy.clients[0].podSelector.matchLabels.team=shop',
    'networkPolicy.peers[0].podSelector.matchLabels.team=shop',
    'networkPolicy.egress.restricted=true',
    'podDisruptionBudget.unhealthyPodEvictionPolicy=AlwaysAllow',
    'monitoring.serviceMonitor.labels.team=shop',
    'monitoring.prometheusRule.labels.team=shop',
    'monitoring.dashboards.enabled=true',
  ],
  [
    'networkPolicy.enabled=false',
    'podDisruptionBudget.enabled=false',
    'updateStrategy.type=OnDelete',
    'minReadySeconds=10',
    'persistence.whenScaled=Delete',
    'commonLabels.team=shop',
    'commonAnnotations.team=shop',
  ],
  // The last upgrade returns to the first values.
  [],
];

export const RELEASE_SCENARIOS: Scenarios<'values-changed' | 'reinstalled'> = {
  'values-changed': {
    act: ({ cluster, clients, install, step }) =>
      withoutRestart(cluster, async () => {
        for (const [place, values] of CHANGES.entries()) {
          await step(`upgrade ${place + 1}`, () => install(...values));
          await clients.untilMore(SOME);
        }
      }),
  },

  reinstalled: {
    act: async ({ cluster, clients, install, step }) => {
      await step('uninstall', () => uninstallCairn(cluster));
      await cluster.kubectl('wait', '--for=delete', 'pods', ALL);
      await step('install again', () => install());
      // The new release has another first key.
      await clients.readKey();
      await step('until all pods are ready again', () => cluster.untilReady(PODS));
    },
  },
};
