/**
 * What the thread of the core runs. It is composed here, because #cluster does not know how nodes reach each other; and
 * what that takes is loaded only when there are others to reach.
 */
import { runCore } from '#cluster';

runCore({
  openLinks: async (options) => {
    const { openPeerLinks } = await import('#transport/peer');
    return openPeerLinks(options);
  },
  askToJoin: async (...question) => {
    const { askToJoin } = await import('#transport/peer');
    return askToJoin(...question);
  },
  askAdmin: async (...question) => {
    const { askAdmin } = await import('#transport/peer');
    return askAdmin(...question);
  },
  askForCluster: async (...question) => {
    const { askForCluster } = await import('#transport/peer');
    return askForCluster(...question);
  },
});
