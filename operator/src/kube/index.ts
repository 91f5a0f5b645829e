/**
 * The machinery below every controller of the operator: how it reads and writes objects of Kubernetes.
 *
 * For: requests with typed errors, and copies of lists that stay up to date. Objects are raw JSON: what a type of ours
 * does not name survives a read and a write.
 *
 * Not here: anything that knows what a cluster of Cairn is. Nothing of the server is imported; test/kubernetes uses
 * this code as well, for the kubelet of its Kubernetes nodes.
 *
 * Invariants: KM1 (api.ts), KM2 to KM4 (reflector.ts).
 */
export { Api, type PatchKind } from './api.ts';
export { ApiError, unless } from './api-error.ts';
export { type Handlers, Reflector } from './reflector.ts';
