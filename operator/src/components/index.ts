/**
 * The controller of State Views, State Changes and presenters: publishes the component of a source in each selected
 * database, activates it when all nodes that hold the database have compiled it, and ends newer and old versions.
 *
 * Not here: publication in the server. A version that was published stays as it is.
 *
 * Invariants:
 *   KP1  A version is activated only when every node that holds the database has compiled it and none refuses it.
 *   KP2  A publication can be repeated: the same component with the same metadata is the same version.
 *   KP3  The bytes of a source have the digest that is published.
 *   KP4  Versions are deleted only beyond retainVersions, or with the resource by the policy Delete.
 *   KP6  A database gets a new version in its step, after the databases of the steps before have it and were observed.
 *   KP5  The plan for a converged resource is empty.
 *   KP7  A component that exceeds a limit of its analysis gets no further database. With onFailure RollBack the
 *        previous version is active again before the new one ends, so a database that had an active version always has
 *        one.
 */
export { componentController } from './controller.ts';
export { RESOURCES } from './kinds.ts';
export { credentialFor, digestOf, Registry } from './oci.ts';
export { type Action, plan } from './plan.ts';
export { statusOf } from './status.ts';
export type { ComponentResource, Target, World } from './world.ts';
