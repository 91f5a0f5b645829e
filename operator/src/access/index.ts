/**
 * The controller of EventAccess: an API key in a Secret, with the roles of its grants, replaced when they change, after
 * a time or on demand, and revoked with its object.
 *
 * A new key is written into the Secret under another name, issued, and then takes the place of the current one.
 *
 * Not here: roles that an identity provider gives.
 *
 * Invariants:
 *   KE1  A key is issued after the Secret has its text, so no crash leaves a key that is in no Secret and cannot be
 *        found: the ids of all keys of an object begin with the same digits.
 *   KE2  A Secret that does not belong to the object is never written.
 *   KE3  The Secret shows only keys that were issued, and the current key stays valid until another one took its place.
 *   KE4  A replaced key ends after the overlap, and all keys of a deleted object are revoked before its finalizer ends,
 *        unless the cluster is gone or the deletion is given up.
 *   KE5  The plan for a converged object is empty.
 */
export { accessController } from './controller.ts';
export { idPrefixOf, newKeyText, parseKeyText } from './key-text.ts';
export { plan, statusOf, type World } from './plan.ts';
export { rolesOf } from './roles.ts';
