/**
 * The controller of EventDatabases: creates or adopts a database, keeps its number of copies, reports what becomes of
 * it, and deletes it with its object where the policy is to.
 *
 * Not here: access to databases, and components in them.
 *
 * Invariants:
 *   KD1  A database is created after the status records that the creation begins, and belongs to the object when its id
 *        is in the status: the id that the creation returned, that of a database found after a creation of unknown
 *        outcome, or that of an adopted one.
 *   KD2  A database is deleted only with its object, by the policy Delete, and by the id in the status. Another
 *        database of the same name stays.
 *   KD3  A database that is gone is created again only by the policy Either. One that was replaced is never adopted,
 *        unless the cluster has recovered it from one of its replicas under another id.
 *   KD4  The finalizer ends when the database is deleted, when the cluster is gone, after an hour, or by annotation.
 *   KD5  The plan for a converged object is empty.
 *   KD6  The number of copies is that of the spec, without one the default of the cluster. It is changed only in the
 *        database with the id in the status.
 */
export { databaseController } from './controller.ts';
export { type Found, plan, statusOf, type World } from './plan.ts';
