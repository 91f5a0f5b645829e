/**
 * Dispatches the effects of a step to their handlers. Handlers only queue work and never step a group, so effects are
 * not nested.
 */
import { type ReplicaId, type Term, unreachable } from '#base';
import type { Effect, Fact, LoadEntries, MembershipRefusal, Message, Persist, Proposed, Refusal } from '#raft';
import type { Group } from '../group/group.ts';

type ApplyEffect = Extract<Effect, { readonly kind: 'apply' }>;
type ReadReady = Extract<Effect, { readonly kind: 'read-ready' }>;

export interface EffectHandlers {
  persist(group: Group, effect: Persist): void;
  proposed(group: Group, effect: Proposed): void;
  apply(group: Group, entries: ApplyEffect['entries']): void;
  readReady(group: Group, effect: ReadReady): void;
  readRefused(group: Group, id: number, refusal: Refusal): void;
  send(group: Group, to: ReplicaId, message: Message): void;
  loadEntries(group: Group, effect: LoadEntries): void;
  sendSnapshot(group: Group, to: ReplicaId, term: Term): void;
  installSnapshot(group: Group): void;
  membershipRefused(group: Group, refusal: MembershipRefusal): void;
  fact(group: Group, fact: Fact): void;
}

export function carryOut(group: Group, effects: readonly Effect[], handlers: EffectHandlers): void {
  for (const effect of effects) {
    switch (effect.kind) {
      case 'persist':
        handlers.persist(group, effect);
        break;
      case 'proposed':
        handlers.proposed(group, effect);
        break;
      case 'apply':
        handlers.apply(group, effect.entries);
        break;
      case 'read-ready':
        handlers.readReady(group, effect);
        break;
      case 'read-refused':
        handlers.readRefused(group, effect.id, effect.refusal);
        break;
      case 'fact':
        handlers.fact(group, effect.fact);
        break;
      case 'send':
        handlers.send(group, effect.to, effect.message);
        break;
      case 'load-entries':
        handlers.loadEntries(group, effect);
        break;
      case 'send-snapshot':
        handlers.sendSnapshot(group, effect.to, effect.term);
        break;
      case 'membership-answered':
        // Callers observe the membership itself, not the start of the change.
        break;
      case 'membership-refused':
        handlers.membershipRefused(group, effect.refusal);
        break;
      case 'install-snapshot':
        handlers.installSnapshot(group);
        break;
      default:
        unreachable(effect);
    }
  }
}
