/** A scenario in which certificates are replaced while pods run, as docs/security.md describes it. */
import { type Certificates, newAuthorities } from './certificates.ts';
import { clusterStatus, PODS } from './install.ts';
import { leaderOf, type Scenarios, SOME, withoutRestart } from './scenario.ts';

export const CERTIFICATE_SCENARIOS: Scenarios<'certificates-rotated'> = {
  'certificates-rotated': {
    hasCertificates: true,
    act: async ({ cluster, certificates, clients, step }) => {
      const put = async (...args: Parameters<Certificates['put']>): Promise<void> => {
        await certificates.put(...args);
        await certificates.untilShown();
        await clients.untilMore(SOME);
      };
      const { signers: first } = certificates;
      const next = newAuthorities('the next authority');
      await withoutRestart(cluster, async () => {
        await step('renew', () => put());
        await step('trust other authorities, too', () => put(first, [first, next]));
        await step('renew by the others', () => put(next, [first, next]));
        await step('trust the others alone', () => put(next));
      });
      const { nodes } = await clusterStatus(cluster, 'cairn-0');
      const silent = nodes.filter(({ answers }) => !answers);
      if (silent.length > 0) throw new Error(`nodes do not answer by the new certificates: ${JSON.stringify(silent)}`);
      // Existing connections between nodes continue, but a pod that starts does not trust the first authorities.
      const pod = leaderOf(clients);
      const before = await cluster.uidsOf([pod]);
      await cluster.kubectl('delete', 'pod', pod, '--wait=false');
      await step('until a pod that has restarted is ready', () => cluster.untilReady(PODS, before));
    },
  },
};
