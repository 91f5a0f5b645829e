/**
 * The Secrets of a cluster: an authority, the certificate of the nodes, the secret that nodes share, and the key of the
 * first administrator.
 *
 * For: the plan (`planSecrets`, pure), the writes (`writeSecret`), and the controller that plans and writes, with an
 * observation after each write.
 *
 * Not here: certificates of cert-manager (../objects), and keys of EventAccess.
 *
 * Invariants:
 *   KS1  A key that exists is not replaced: not the secret of the nodes, nor the first key, nor a Secret of the user.
 *   KS2  The authority of the certificate in use is always trusted. While one authority replaces another, both are: the
 *        next one for renewBefore before it signs, the previous one until it ends.
 *   KS3  Plans converge: when plan and actions are repeated at one time, the plan is soon empty.
 */
export { SecretsController, type SecretsState } from './controller.ts';
export { planSecrets, type SecretPlan } from './plan.ts';
export { secretOf, writeSecret } from './write.ts';
