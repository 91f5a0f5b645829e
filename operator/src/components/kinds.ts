/** The three kinds of components: their resources, and what is published of a spec. */
import { PRESENTER, STATE_CHANGE, STATE_VIEW } from '../api/index.ts';
import type { Beside, ComponentKind, Publication } from '../client/index.ts';
import { type Kind, sha256Of } from '../kube/index.ts';
import type { ComponentResource } from './world.ts';

export const RESOURCES: Readonly<Record<ComponentKind, Kind>> = {
  StateView: STATE_VIEW,
  StateChange: STATE_CHANGE,
  Presenter: PRESENTER,
};

const BESIDE: readonly string[] = [
  'databases',
  'name',
  'source',
  'rollout',
  'retainVersions',
  'reclaimPolicy',
  'maintenance',
  'active',
] satisfies (Beside | 'maintenance' | 'active')[];

export function componentNameOf({ metadata, spec }: ComponentResource): string {
  return spec.name ?? metadata.name;
}

export function publicationOf(kind: ComponentKind, { spec }: ComponentResource): Publication {
  const metadata = Object.entries(spec).filter(([field]) => !BESIDE.includes(field));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the informer of a kind has objects of that kind
  return { kind, ...Object.fromEntries(metadata) } as Publication;
}

/** SHA-256 of a component and its metadata. The order of fields does not matter. */
export function publicationDigest(publication: Publication, digest: string): string {
  return `sha256:${sha256Of(canonical([digest, publication]))}`;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}
