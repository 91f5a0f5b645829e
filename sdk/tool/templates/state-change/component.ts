/** A State Change: tasks are opened, and done once. */

import type { Command, DecidedOver, StateChangeComponent, StoredEvent } from 'cairn/component';
import { CommandRefused, type Decider, decider, defineStateChange, type NewEvent } from 'cairn/component';

type TaskEvent = StoredEvent<'task.opened', { readonly title: string }> | StoredEvent<'task.done', object>;
type State = 'unknown' | 'open' | 'done';
type Wish =
  | { readonly kind: 'open'; readonly task: string; readonly title: string }
  | { readonly kind: 'do'; readonly task: string };

const task: Decider<State, Wish, TaskEvent> = {
  initialState: () => 'unknown',
  evolve: (_state, event) => (event.type === 'task.opened' ? 'open' : 'done'),
  decide(state, wish): readonly NewEvent[] {
    const event = { source: '/tasks', subject: wish.task };
    if (wish.kind === 'open') {
      if (state !== 'unknown')
        throw new CommandRefused('validation-failed', `There is a task ${wish.task}`, { code: 'task-exists' });
      return [{ ...event, type: 'task.opened', data: { title: wish.title } }];
    }
    if (state === 'unknown') throw new CommandRefused('state-not-found', `There is no task ${wish.task}`);
    return state === 'done' ? [] : [{ ...event, type: 'task.done' }];
  },
};

/** Decides over all events of the task: when another one is committed meanwhile, the command is decided again. */
function over(given: (command: Command, name: string) => Wish): DecidedOver<Wish> {
  const nameOf = ({ parameters }: Command): string => parameters['task'] ?? '';
  return {
    events: (command) => ({ and: [{ source: '/tasks' }, { subject: nameOf(command) }] }),
    limit: 100,
    given: (command) => given(command, nameOf(command)),
  };
}

function titleOf(command: Command): string {
  const { title } = command.json<{ readonly title?: unknown }>();
  if (typeof title === 'string' && title !== '') return title;
  throw new CommandRefused('invalid-input', `title is ${JSON.stringify(title)}; give a text`);
}

export const component: StateChangeComponent = defineStateChange({
  routes: {
    'POST /tasks/{task}': decider(
      task,
      over((command, name) => ({ kind: 'open', task: name, title: titleOf(command) })),
    ),
    'POST /tasks/{task}/done': decider(
      task,
      over((_command, name) => ({ kind: 'do', task: name })),
    ),
  },
});
