/**
 * The machinery below the controllers of the operator: it reads and writes Kubernetes objects, and schedules the work.
 *
 * For: requests with typed errors, informers, a queue of keys, leader election, server-side apply, conditions, events,
 * and the loop of a controller. Objects are raw JSON, so that fields which our types do not name survive a read and a
 * write.
 *
 * Not here: knowledge of Cairn. It imports nothing of the server. The harness of test/kubernetes uses it, too. The
 * reasons for its design are in ../../DESIGN.md.
 *
 * Invariants: KM1, KM2 (api.ts), KM3 to KM7 (informer.ts), KM9 to KM12 (queue.ts), KM13, KM14 (lease.ts), KM15, KM16
 * (apply.ts), KM17 (conditions.ts), KM18, KM19 (events.ts), KM20, KM21 (controller.ts).
 */
export { Api } from './api.ts';
export { ApiError, asError, hasCode, unless } from './api-error.ts';
export { apply, applyStatus, type Wanted, writeStatus } from './apply.ts';
export { type Condition, conditionsOf, type Finding } from './conditions.ts';
export { type Controller, ControllerLoop, type Outcome, type Pass, type Source, sourceOf } from './controller.ts';
export { EventRecorder, type EventText } from './events.ts';
export { type Followed, type Handlers, Informer, type InformerOptions } from './informer.ts';
export { Elector, type Lease, type Term } from './lease.ts';
export {
  defined,
  isOwnedBy,
  type Kind,
  type KubeObject,
  keyOf,
  ownerReference,
  type Place,
  pathOf,
  sha256Of,
  timestamp,
} from './objects.ts';
export { KeyedQueue, type QueueOptions, type Work } from './queue.ts';
export { delay, type Runtime, systemRuntime } from './runtime.ts';
export { CONFIG_MAP, type ConfigMap, dataOf, SECRET, type Secret, type Texts, textIn, textsOf } from './secrets.ts';
export { HttpsTransport, type Transport, type TransportRequest, type TransportResponse } from './transport.ts';
