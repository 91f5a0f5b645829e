/** What the containers of a pod share. */
import type { Pod } from '../objects.ts';
import type { Image } from './images.ts';
import type { Projector } from './projected.ts';
import type { PodVolumes } from './volumes.ts';

export interface PodPlace {
  /** Names its network namespace, its folder and its containers. */
  readonly id: string;
  readonly dir: string;
  readonly address: string;
  /** The path of its network namespace. */
  readonly network: string;
  readonly volumes: PodVolumes;
  readonly projector: Projector;
  readonly images: ReadonlyMap<string, Image>;
  /** As the API server has it now. */
  readonly pod: () => Pod;
  /** Nothing is started any more. */
  readonly isStopping: () => boolean;
  /** Tells the API server how the containers are. */
  readonly report: () => void;
  readonly event: (reason: string, message: string) => void;
}
