/** Provides the components of this node; the composition root creates it, possibly only on first use. */

import type { ArtifactStore, AskedBindings, Maintenance, Presenters, StateChanges, StateViews } from '#components';

export interface Components {
  readonly artifacts: Pick<ArtifactStore, 'artifact' | 'prepare'>;
  readonly views: Pick<StateViews, 'render' | 'advance' | 'drop'>;
  readonly asked: Pick<AskedBindings, 'add' | 'of'>;
  readonly maintenance: Pick<Maintenance, 'keep'>;
  readonly changes: Pick<StateChanges, 'decide' | 'execute'>;
  readonly presenters: Pick<Presenters, 'open'>;
}

export type OpenComponents = () => Promise<Components>;
